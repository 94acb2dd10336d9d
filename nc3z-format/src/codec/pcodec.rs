//! NumCodecs' `pcodec`: the standalone format of the crate `pco`, over numbers and not bytes.
//!
//! Before this codec, the numbers of a tile are in big-endian order on every machine. The codec is therefore
//! the first in its chain, or after filters that keep elements whole.

use super::dtype::{Dtype, NumberClass, for_elements};
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use pco::data_types::Number;
use pco::standalone::{DecompressorItem, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};
use serde_json::Value;

/// The default number of numbers of a page.
const PAGE: u32 = 1 << 18;
const MAX_LEVEL: i64 = 12;

pub(super) struct PcodecKind;

impl StageKind for PcodecKind {
    fn id(&self) -> &'static str {
        "pcodec"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"pcodec","level":8,"mode_spec":"auto","delta_spec":"auto","paging_spec":"equal_pages_up_to","delta_encoding_order":null,"equal_pages_up_to":262144,"dtype":">f4"}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let dtype = Dtype::stored(spec, "dtype").filter(|dtype| dtype.size > 1).ok_or(OTHER_KEYS)?;
        let text = |key| spec.get(key).and_then(Value::as_str);
        let number = |key| spec.get(key).and_then(Value::as_i64);
        let level = number("level").filter(|level| (0..=MAX_LEVEL).contains(level)).ok_or(OTHER_KEYS)?;
        let level = usize::try_from(level).map_err(|_| OTHER_KEYS)?;
        let mode = match text("mode_spec") {
            Some("auto") => ModeSpec::Auto,
            Some("classic") => ModeSpec::Classic,
            _ => return Err(OTHER_KEYS.to_owned()),
        };
        let order = match spec.get("delta_encoding_order") {
            Some(Value::Null) => None,
            Some(order) => {
                let order = order.as_u64().filter(|order| *order <= 7).ok_or(OTHER_KEYS)?;
                Some(usize::try_from(order).map_err(|_| OTHER_KEYS)?)
            }
            None => return Err(OTHER_KEYS.to_owned()),
        };
        let delta = match (text("delta_spec"), order) {
            (Some("auto"), None) => DeltaSpec::Auto,
            // Before `delta_spec` existed, only the order was given.
            (Some("auto" | "try_consecutive"), Some(order)) => DeltaSpec::TryConsecutive(order),
            (Some("none"), None) => DeltaSpec::NoOp,
            (Some("try_lookback"), None) => DeltaSpec::TryLookback,
            _ => return Err(OTHER_KEYS.to_owned()),
        };
        let page = number("equal_pages_up_to").and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        let page = page.filter(|_| text("paging_spec") == Some("equal_pages_up_to")).ok_or(OTHER_KEYS)?;
        if spec.parameters().count() != 7 {
            return Err(OTHER_KEYS.to_owned());
        }
        let config = ChunkConfig::default()
            .with_compression_level(level)
            .with_mode_spec(mode)
            .with_delta_spec(delta)
            .with_paging_spec(PagingSpec::EqualPagesUpTo(page));
        Ok(match (dtype.kind, dtype.size) {
            (NumberClass::Signed, 2) => boxed::<i16>(dtype, config),
            (NumberClass::Signed, 4) => boxed::<i32>(dtype, config),
            (NumberClass::Signed, _) => boxed::<i64>(dtype, config),
            (NumberClass::Unsigned, 2) => boxed::<u16>(dtype, config),
            (NumberClass::Unsigned, 4) => boxed::<u32>(dtype, config),
            (NumberClass::Unsigned, _) => boxed::<u64>(dtype, config),
            (NumberClass::Float, 4) => boxed::<f32>(dtype, config),
            (NumberClass::Float, _) => boxed::<f64>(dtype, config),
        })
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        if ty.size() == 1 {
            return Err(format!("pcodec is for numbers of two bytes and more, not for {ty}"));
        }
        let spec = spec
            .or_default("level", 8)
            .or_default("mode_spec", "auto")
            .or_default("delta_spec", "auto")
            .or_default("paging_spec", "equal_pages_up_to")
            .or_default("delta_encoding_order", Value::Null)
            .or_default("equal_pages_up_to", PAGE);
        for_elements(spec, ty, false)
    }
}

