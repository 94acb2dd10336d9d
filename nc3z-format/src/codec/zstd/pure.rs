//! zstd in Rust: decoding only, several times slower than the C library. A frame may use a window of at most
//! 128 MiB.

use super::frame::{SECTION, ZstdDictionary};
use crate::error::{Error, Result};
use ruzstd::decoding::{Dictionary, FrameDecoder};

#[cfg(not(feature = "zstd"))]
pub(super) use super::no_encoder::{Encoder, Prepared};

/// The most bytes that a block holds.
const BLOCK_MOST: usize = 128 << 10;

/// Decoders, made when first needed.
#[derive(Default)]
pub(super) struct Decoder {
    plain: FrameDecoder,
    /// The id of a dictionary, and the decoder that has it.
    informed: Option<(u32, FrameDecoder)>,
}

impl Decoder {
    /// Decodes a checked frame and returns the number of bytes.
    pub(super) fn decode_into(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
        frame: &[u8],
        out: &mut [u8],
    ) -> Result<usize> {
        let decoder = self.decoder(dictionary)?;
        let len = decoder.decode_all(frame, out).map_err(wrong)?;
        let told = decoder.get_checksum_from_data();
        if told.is_some() && told != decoder.get_calculated_checksum() {
            return Err(wrong("another checksum"));
        }
        Ok(len)
    }

    /// As [`decode_into`](Self::decode_into), into the free capacity of `out`.
    pub(super) fn decode_to_vec(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        out.resize(out.capacity(), 0);
        let len = self.decode_into(dictionary, frame, out)?;
        out.truncate(len);
        Ok(len)
    }

    /// Decodes a checked frame that continues `before`, into the free capacity of `out`. The library does not
    /// support such frames. It receives one frame: `before` stored raw, followed by the frame's blocks.
    pub(super) fn decode_after(before: &[u8], frame: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let len = before.len().checked_add(out.capacity()).ok_or_else(|| wrong("more than memory holds"))?;
        let whole = frame_of_both(before, frame, len).ok_or_else(|| wrong("another header"))?;
        let mut both = Vec::new();
        crate::bytes::reserve(&mut both, SECTION, "decoded length in memory", len)?;
        both.resize(len, 0);
        let found = FrameDecoder::new().decode_all(&whole, &mut both).map_err(wrong)?;
        let found = both.get(before.len()..found).ok_or_else(|| wrong("fewer bytes than it continues"))?;
        out.extend_from_slice(found);
        Ok(found.len())
    }

    fn decoder(&mut self, dictionary: Option<&'static ZstdDictionary>) -> Result<&mut FrameDecoder> {
        let Some(dictionary) = dictionary else { return Ok(&mut self.plain) };
        if self.informed.as_ref().is_none_or(|(id, _)| *id != dictionary.id) {
            let mut made = FrameDecoder::new();
            Dictionary::decode_dict(dictionary.bytes)
                .map_err(|e| Error::invalid(format!("zstd dictionary {}: {e}", dictionary.id)))
                .and_then(|dictionary| made.add_dict(dictionary).map_err(wrong))?;
            self.informed = Some((dictionary.id, made));
        }
        Ok(&mut self.informed.as_mut().expect("made just now").1)
    }
}

/// A frame whose content is `before` followed by the content of `frame`, together at most `len` bytes.
fn frame_of_both(before: &[u8], frame: &[u8], len: usize) -> Option<Vec<u8>> {
    // RFC 8878, section 3.1.1.1: the descriptor defines which fields follow, and whether the frame ends with
    // a checksum.
    let descriptor = *frame.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
    let blocks = 5 + usize::from(!is_single) + dictionary + content;
    let end = frame.len().checked_sub(if descriptor & 4 == 0 { 0 } else { 4 })?;
    let mut out = Vec::with_capacity(frame.len() + before.len() + before.len() / BLOCK_MOST * 3 + 32);
    out.extend_from_slice(&frame[..4]);
    // One segment, the size in eight bytes, and no checksum, since the frame's checksum covers only the second part.
    out.push(0xE0);
    out.extend_from_slice(&(len as u64).to_le_bytes());
    for raw in before.chunks(BLOCK_MOST) {
        let header = u32::try_from(raw.len()).ok()? << 3;
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(raw);
    }
    out.extend_from_slice(frame.get(blocks..end)?);
    Some(out)
}

fn wrong(found: impl std::fmt::Display) -> Error {
    Error::corrupt(SECTION, None, "content", "a zstd frame", found)
}

/// The reason why nothing is encoded.
pub(super) fn refusal() -> Error {
    Error::invalid("this build of nc3z-format decodes zstd only; the feature zstd encodes")
}
