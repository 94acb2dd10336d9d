//! The shape of a tile: distances to the neighbours that predictions use, and the axes in use.

use crate::word::{index, low8};

/// Distances, in elements of the tile, to the previous row, plane and volume: of the variable for linear tiles, of
/// the stored box for chunks. `None` if the array has too few dimensions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Geometry {
    /// Length of the last dimension.
    pub row: Option<u64>,
    /// `row` times the second-last dimension.
    pub plane: Option<u64>,
    /// `plane` times the third-last dimension.
    pub volume: Option<u64>,
}

impl Geometry {
    /// Returns the distances in a row-major box of `shape`. A product beyond 64 bits counts as absent: no tile is
    /// that large.
    ///
    /// ```
    /// use nc3z_num::Geometry;
    /// let g = Geometry::of(&[7, 5, 3]);
    /// assert_eq!((g.row, g.plane, g.volume), (Some(3), Some(15), Some(105)));
    /// assert_eq!(Geometry::of(&[9]).plane, None);
    /// ```
    pub fn of(shape: &[u64]) -> Self {
        let product = |n: usize| {
            let last = &shape[shape.len().checked_sub(n)?..];
            last.iter().try_fold(1u64, |product, &length| product.checked_mul(length))
        };
        Geometry { row: product(1), plane: product(2), volume: product(3) }
    }

    /// Returns a distance as an offset into a tile of `n` elements; `None` if there is no such neighbour.
    pub(crate) fn usable(distance: Option<u64>, n: usize) -> Option<usize> {
        distance.map(index).filter(|&s| s > 1 && s < n)
    }
}
/// The axes along which differences are taken: bit 0 neighbours, 1 rows, 2 planes, 3 volumes. Bits 4 and 5 are the
/// number of repeats for neighbours, bits 6 and 7 those for rows, bits 8 and 9 those for planes: smooth fields need
/// their second or third differences, and so do positions of particles from one time to the next. Neighbours are left
/// out if a row contains unlike values (the components of a vector, the cells of a mesh).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeltaAxes(pub(crate) u16);

impl DeltaAxes {
    /// No differences.
    pub const NONE: DeltaAxes = DeltaAxes(0);
    /// Neighbours.
    pub const NEIGHBOURS: DeltaAxes = DeltaAxes(1);
    /// Neighbours and rows.
    pub const ROWS: DeltaAxes = DeltaAxes(0b0011);
    /// Neighbours and planes.
    pub const PLANES: DeltaAxes = DeltaAxes(0b0101);
    /// Neighbours, rows and planes.
    pub const ROWS_PLANES: DeltaAxes = DeltaAxes(0b0111);
    /// Neighbours and volumes.
    pub const VOLUMES: DeltaAxes = DeltaAxes(0b1001);
    /// Neighbours, rows and volumes.
    pub const ROWS_VOLUMES: DeltaAxes = DeltaAxes(0b1011);
    /// The largest number of repeats.
    pub const MOST_REPEATS: u8 = 3;

    /// Returns these axes with these numbers of repeats, at most [`DeltaAxes::MOST_REPEATS`] each. Axes that are not
    /// in use are not repeated.
    #[must_use]
    pub fn repeated(self, repeats: [u8; 3]) -> DeltaAxes {
        let axes = self.0 & 0x0F;
        let repeat = |(axis, n): (u32, u8)| {
            if axes >> axis & 1 == 1 { u16::from(n.min(Self::MOST_REPEATS)) << (4 + 2 * axis) } else { 0 }
        };
        (0..).zip(repeats).map(repeat).fold(DeltaAxes(axes), |all, bits| DeltaAxes(all.0 | bits))
    }

    /// Returns these axes without repeats.
    #[must_use]
    pub fn once(self) -> DeltaAxes {
        DeltaAxes(self.0 & 0x0F)
    }

    /// Returns these axes without neighbours and without repeats.
    #[must_use]
    pub fn alone(self) -> DeltaAxes {
        DeltaAxes(self.0 & 0x0E)
    }

    /// Returns the numbers of repeats.
    pub fn repeats(self) -> [u8; 3] {
        [4, 6, 8].map(|shift| low8(u64::from(self.0 >> shift & 3)))
    }

    /// True if neighbours are in use.
    pub(crate) fn has_neighbours(self) -> bool {
        self.0 & 1 == 1
    }

    /// True if axes are in use, but not neighbours.
    pub(crate) fn are_alone(self) -> bool {
        self.0 != 0 && !self.has_neighbours()
    }

    /// Returns the distances along the axes after neighbours, in the order of their differences: rows as often as
    /// they are repeated, then planes, then volumes.
    pub(crate) fn later(self, geom: &Geometry, n: usize) -> impl DoubleEndedIterator<Item = usize> {
        let pick =
            |bit: u8, s: Option<u64>| if self.0 >> bit & 1 == 1 { Geometry::usable(s, n) } else { None };
        let [_, rows, planes] = self.repeats();
        [(pick(1, geom.row), rows), (pick(2, geom.plane), planes), (pick(3, geom.volume), 0)]
            .into_iter()
            .filter_map(|(s, again)| s.map(|s| std::iter::repeat_n(s, 1 + usize::from(again))))
            .flatten()
    }

    /// True if each axis in use exists, and only axes in use are repeated.
    pub(crate) fn fit(self, geom: &Geometry, n: usize) -> bool {
        let exists = |bit: u8, s: Option<u64>| self.0 >> bit & 1 == 0 || Geometry::usable(s, n).is_some();
        self == self.repeated(self.repeats())
            && exists(1, geom.row)
            && exists(2, geom.plane)
            && exists(3, geom.volume)
    }

    /// Returns these axes without those that do not exist, and without those that equal a shorter one.
    #[cfg(feature = "encode")]
    pub(crate) fn reduced(self, geom: &Geometry, n: usize) -> DeltaAxes {
        let mut bits = self.0 & 0x0F;
        for (bit, s) in [(1, geom.row), (2, geom.plane), (3, geom.volume)] {
            let repeats =
                (bit > 1 && s == geom.row && bits & 2 != 0) || (bit > 2 && s == geom.plane && bits & 4 != 0);
            if Geometry::usable(s, n).is_none() || repeats {
                bits &= !(1 << bit);
            }
        }
        if n == 0 { DeltaAxes(0) } else { DeltaAxes(bits).repeated(self.repeats()) }
    }
}