/// A number of `pco`'s, by its bits.
trait Bits: Number {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($ty:ident $unsigned:ident;)*) => {
        $(impl Bits for $ty {
            fn from_bits(bits: u64) -> Self {
                let mask = u64::from($unsigned::MAX);
                $ty::from_le_bytes($unsigned::try_from(bits & mask).expect("masked").to_le_bytes())
            }
            fn bits(self) -> u64 {
                u64::from($unsigned::from_le_bytes(self.to_le_bytes()))
            }
        })*
    };
}
bits! { i16 u16; i32 u32; i64 u64; u16 u16; u32 u32; u64 u64; f32 u32; f64 u64; }

fn boxed<T: Bits + Send + Sync + 'static>(dtype: Dtype, config: ChunkConfig) -> Box<dyn Stage> {
    Box::new(Pcodec::<T> { dtype, config, numbers: std::marker::PhantomData })
}

/// The codec, for one type of numbers.
struct Pcodec<T> {
    dtype: Dtype,
    #[cfg_attr(not(feature = "encode"), expect(dead_code, reason = "only encoding needs it"))]
    config: ChunkConfig,
    numbers: std::marker::PhantomData<fn() -> T>,
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
fn wrong(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::corrupt("pcodec stream", None, what, expected.to_string(), found.to_string())
}

/// The number of numbers that the library decodes at a time: it reads whole batches, or to the end of a
/// chunk.
fn numbers_of<T: Bits>(input: &[u8], count: usize) -> Result<Vec<T>> {
    let broken = |e: pco::errors::PcoError| wrong("content", "a pcodec stream", e);
    let mut numbers = vec![T::from_bits(0); count];
    let (file, mut rest) = FileDecompressor::new(input).map_err(broken)?;
    let mut done = 0;
    loop {
        let mut chunk = match file.chunk_decompressor::<T, _>(rest).map_err(broken)? {
            DecompressorItem::Chunk(chunk) => chunk,
            DecompressorItem::EndOfData(behind) if !behind.is_empty() => {
                return Err(wrong("bytes behind the stream", 0, behind.len()));
            }
            DecompressorItem::EndOfData(_) if done != count => return Err(wrong("numbers", count, done)),
            DecompressorItem::EndOfData(_) => return Ok(numbers),
        };
        let room = chunk.n();
        let place = numbers.get_mut(done..).and_then(|left| left.get_mut(..room));
        let place = place.ok_or_else(|| wrong("numbers", count, format!("{done} and {room} more")))?;
        let progress = chunk.read(place).map_err(broken)?;
        if !progress.finished || progress.n_processed != room {
            return Err(wrong("numbers of a chunk", room, progress.n_processed));
        }
        done += room;
        rest = chunk.into_src();
    }
}

impl<T: Bits + Send + Sync + 'static> Stage for Pcodec<T> {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let size = self.dtype.size;
        if !input.len().is_multiple_of(size) {
            return Err(Error::invalid(format!(
                "pcodec: {} bytes are not whole numbers of {size}",
                input.len()
            )));
        }
        let numbers: Vec<T> =
            input.chunks_exact(size).map(|bytes| T::from_bits(self.dtype.bits(bytes))).collect();
        let stream = pco::standalone::simple_compress(&numbers, &self.config)
            .map_err(|e| Error::invalid(format!("pcodec: {e}")))?;
        out.extend_from_slice(&stream);
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let size = self.dtype.size;
        if !out.len().is_multiple_of(size) {
            return Err(wrong("decoded length", format!("a multiple of {size}"), out.len()));
        }
        let numbers = numbers_of::<T>(input, out.len() / size)?;
        for (number, bytes) in numbers.into_iter().zip(out.chunks_exact_mut(size)) {
            self.dtype.put_bits(number.bits(), bytes);
        }
        Ok(())
    }
}
