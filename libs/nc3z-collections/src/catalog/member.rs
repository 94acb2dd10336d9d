//! The description of a file in a catalogue.

use bytes::Bytes;
use nc3z_format::double_double::DoubleDouble;
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
    /// A file that is not netCDF. Its header is empty.
    File,
}

impl HeadKind {
    pub(super) const ALL: [HeadKind; 6] = [
        HeadKind::Classic,
        HeadKind::Archive,
        HeadKind::Short,
        HeadKind::Packed,
        HeadKind::Other,
        HeadKind::File,
    ];

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
            HeadKind::File => "other file",
        }
    }
}

/// The kind, the length and the place of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The kind of the head.
    pub kind: HeadKind,
    /// Bytes of the classic file.
    pub len: u64,
    /// Offset of its bytes in its object, which is the file itself or the bundle.
    pub offset: u64,
    /// The number of these bytes.
    pub stored: u64,
    /// SHA-256 of the classic file, where it is on record.
    pub sha256: Option<[u8; 32]>,
    /// When the file on disk was changed last, as of the scan: nanoseconds since 1970; [`UNKNOWN_TIME`] where that is not known.
    pub modified: i64,
    /// CRC-32 of the stored bytes. Only bundles have it.
    pub crc32: Option<u32>,
    /// Permission bits. Only bundles have them.
    pub mode: Option<u16>,
    /// The number of a packed member in its group.
    pub group_member: u32,
}

/// Stands for a time that is not known.
pub const UNKNOWN_TIME: i64 = i64::MIN;

impl Default for Head {
    fn default() -> Self {
        Head {
            kind: HeadKind::default(),
            len: 0,
            offset: 0,
            stored: 0,
            sha256: None,
            modified: UNKNOWN_TIME,
            crc32: None,
            mode: None,
            group_member: 0,
        }
    }
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
    pub coordinates: Vec<CoordinateValues>,
    /// The variables, in the order of the header.
    pub variables: Vec<Variable>,
}

/// Values of a coordinate, big-endian: all of them, or the first and the last. A value of times that are text is a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoordinateValues {
    /// Its position in the header.
    pub variable: u32,
    /// True if these are all values.
    pub whole: bool,
    /// Bytes of a value.
    pub size: usize,
    /// The values of the coordinate.
    pub bytes: Bytes,
}

impl CoordinateValues {
    /// The first and the last value.
    #[must_use]
    pub fn ends(&self) -> Self {
        let ends = match (self.bytes.get(..self.size), self.bytes.len().checked_sub(self.size)) {
            (Some(first), Some(last)) => [first, &self.bytes[last..]].concat().into(),
            _ => Bytes::new(),
        };
        CoordinateValues { whole: false, bytes: ends, ..*self }
    }
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// The name of the variable.
    pub name: String,
    /// Its division into tiles.
    pub layout: TileLayout,
    /// The statistics of its tiles. None for text.
    pub tiles: Option<Vec<Tile>>,
    /// For each tile, the ranges of the file's bytes that reading it takes. A tile that is coded against another has several. Empty if
    /// the kind of the file has none.
    pub places: Vec<Vec<Range>>,
}

/// A range of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

/// Values of a tile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tile {
    /// Valid values that are finite.
    pub count: u64,
    /// Infinite values.
    pub infinite: u64,
    /// The least value, which may be infinite; 0 where there is none.
    pub min: Exactly,
    /// The largest value of the tile.
    pub max: Exactly,
    /// The sum of the finite values; infinite beyond the largest double.
    pub sum: DoubleDouble,
    /// The sum of their squares; infinite beyond the largest double.
    pub squares: DoubleDouble,
}

/// A number: the nearest double, and how much more it is. Only integers of 64 bits beyond 2^53 are not doubles. Numbers are
/// compared as their fields are.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Exactly {
    /// The double that is nearest to the number.
    pub nearest: f64,
    /// The number less the double.
    pub more: i64,
}

impl Exactly {
    /// The lesser of two.
    #[must_use]
    pub fn min(self, other: Exactly) -> Self {
        if other < self { other } else { self }
    }

    /// The greater of two.
    #[must_use]
    pub fn max(self, other: Exactly) -> Self {
        if other > self { other } else { self }
    }

    /// The whole number that a double cannot hold.
    pub fn whole(self) -> Option<i128> {
        #[expect(clippy::cast_possible_truncation, reason = "beyond 2^53 doubles are whole")]
        (self.more != 0).then(|| (self.nearest as i128).saturating_add(self.more.into()))
    }
}

impl std::fmt::Display for Exactly {
    /// The fewest digits that give the number back; with an exponent where there are many zeros.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.whole(), self.nearest) {
            (Some(n), _) => write!(f, "{n}"),
            (None, x) => f.write_str(&nc3z_format::decode_value::digits(x)),
        }
    }
}

impl From<f64> for Exactly {
    fn from(nearest: f64) -> Self {
        Exactly { nearest, more: 0 }
    }
}

impl From<i128> for Exactly {
    fn from(n: i128) -> Self {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "the rest is kept")]
        let (nearest, back) = (n as f64, n as f64 as i128);
        Exactly { nearest, more: i64::try_from(n.saturating_sub(back)).unwrap_or(0) }
    }
}
