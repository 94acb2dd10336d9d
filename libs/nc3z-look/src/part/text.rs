//! Numbers as DAP2 writes them.

use crate::print::number;
use nc3z_format::NcType;

/// Formats big-endian values as text that is parsed to the same values, in small letters.
pub fn numbers(ty: NcType, bytes: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| {
        let mut text = String::new();
        number(&mut text, ty, bytes);
        text.make_ascii_lowercase();
        text
    };
    bytes.chunks_exact(ty.size()).map(text).collect()
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
