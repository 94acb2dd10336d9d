//! Frames of the archive's own structures, some with the format's dictionary, and the checks of every frame
//! before decoding.

use super::library::{Decoder, Encoder, Prepared};
use crate::bytes::reserve;
use crate::error::{Error, Result};
use nc3z_num::ZstdFrame;
use std::cell::RefCell;

pub(super) const SECTION: &str = "zstd frame";

/// The most bytes that a block of a frame holds, and the fewest that a block which holds any takes.
const BLOCK_MOST: u64 = 128 << 10;
const BLOCK_LEAST: u64 = 4;

/// Checks that the input is one frame, not a skippable one, with nothing after it, and with a possible
/// content size, if it has one.
pub(super) fn check_frame(input: &[u8]) -> Result<ZstdFrame> {
    let frame = ZstdFrame::parse(input)
        .map_err(|found| Error::corrupt(SECTION, None, "content", "a zstd frame", found))?;
    if frame.len != input.len() {
        return Err(Error::corrupt(SECTION, None, "length of the frame", input.len(), frame.len));
    }
    let most = input.len() as u64 / BLOCK_LEAST * BLOCK_MOST;
    match frame.content_size {
        Some(size) if size > most => {
            let expected = format!("at most {most} in a frame of {} bytes", input.len());
            Err(Error::corrupt(SECTION, None, "content size", expected, size))
        }
        _ => Ok(frame),
    }
}

pub(super) fn check_len(expected: usize, found: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::corrupt(SECTION, None, "decoded length", expected, found))
}

/// One frame.
///
/// # Errors
/// zstd's refusal, which would be a lack of memory; a build without it.
pub fn encode_zstd_frame(decoded: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    with_encoder(decoded.len(), |encoder| encoder.encode(level, decoded, &mut out))?;
    Ok(out)
}

/// The context is not reused for contents of at least this many bytes: its tables would be many times as large as those
/// for usual structures.
const LARGE: usize = 1 << 20;

/// Calls `f` with this thread's context for `len` bytes. A small archive consists of a dozen frames, and many of them are encoded in two
/// ways. A new context for each encoding took a fifth of the time of writing the archive.
fn with_encoder<T>(len: usize, f: impl FnOnce(&mut Encoder) -> T) -> T {
    thread_local! {
        static ENCODER: RefCell<Encoder> = RefCell::default();
    }
    if len >= LARGE { f(&mut Encoder::default()) } else { ENCODER.with_borrow_mut(f) }
}

/// A dictionary in zstd's own format, and what of it is made when first needed.
pub struct ZstdDictionary {
    pub(super) id: u32,
    pub(super) bytes: &'static [u8],
    #[cfg_attr(not(feature = "zstd"), expect(dead_code, reason = "only the C library encodes"))]
    pub(super) level: i32,
    #[cfg_attr(not(feature = "zstd"), expect(dead_code, reason = "only the C library prepares anything"))]
    pub(super) prepared: Prepared,
}

impl ZstdDictionary {
    /// The dictionary `bytes`, whose id is `id`, for frames of this level.
    #[must_use]
    pub const fn new(id: u32, bytes: &'static [u8], level: i32) -> Self {
        Self { id, bytes, level, prepared: Prepared::new() }
    }

    /// Returns the bytes of the dictionary.
    #[must_use]
    pub const fn bytes(&self) -> &'static [u8] {
        self.bytes
    }
}

/// Encodes one frame that may refer to bytes of `before`.
///
/// # Errors
/// An error of zstd, which means a lack of memory; a build without zstd.
pub fn encode_zstd_frame_after(before: &[u8], decoded: &[u8]) -> Result<Vec<u8>> {
    Encoder::encode_after(plain(before), decoded)
}

