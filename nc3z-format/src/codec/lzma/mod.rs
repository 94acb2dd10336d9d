//! One raw LZMA2 stream, as written by NumCodecs' `lzma` with `"format":3` (no container, no checksum of its
//! own).
//!
//! It serves tables, text and other values that recur instead of varying smoothly. It compresses these better
//! than all other codecs here, and decodes at a tenth of their speed.
//!
//! Uses liblzma, a C library (feature `lzma`), otherwise decodes in Rust (feature `lzma-rs`).

#[cfg(feature = "lzma")]
mod native;
#[cfg(all(feature = "lzma-rs", any(test, not(feature = "lzma"))))]
mod pure;

use super::spec::{ChainSpec, StageSpec};
#[cfg(any(feature = "lzma", feature = "lzma-rs"))]
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::bytes::reserve;
use crate::error::{Error, Result};
#[cfg(all(feature = "lzma", feature = "encode"))]
pub use native::{encode_lzma, lzma_shares};
use serde_json::{Value, json};

/// The choices of the encoder. Decoders need none of them: LZMA2 stores its properties, and no distance goes beyond the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lzma {
    /// Bytes that are searched back, from [`Lzma::LEAST_DICT`] to [`Lzma::MOST_DICT`].
    pub dict_size: u32,
    /// The number of high bits of the previous byte in the context of a literal.
    pub lc: u32,
    /// The number of low bits of the position in the context of a literal: `lc + lp` is at most 4.
    pub lp: u32,
    /// The number of low bits of the position in all other contexts, at most 4.
    pub pb: u32,
}

const ID: &str = "lzma";
const SECTION: &str = "LZMA2 stream";
/// NumCodecs' and liblzma's number of a stream without container, and of the LZMA2 filter.
const FORMAT_RAW: i64 = 3;
const FILTER_LZMA2: i64 = 33;

impl Lzma {
    /// The smallest dictionary there is.
    pub const LEAST_DICT: u32 = 4 << 10;
    /// The largest dictionary of a chain, in bytes.
    pub const MOST_DICT: u32 = 64 << 20;

    /// Settings for elements of `size` bytes: contexts use the byte's position in its element. For single
    /// bytes, the settings of text.
    #[must_use]
    pub const fn for_elements(size: usize, dict_size: u32) -> Self {
        let align = match size {
            1 => return Lzma { dict_size, lc: 3, lp: 0, pb: 0 },
            2 => 1,
            4 => 2,
            _ => 3,
        };
        Lzma { dict_size, lc: 4 - align, lp: align, pb: align }
    }

    /// Returns candidates with the same dictionary and other contexts, which give smaller tiles now and then.
    #[must_use]
    pub const fn rivals(self) -> [Self; 2] {
        [Lzma { lc: 0, ..self }, Lzma { lc: 3, lp: 0, ..self }]
    }

    /// The settings of a stored stage; `None` where its keys are others, which may mean something else.
    pub fn from_spec(spec: &StageSpec) -> Option<Self> {
        let filter = spec.get("filters")?.as_array().filter(|f| f.len() == 1)?[0].as_object()?;
        let number = |key: &str| filter.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok());
        let found =
            Lzma { dict_size: number("dict_size")?, lc: number("lc")?, lp: number("lp")?, pb: number("pb")? };
        let allowed = (Self::LEAST_DICT..=Self::MOST_DICT).contains(&found.dict_size)
            && found.lc.checked_add(found.lp).is_some_and(|sum| sum <= 4)
            && found.pb <= 4;
        (allowed && *spec == found.into()).then_some(found)
    }
}

impl From<Lzma> for StageSpec {
    fn from(lzma: Lzma) -> Self {
        let Lzma { dict_size, lc, lp, pb } = lzma;
        let filter = json!({"dict_size": dict_size, "id": FILTER_LZMA2, "lc": lc, "lp": lp, "pb": pb});
        let keys = [
            ("check", json!(-1)),
            ("filters", json!([filter])),
            ("format", json!(FORMAT_RAW)),
            ("preset", Value::Null),
        ];
        StageSpec::new(ID, keys)
    }
}

impl ChainSpec {
    /// The settings of LZMA, if the chain is only LZMA.
    pub fn as_lzma(&self) -> Option<Lzma> {
        match &self.0[..] {
            [stage] => Lzma::from_spec(stage),
            _ => None,
        }
    }
}

/// How long the content of a stream is by what its chunks claim; `None` where the last one does not end with the input.
pub fn lzma2_len(mut input: &[u8]) -> Option<u64> {
    let mut total = 0;
    loop {
        let (&[control], rest) = input.split_first_chunk()?;
        if control == 0 {
            return rest.is_empty().then_some(total);
        }
        let (&[high, low], rest) = rest.split_first_chunk()?;
        let len = u64::from(u16::from_be_bytes([high, low])) + 1;
        let (claimed, stored, rest) = match control {
            0x80.. => {
                let (&[high, low], rest) = rest.split_first_chunk()?;
                let properties = usize::from(control >> 5 & 3 >= 2);
                let stored = usize::from(u16::from_be_bytes([high, low])) + 1 + properties;
                (u64::from(control & 0x1F) << 16 | (len - 1), stored, rest)
            }
            1 | 2 => (len - 1, usize::try_from(len).ok()?, rest),
            _ => return None,
        };
        total += claimed + 1;
        input = rest.get(stored..)?;
    }
}

