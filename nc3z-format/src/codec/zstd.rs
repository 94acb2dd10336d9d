//! One zstd frame (RFC 8878), with its content size, without a checksum of its own.

use super::registry::{ByteStage, Contexts as AllContexts};
use crate::bytes::reserve;
use crate::error::{Error, Result};
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe;

/// The codec, with the level it writes at.
pub(super) struct Zstd(pub(super) i32);

/// Compression and decompression contexts, made when first needed.
#[derive(Default)]
pub(super) struct Contexts {
    compressor: Option<(i32, Compressor<'static>)>,
    decompressor: Option<Decompressor<'static>>,
    /// One with a dictionary, and the dictionary's id.
    informed: Option<(u32, Decompressor<'static>)>,
}

impl Contexts {
    fn decompressor(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
    ) -> std::io::Result<&mut Decompressor<'static>> {
        let Some(dictionary) = dictionary else {
            return Ok(match &mut self.decompressor {
                Some(d) => d,
                none => none.insert(Decompressor::new()?),
            });
        };
        if self.informed.as_ref().is_none_or(|(id, _)| *id != dictionary.id) {
            let made = Decompressor::with_prepared_dictionary(dictionary.decoder())?;
            self.informed = Some((dictionary.id, made));
        }
        Ok(&mut self.informed.as_mut().expect("made just now").1)
    }
}

const SECTION: &str = "zstd frame";

impl ByteStage for Zstd {
    fn encode(&self, input: &[u8], contexts: &mut AllContexts, out: &mut Vec<u8>) -> Result<()> {
        let refused = |e: std::io::Error| Error::invalid(format!("zstd: {e}"));
        let level = self.0;
        let contexts = &mut contexts.zstd;
        if contexts.compressor.as_ref().is_none_or(|(l, _)| *l != level) {
            contexts.compressor = Some((level, Compressor::new(level).map_err(refused)?));
        }
        let (_, compressor) = contexts.compressor.as_mut().expect("made just now");
        let at = out.len();
        out.resize(at + zstd_safe::compress_bound(input.len()), 0);
        let len = compressor.compress_to_buffer(input, &mut out[at..]).map_err(refused)?;
        out.truncate(at + len);
        Ok(())
    }

    fn decode_into(&self, input: &[u8], contexts: &mut AllContexts, out: &mut [u8]) -> Result<()> {
        if let Some(size) = check_frame(input)?
            && size != out.len() as u64
        {
            return Err(Error::corrupt(SECTION, None, "content size", out.len(), size));
        }
        let expected = out.len();
        decompress(&mut contexts.zstd, None, input, out, expected)
    }

