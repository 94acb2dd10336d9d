//! Metadata as JSON: what `nc3z info --json` writes, with the values of the attributes.

use crate::failure::{Answer, Failure};
use crate::reply::Reply;
use crate::request::Request;
use crate::site::{OpenFile, conditions};
use hyper::StatusCode;
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use serde_json::{Map, Value, json};

/// Attributes of variables at most; of more, names and types alone.
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
    found["attributes"] = attributes(&header.attributes);
    for (n, variable) in header.variables.iter().enumerate() {
        if let Some(place) = found.get_mut("variables").and_then(|all| all.get_mut(n)) {
            place["attribute_values"] = attributes(&variable.attributes);
        }
    }
    let reply = Reply::whole(StatusCode::OK, "application/json", found.to_string().into());
    Ok(file.validated(reply, &etag).with_ranges(false))
}

/// Attributes by name: text, a number, or an array of numbers.
pub(crate) fn attributes(attributes: &[Attribute]) -> Value {
    let mut map = Map::new();
    for attribute in attributes {
        map.insert(attribute.name_lossy().into_owned(), value(attribute.ty, &attribute.values));
    }
    map.into()
}

/// Values as JSON; one alone is no array. What JSON has no number for is text, as Zarr writes it.
pub(crate) fn value(ty: NcType, bytes: &[u8]) -> Value {
    if ty == NcType::Char {
        let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        return String::from_utf8_lossy(&bytes[..end]).into();
    }
    let mut values: Vec<Value> = bytes.chunks_exact(ty.size()).map(|b| number(ty, b)).collect();
    if values.len() == 1 { values.remove(0) } else { values.into() }
}

/// One big-endian number.
pub(crate) fn number(ty: NcType, b: &[u8]) -> Value {
    match (ty, b) {
        (NcType::Byte, &[a]) => a.cast_signed().into(),
        (NcType::UByte | NcType::Char, &[a]) => a.into(),
        (NcType::Short, &[a, b]) => i16::from_be_bytes([a, b]).into(),
        (NcType::UShort, &[a, b]) => u16::from_be_bytes([a, b]).into(),
        (NcType::Int, &[a, b, c, d]) => i32::from_be_bytes([a, b, c, d]).into(),
        (NcType::UInt, &[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]).into(),
        (NcType::Float, &[a, b, c, d]) => float(f64::from(f32::from_be_bytes([a, b, c, d]))),
        (NcType::Double, &[a, b, c, d, e, f, g, h]) => float(f64::from_be_bytes([a, b, c, d, e, f, g, h])),
        (NcType::Int64, &[a, b, c, d, e, f, g, h]) => i64::from_be_bytes([a, b, c, d, e, f, g, h]).into(),
        (NcType::UInt64, &[a, b, c, d, e, f, g, h]) => u64::from_be_bytes([a, b, c, d, e, f, g, h]).into(),
        _ => Value::Null,
    }
}

fn float(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else if value.is_nan() {
        "NaN".into()
    } else if value > 0.0 {
        "Infinity".into()
    } else {
        "-Infinity".into()
    }
}
