//! The dependencies of a tile: dictionary, reference tile and older tile.

use std::num::NonZeroU32;

/// The dependencies of a tile. Its chain names them, before anything is fetched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// The number of the definition with the dictionary, among the definitions of the tile's variable.
    pub dictionary: Option<u64>,
    /// The id of the tile's variable minus the id of its reference variable. The tile is coded against the reference variable's tile
    /// with the same number.
    pub reference: Option<NonZeroU32>,
    /// Whether it is coded against an older tile, which its payload names first: [`super::Chain::older_tile`].
    pub base: bool,
}
