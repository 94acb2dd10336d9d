//! No zstd: archives whose heads and sections are compressed cannot be opened by such a build.

use super::frame::{SECTION, ZstdDictionary};
use crate::error::{Error, Result};

/// What there is not.
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
        Err(absent())
    }
}

impl Decoder {
    pub(super) fn decode_after(_: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<usize> {
        Err(absent())
    }
}

fn absent() -> Error {
    let what = "this build of nc3z-format was made without the features zstd and ruzstd";
    Error::unsupported(SECTION, None, what)
}

/// What there is not.
#[derive(Default)]
pub(super) struct Encoder(());

impl Encoder {
    #[expect(clippy::unused_self, reason = "one signature for all builds")]
    pub(super) fn encode_with(
        &mut self,
        _: &'static ZstdDictionary,
        _: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<()> {
        Err(absent())
    }

    #[expect(clippy::unused_self, reason = "one signature for all builds")]
    pub(super) fn encode(&mut self, _: i32, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Err(absent())
    }

    pub(super) fn encode_after(_: &[u8], _: &[u8]) -> Result<Vec<u8>> {
        Err(absent())
    }
}

/// Nothing is made of a dictionary.
pub(super) struct Prepared;

impl Prepared {
    pub(super) const fn new() -> Self {
        Prepared
    }
}
