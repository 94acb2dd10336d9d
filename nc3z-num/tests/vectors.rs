//! The vectors of `spec/vectors`, one for each feature of the payload: each decodes to its recorded elements, and
//! no prefix of it decodes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use nc3z_num::{Dictionary, ElementType, Geometry, Scratch, Width, Word, convert, decode_against};
use serde_json::Value;

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn element_type(name: &str) -> ElementType {
    match name {
        "byte" => ElementType::I8,
        "short" => ElementType::I16,
        "ushort" => ElementType::U16,
        "float" => ElementType::F32,
        "double" => ElementType::F64,
        "int64" => ElementType::I64,
        other => panic!("type {other}"),
    }
}

fn patterns<W: Word>(values: &Value) -> Vec<W> {
    let values = values.as_array().unwrap().iter();
    values.map(|v| W::from_u64(u64::from_str_radix(&v.as_str().unwrap()[2..], 16).unwrap())).collect()
}

/// The reference's patterns as patterns of type `ty`.
fn reference<W: Word>(vector: &Value, ty: ElementType) -> Option<Vec<W>> {
    let other = Some(&vector["reference"]).filter(|other| !other.is_null())?;
    let (from, values) = (element_type(other["type"].as_str().unwrap()), &other["values"]);
    let converted = match from.size() {
        1 => convert::<u8, W>(&patterns(values), from, ty),
        2 => convert::<u16, W>(&patterns(values), from, ty),
        4 => convert::<u32, W>(&patterns(values), from, ty),
        _ => convert::<u64, W>(&patterns(values), from, ty),
    };
    Some(converted.unwrap())
}

fn check<W: Width>(vector: &Value, ty: ElementType) {
    let name = vector["name"].as_str().unwrap();
    let distances: Vec<u64> =
        vector["geometry"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let some = |n: u64| (n > 0).then_some(n);
    let geometry =
        Geometry { row: some(distances[0]), plane: some(distances[1]), volume: some(distances[2]) };
    let dictionary = Some(&vector["dictionary"]).filter(|d| !d.is_null());
    let dictionary = dictionary.map(|d| Dictionary::decode_definition(&bytes(d), ty).unwrap());
    let expected: Vec<W> = patterns(&vector["values"]);
    let (payload, other) = (bytes(&vector["payload"]), reference(vector, ty));
    let mut scratch = Scratch::default();
    let mut out = vec![W::default(); expected.len()];
    let mut decode = |payload: &[u8], out: &mut [W]| {
        decode_against(payload, ty, &geometry, dictionary.as_ref(), other.as_deref(), &mut scratch, out)
    };
    decode(&payload, &mut out).unwrap();
    assert_eq!(out, expected, "{name}");
    for len in 0..payload.len() {
        assert!(decode(&payload[..len], &mut out).is_err(), "{name}: the first {len} bytes");
    }
}

#[test]
fn vectors_of_every_feature_decode_to_what_they_say() {
    let text = include_str!("../../spec/vectors/num.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let vectors = vectors.as_array().unwrap();
    assert!(vectors.len() >= 15);
    for vector in vectors {
        assert!(!vector["proves"].as_str().unwrap().is_empty());
        let ty = element_type(vector["type"].as_str().unwrap());
        match ty.size() {
            1 => check::<u8>(vector, ty),
            2 => check::<u16>(vector, ty),
            4 => check::<u32>(vector, ty),
            _ => check::<u64>(vector, ty),
        }
    }
}
