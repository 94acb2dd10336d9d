//! Numbers as text.

use nc3z_format::NcType;

/// Formats big-endian values as text that is parsed to the same values.
pub fn numbers(ty: NcType, bytes: &[u8]) -> Vec<String> {
    bytes.chunks_exact(ty.size()).map(|bytes| number(ty, bytes)).collect()
}

fn number(ty: NcType, b: &[u8]) -> String {
    match (ty, b) {
        (NcType::Byte, &[a]) => a.cast_signed().to_string(),
        (NcType::UByte | NcType::Char, &[a]) => a.to_string(),
        (NcType::Short, &[a, b]) => i16::from_be_bytes([a, b]).to_string(),
        (NcType::UShort, &[a, b]) => u16::from_be_bytes([a, b]).to_string(),
        (NcType::Int, &[a, b, c, d]) => i32::from_be_bytes([a, b, c, d]).to_string(),
        (NcType::UInt, &[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]).to_string(),
        (NcType::Float, &[a, b, c, d]) => {
            let value = f32::from_be_bytes([a, b, c, d]);
            float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), format!("{value:?}"))
        }
        (NcType::Double, &[a, b, c, d, e, f, g, h]) => {
            let value = f64::from_be_bytes([a, b, c, d, e, f, g, h]);
            float(value.is_nan(), value.is_infinite(), value.is_sign_negative(), format!("{value:?}"))
        }
        (NcType::Int64, &[a, b, c, d, e, f, g, h]) => {
            i64::from_be_bytes([a, b, c, d, e, f, g, h]).to_string()
        }
        (NcType::UInt64, &[a, b, c, d, e, f, g, h]) => {
            u64::from_be_bytes([a, b, c, d, e, f, g, h]).to_string()
        }
        _ => String::new(),
    }
}

fn float(is_nan: bool, is_infinite: bool, is_negative: bool, text: String) -> String {
    match (is_nan, is_infinite, is_negative) {
        (true, _, _) => "nan".to_owned(),
        (_, true, false) => "inf".to_owned(),
        (_, true, true) => "-inf".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_gives_the_values_again() {
        assert_eq!(numbers(NcType::Byte, &[255, 1]), ["-1", "1"]);
        assert_eq!(numbers(NcType::Float, &1e-34_f32.to_be_bytes()), ["1e-34"]);
        assert_eq!(numbers(NcType::Double, &f64::NAN.to_be_bytes()), ["nan"]);
    }
}
