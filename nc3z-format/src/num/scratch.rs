//! Memory that calls reuse; one per thread.

use super::ctx::Workspace;
use super::frame::Zstd;
use super::mask::Runs;
use super::word::Pool;

/// Buffers and contexts reused between calls; holds nothing that outlives a call.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) zstd: Zstd,
    pub(super) runs: Runs,
    pub(super) bytes: Vec<u8>,
    pub(super) valid: Vec<u8>,
    pub(super) pairs: Vec<u8>,
    pub(super) mapped: Pool,
    pub(super) spare: Pool,
    pub(super) ctx: Workspace,
}

impl Scratch {
    /// Empty; grows with the largest tile seen.
    pub fn new() -> Self {
        Self::default()
    }
}
