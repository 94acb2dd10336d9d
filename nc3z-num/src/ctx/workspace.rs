//! Memory that the decoder of `ctx` reuses.

use super::lane::AHEAD;

/// Contexts of the next tokens of four lanes, and room for these.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) contexts: [[u16; AHEAD]; 4],
    pub(crate) tokens: [[u8; AHEAD]; 4],
}

impl Default for Block {
    fn default() -> Self {
        Self { contexts: [[0; AHEAD]; 4], tokens: [[0; AHEAD]; 4] }
    }
}

/// Buffers of one decoder.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) padded: Vec<u8>,
    pub(crate) tokens: Vec<u8>,
    pub(crate) grid: Vec<u8>,
    pub(crate) spread: Vec<u8>,
    pub(crate) entries: Vec<u32>,
    pub(crate) block: Option<Box<Block>>,
}
