//! No zstd: archives whose heads and sections are compressed cannot be opened by such a build.

use super::frame::{SECTION, ZstdDictionary};
use crate::error::{Error, Result};

pub(super) use super::no_encoder::{Encoder, Prepared};

/// The decoder that this build lacks.
#[derive(Default)]
pub(super) struct Decoder;

impl Decoder {
    #[expect(clippy::unused_self, reason = "one signature for all builds")]
    pub(super) fn decode_to_vec(
        &mut self,
        _: Option<&'static ZstdDictionary>,
        _: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<usize> {
        Err(refusal())
    }
}

impl Decoder {
    pub(super) fn decode_after(_: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<usize> {
        Err(refusal())
    }
}

/// The reason why nothing is decoded or encoded.
pub(super) fn refusal() -> Error {
    let what = "this build of nc3z-format was made without the features zstd and ruzstd";
    Error::unsupported(SECTION, None, what)
}
