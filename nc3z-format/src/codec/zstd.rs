//! One zstd frame (RFC 8878), with its content size, without a checksum of its own.

use super::registry::ByteStage;
use crate::error::{Error, Result};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

/// The codec, with the level it writes at.
pub(super) struct Zstd(pub(super) i32);

/// Compression and decompression contexts, made when first needed.
#[derive(Default)]
pub struct Contexts {
    compressor: Option<(i32, Compressor<'static>)>,
    decompressor: Option<Decompressor<'static>>,
}

const SECTION: &str = "zstd frame";

impl ByteStage for Zstd {
    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let refused = |e: std::io::Error| Error::invalid(format!("zstd: {e}"));
        let level = self.0;
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

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        check_frame(input, out.len() as u64)?;
        let wrong = |e: std::io::Error| Error::corrupt(SECTION, None, "content", "a zstd frame", e);
        let decompressor = match &mut contexts.decompressor {
            Some(d) => d,
            none => none.insert(Decompressor::new().map_err(wrong)?),
        };
        let expected = out.len();
        let len = decompressor.decompress_to_buffer(input, out).map_err(wrong)?;
        if len != expected {
            return Err(Error::corrupt(SECTION, None, "decoded length", expected, len));
        }
        Ok(())
    }

    fn keeps_length(&self) -> bool {
        false
    }
}

/// One frame, not a skippable one, that ends with the input and holds `expected` bytes if it says how many.
fn check_frame(input: &[u8], expected: u64) -> Result<()> {
    if input.get(..4) != Some(&[0x28, 0xB5, 0x2F, 0xFD]) {
        return Err(Error::corrupt(SECTION, None, "magic", "28 b5 2f fd", "another"));
    }
    let len = zstd_safe::find_frame_compressed_size(input)
        .map_err(|code| Error::corrupt(SECTION, None, "content", "a zstd frame", zstd_safe::get_error_name(code)))?;
    if len != input.len() {
        return Err(Error::corrupt(SECTION, None, "length of the frame", input.len(), len));
    }
    match content_size(input)? {
        Some(size) if size != expected => Err(Error::corrupt(SECTION, None, "content size", expected, size)),
        _ => Ok(()),
    }
}

fn content_size(input: &[u8]) -> Result<Option<u64>> {
    zstd_safe::get_frame_content_size(input)
        .map_err(|_| Error::corrupt(SECTION, None, "content size", "a readable one", "damaged"))
}

/// One frame.
///
/// # Errors
/// zstd's refusal, which would be a lack of memory.
pub fn encode_zstd_frame(decoded: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Zstd(level).encode(decoded, &mut Contexts::default(), &mut out)?;
    out.shrink_to_fit();
    Ok(out)
}

/// Decodes one frame that says its content size, which must not exceed `limit`.
///
/// # Errors
/// Damage; no content size; a larger one.
pub fn decode_zstd_frame(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let size = content_size(stored)?
        .ok_or_else(|| Error::corrupt(SECTION, None, "content size", "given", "missing"))?;
    if size > limit {
        return Err(Error::limit(SECTION, None, "decoded length", limit, size));
    }
    let len = usize::try_from(size).map_err(|_| Error::limit(SECTION, None, "decoded length", limit, size))?;
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| Error::limit(SECTION, None, "decoded length in memory", limit, size))?;
    out.resize(len, 0);
    Zstd(0).decode_into(stored, &mut Contexts::default(), &mut out)?;
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
        assert!(Zstd(3).decode_into(&skippable, &mut Contexts::default(), &mut [0; 17]).is_err());
        assert!(Zstd(3).decode_into(&frame, &mut Contexts::default(), &mut [0; 18]).is_err());
        for n in 0..frame.len() {
            assert!(decode_zstd_frame(&frame[..n], 100).is_err(), "{n}");
        }
    }
}
