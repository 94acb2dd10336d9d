//! One Blosc1 frame, as written by NumCodecs' `blosc` and HDF5's filter 32001.
//!
//! ```text
//! version u8 │ codec's version u8 │ flags u8 │ bytes of an element u8 │ decoded length u32 │ bytes of a block u32 │ frame u32
//! { begin of a block u32 } …  { { length u32, bytes of a split } … } …            (all of them little-endian)
//! ```
//! A block is shuffled, then cut into as many splits as an element has bytes, or kept whole. Each split is
//! compressed separately.

mod blosclz;
mod inner;

#[cfg(feature = "encode")]
use super::bitshuffle::bits_forward;
use super::bitshuffle::bits_inverse;
#[cfg(feature = "encode")]
use super::shuffle::forward;
use super::shuffle::inverse;
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use inner::Inner;
use serde_json::Value;

const HEADER: usize = 16;
const VERSION: u8 = 2;
const CODEC_VERSION: u8 = 1;
const BYTE_SHUFFLE: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const WHOLE: u8 = 0x10;
/// Blocks are split if elements have at most `MOST_SPLITS` bytes and splits have at least `LEAST_SPLIT`
/// bytes.
const MOST_SPLITS: usize = 16;
const LEAST_SPLIT: usize = 128;
/// Frames of less are stored.
#[cfg(feature = "encode")]
const LEAST_FRAME: usize = 128;
/// NumCodecs' number for a shuffle that is chosen by the element size.
const AUTO_SHUFFLE: i64 = -1;

pub(super) struct BloscKind;

