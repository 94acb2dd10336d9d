//! Memory that the encoder of `ctx` reuses.

use super::stream::Steps;

#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) tokens: Vec<u8>,
    pub(crate) grid: Vec<u8>,
    pub(crate) spread: Vec<u8>,
    pub(crate) symbols: Vec<u16>,
    /// 640 KiB, which decoders do not need.
    pub(crate) steps: Option<Steps>,
    pub(crate) averages: Vec<u8>,
    pub(crate) bits: Vec<u8>,
    pub(crate) counts: Vec<[u32; 2]>,
}
