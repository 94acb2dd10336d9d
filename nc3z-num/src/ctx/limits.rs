//! The limits that a decoder accepts.

pub(crate) const MIN_LOG: u32 = 5;
pub(crate) const MAX_LOG: u32 = 12;
pub(crate) const MAX_NORTH: usize = 16;
pub(crate) const MAX_WEST: usize = 16;
pub(crate) const MAX_CONTEXTS: usize = 256;
pub(crate) const MAX_TABLES: usize = 64;
/// Up to this many tables, a map has four bits for each context, otherwise a byte.
pub(crate) const MAX_TABLES_OF_NIBBLES: usize = 16;
/// All decoding tables together: states are 16 bits wide.
pub(crate) const MAX_STATES: usize = 1 << 16;
/// The shortest row that gives contexts.
pub(crate) const MIN_STRIDE: usize = 16;
