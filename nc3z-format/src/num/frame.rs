//! zstd inside the payload: exactly one frame, of a size known before.

use super::bad;
use crate::error::{Error, Result};
use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};

/// Checks that `frame` is one plain zstd frame and gives its content size.
fn content_size(frame: &[u8]) -> Result<u64> {
    if frame.len() < 6 || frame[..4] != [0x28, 0xB5, 0x2F, 0xFD] {
        return Err(bad("zstd frame", "the magic 28 B5 2F FD", "another"));
    }
    // No checksum (bit 2), no reserved or unused bit (3, 4), no dictionary (0, 1).
    if frame[4] & 0x1F != 0 {
        return Err(bad("zstd frame header", "no checksum and no dictionary", frame[4]));
    }
    if find_frame_compressed_size(frame).ok() != Some(frame.len()) {
        return Err(bad("zstd frame", "one frame that fills its part", frame.len()));
    }
    match get_frame_content_size(frame) {
        Ok(Some(size)) => Ok(size),
        _ => Err(bad("zstd frame", "a content size", "none")),
    }
}

/// Decompresses `frame`, whose content must have a size in `sizes`, into `out` (cleared first).
pub(super) fn expand(
    frame: &[u8],
    sizes: std::ops::RangeInclusive<usize>,
    scratch: &mut Zstd,
    out: &mut Vec<u8>,
) -> Result<()> {
    let size = content_size(frame)?;
    let Some(size) = usize::try_from(size).ok().filter(|s| sizes.contains(s)) else {
        return Err(bad("zstd content size", format_args!("{} to {}", sizes.start(), sizes.end()), size));
    };
    out.clear();
    out.resize(size, 0);
    let got = scratch
        .decompressor()?
        .decompress_to_buffer(frame, out.as_mut_slice())
        .map_err(|e| bad("zstd frame", "valid data", e))?;
    if got == size { Ok(()) } else { Err(bad("zstd content", size, got)) }
}

/// Appends one frame of `content`.
pub(super) fn compress(content: &[u8], level: i32, scratch: &mut Zstd, out: &mut Vec<u8>) -> Result<()> {
    let compressor = scratch.compressor(level)?;
    let frame = compressor.compress(content).map_err(|e| Error::invalid(format!("zstd: {e}")))?;
    out.extend_from_slice(&frame);
    Ok(())
}

/// A byte string that is stored raw (form 0) or as a zstd frame (form 1), whichever is smaller.
pub(super) fn put_bytes(content: &[u8], level: i32, scratch: &mut Zstd, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if content.len() >= 32 {
        out.push(1);
        compress(content, level, scratch, out)?;
        if out.len() - start <= content.len() {
            return Ok(());
        }
        out.truncate(start);
    }
    out.push(0);
    out.extend_from_slice(content);
    Ok(())
}

/// Inverse of [`put_bytes`]; the content must have a size in `sizes`.
pub(super) fn take_bytes(
    part: &[u8],
    sizes: std::ops::RangeInclusive<usize>,
    scratch: &mut Zstd,
    out: &mut Vec<u8>,
) -> Result<()> {
    match part.split_first() {
        Some((0, raw)) if sizes.contains(&raw.len()) => {
            out.clear();
            out.extend_from_slice(raw);
            Ok(())
        }
        Some((0, raw)) => {
            Err(bad("byte string", format_args!("{} to {} bytes", sizes.start(), sizes.end()), raw.len()))
        }
        Some((1, frame)) => expand(frame, sizes, scratch, out),
        Some((&form, _)) => Err(bad("byte string form", "0 or 1", form)),
        None => Err(bad("byte string", "a form byte", "nothing")),
    }
}

/// zstd contexts, made on first use.
#[derive(Default)]
pub(super) struct Zstd {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    compressor: Option<(i32, zstd::bulk::Compressor<'static>)>,
}

impl Zstd {
    fn decompressor(&mut self) -> Result<&mut zstd::bulk::Decompressor<'static>> {
        if self.decompressor.is_none() {
            self.decompressor =
                Some(zstd::bulk::Decompressor::new().map_err(|e| Error::invalid(format!("zstd: {e}")))?);
        }
        self.decompressor.as_mut().ok_or_else(|| Error::invalid("zstd: no context"))
    }

    fn compressor(&mut self, level: i32) -> Result<&mut zstd::bulk::Compressor<'static>> {
        if self.compressor.as_ref().is_none_or(|c| c.0 != level) {
            let made =
                zstd::bulk::Compressor::new(level).map_err(|e| Error::invalid(format!("zstd: {e}")))?;
            self.compressor = Some((level, made));
        }
        self.compressor.as_mut().map(|c| &mut c.1).ok_or_else(|| Error::invalid("zstd: no context"))
    }
}

impl std::fmt::Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Zstd")
    }
}
