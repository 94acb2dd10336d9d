//! zstd in Rust: decoding only, several times slower than the C library. A frame may ask for a window of at most 128 MiB.

use super::frame::{SECTION, ZstdDictionary};
use crate::error::{Error, Result};
use ruzstd::decoding::{Dictionary, FrameDecoder};

/// Decoders, made when first needed.
#[derive(Default)]
pub(super) struct Decoder {
    plain: FrameDecoder,
    /// One with a dictionary, and the dictionary's id.
    informed: Option<(u32, FrameDecoder)>,
}

impl Decoder {
    /// Decodes a frame that was checked; gives the number of bytes.
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

    /// The same, into the room that `out` has.
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

    /// Frames that continue other bytes are beyond this decoder.
    pub(super) fn decode_after(_: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<usize> {
        let what = "zstd frame that continues the head copy; the feature zstd of nc3z-format reads it";
        Err(Error::unsupported(SECTION, None, what))
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

fn wrong(found: impl std::fmt::Display) -> Error {
    Error::corrupt(SECTION, None, "content", "a zstd frame", found)
}

/// This build does not encode.
#[derive(Default)]
pub(super) struct Encoder(());

impl Encoder {
    #[expect(clippy::unused_self, reason = "one signature for all builds")]
    pub(super) fn encode(&mut self, _: i32, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Err(decodes_only())
    }

    pub(super) fn encode_with(_: &ZstdDictionary, _: &[u8]) -> Result<Vec<u8>> {
        Err(decodes_only())
    }
}

impl Encoder {
    pub(super) fn encode_after(_: &[u8], _: &[u8]) -> Result<Vec<u8>> {
        Err(decodes_only())
    }
}

fn decodes_only() -> Error {
    Error::invalid("this build of nc3z-format decodes zstd only; the feature zstd encodes")
}

/// Nothing is made of a dictionary but by each decoder.
pub(super) struct Prepared;

impl Prepared {
    pub(super) const fn new() -> Self {
        Prepared
    }
}
