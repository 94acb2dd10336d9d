//! How the content of a short form is stored: one zstd frame, with a dictionary of heads or without, or one stream of LZMA2.

use super::CONTENT_LEN;
use crate::archive::section_codec;
#[cfg(all(feature = "lzma", feature = "encode"))]
use crate::codec::encode_lzma;
use crate::codec::{Chain, ChainSpec, Lzma, Registry, Scratch, lzma2_len};
use crate::error::{Error, Result};

/// What a zstd frame begins with. No chunk of LZMA2 begins so.
const FRAME: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// For [`Lzma`]; decoders do not look at it.
const LZMA_DICT: u32 = 1 << 20;
/// LZMA is tried where a quick frame of zstd is larger than what it has to be smaller than by at most one part in so many.
#[cfg(all(feature = "lzma", feature = "encode"))]
const NEAR: usize = 2;
/// Elements of so many bytes, for which LZMA knows the byte's place: most numbers. Text is better with the dictionary of heads, by zstd.
#[cfg(all(feature = "lzma", feature = "encode"))]
const SIZE: usize = 4;
/// liblzma's preset: higher ones take half as long again, and what they make of files this short is larger.
#[cfg(all(feature = "lzma", feature = "encode"))]
const PRESET: u32 = 6;

/// The content, as it was packed.
///
/// # Errors
/// Damage; a content of more than [`CONTENT_LEN`] bytes; a stream of LZMA2 where this build has no LZMA.
pub(super) fn unpack(stored: &[u8]) -> Result<Vec<u8>> {
    if stored.starts_with(&FRAME) {
        return section_codec::unpack(stored, CONTENT_LEN);
    }
    let wrong =
        || Error::corrupt("content", None, "packing", "a zstd frame or whole chunks of LZMA2", "neither");
    let len = lzma2_len(stored).ok_or_else(wrong)?;
    if len > CONTENT_LEN {
        return Err(Error::limit("content", None, "decoded length", CONTENT_LEN, len));
    }
    let mut out = vec![0; usize::try_from(len).expect("at most a MiB")];
    lzma(1).decode_bytes(stored, &mut Scratch::default(), &mut out)?;
    Ok(out)
}

/// One stream of LZMA2; `None` where zstd says that it has more than `most` bytes, or this build has no encoder.
///
/// # Errors
/// A lack of memory.
#[cfg(all(feature = "lzma", feature = "encode"))]
pub(super) fn pack_lzma(content: &[u8], most: usize) -> Result<Option<Vec<u8>>> {
    if section_codec::quick_frame_len(content)? > most + most / NEAR {
        return Ok(None);
    }
    encode_lzma(Lzma::for_elements(SIZE, LZMA_DICT), PRESET, content).map(Some)
}

#[cfg(not(all(feature = "lzma", feature = "encode")))]
pub(super) fn pack_lzma(_: &[u8], _: usize) -> Result<Option<Vec<u8>>> {
    Ok(None)
}

fn lzma(size: usize) -> Chain {
    Registry::default().bind(ChainSpec(vec![Lzma::for_elements(size, LZMA_DICT).into()]))
}

#[cfg(test)]
#[cfg(all(feature = "lzma", feature = "encode"))]
mod tests {
    use super::*;
    use crate::archive::section_codec::pack_frame;

    #[test]
    fn both_packings_are_told_apart_and_unpacked() {
        let text = b"float lat(lat); lat:units = degrees_north;".repeat(20);
        let (frame, stream) =
            (pack_frame(&text).unwrap(), pack_lzma(&text, text.len()).unwrap().expect("small"));
        assert!(frame.starts_with(&FRAME) && !stream.starts_with(&FRAME[..1]));
        assert_eq!(unpack(&frame).unwrap(), text);
        assert_eq!(unpack(&stream).unwrap(), text);
        assert_eq!(pack_lzma(&text, 8).unwrap(), None);
        for len in 0..stream.len() {
            assert!(unpack(&stream[..len]).is_err(), "{len}");
        }
    }
}
