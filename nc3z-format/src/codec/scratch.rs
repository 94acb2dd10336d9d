//! Memory that calls share; one for each thread.

use super::stage::Contexts;

/// Contexts and buffers that outlive one call; one for each thread.
#[derive(Default)]
pub struct CodecScratch {
    pub(super) contexts: Contexts,
    /// Buffers between the stages of a chain.
    pub(super) between: [Vec<u8>; 2],
    /// Lengths between the stages of a chain.
    pub(super) lengths: Vec<Between>,
    pub(super) num: nc3z_num::Scratch,
    pub(super) words: nc3z_num::Pool,
}

impl std::fmt::Debug for CodecScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodecScratch").finish_non_exhaustive()
    }
}

/// The known length between two stages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Between {
    Exactly(usize),
    AtMost(usize),
}

impl Between {
    pub(super) fn most(self) -> usize {
        match self {
            Between::Exactly(len) | Between::AtMost(len) => len,
        }
    }
}
