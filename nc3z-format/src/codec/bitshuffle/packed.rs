//! HDF5's filter 32008 with its own compression: blocks of bit-shuffled elements, each as one LZ4 block or zstd frame.
//!
//! ```text
//! decoded length  u64 BE │ bytes of a block  u32 BE │ { length  u32 BE, LZ4 block or zstd frame } … │ elements left over
//! ```

use super::{Bitshuffle, GROUP, MIN_BLOCK, bits_forward, bits_inverse};
use crate::codec::spec::StageSpec;
use crate::codec::stage::{Contexts, OTHER_KEYS, Stage};
use crate::error::{Error, Result};
use serde_json::Value;

/// The level where none is given: the filter's own.
pub(super) const ZSTD_LEVEL: i32 = 3;
const HEADER: usize = 12;

/// The codec that compresses the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    Lz4,
    Zstd(i32),
}

impl Inner {
    /// The codec that a stored object names.
    pub(super) fn new(spec: &StageSpec) -> Result<Option<Self>, String> {
        let level = spec.get("clevel");
        Ok(Some(match (spec.get("cname").map(Value::as_str), level) {
            (None, None) => return Ok(None),
            (Some(Some("lz4")), None) if cfg!(feature = "lz4") => Inner::Lz4,
            (Some(Some("zstd")), Some(level)) if cfg!(any(feature = "zstd", feature = "ruzstd")) => {
                Inner::Zstd(level.as_i64().and_then(|level| i32::try_from(level).ok()).ok_or(OTHER_KEYS)?)
            }
            _ => return Err(OTHER_KEYS.to_owned()),
        }))
    }

    fn decode(self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        match self {
            #[cfg(feature = "lz4")]
            Inner::Lz4 => crate::codec::lz4::block_into(input, out),
            #[cfg(any(feature = "zstd", feature = "ruzstd"))]
            Inner::Zstd(level) => crate::codec::zstd::Zstd(level).decode_into(input, contexts, out),
            // `of` refuses it.
            #[cfg(not(all(feature = "lz4", any(feature = "zstd", feature = "ruzstd"))))]
            _ => {
                let _ = (input, contexts, out);
                Err(Error::invalid("this build has no such codec"))
            }
        }
    }

    fn encode(self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        match self {
            #[cfg(all(feature = "lz4", feature = "encode"))]
            Inner::Lz4 => crate::codec::lz4::append_block(input, out),
            #[cfg(any(feature = "zstd", feature = "ruzstd"))]
            Inner::Zstd(level) => crate::codec::zstd::Zstd(level).encode(input, contexts, out),
            #[cfg(not(all(feature = "lz4", feature = "encode", any(feature = "zstd", feature = "ruzstd"))))]
            _ => {
                let _ = (input, contexts, out);
                Err(Error::invalid("this build decodes this codec, and does not encode it"))
            }
        }
    }
}

pub(super) struct Packed {
    pub(super) bits: Bitshuffle,
    pub(super) inner: Inner,
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
fn wrong(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::corrupt("bit-shuffled blocks", None, what, expected.to_string(), found.to_string())
}

/// A big-endian length of four bytes at the start, and the rest.
fn length(input: &[u8]) -> Result<(usize, &[u8])> {
    let (len, rest) =
        input.split_first_chunk::<4>().ok_or_else(|| wrong("length", "at least 4 bytes", input.len()))?;
    let len = u32::from_be_bytes(*len);
    let len = usize::try_from(len).map_err(|_| wrong("length of a block", "one of this machine", len))?;
    Ok((len, rest))
}

impl Packed {
    fn decode(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let size = self.bits.elementsize;
        let (block_len, mut rest) = length(input.get(8..).unwrap_or_default())?;
        // The frame has the length of its blocks; the parameters need not.
        let elements = block_len / size;
        if !block_len.is_multiple_of(size) || elements == 0 || !elements.is_multiple_of(GROUP) {
            return Err(wrong(
                "length of a block",
                format!("a multiple of {}", size.saturating_mul(GROUP)),
                block_len,
            ));
        }
        let whole = out.len() / size / GROUP * GROUP * size;
        let (blocks, tail) = out.split_at_mut(whole);
        let room = block_len.min(whole);
        let (mut rows, mut planes) = (vec![0; room], vec![0; room]);
        for block in blocks.chunks_mut(block_len) {
            let (len, behind) = length(rest)?;
            let (stored, behind) =
                behind.split_at_checked(len).ok_or_else(|| wrong("length of a block", behind.len(), len))?;
            let rows = &mut rows[..block.len()];
            self.inner.decode(stored, contexts, rows)?;
            bits_inverse(size, rows, &mut planes, block);
            rest = behind;
        }
        if rest.len() != tail.len() {
            return Err(wrong("bytes left over", tail.len(), rest.len()));
        }
        tail.copy_from_slice(rest);
        Ok(())
    }
}

/// The decoded length in the frame.
fn told(input: &[u8]) -> Result<u64> {
    let front = input.first_chunk::<8>().filter(|_| input.len() >= HEADER);
    let front = front.ok_or_else(|| wrong("length", format!("at least {HEADER} bytes"), input.len()))?;
    Ok(u64::from_be_bytes(*front))
}

impl Stage for Packed {
    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let size = self.bits.elementsize;
        let block_len = self.bits.block_len();
        let told = u32::try_from(block_len).map_err(|_| {
            Error::invalid(format!("bitshuffle: blocks of {block_len} bytes, they have less than 2^32"))
        })?;
        out.extend_from_slice(&(input.len() as u64).to_be_bytes());
        out.extend_from_slice(&told.to_be_bytes());
        let whole = input.len() / size / GROUP * GROUP * size;
        let (blocks, tail) = input.split_at(whole);
        let room = block_len.min(whole);
        let (mut rows, mut planes) = (vec![0; room], vec![0; room]);
        for block in blocks.chunks(block_len) {
            let rows = &mut rows[..block.len()];
            bits_forward(size, block, &mut planes, rows);
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            self.inner.encode(rows, contexts, out)?;
            let len = u32::try_from(out.len() - at - 4).expect("a little more than a block");
            out[at..at + 4].copy_from_slice(&len.to_be_bytes());
        }
        out.extend_from_slice(tail);
        Ok(())
    }

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let told = told(input)?;
        if told != out.len() as u64 {
            return Err(wrong("decoded length in front", out.len(), told));
        }
        self.decode(input, contexts, out)
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let (told, most) = (told(input)?, out.len());
        let room = usize::try_from(told).ok().and_then(|len| out.get_mut(..len));
        let room = room.ok_or_else(|| wrong("decoded length in front", format!("at most {most}"), told))?;
        self.decode(input, contexts, room)?;
        Ok(room.len())
    }
}

const _: () = assert!(MIN_BLOCK.is_multiple_of(GROUP), "blocks have whole groups");
