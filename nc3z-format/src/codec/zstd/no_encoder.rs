//! Replaces the encoder if the C library is not built in: each call returns an error.

use super::frame::ZstdDictionary;
use super::library::refusal;
use crate::error::Result;

/// The encoder that this build lacks.
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
        Err(refusal())
    }

    #[expect(clippy::unused_self, reason = "one signature for all builds")]
    pub(super) fn encode(&mut self, _: i32, _: &[u8], _: &mut Vec<u8>) -> Result<()> {
        Err(refusal())
    }

    pub(super) fn encode_after(_: &[u8], _: &[u8]) -> Result<Vec<u8>> {
        Err(refusal())
    }
}

/// Without the encoder a dictionary is not prepared: each decoder loads it.
pub(super) struct Prepared;

impl Prepared {
    pub(super) const fn new() -> Self {
        Prepared
    }
}
