//! LZ4 as NumCodecs' `lz4` frames it: the decoded length (four bytes, little-endian), then one LZ4 block.

use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use lz4_flex::block::decompress_into;
#[cfg(feature = "encode")]
use lz4_flex::block::{compress_into, get_maximum_output_size};

/// Bytes of the length before the block.
const PREFIX: usize = 4;
/// The longest input that an LZ4 block may have.
#[cfg(feature = "encode")]
const MAX_INPUT: usize = 0x7E00_0000;

pub(super) struct Lz4Kind;

impl StageKind for Lz4Kind {
    fn id(&self) -> &'static str {
        "lz4"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"lz4","acceleration":1}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [acceleration] = spec.integers(["acceleration"]).ok_or(OTHER_KEYS)?;
        i32::try_from(acceleration).map_err(|_| OTHER_KEYS)?;
        Ok(Box::new(Lz4))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        Ok(spec.or_default("acceleration", 1))
    }
}

/// The codec. NumCodecs' `acceleration` steers other writers; this one has one speed.
struct Lz4;

impl Stage for Lz4 {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let len = u32::try_from(input.len()).map_err(|_| {
            Error::invalid(format!("lz4: {} bytes, a block has at most {MAX_INPUT}", input.len()))
        })?;
        out.extend_from_slice(&len.to_le_bytes());
        append_block(input, out)
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let (told, block) = prefixed(input)?;
        if u32::try_from(out.len()) != Ok(told) {
            return Err(wrong("decoded length in front", out.len(), told));
        }
        block_into(block, out)
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let (told, block) = prefixed(input)?;
        let most = out.len();
        let room = usize::try_from(told).ok().and_then(|len| out.get_mut(..len));
        let room = room.ok_or_else(|| wrong("decoded length in front", format!("at most {most}"), told))?;
        block_into(block, room)?;
        Ok(room.len())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
fn wrong(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::corrupt("lz4 block", None, what, expected.to_string(), found.to_string())
}

/// The decoded length and the block after it.
fn prefixed(input: &[u8]) -> Result<(u32, &[u8])> {
    let (prefix, block) = input
        .split_first_chunk::<PREFIX>()
        .ok_or_else(|| wrong("length", format!("at least {PREFIX} bytes"), input.len()))?;
    Ok((u32::from_le_bytes(*prefix), block))
}

/// Decodes one LZ4 block into exactly `out`.
pub(super) fn block_into(block: &[u8], out: &mut [u8]) -> Result<()> {
    let len = decompress_into(block, out).map_err(|e| wrong("content", "an LZ4 block", e))?;
    if len != out.len() {
        return Err(wrong("decoded length", out.len(), len));
    }
    Ok(())
}

/// Appends `input` as one LZ4 block.
#[cfg(feature = "encode")]
pub(super) fn append_block(input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if input.len() > MAX_INPUT {
        return Err(Error::invalid(format!("lz4: {} bytes, a block has at most {MAX_INPUT}", input.len())));
    }
    let at = out.len();
    out.resize(at + get_maximum_output_size(input.len()), 0);
    let stored = compress_into(input, &mut out[at..]).map_err(|e| Error::invalid(format!("lz4: {e}")))?;
    out.truncate(at + stored);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(payload: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        Lz4.decode_into(payload, &mut Contexts::default(), &mut out).map(|()| out)
    }

    #[test]
    fn blocks_that_numcodecs_wrote_are_read() {
        let letters = b"*\0\0\0\x1fa\x01\0\x11Paaaaa";
        assert_eq!(decoded(letters, 42).unwrap(), [b'a'; 42]);
        assert_eq!(decoded(&[0, 0, 0, 0, 0], 0).unwrap(), b"");
    }

    #[test]
    fn other_lengths_and_matches_before_the_beginning_are_errors() {
        let letters = b"*\0\0\0\x1fa\x01\0\x11Paaaaa";
        for n in 0..letters.len() {
            assert!(decoded(&letters[..n], 42).unwrap_err().is_corrupt(), "{n}");
        }
        assert!(decoded(letters, 41).is_err() && decoded(letters, 43).is_err());
        assert!(decoded(b"*\0\0\0\x1fa\x02\0\x11Paaaaa", 42).is_err(), "two bytes back of one");
        assert!(decoded(b"*\0\0\0\x1fa\0\0\x11Paaaaa", 42).is_err(), "no bytes back");
    }
}
