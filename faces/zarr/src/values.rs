//! Writes types, attributes and fill values in the form of Zarr.

use base64::Engine as _;
use nc3z_format::classic::{Attribute, DimId, Header, Variable};
use nc3z_format::{NcType, with_type};
use serde_json::{Map, Value, json};

/// Returns the name of a type: big-endian, like tiles.
pub(crate) fn dtype(ty: NcType) -> &'static str {
    match ty {
        NcType::Byte => "|i1",
        NcType::Char => "|S1",
        NcType::Short => ">i2",
        NcType::Int => ">i4",
        NcType::Float => ">f4",
        NcType::Double => ">f8",
        NcType::UByte => "|u1",
        NcType::UShort => ">u2",
        NcType::UInt => ">u4",
        NcType::Int64 => ">i8",
        NcType::UInt64 => ">u8",
    }
}

/// Returns attributes by name. Of two with the same name, the first.
pub(crate) fn attributes(attributes: &[Attribute], but: Option<&str>) -> Map<String, Value> {
    let mut map = Map::new();
    for attribute in attributes {
        let name = attribute.name_lossy();
        if but != Some(&*name) && !map.contains_key(&*name) {
            map.insert(name.into_owned(), value(attribute));
        }
    }
    map
}

/// Returns attributes by name: text, a number, or a list of numbers. `NaN` and the infinities are texts.
pub fn attributes_json(list: &[Attribute]) -> Value {
    attributes(list, None).into()
}

/// Returns the value of missing elements, if the variable has one of its own type, otherwise null. In Zarr 2
/// it is stored next to the shape, and only there.
pub(crate) fn fill_value(variable: &Variable) -> Value {
    match own_fill(variable) {
        Some(a) if a.ty == NcType::Char => base64::engine::general_purpose::STANDARD.encode(&a.values).into(),
        Some(a) => value(a),
        None => Value::Null,
    }
}

/// Returns text, a number, or a list of numbers.
fn value(attribute: &Attribute) -> Value {
    if attribute.ty == NcType::Char {
        return String::from_utf8_lossy(&attribute.values).replace('\0', "").into();
    }
    let mut all: Vec<Value> =
        attribute.values.chunks_exact(attribute.ty.size()).map(|b| number(attribute.ty, b)).collect();
    if all.len() == 1 { all.pop().unwrap_or_default() } else { all.into() }
}

/// Converts a big-endian number. JSON uses text for NaN and infinities.
fn number(ty: NcType, bytes: &[u8]) -> Value {
    let float = |x: f64| match x {
        x if x.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        x => json!(x),
    };
    match ty {
        NcType::Float => bytes.try_into().map_or(Value::Null, |b| float(f32::from_be_bytes(b).into())),
        NcType::Double => bytes.try_into().map_or(Value::Null, |b| float(f64::from_be_bytes(b))),
        ty => with_type!(ty, T => bytes.try_into().map_or(Value::Null, |b| json!(T::from_be_bytes(b)))),
    }
}

/// Returns the attribute with the value of missing elements, if the variable has one of its own type with a
/// single element.
fn own_fill(variable: &Variable) -> Option<&Attribute> {
    let found = variable.attributes.iter().find(|a| a.name == b"_FillValue" && a.ty == variable.ty)?;
    (found.values.len() == found.ty.size()).then_some(found)
}

/// Names of a variable's dimensions.
pub(crate) fn dimensions(header: &Header, variable: &Variable) -> Vec<String> {
    let name = |d: &DimId| header.dimensions[d.index()].name_lossy().into_owned();
    variable.dimensions.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_words() {
        assert_eq!(number(NcType::Double, &f64::NAN.to_be_bytes()), "NaN");
        assert_eq!(number(NcType::Float, &f32::NEG_INFINITY.to_be_bytes()), "-Infinity");
        assert_eq!(number(NcType::Float, &0.5_f32.to_be_bytes()), 0.5);
        assert_eq!(number(NcType::Short, &[0xff, 0xfe]), -2);
    }
}
