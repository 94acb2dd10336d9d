//! A part of a window of the original file.

use nc3z_format::array_table::ArrayInfo;

/// A part of a window that is a run of one array.
pub(super) struct Part<'w> {
    pub(super) info: &'w ArrayInfo,
    /// First byte in the flattened array.
    pub(super) first: u64,
    pub(super) out: &'w mut [u8],
    /// Where the following bytes of the array go.
    pub(super) more: Vec<&'w mut [u8]>,
    /// Bytes of all of them. A part may have 200,000, so they are not summed up for each that is added.
    pub(super) len: usize,
    /// True if bytes are copied from tiles that are held.
    pub(super) copies: bool,
}
