//! The description of a file in a shadow.

use super::exact::Pair;
use bytes::Bytes;
use nc3z_format::tile::TileLayout;

/// The kind of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeadKind {
    /// A classic file.
    #[default]
    Classic,
    /// An archive whose tiles have places.
    Archive,
    /// An archive in the short form, which is read as a whole.
    Short,
    /// A member of a group of a packed bundle. Its place is that of the group, which is read as a whole.
    Packed,
    /// Anything else that presents variables, such as an aggregation. It has no places.
    Other,
}

impl HeadKind {
    pub(super) const ALL: [HeadKind; 5] =
        [HeadKind::Classic, HeadKind::Archive, HeadKind::Short, HeadKind::Packed, HeadKind::Other];

    pub(super) fn code(self) -> usize {
        HeadKind::ALL.iter().position(|kind| *kind == self).unwrap_or_default()
    }

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            HeadKind::Classic => "classic",
            HeadKind::Archive | HeadKind::Short => "archive",
            HeadKind::Packed => "packed",
            HeadKind::Other => "aggregation",
        }
    }
}

/// The kind, the length and the place of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// Its kind.
    pub kind: HeadKind,
    /// Bytes of the classic file.
    pub len: u64,
    /// Offset of its bytes in its object, which is the file itself or the bundle.
    pub offset: u64,
    /// The number of these bytes.
    pub stored: u64,
    /// SHA-256 of the classic file, where it is on record.
    pub sha256: Option<[u8; 32]>,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Member {
    /// As it was given; of a member of a bundle, `BUNDLE!/NAME`.
    pub name: String,
    /// Lengths and places.
    pub head: Head,
    /// The classic header's bytes.
    pub header: Bytes,
    /// Values of variables that are coordinates.
    pub coordinates: Vec<Known>,
    /// The variables, in the order of the header.
    pub variables: Vec<Variable>,
}

/// Values of a coordinate, big-endian: all of them, or the first and the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Its position in the header.
    pub variable: u32,
    /// True if these are all values.
    pub whole: bool,
    /// Bytes of a value.
    pub size: usize,
    /// The values.
    pub bytes: Bytes,
}

impl Known {
    /// The first and the last value.
    #[must_use]
    pub fn ends(&self) -> Self {
        let ends = match (self.bytes.get(..self.size), self.bytes.len().checked_sub(self.size)) {
            (Some(first), Some(last)) => [first, &self.bytes[last..]].concat().into(),
            _ => Bytes::new(),
        };
        Known { whole: false, bytes: ends, ..*self }
    }
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its division into tiles.
    pub layout: TileLayout,
    /// The statistics of its tiles. None for text.
    pub tiles: Option<Vec<Tile>>,
    /// Of each tile the ranges of the file's bytes that reading it takes; several where it is coded against another tile. Empty where
    /// the kind of the file has none.
    pub places: Vec<Vec<Range>>,
}

/// A range of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Its first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

/// Values of a tile. Those that are infinite are counted by themselves: they have no sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tile {
    /// Valid values that are finite.
    pub count: u64,
    /// Infinite values.
    pub infinite: u64,
    /// The least finite value; 0 where there is none.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Their sum.
    pub sum: Pair,
    /// The sum of their squares; infinite beyond the largest double.
    pub squares: Pair,
}
