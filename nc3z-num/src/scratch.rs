//! Memory that is reused between calls; one scratch per thread.

use crate::ctx::Workspace;
#[cfg(feature = "encode")]
use crate::encode::{Buffers, Runs};
use crate::frame::Zstd;
use crate::lorenzo;
use crate::mix;
use crate::word::Pool;

/// Buffers and contexts that are reused between calls; no result depends on their content.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) zstd: Zstd,
    #[cfg(feature = "encode")]
    pub(crate) runs: Runs,
    pub(crate) bytes: Vec<u8>,
    /// Residuals as bytes. No other data are stored here, so that the buffer usually has the next tile's length and
    /// need not be cleared.
    pub(crate) residuals: Vec<u8>,
    pub(crate) valid: Vec<u8>,
    pub(crate) pairs: Vec<u8>,
    /// The integers of a reference.
    pub(crate) reference: Pool,
    pub(crate) ctx: Workspace,
    pub(crate) mix: mix::Workspace,
    pub(crate) lorenzo: lorenzo::Workspace,
    #[cfg(feature = "encode")]
    pub(crate) encoder: Buffers,
}

impl Scratch {
    /// Creates an empty scratch; it grows with the largest tile.
    pub fn new() -> Self {
        Self::default()
    }
}
