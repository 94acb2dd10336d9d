//! Byte strings, and zstd frames whose size is known in advance.

use crate::error::{Result, bad};
use crate::zstd_frame::ZstdFrame;

/// Checks that `frame` is one plain zstd frame and returns its content size.
fn content_size(frame: &[u8]) -> Result<u64> {
    let parsed = ZstdFrame::parse(frame).map_err(|found| bad("zstd frame", "a frame", found))?;
    // No checksum (bit 2), no reserved or unused bit (3, 4), no dictionary (0, 1).
    if parsed.descriptor & 0x1F != 0 {
        return Err(bad("zstd frame header", "no checksum and no dictionary", parsed.descriptor));
    }
    if parsed.len != frame.len() {
        return Err(bad("zstd frame", "one frame that fills its part", frame.len()));
    }
    parsed.content_size.ok_or_else(|| bad("zstd frame", "a content size", "none"))
}

/// Decompresses `frame` into `out`. The content must have a size in `sizes`, and `out` gets that size. Its old
/// content does not matter; if it already has the size, nothing is cleared.
pub(crate) fn expand(
    frame: &[u8],
    sizes: std::ops::RangeInclusive<usize>,
    scratch: &mut Zstd,
    out: &mut Vec<u8>,
) -> Result<()> {
    let size = content_size(frame)?;
    let Some(size) = usize::try_from(size).ok().filter(|s| sizes.contains(s)) else {
        return Err(bad("zstd content size", format_args!("{} to {}", sizes.start(), sizes.end()), size));
    };
    out.resize(size, 0);
    let got = scratch.decompress(frame, out)?;
    if got == size { Ok(()) } else { Err(bad("zstd content", size, got)) }
}

/// Returns the content of a byte string, which must have a size in `sizes`.
pub(crate) fn take_bytes(
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

/// A zstd context, created on first use.
#[derive(Default)]
pub(crate) struct Zstd {
    #[cfg(feature = "zstd")]
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    #[cfg(all(feature = "ruzstd", not(feature = "zstd")))]
    decompressor: ruzstd::decoding::FrameDecoder,
}

impl Zstd {
    /// Decodes one frame into `out`; returns the number of bytes.
    #[cfg(feature = "zstd")]
    fn decompress(&mut self, frame: &[u8], out: &mut [u8]) -> Result<usize> {
        let decompressor = match &mut self.decompressor {
            Some(made) => made,
            none => {
                let made = zstd::bulk::Decompressor::new();
                none.insert(made.map_err(|e| crate::error::Error::invalid(format!("zstd: {e}")))?)
            }
        };
        decompressor.decompress_to_buffer(frame, out).map_err(|e| bad("zstd frame", "valid data", e))
    }

    #[cfg(all(feature = "ruzstd", not(feature = "zstd")))]
    fn decompress(&mut self, frame: &[u8], out: &mut [u8]) -> Result<usize> {
        self.decompressor.decode_all(frame, out).map_err(|e| bad("zstd frame", "valid data", e))
    }

    #[cfg(not(any(feature = "zstd", feature = "ruzstd")))]
    #[expect(clippy::unused_self, reason = "one signature for all builds")]
    fn decompress(&mut self, _: &[u8], _: &mut [u8]) -> Result<usize> {
        let what = "a zstd frame; this build of nc3z-num has neither the feature zstd nor ruzstd";
        Err(crate::error::Error::Unsupported(what.to_owned()))
    }
}

impl std::fmt::Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Zstd")
    }
}
