//! A tile as it is read from the source.

use nc3z_format::archive::ArrayId;

/// One tile's big-endian bytes.
#[derive(Debug, Clone)]
pub(crate) struct RawTile {
    pub(crate) array: ArrayId,
    pub(crate) tile: u64,
    pub(crate) bytes: Vec<u8>,
}
