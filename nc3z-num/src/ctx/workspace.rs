//! Memory that the decoder of `ctx` reuses.

#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) padded: Vec<u8>,
    pub(crate) tokens: Vec<u8>,
    pub(crate) grid: Vec<u8>,
    pub(crate) spread: Vec<u8>,
    pub(crate) entries: Vec<u32>,
}