    fn keeps_length(&self) -> bool {
        false
    }
}

/// Decodes a frame that was checked into exactly `expected` bytes of `out`, which has room for as many. In one call and straight
/// into `out`: no window is ever allocated, whatever size the frame asks for.
fn decompress(
    contexts: &mut Contexts,
    dictionary: Option<&'static ZstdDictionary>,
    input: &[u8],
    out: &mut (impl zstd_safe::WriteBuf + ?Sized),
    expected: usize,
) -> Result<()> {
    let wrong = |e: std::io::Error| Error::corrupt(SECTION, None, "content", "a zstd frame", e);
    let decompressor = contexts.decompressor(dictionary).map_err(wrong)?;
    let len = decompressor.decompress_to_buffer(input, out).map_err(wrong)?;
    if len != expected {
        return Err(Error::corrupt(SECTION, None, "decoded length", expected, len));
    }
    Ok(())
}

/// The most bytes that a block of a frame holds, and the fewest that a block which holds any takes.
const BLOCK_MOST: u64 = 128 << 10;
const BLOCK_LEAST: u64 = 4;

/// Checks that the input is one frame, not a skippable one, with nothing behind it; gives its content size if it says one, and
/// that is one it can have.
fn check_frame(input: &[u8]) -> Result<Option<u64>> {
    if input.get(..4) != Some(&[0x28, 0xB5, 0x2F, 0xFD]) {
        return Err(Error::corrupt(SECTION, None, "magic", "28 b5 2f fd", "another"));
    }
    let len = zstd_safe::find_frame_compressed_size(input).map_err(|code| {
        Error::corrupt(SECTION, None, "content", "a zstd frame", zstd_safe::get_error_name(code))
    })?;
    if len != input.len() {
        return Err(Error::corrupt(SECTION, None, "length of the frame", input.len(), len));
    }
    let size = zstd_safe::get_frame_content_size(input)
        .map_err(|_| Error::corrupt(SECTION, None, "content size", "a readable one", "damaged"))?;
    let most = input.len() as u64 / BLOCK_LEAST * BLOCK_MOST;
    match size {
        Some(size) if size > most => {
            let expected = format!("at most {most} in a frame of {} bytes", input.len());
            Err(Error::corrupt(SECTION, None, "content size", expected, size))
        }
        size => Ok(size),
    }
}

/// One frame.
///
/// # Errors
/// zstd's refusal, which would be a lack of memory.
pub fn encode_zstd_frame(decoded: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Zstd(level).encode(decoded, &mut AllContexts::default(), &mut out)?;
    out.shrink_to_fit();
    Ok(out)
}

/// A dictionary in zstd's own format, and what of it is made when first needed.
pub struct ZstdDictionary {
    id: u32,
    bytes: &'static [u8],
    level: i32,
    decoder: OnceLock<DecoderDictionary<'static>>,
    encoder: OnceLock<EncoderDictionary<'static>>,
}

impl ZstdDictionary {
    /// The dictionary `bytes`, whose id is `id`, for frames of this level.
    #[must_use]
    pub const fn new(id: u32, bytes: &'static [u8], level: i32) -> Self {
        Self { id, bytes, level, decoder: OnceLock::new(), encoder: OnceLock::new() }
    }

    /// The dictionary itself.
    #[must_use]
    pub const fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    fn decoder(&self) -> &DecoderDictionary<'static> {
        self.decoder.get_or_init(|| DecoderDictionary::copy(self.bytes))
    }

    fn encoder(&self) -> &EncoderDictionary<'static> {
        self.encoder.get_or_init(|| EncoderDictionary::copy(self.bytes, self.level))
    }
}

/// One frame that needs the dictionary.
///
/// # Errors
/// zstd's refusal, which would be a lack of memory.
pub fn encode_zstd_frame_with(dictionary: &ZstdDictionary, decoded: &[u8]) -> Result<Vec<u8>> {
    let refused = |e: std::io::Error| Error::invalid(format!("zstd: {e}"));
    let mut compressor = Compressor::with_prepared_dictionary(dictionary.encoder()).map_err(refused)?;
    let mut out = compressor.compress(decoded).map_err(refused)?;
    out.shrink_to_fit();
    Ok(out)
}

/// Decodes one frame that says its content size, which must not exceed `limit`.
///
/// # Errors
/// Damage; no content size; a larger one; a frame that needs a dictionary.
pub fn decode_zstd_frame(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    decode_frame(None, stored, limit)
}

/// As [`decode_zstd_frame`], of frames that need this dictionary as well.
///
/// # Errors
/// As there; a frame that needs another dictionary.
pub fn decode_zstd_frame_with(
    dictionary: &'static ZstdDictionary,
    stored: &[u8],
    limit: u64,
) -> Result<Vec<u8>> {
    decode_frame(Some(dictionary), stored, limit)
}

