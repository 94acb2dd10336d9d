//! LZMA2 in Rust: decoding only.

use super::lzma2_len;
use crate::codec::stage::{Contexts, Stage};
use crate::error::{Error, Result};

/// Streams say their settings themselves, so a decoder has none.
pub(super) struct Decoder;

impl Stage for Decoder {
    fn decode_into(&self, input: &[u8], _: &mut Contexts, mut out: &mut [u8]) -> Result<()> {
        // The library holds all that was decoded: the chunks must not claim more than is expected.
        let claimed = lzma2_len(input).ok_or_else(|| wrong("content", "whole chunks", "a cut stream"))?;
        if claimed != out.len() as u64 {
            return Err(wrong("decoded length", out.len(), claimed));
        }
        let mut rest = input;
        lzma_rs::lzma2_decompress(&mut rest, &mut out)
            .map_err(|e| wrong("content", "an LZMA2 stream", format!("{e:?}")))?;
        if !out.is_empty() {
            return Err(wrong("decoded length", claimed, claimed - out.len() as u64));
        }
        Ok(())
    }
}

fn wrong(what: &'static str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
    Error::corrupt("LZMA2 stream", None, what, expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(all(feature = "lzma", feature = "encode"))]
    use crate::codec::Lzma;

    fn decoded(payload: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        Decoder.decode_into(payload, &mut Contexts::default(), &mut out).map(|()| out)
    }

    #[test]
    fn streams_that_numcodecs_wrote_are_read() {
        // numcodecs.LZMA(format=3, filters=[{"id":33,"dict_size":65536,"lc":3,"lp":0,"pb":2}]).encode(b"a" * 42)
        let letters = b"\xe0\x00\x29\x00\x06\x5d\x00\x30\xee\x2a\x00\x00\x00\x00";
        assert_eq!(decoded(letters, 42).map_err(|e| e.to_string()), Ok(vec![b'a'; 42]));
        assert_eq!(decoded(b"\0", 0).unwrap(), b"");
        assert!(decoded(letters, 41).is_err() && decoded(letters, 43).is_err());
        for cut in 0..letters.len() {
            assert!(decoded(&letters[..cut], 42).is_err(), "{cut}");
        }
        let mut flipped = letters.to_vec();
        for bit in 0..letters.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = decoded(&flipped, 42);
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[cfg(all(feature = "lzma", feature = "encode"))]
    #[test]
    fn what_the_c_library_writes_is_read() {
        let bytes: Vec<u8> =
            (0..300_000u32).flat_map(|i| (i.wrapping_mul(i) % 977 + (i >> 9)).to_be_bytes()).collect();
        let noise: Vec<u8> =
            (0..90_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        for bytes in [&bytes[..], &noise, &noise[..1], b""] {
            for size in [1, 2, 4, 8] {
                let mut payload = Vec::new();
                let lzma = Lzma::for_elements(size, 1 << 16);
                lzma.encode(bytes, &mut Contexts::default(), &mut payload).unwrap();
                assert!(decoded(&payload, bytes.len()).unwrap() == bytes, "{} by {size}", bytes.len());
            }
        }
    }
}
