//! Metadata as JSON: the output of `nc3z info --json`, with the values of the attributes.

use crate::failure::{Answer, Failure};
use crate::files::{OpenFile, conditions};
use crate::reply::Reply;
use crate::request::Request;
use hyper::StatusCode;
use nc3z_format::coordinates::Direction;
use nc3z_zarr::attributes_json;

/// The maximal total length of the attributes in the JSON, in bytes.
const VALUES_LEN: usize = 16 << 20;

/// The JSON of a data set.
pub(crate) fn answer(file: &OpenFile, request: &Request) -> Answer<Reply> {
    let etag = file.derived_tag();
    if let Some(reply) = file.judged(&conditions(request), &etag) {
        return Ok(reply);
    }
    let dataset = file.dataset()?;
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
    let internal = |e: String| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, e);
    let mut found = (file.describe())(&file.name, &dataset).map_err(internal)?;
    found["attributes"] = attributes_json(&header.attributes);
    for (n, variable) in header.variables.iter().enumerate() {
        if let Some(place) = found.get_mut("variables").and_then(|all| all.get_mut(n)) {
            place["attribute_values"] = attributes_json(&variable.attributes);
            place["coordinate"] = Direction::name_of(variable).into();
        }
    }
    let reply = Reply::whole(StatusCode::OK, "application/json", found.to_string().into());
    Ok(file.validated(reply, &etag).with_ranges(false))
}
