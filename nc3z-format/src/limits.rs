//! Caps on everything a file can ask for.

/// Caps on what a file may ask a reader to hold. Counts are compared with the bytes left in the input first,
/// with these second; only then is memory asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a classic header (and so of the header copy inside an archive).
    pub header_len: u64,
    /// Bytes of one name.
    pub name_len: u64,
    /// Dimensions of one variable.
    pub rank: u64,
    /// Decoded bytes of one tile or other block.
    pub tile_len: u64,
    /// Decoded bytes of tiles that a rebuild of the original may hold at once, besides its windows.
    pub rebuild_len: u64,
    /// Decoded bytes of the metadata section.
    pub metadata_len: u64,
    /// Decoded bytes of the variable table.
    pub table_len: u64,
    /// Chains of one archive.
    pub chains: u64,
    /// Filters and codecs in one chain.
    pub chain_len: u64,
    /// Sections of one generation.
    pub sections: u64,
    /// Generations of one archive.
    pub generations: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            header_len: 256 << 20,
            name_len: 1 << 20,
            rank: 1 << 16,
            tile_len: 1 << 30,
            rebuild_len: 2 << 30,
            metadata_len: 64 << 20,
            table_len: 1 << 30,
            chains: 1 << 16,
            chain_len: 32,
            sections: 1 << 10,
            generations: 1 << 20,
        }
    }
}