/// Decodes a frame of [`encode_zstd_frame_after`] into exactly `len` bytes. The frame must store its content size.
///
/// # Errors
/// Damage; another content size; a build without the C library.
pub fn decode_zstd_frame_after(before: &[u8], stored: &[u8], len: u64) -> Result<Vec<u8>> {
    let size = check_frame(stored)?.content_size;
    if size != Some(len) {
        let found = size.map_or("none".into(), |n| n.to_string());
        return Err(Error::corrupt(SECTION, None, "content size", len, found));
    }
    let len =
        usize::try_from(len).map_err(|_| Error::limit(SECTION, None, "decoded length", u64::MAX, len))?;
    let mut out = Vec::new();
    reserve(&mut out, SECTION, "decoded length in memory", len)?;
    let found = Decoder::decode_after(plain(before), stored, &mut out)?;
    check_len(len, found)?;
    Ok(out)
}

/// Does the work of [`decode_zstd_frame_after`] for any content size up to `limit`.
///
/// # Errors
/// Damage; no content size, or a larger one; a build without the C library.
pub fn decode_zstd_frame_after_within(before: &[u8], stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let size = check_frame(stored)?.content_size;
    let len =
        size.ok_or_else(|| Error::corrupt(SECTION, None, "content size", "that of the content", "none"))?;
    if len > limit {
        return Err(Error::limit(SECTION, None, "content size", limit, len));
    }
    decode_zstd_frame_after(before, stored, len)
}

/// zstd takes bytes that begin with its mark for a dictionary in its own format: those are not referred to.
fn plain(before: &[u8]) -> &[u8] {
    if before.starts_with(&[0x37, 0xA4, 0x30, 0xEC]) { &[] } else { before }
}

/// One frame that needs the dictionary.
///
/// # Errors
/// zstd's refusal, which would be a lack of memory; a build without it.
pub fn encode_zstd_frame_with(dictionary: &'static ZstdDictionary, decoded: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    with_encoder(decoded.len(), |encoder| encoder.encode_with(dictionary, decoded, &mut out))?;
    Ok(out)
}

/// Decodes one frame. It must store its content size, which must not exceed `limit`.
///
/// # Errors
/// Damage; no content size; a larger one; a frame that needs a dictionary.
pub fn decode_zstd_frame(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    decode_frame(&[], stored, limit)
}

/// Does the work of [`decode_zstd_frame`], and also decodes frames that need one of these dictionaries.
///
/// # Errors
/// As [`decode_zstd_frame`]; a frame that needs another dictionary.
pub fn decode_zstd_frame_with(
    dictionaries: &[&'static ZstdDictionary],
    stored: &[u8],
    limit: u64,
) -> Result<Vec<u8>> {
    decode_frame(dictionaries, stored, limit)
}

fn decode_frame(known: &[&'static ZstdDictionary], stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let frame = check_frame(stored)?;
    let size = frame
        .content_size
        .ok_or_else(|| Error::corrupt(SECTION, None, "content size", "given", "missing"))?;
    if size > limit {
        return Err(Error::limit(SECTION, None, "decoded length", limit, size));
    }
    let dictionary = match frame.dictionary {
        None => None,
        Some(id) => {
            let found = known.iter().find(|known| known.id == id).copied();
            Some(found.ok_or_else(|| {
                let ids: Vec<String> = known.iter().map(|known| known.id.to_string()).collect();
                let expected = [&ids[..], &["none".to_owned()]].concat().join(" or ");
                Error::corrupt(SECTION, None, "dictionary", expected, id)
            })?)
        }
    };
    let len =
        usize::try_from(size).map_err(|_| Error::limit(SECTION, None, "decoded length", limit, size))?;
    let mut out = Vec::new();
    // Reserved, not filled: pages that are not decoded into are never touched.
    reserve(&mut out, SECTION, "decoded length in memory", len)?;
    // A new context for each call took a third of the time of opening a small archive.
    thread_local! {
        static DECODER: RefCell<Decoder> = RefCell::default();
    }
    let found = DECODER.with_borrow_mut(|decoder| decoder.decode_to_vec(dictionary, stored, &mut out))?;
    check_len(len, found)?;
    Ok(out)
}
