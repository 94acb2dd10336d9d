//! The memory that the encoder reuses between tiles.

use super::ctx::Workspace;
use super::frame::Compressor;
use crate::word::Pool;

/// Buffers and contexts of the encoder.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) zstd: Compressor,
    /// The elements while they are converted to residuals.
    pub(crate) mapped: Pool,
    pub(crate) spare: Pool,
    pub(crate) ctx: Workspace,
}
