//! Metadata as JSON: the output of `nc3z info --json`, with the values of the attributes.

use crate::failure::{Answer, Failure};
use crate::files::OpenFile;
use crate::reply::Reply;
use crate::request::Request;
use hyper::StatusCode;
use nc3z_look::info::{Details, Info};
use nc3z_look::text;
use nc3z_zarr::attributes_json;

/// The maximal total length of the attributes in the JSON, in bytes.
const VALUES_LEN: usize = 16 << 20;

/// The JSON of a data set.
pub(crate) fn answer(file: &OpenFile, request: &Request) -> Answer<Reply> {
    let derived = file.derived()?;
    if let Some(reply) = derived.judged(request) {
        return Ok(reply);
    }
    let dataset = &derived.dataset;
    let header = dataset.header();
    let len: usize = header
        .variables
        .iter()
        .flat_map(|v| &v.attributes)
        .chain(&header.attributes)
        .map(|a| a.values.len())
        .sum();
    if len > VALUES_LEN {
        return Err(Failure::too_long(len as u64, VALUES_LEN as u64));
    }
    let info = Info::new(text::safe(&file.name), dataset)?;
    let mut found = Vec::new();
    let details = Details { attributes: Some(&attributes_json), ..Details::default() };
    let written = info.write_json(details, &mut found);
    written.map_err(|e| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
    let reply = Reply::whole(StatusCode::OK, "application/json", found.into());
    Ok(derived.validated(reply).with_ranges(false))
}
