//! zstd by its C library.

use super::frame::{SECTION, ZstdDictionary};
use crate::error::{Error, Result};
use nc3z_num::zstd_hash_log;
use std::io;
use std::sync::OnceLock;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{CParameter, ResetDirective, WriteBuf, compress_bound, get_error_name};

/// The level of frames that continue older content, and the level if they have more than `LONG` bytes. The highest level
/// takes about 200 ns for a byte, which would be most of the time of an edit in a file with many variables.
const AFTER_LEVEL: i32 = 19;
const LONG_AFTER_LEVEL: i32 = 9;
const LONG: usize = 64 << 10;

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
fn refused(e: io::Error) -> Error {
    Error::invalid(format!("zstd: {e}"))
}

/// A decompression context, made when first needed, with the dictionary that it has.
#[derive(Default)]
pub(super) struct Decoder(Option<(Option<u32>, Decompressor<'static>)>);

impl Decoder {
    /// Decodes a checked frame and returns the number of bytes. It decodes in one call directly into `out`:
    /// no window is ever allocated, whatever size the frame requests.
    pub(super) fn decode_into(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
        frame: &[u8],
        out: &mut [u8],
    ) -> Result<usize> {
        self.decode(dictionary, frame, out)
    }

    /// As [`decode_into`](Self::decode_into), into the free capacity of `out`.
    pub(super) fn decode_to_vec(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        self.decode(dictionary, frame, out)
    }

    /// Decodes a frame that continues `before`, into the room that `out` has.
    pub(super) fn decode_after(before: &[u8], frame: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let wrong = |e: io::Error| Error::corrupt(SECTION, None, "content", "a zstd frame", e);
        let mut context = Decompressor::with_dictionary(before).map_err(refused)?;
        context.decompress_to_buffer(frame, out).map_err(wrong)
    }

    fn decode(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
        frame: &[u8],
        out: &mut (impl WriteBuf + ?Sized),
    ) -> Result<usize> {
        let wrong = |e: io::Error| Error::corrupt(SECTION, None, "content", "a zstd frame", e);
        let context = self.context(dictionary).map_err(refused)?;
        context.decompress_to_buffer(frame, out).map_err(wrong)
    }

    fn context(
        &mut self,
        dictionary: Option<&'static ZstdDictionary>,
    ) -> io::Result<&mut Decompressor<'static>> {
        let (known, context) = match &mut self.0 {
            Some(made) => made,
            none => none.insert((None, Decompressor::new()?)),
        };
        let wanted = dictionary.map(|dictionary| dictionary.id);
        if *known != wanted {
            *known = None;
            match dictionary {
                Some(dictionary) => context.set_prepared_dictionary(dictionary.decoder())?,
                None => context.set_dictionary(&[])?,
            }
            *known = wanted;
        }
        Ok(context)
    }
}

/// The setting of a compression context: a level, or a dictionary with its level. The address identifies the dictionary.
#[derive(Clone, Copy, PartialEq)]
enum Setting {
    Level(i32),
    Dictionary(usize),
}

/// A compression context, what it is set to, and room for a frame.
#[derive(Default)]
pub(super) struct Encoder {
    context: Option<(Setting, Compressor<'static>)>,
    frame: Vec<u8>,
}

impl Encoder {
    pub(super) fn encode(&mut self, level: i32, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.compress(Setting::Level(level), Self::at_level(level), input, out)
    }

    pub(super) fn encode_with(
        &mut self,
        dictionary: &'static ZstdDictionary,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let setting = Setting::Dictionary(std::ptr::from_ref(dictionary).addr());
        let change = |context: &mut Compressor<'static>| {
            context.set_parameter(CParameter::HashLog(0))?;
            context.set_prepared_dictionary(dictionary.encoder())
        };
        self.compress(setting, change, input, out)
    }

    /// The length of a frame that has at most `most` bytes. Otherwise encoding stops there.
    pub(super) fn len_within(&mut self, level: i32, input: &[u8], most: usize) -> Result<Option<usize>> {
        const TOO_SMALL: usize = (ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();
        let mut context = self.set(Setting::Level(level), Self::at_level(level))?;
        let room = most.min(compress_bound(input.len()));
        if self.frame.len() < room {
            self.frame.resize(room, 0);
        }
        let len = match context.context_mut().compress2(&mut self.frame[..room], input) {
            Ok(len) => Some(len),
            Err(TOO_SMALL) => {
                let reset = context.context_mut().reset(ResetDirective::SessionOnly);
                reset.map_err(|code| refused(io::Error::other(get_error_name(code))))?;
                None
            }
            Err(code) => return Err(refused(io::Error::other(get_error_name(code)))),
        };
        self.context = Some((Setting::Level(level), context));
        Ok(len)
    }

    /// Sets a level and removes the dictionary.
    fn at_level(level: i32) -> impl FnOnce(&mut Compressor<'static>) -> io::Result<()> {
        move |context| {
            context.set_compression_level(level)?;
            context.set_parameter(CParameter::HashLog(zstd_hash_log(level)))
        }
    }

    /// The context, taken out, at a setting, which `change` makes of any other. A context that fails is not put back.
    fn set(
        &mut self,
        wanted: Setting,
        change: impl FnOnce(&mut Compressor<'static>) -> io::Result<()>,
    ) -> Result<Compressor<'static>> {
        let (setting, mut context) = match self.context.take() {
            Some((setting, made)) => (Some(setting), made),
            None => (None, Compressor::new(0).map_err(refused)?),
        };
        if setting != Some(wanted) {
            change(&mut context).map_err(refused)?;
        }
        Ok(context)
    }

    fn compress(
        &mut self,
        wanted: Setting,
        change: impl FnOnce(&mut Compressor<'static>) -> io::Result<()>,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut context = self.set(wanted, change)?;
        self.frame.clear();
        self.frame.reserve(compress_bound(input.len()));
        context.compress_to_buffer(input, &mut self.frame).map_err(refused)?;
        self.context = Some((wanted, context));
        out.extend_from_slice(&self.frame);
        Ok(())
    }

    /// Bytes that do not begin like a dictionary are plain content.
    pub(super) fn encode_after(before: &[u8], input: &[u8]) -> Result<Vec<u8>> {
        let level = if input.len() > LONG { LONG_AFTER_LEVEL } else { AFTER_LEVEL };
        let mut compressor = Compressor::with_dictionary(level, before).map_err(refused)?;
        compressor.compress(input).map_err(refused)
    }
}

/// A dictionary as the library prepares it.
pub(super) struct Prepared {
    decoder: OnceLock<DecoderDictionary<'static>>,
    encoder: OnceLock<EncoderDictionary<'static>>,
}

impl Prepared {
    pub(super) const fn new() -> Self {
        Prepared { decoder: OnceLock::new(), encoder: OnceLock::new() }
    }
}

impl ZstdDictionary {
    fn decoder(&self) -> &DecoderDictionary<'static> {
        self.prepared.decoder.get_or_init(|| DecoderDictionary::copy(self.bytes))
    }

    fn encoder(&self) -> &EncoderDictionary<'static> {
        self.prepared.encoder.get_or_init(|| EncoderDictionary::copy(self.bytes, self.level))
    }
}
