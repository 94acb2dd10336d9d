//! Formats values as text, with the fewest digits that give the same number again.

use nc3z_format::NcType;
use nc3z_format::decode_value::{Number, Value};
use std::fmt::Write as _;

/// Appends one number, big-endian in `bytes`. Floats have a point or an exponent, so that they differ from
/// integers.
pub fn number(out: &mut String, ty: NcType, bytes: &[u8]) {
    // The same text as of `Value`, but faster: that way would take a tenth of the time of reading a variable
    // of floats.
    let _ = match stored(ty, bytes) {
        Value::Single(x) => write!(out, "{x:?}"),
        Value::Double(x) => write!(out, "{x:?}"),
        Value::Whole(n) => match i64::try_from(n) {
            Ok(n) => write!(out, "{n}"),
            Err(_) => write!(out, "{n}"),
        },
        value => write!(out, "{value}"),
    };
}

/// Returns a stored element.
fn stored(ty: NcType, bytes: &[u8]) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "it is stored as a float")]
    match (ty, Number::for_type(ty, bytes)) {
        (_, Number::Whole(n)) => Value::Whole(n),
        (NcType::Float, Number::Real(x)) => Value::Single(x as f32),
        (_, Number::Real(x)) => Value::Double(x),
    }
}

/// Appends one number as JSON. JSON has no infinities and NaN: `"NaN"`, `"inf"`, `"-inf"` are strings.
pub fn json_number(out: &mut String, ty: NcType, bytes: &[u8]) {
    let begin = out.len();
    number(out, ty, bytes);
    if out[begin..].ends_with(['N', 'f']) {
        out.insert(begin, '"');
        out.push('"');
    }
}

/// Appends a decoded value as JSON: `null` if it is missing, a string for a time.
pub(super) fn json_value(out: &mut String, value: Value) {
    let _ = match value {
        Value::Missing => write!(out, "null"),
        Value::Single(x) if x.is_infinite() => write!(out, "\"{x:?}\""),
        Value::Double(x) if x.is_infinite() => write!(out, "\"{x:?}\""),
        Value::Time(moment) => write!(out, "\"{}\"", moment.iso()),
        value => write!(out, "{value}"),
    };
}

/// Returns text without its trailing zero bytes. Bytes that are not UTF-8 become `\xff`.
pub(super) fn string(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
    let mut out = String::new();
    for chunk in bytes[..end].utf8_chunks() {
        out.push_str(chunk.valid());
        for b in chunk.invalid() {
            let _ = write!(out, "\\x{b:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(ty: NcType, bytes: &[u8]) -> (String, String) {
        let (mut plain, mut json) = (String::new(), String::new());
        number(&mut plain, ty, bytes);
        json_number(&mut json, ty, bytes);
        (plain, json)
    }

    #[test]
    fn floats_print_the_digits_that_give_them_back() {
        for x in [0.1_f32, 1.0, -0.0, 1e38, f32::MIN_POSITIVE, 16_777_216.0, 9.969_21e36] {
            let (plain, json) = text(NcType::Float, &x.to_be_bytes());
            assert_eq!(plain.parse::<f32>().unwrap().to_bits(), x.to_bits());
            assert_eq!(plain, json);
        }
        assert_eq!(text(NcType::Float, &0.1_f32.to_be_bytes()).0, "0.1");
        assert_eq!(text(NcType::Double, &1e300_f64.to_be_bytes()).0, "1e300");
        assert_eq!(text(NcType::Double, &f64::NAN.to_be_bytes()), ("NaN".into(), "\"NaN\"".into()));
        assert_eq!(text(NcType::Float, &f32::NEG_INFINITY.to_be_bytes()), ("-inf".into(), "\"-inf\"".into()));
    }

    #[test]
    fn integers_of_every_size() {
        assert_eq!(text(NcType::UInt64, &[0xff; 8]).1, "18446744073709551615");
        assert_eq!(text(NcType::Int64, &[0xff; 8]).0, "-1");
        assert_eq!(text(NcType::Byte, &[0x80]).0, "-128");
    }

    #[test]
    fn strings_lose_their_filling_only() {
        assert_eq!(string(b"ab\0c\0\0"), "ab\0c");
        assert_eq!(string(&[b'x', 0xff, 0]), "x\\xff");
        assert_eq!(string(&[0, 0]), "");
    }
}
