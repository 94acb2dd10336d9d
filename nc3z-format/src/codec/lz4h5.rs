//! LZ4 in the framing of HDF5's filter 32004: big-endian lengths and separate blocks, unlike NumCodecs'
//! `lz4`.
//!
//! ```text
//! decoded length  u64 │ bytes of a block  u32 │ { length  u32, LZ4 block; or the bytes as they are, if the LZ4 block is not shorter } …
//! ```

use super::lz4::block_into;
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;

/// The default length of a block in bytes.
const DEFAULT_BLOCK: u32 = 1 << 30;
/// The longest block that LZ4 takes.
const MOST_BLOCK: u32 = 0x7E00_0000;
const HEADER: usize = 12;

pub(super) struct Lz4H5Kind;

impl StageKind for Lz4H5Kind {
    fn id(&self) -> &'static str {
        "lz4h5"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"lz4h5","blocksize":0}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [block] = spec.integers(["blocksize"]).ok_or(OTHER_KEYS)?;
        let block = u32::try_from(block).ok().filter(|n| *n <= MOST_BLOCK).ok_or(OTHER_KEYS)?;
        Ok(Box::new(Lz4H5(if block == 0 { DEFAULT_BLOCK } else { block })))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        Ok(spec.or_default("blocksize", 0))
    }
}

/// The codec, with the bytes of a block.
struct Lz4H5(
    #[cfg_attr(not(feature = "encode"), expect(dead_code, reason = "frames say it themselves"))] u32,
);

#[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
fn wrong(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::corrupt("HDF5's LZ4 frame", None, what, expected.to_string(), found.to_string())
}

/// Decoded length, bytes of a block, and the blocks.
fn header(input: &[u8]) -> Result<(u64, u32, &[u8])> {
    let Some((front, blocks)) = input.split_first_chunk::<HEADER>() else {
        return Err(wrong("length", format!("at least {HEADER} bytes"), input.len()));
    };
    let (len, block) = front.split_first_chunk::<8>().expect("twelve bytes");
    let block = u32::from_be_bytes(block.try_into().expect("the other four"));
    Ok((u64::from_be_bytes(*len), block, blocks))
}

fn decode(block: u32, blocks: &[u8], out: &mut [u8]) -> Result<()> {
    let room = out.len();
    let block = usize::try_from(block).ok().filter(|block| *block > 0 || room == 0);
    let block = block.ok_or_else(|| wrong("length of a block", "at least 1", 0))?;
    let mut rest = blocks;
    for part in out.chunks_mut(block.max(1)) {
        let Some((len, behind)) = rest.split_first_chunk::<4>() else {
            return Err(wrong("length", "another block", "the end"));
        };
        let len = u32::from_be_bytes(*len);
        let stored = usize::try_from(len).ok().and_then(|len| behind.split_at_checked(len));
        let (stored, behind) = stored.ok_or_else(|| wrong("length of a block", behind.len(), len))?;
        if stored.len() == part.len() {
            part.copy_from_slice(stored);
        } else {
            block_into(stored, part)?;
        }
        rest = behind;
    }
    if rest.is_empty() { Ok(()) } else { Err(wrong("bytes behind the last block", 0, rest.len())) }
}

impl Stage for Lz4H5 {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let block = u32::try_from(input.len()).map_or(self.0, |len| len.min(self.0)).max(1);
        out.extend_from_slice(&(input.len() as u64).to_be_bytes());
        out.extend_from_slice(&block.to_be_bytes());
        for part in input.chunks(usize::try_from(block).expect("at most the input or 2 GiB")) {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            super::lz4::append_block(part, out)?;
            if out.len() - at - 4 >= part.len() {
                out.truncate(at + 4);
                out.extend_from_slice(part);
            }
            let len = u32::try_from(out.len() - at - 4).expect("at most a block");
            out[at..at + 4].copy_from_slice(&len.to_be_bytes());
        }
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let (told, block, blocks) = header(input)?;
        if told != out.len() as u64 {
            return Err(wrong("decoded length in front", out.len(), told));
        }
        decode(block, blocks, out)
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let ((told, block, blocks), most) = (header(input)?, out.len());
        let room = usize::try_from(told).ok().and_then(|len| out.get_mut(..len));
        let room = room.ok_or_else(|| wrong("decoded length in front", format!("at most {most}"), told))?;
        decode(block, blocks, room)?;
        Ok(room.len())
    }
}
