//! Memory that calls reuse; one per thread.

use crate::ctx::Workspace;
#[cfg(feature = "encode")]
use crate::encode::{Buffers, Runs};
use crate::frame::Zstd;
use crate::word::Pool;

/// Buffers and contexts reused between calls; holds nothing that outlives a call.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) zstd: Zstd,
    #[cfg(feature = "encode")]
    pub(crate) runs: Runs,
    pub(crate) bytes: Vec<u8>,
    /// Residuals as bytes. Nothing else is put here, so that the next tile's, mostly as many, need not be cleared first.
    pub(crate) residuals: Vec<u8>,
    pub(crate) valid: Vec<u8>,
    pub(crate) pairs: Vec<u8>,
    /// The integers of a reference.
    pub(crate) reference: Pool,
    pub(crate) ctx: Workspace,
    #[cfg(feature = "encode")]
    pub(crate) encoder: Buffers,
}

impl Scratch {
    /// Empty; grows with the largest tile seen.
    pub fn new() -> Self {
        Self::default()
    }
}