fn decode_frame(known: Option<&'static ZstdDictionary>, stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let size = check_frame(stored)?
        .ok_or_else(|| Error::corrupt(SECTION, None, "content size", "given", "missing"))?;
    if size > limit {
        return Err(Error::limit(SECTION, None, "decoded length", limit, size));
    }
    let dictionary = match zstd_safe::get_dict_id_from_frame(stored).map(NonZeroU32::get) {
        None => None,
        Some(id) => match known {
            Some(known) if known.id == id => Some(known),
            known => {
                let expected = known.map_or("none".to_owned(), |known| format!("{} or none", known.id));
                return Err(Error::corrupt(SECTION, None, "dictionary", expected, id));
            }
        },
    };
    let len =
        usize::try_from(size).map_err(|_| Error::limit(SECTION, None, "decoded length", limit, size))?;
    let mut out = Vec::new();
    // Reserved, not filled: pages that are not decoded into are never touched.
    reserve(&mut out, SECTION, "decoded length in memory", len)?;
    // A context of its own for each call took a third of the time of opening a small archive.
    thread_local! {
        static CONTEXTS: RefCell<Contexts> = RefCell::default();
    }
    CONTEXTS.with_borrow_mut(|contexts| decompress(contexts, dictionary, stored, &mut out, len))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_frames_skippable_frames_and_lying_sizes_are_refused() {
        let frame = encode_zstd_frame(b"hello hello hello", 3).unwrap();
        assert_eq!(decode_zstd_frame(&frame, 100).unwrap(), b"hello hello hello");
        assert!(decode_zstd_frame(&frame, 16).is_err());
        let two = [frame.clone(), frame.clone()].concat();
        assert!(decode_zstd_frame(&two, 100).is_err());
        let skippable = [b"\x50\x2a\x4d\x18\x04\0\0\0abcd".as_slice(), &frame].concat();
        assert!(Zstd(3).decode_into(&skippable, &mut AllContexts::default(), &mut [0; 17]).is_err());
        assert!(Zstd(3).decode_into(&frame, &mut AllContexts::default(), &mut [0; 18]).is_err());
        for n in 0..frame.len() {
            assert!(decode_zstd_frame(&frame[..n], 100).is_err(), "{n}");
        }
    }

    #[test]
    fn claims_of_size_are_believed_only_of_frames_that_can_hold_so_much() {
        // Single segment, content size in four bytes: 1 GiB. One raw block of three bytes, the last.
        let claim =
            [&[0x28, 0xB5, 0x2F, 0xFD, 0xA0][..], &(1_u32 << 30).to_le_bytes(), &[0x19, 0, 0], b"abc"]
                .concat();
        let start = std::time::Instant::now();
        for _ in 0..200 {
            let e = decode_zstd_frame(&claim, 1 << 30).unwrap_err();
            assert!(e.is_corrupt() && e.to_string().contains("content size"), "{e}");
        }
        assert!(start.elapsed().as_millis() < 100, "nothing was filled");
        // An honest frame of 128 MiB of zeros is as dense as frames get.
        let zeros = vec![0; 128 << 20];
        let frame = encode_zstd_frame(&zeros, 1).unwrap();
        assert_eq!(decode_zstd_frame(&frame, 1 << 30).unwrap(), zeros);
    }

    #[test]
    fn frames_without_a_size_serve_for_tiles_only_and_windows_cost_nothing() {
        let mut out = [0; 3];
        let untold = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x00, 0x19, 0, 0, b'a', b'b', b'c'];
        Zstd(3).decode_into(&untold, &mut AllContexts::default(), &mut out).unwrap();
        assert_eq!(&out, b"abc");
        assert!(decode_zstd_frame(&untold, 100).is_err());
        // A window of 2^41 bytes: refused or decoded, but never allocated.
        let wide = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8, 0x19, 0, 0, b'a', b'b', b'c'];
        let _ = Zstd(3).decode_into(&wide, &mut AllContexts::default(), &mut out);
        let huge = [&[0x28, 0xB5, 0x2F, 0xFD, 0xE0][..], &(1_u64 << 62).to_le_bytes(), &[1, 0, 0]].concat();
        assert!(decode_zstd_frame(&huge, 1 << 30).is_err());
    }
}