impl StageKind for BloscKind {
    fn id(&self) -> &'static str {
        "blosc"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0,"typesize":4}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let inner = spec
            .get("cname")
            .and_then(Value::as_str)
            .and_then(Inner::named)
            .ok_or_else(|| format!("cname is one of {}", Inner::NAMES.join(", ")))?;
        let plain = spec.clone().without("cname");
        let [level, shuffle, blocksize, typesize] =
            plain.integers(["clevel", "shuffle", "blocksize", "typesize"]).ok_or(OTHER_KEYS)?;
        let within =
            |value: i64, most: usize| usize::try_from(value).ok().filter(|n| *n <= most).ok_or(OTHER_KEYS);
        Ok(Box::new(Blosc {
            inner,
            level: within(level, 9)?,
            shuffle: [Shuffle::None, Shuffle::Bytes, Shuffle::Bits][within(shuffle, 2)?],
            blocksize: within(blocksize, 1 << 30)?,
            // Longer elements are bytes to Blosc.
            typesize: match within(typesize, 1 << 30)? {
                0 => return Err(OTHER_KEYS.to_owned()),
                size => u8::try_from(size).unwrap_or(1),
            },
        }))
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        let size = ty.size();
        let spec = match spec.get("typesize").map(Value::as_u64) {
            Some(Some(given)) if given != 0 && given != size as u64 => {
                return Err(format!(
                    "blosc with typesize {given}, but the elements have {size} bytes; leave typesize out"
                ));
            }
            _ => spec.with("typesize", size),
        };
        let spec = spec.or_default("cname", "lz4").or_default("clevel", 5).or_default("blocksize", 0);
        // As in NumCodecs: bits for bytes, bytes for everything else.
        Ok(match spec.get("shuffle").map(Value::as_i64) {
            None => spec.with("shuffle", 1),
            Some(Some(AUTO_SHUFFLE)) => spec.with("shuffle", if size == 1 { 2 } else { 1 }),
            Some(None) => match spec.get("shuffle").and_then(Value::as_str) {
                Some("noshuffle") => spec.with("shuffle", 0),
                Some("shuffle") => spec.with("shuffle", 1),
                Some("bitshuffle") => spec.with("shuffle", 2),
                _ => spec,
            },
            Some(Some(_)) => spec,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shuffle {
    None,
    Bytes,
    Bits,
}

/// The codec's settings. Only encoding needs them, since each frame stores its settings.
#[cfg_attr(not(feature = "encode"), expect(dead_code, reason = "only encoding needs it"))]
struct Blosc {
    inner: Inner,
    level: usize,
    shuffle: Shuffle,
    blocksize: usize,
    typesize: u8,
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
fn wrong(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::corrupt("Blosc frame", None, what, expected.to_string(), found.to_string())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A header that was checked.
struct Frame<'a> {
    all: &'a [u8],
    flags: u8,
    typesize: usize,
    decoded_len: usize,
    block_len: usize,
}

impl<'a> Frame<'a> {
    fn parse(all: &'a [u8]) -> Result<Self> {
        let field = |at| word(all, at).and_then(|n| usize::try_from(n).ok());
        let (Some(&[version, codec_version, flags, typesize]), Some(decoded_len), Some(block_len), Some(len)) =
            (all.first_chunk(), field(4), field(8), field(12))
        else {
            return Err(wrong("length", format!("at least {HEADER} bytes"), all.len()));
        };
        if version == 0 || version > VERSION || codec_version != CODEC_VERSION {
            return Err(wrong(
                "version",
                format!("{VERSION}.{CODEC_VERSION}"),
                format!("{version}.{codec_version}"),
            ));
        }
        if len != all.len() {
            return Err(wrong("length", all.len(), len));
        }
        let typesize = usize::from(typesize);
        if typesize == 0 || (decoded_len > 0 && (block_len == 0 || block_len > decoded_len)) {
            return Err(wrong(
                "sizes",
                "those of elements, block and frame",
                format!("{typesize}, {block_len}, {decoded_len}"),
            ));
        }
        Ok(Frame { all, flags, typesize, decoded_len, block_len })
    }

    fn decode(&self, contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if self.decoded_len == 0 {
            return if self.all.len() == HEADER {
                Ok(())
            } else {
                Err(wrong("length", HEADER, self.all.len()))
            };
        }
        if self.flags & STORED != 0 {
            let stored = &self.all[HEADER..];
            if stored.len() != out.len() {
                return Err(wrong("stored bytes", out.len(), stored.len()));
            }
            out.copy_from_slice(stored);
            return Ok(());
        }
        let inner =
            Inner::of_format(self.flags >> 5).ok_or_else(|| wrong("codec", "0 to 4", self.flags >> 5))?;
        let (mut turned, mut planes) = (vec![0; self.block_len], vec![0; self.block_len]);
        for (number, block) in out.chunks_mut(self.block_len).enumerate() {
            let begin = word(self.all, HEADER + 4 * number).and_then(|n| usize::try_from(n).ok());
            let stored = begin.and_then(|begin| self.all.get(begin..));
            let stored = stored.ok_or_else(|| wrong("begin of a block", "one inside", number))?;
            let turned = &mut turned[..block.len()];
            self.splits(inner, stored, contexts, turned)?;
            self.unshuffle(turned, &mut planes, block);
        }
        Ok(())
    }

    fn splits(&self, inner: Inner, stored: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let is_last = out.len() < self.block_len;
        let is_split = self.flags & WHOLE == 0
            && self.typesize <= MOST_SPLITS
            && out.len() / self.typesize >= LEAST_SPLIT
            && !is_last;
        let len = if is_split { out.len() / self.typesize } else { out.len() };
        if !out.len().is_multiple_of(len.max(1)) {
            return Err(wrong("bytes of a block", format!("a multiple of {}", self.typesize), out.len()));
        }
        let mut rest = stored;
        for split in out.chunks_exact_mut(len.max(1)) {
            let packed = word(rest, 0)
                .and_then(|n| usize::try_from(n).ok())
                .and_then(|n| rest.get(4..)?.split_at_checked(n));
            let (packed, behind) =
                packed.ok_or_else(|| wrong("length of a split", "bytes of the frame", "more"))?;
            if packed.len() == split.len() {
                split.copy_from_slice(packed);
            } else {
                inner.decode(packed, contexts, split)?;
            }
            rest = behind;
        }
        Ok(())
    }

    fn unshuffle(&self, turned: &[u8], planes: &mut [u8], out: &mut [u8]) {
        let size = self.typesize;
        if self.flags & BYTE_SHUFFLE != 0 {
            inverse(size, turned, out);
        } else if self.flags & BIT_SHUFFLE != 0 && (out.len() / size).is_multiple_of(8) {
            let whole = out.len() / size * size;
            bits_inverse(size, &turned[..whole], planes, &mut out[..whole]);
            out[whole..].copy_from_slice(&turned[whole..]);
        } else {
            out.copy_from_slice(turned);
        }
    }
}

impl Stage for Blosc {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let begin = out.len();
        self.encode_blocks(input, contexts, out)?;
        if out.len() - begin < HEADER + input.len() {
            return Ok(());
        }
        // No smaller than it is.
        out.truncate(begin);
        self.header(input.len(), input.len(), STORED, out)?;
        out.extend_from_slice(input);
        finish(begin, out)
    }

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let frame = Frame::parse(input)?;
        if frame.decoded_len != out.len() {
            return Err(wrong("decoded length", out.len(), frame.decoded_len));
        }
        frame.decode(contexts, out)
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let (frame, most) = (Frame::parse(input)?, out.len());
        let room = out.get_mut(..frame.decoded_len);
        let room =
            room.ok_or_else(|| wrong("decoded length", format!("at most {most}"), frame.decoded_len))?;
        frame.decode(contexts, room)?;
        Ok(room.len())
    }
}

/// Writes the frame's own length into its header.
#[cfg(feature = "encode")]
fn finish(begin: usize, out: &mut [u8]) -> Result<()> {
    let len = u32::try_from(out.len() - begin)
        .map_err(|_| Error::invalid("blosc: a frame has less than 2^32 bytes"))?;
    out[begin + 12..begin + HEADER].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

#[cfg(feature = "encode")]
impl Blosc {
    /// Bytes of a block: at most the input's, and whole elements unless the input is shorter than one. Bytes
    /// of an incomplete element are a separate block, as in c-blosc.
    fn block_len(&self, len: usize) -> usize {
        let size = usize::from(self.typesize);
        let wanted = match self.blocksize {
            0 => self.inner.block_len(self.level),
            n => n,
        };
        // Bits are shuffled by eights of elements.
        let unit = if self.shuffle == Shuffle::Bits { size * 8 } else { size };
        let most = (wanted / unit * unit).max(unit).min(len);
        if most > size { most / size * size } else { most }
    }

    fn header(&self, len: usize, block_len: usize, flags: u8, out: &mut Vec<u8>) -> Result<()> {
        let told = |n: usize| {
            u32::try_from(n)
                .ok()
                .filter(|n| *n <= i32::MAX.cast_unsigned())
                .ok_or_else(|| Error::invalid(format!("blosc: {n} bytes, a frame has at most 2^31")))
        };
        let shuffled = match self.shuffle {
            Shuffle::None => 0,
            Shuffle::Bytes => BYTE_SHUFFLE,
            Shuffle::Bits => BIT_SHUFFLE,
        };
        out.extend_from_slice(&[
            VERSION,
            CODEC_VERSION,
            flags | shuffled | self.inner.format() << 5,
            self.typesize,
        ]);
        out.extend_from_slice(&told(len)?.to_le_bytes());
        out.extend_from_slice(&told(block_len)?.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        if len == 0 {
            let begin = out.len() - HEADER;
            finish(begin, out)?;
        }
        Ok(())
    }

    fn encode_blocks(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let begin = out.len();
        let size = usize::from(self.typesize);
        let block_len = self.block_len(input.len());
        let is_split = self.inner.splits() && size <= MOST_SPLITS && block_len / size >= LEAST_SPLIT;
        if input.len() < LEAST_FRAME || self.level == 0 {
            self.header(input.len(), block_len, STORED, out)?;
            out.extend_from_slice(input);
            return finish(begin, out);
        }
        self.header(input.len(), block_len, if is_split { 0 } else { WHOLE }, out)?;
        let starts = out.len();
        out.resize(starts + 4 * input.len().div_ceil(block_len), 0);
        let (mut turned, mut planes, mut packed) = (vec![0; block_len], vec![0; block_len], Vec::new());
        for (number, block) in input.chunks(block_len).enumerate() {
            let start = u32::try_from(out.len() - begin)
                .map_err(|_| Error::invalid("blosc: a frame has less than 2^32 bytes"))?;
            out[starts + 4 * number..][..4].copy_from_slice(&start.to_le_bytes());
            let turned = &mut turned[..block.len()];
            match self.shuffle {
                Shuffle::Bytes => forward(size, block, turned),
                Shuffle::Bits if (block.len() / size).is_multiple_of(8) => {
                    let whole = block.len() / size * size;
                    bits_forward(size, &block[..whole], &mut planes, &mut turned[..whole]);
                    turned[whole..].copy_from_slice(&block[whole..]);
                }
                _ => turned.copy_from_slice(block),
            }
            let splits = if is_split && block.len() == block_len { size } else { 1 };
            for split in turned.chunks(block.len() / splits) {
                packed.clear();
                self.inner.encode(self.level, split, contexts, &mut packed)?;
                let bytes = if packed.len() < split.len() { &packed[..] } else { split };
                let len = u32::try_from(bytes.len()).expect("at most a block");
                out.extend_from_slice(&len.to_le_bytes());
                out.extend_from_slice(bytes);
            }
        }
        finish(begin, out)
    }
}