/// Returns whether bytes that are a zstd frame or an LZMA2 stream are the latter, by their first byte.
pub fn is_lzma2(input: &[u8]) -> bool {
    // The first chunk of a stream is stored, or it resets everything.
    matches!(input.first(), Some(1 | 0xE0..))
}

/// Decodes one LZMA2 stream of at most `limit` bytes. The chunks of the stream store its length.
///
/// # Errors
/// Damage; a longer stream; a build without LZMA.
pub fn decode_lzma(input: &[u8], limit: u64) -> Result<Vec<u8>> {
    let claimed = lzma2_len(input)
        .ok_or_else(|| Error::corrupt(SECTION, None, "content", "whole chunks", "a cut stream"))?;
    let len = usize::try_from(claimed).ok().filter(|_| claimed <= limit);
    let len = len.ok_or_else(|| Error::limit(SECTION, None, "decoded length", limit, claimed))?;
    let mut out = Vec::new();
    reserve(&mut out, SECTION, "decoded length in memory", len)?;
    out.resize(len, 0);
    decode_into(input, &mut out)?;
    Ok(out)
}

#[cfg(any(feature = "lzma", feature = "lzma-rs"))]
fn decode_into(input: &[u8], out: &mut [u8]) -> Result<()> {
    #[cfg(feature = "lzma")]
    let decoder = Lzma::for_elements(1, Lzma::LEAST_DICT);
    #[cfg(not(feature = "lzma"))]
    let decoder = pure::Decoder;
    decoder.decode_into(input, &mut Contexts::default(), out)
}

#[cfg(not(any(feature = "lzma", feature = "lzma-rs")))]
fn decode_into(_: &[u8], _: &mut [u8]) -> Result<()> {
    Err(Error::unsupported(
        SECTION,
        None,
        "this build of nc3z-format was made without the features lzma and lzma-rs",
    ))
}

#[cfg(any(feature = "lzma", feature = "lzma-rs"))]
pub(super) struct LzmaKind;

#[cfg(any(feature = "lzma", feature = "lzma-rs"))]
impl StageKind for LzmaKind {
    fn id(&self) -> &'static str {
        ID
    }

    fn example(&self) -> &'static str {
        r#"{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":1048576,"lc":2,"lp":2,"pb":2}]}"#
    }

    fn bind(&self, spec: &StageSpec) -> std::result::Result<Box<dyn Stage>, String> {
        let lzma = Lzma::from_spec(spec).ok_or(OTHER_KEYS)?;
        #[cfg(feature = "lzma")]
        return Ok(Box::new(lzma));
        #[cfg(not(feature = "lzma"))]
        return {
            // Streams say their settings themselves.
            let _ = lzma;
            Ok(Box::new(pure::Decoder))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Lzma = Lzma::for_elements(1, 1 << 20);

    #[test]
    #[cfg(any(feature = "lzma", feature = "lzma-rs"))]
    fn a_stream_says_its_length_and_is_told_from_a_zstd_frame() {
        let letters = b"\xe0\x00\x29\x00\x06\x5d\x00\x30\xee\x2a\x00\x00\x00\x00";
        assert!(is_lzma2(letters) && is_lzma2(b"\x01") && !is_lzma2(b"\x28\xb5\x2f\xfd") && !is_lzma2(b""));
        assert_eq!(decode_lzma(letters, 42).map_err(|e| e.to_string()), Ok(vec![b'a'; 42]));
        assert!(decode_lzma(letters, 41).unwrap_err().to_string().contains("limit"));
        for cut in 0..letters.len() {
            assert!(decode_lzma(&letters[..cut], 42).unwrap_err().is_corrupt(), "{cut}");
        }
    }

    #[test]
    fn other_keys_are_not_this_codec() {
        assert_eq!(Lzma::from_spec(&TEXT.into()), Some(TEXT));
        for odd in [
            Lzma { dict_size: 0, ..TEXT },
            Lzma { dict_size: Lzma::MOST_DICT + 1, ..TEXT },
            Lzma { lp: 2, ..TEXT },
            Lzma { pb: 5, ..TEXT },
        ] {
            assert_eq!(Lzma::from_spec(&odd.into()), None, "{odd:?}");
        }
        for (key, value) in
            [("format", json!(1)), ("preset", json!(6)), ("check", json!(4)), ("more", json!(0))]
        {
            let mut object = StageSpec::from(TEXT).to_value();
            object[key] = value;
            assert_eq!(Lzma::from_spec(&StageSpec::from_value(object).unwrap()), None, "{key}");
        }
    }
}
