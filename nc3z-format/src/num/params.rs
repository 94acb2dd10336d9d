//! What the codec is told from outside the payload: the shape of a tile, and the stored chain.

use super::word::index;
use serde::{Deserialize, Serialize};

/// Strides of a tile, in elements: of the variable for linear tiles, of the clipped chunk for chunks.
/// 0 or 1 = there is no such stride.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Geometry {
    /// Length of the last dimension.
    pub row: u64,
    /// Product of the last two.
    pub plane: u64,
    /// Product of the last three.
    pub volume: u64,
}

impl Geometry {
    /// A stride as an offset into a tile of `n` elements; None where there is no such neighbour.
    pub(super) fn usable(stride: u64, n: usize) -> Option<usize> {
        let s = index(stride);
        (s > 1 && s < n).then_some(s)
    }
}

/// Which strides are differenced: bit 0 neighbours, 1 rows, 2 planes, 3 volumes; and how many times more neighbours
/// (bits 4, 5) and rows (bits 6, 7) are differenced again: smooth fields need their second or third differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strides(pub(super) u8);

impl Strides {
    /// No differences.
    pub const NONE: Strides = Strides(0);
    /// Neighbours.
    pub const W: Strides = Strides(1);
    /// Neighbours and rows.
    pub const L2: Strides = Strides(0b0011);
    /// Neighbours and planes.
    pub const WT: Strides = Strides(0b0101);
    /// Neighbours, rows and planes.
    pub const L3: Strides = Strides(0b0111);
    /// Neighbours and volumes.
    pub const WQ: Strides = Strides(0b1001);
    /// Neighbours, rows and volumes.
    pub const L3Q: Strides = Strides(0b1011);
    /// Neighbours and rows are differenced at most so many times more.
    pub const MOST_AGAIN: u8 = 3;

    /// These strides, with neighbours and rows differenced so many times more, at most [`Strides::MOST_AGAIN`] each; what is
    /// not named is not repeated.
    #[must_use]
    pub fn again(self, neighbours: u8, rows: u8) -> Strides {
        let neighbours = if self.0 & 1 == 1 { neighbours.min(Self::MOST_AGAIN) } else { 0 };
        let rows = if self.0 & 2 == 2 { rows.min(Self::MOST_AGAIN) } else { 0 };
        Strides(self.0 & 0x0F | neighbours << 4 | rows << 6)
    }

    /// How many times neighbours, and rows, are differenced after the first time.
    pub fn repeats(self) -> (u8, u8) {
        (self.0 >> 4 & 3, self.0 >> 6)
    }

    /// The strides longer than 1, in the order in which they are differenced.
    pub(super) fn later(self, geom: &Geometry, n: usize) -> [Option<usize>; 6] {
        let pick = |bit: u8, s: u64| if self.0 >> bit & 1 == 1 { Geometry::usable(s, n) } else { None };
        let row = pick(1, geom.row);
        let again = |k: u8| row.filter(|_| self.repeats().1 >= k);
        [row, again(1), again(2), again(3), pick(2, geom.plane), pick(3, geom.volume)]
    }

    /// True where each stride named exists, and only what is named is repeated.
    pub(super) fn fit(self, geom: &Geometry, n: usize) -> bool {
        let named = (self.0 >> 1 & 7).count_ones() as usize + usize::from(self.repeats().1);
        self == self.again(self.repeats().0, self.repeats().1)
            && (self.0 == 0 || self.0 & 1 == 1)
            && self.later(geom, n).iter().flatten().count() == named
    }

    /// Without the strides that do not exist, or that repeat a shorter one.
    pub(super) fn reduced(self, geom: &Geometry, n: usize) -> Strides {
        let mut bits = self.0 & 0x0F;
        for (bit, s) in [(1, geom.row), (2, geom.plane), (3, geom.volume)] {
            let repeats =
                (bit > 1 && s == geom.row && bits & 2 != 0) || (bit > 2 && s == geom.plane && bits & 4 != 0);
            if Geometry::usable(s, n).is_none() || repeats {
                bits &= !(1 << bit);
            }
        }
        let (neighbours, rows) = self.repeats();
        if n == 0 { Strides(0) } else { Strides(bits).again(neighbours, rows) }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Id {
    #[default]
    #[serde(rename = "nc3z.num")]
    Num,
}

/// What the stored chain says: `{"id":"nc3z.num"}`, with `"dict":N` where ranks refer to definition `N`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    id: Id,
    /// Number of the definition block that holds the rank dictionary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dict: Option<u64>,
}

impl Params {
    /// The chain that names this dictionary, or none.
    pub fn new(dict: Option<u64>) -> Self {
        Self { id: Id::Num, dict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_canonical_and_strict() {
        let json = |p| serde_json::to_string(&p).unwrap();
        assert_eq!(json(Params::default()), r#"{"id":"nc3z.num"}"#);
        assert_eq!(json(Params::new(Some(7))), r#"{"id":"nc3z.num","dict":7}"#);
        let read = serde_json::from_str::<Params>;
        assert_eq!(read(r#"{"id":"nc3z.num","dict":7}"#).unwrap(), Params::new(Some(7)));
        assert!(read(r#"{"id":"nc3z.num","x":1}"#).is_err());
        assert!(read(r#"{"id":"other"}"#).is_err() && read("{}").is_err());
    }
}
