//! The shape of a tile: distances to the neighbours that predictions use, and the axes in use.

use crate::word::index;

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
    /// let g = Geometry::new(&[7, 5, 3]);
    /// assert_eq!((g.row, g.plane, g.volume), (Some(3), Some(15), Some(105)));
    /// assert_eq!(Geometry::new(&[9]).plane, None);
    /// ```
    pub fn new(shape: &[u64]) -> Self {
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
/// number of repeats for neighbours, bits 6 and 7 those for rows: smooth fields need their second or third
/// differences. Neighbours are left out if a row contains unlike values (the components of a vector, the cells of a
/// mesh). Bit 8 says that floats are predicted by their values ([`DeltaAxes::by_value`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeltaAxes(pub(crate) u16);

/// The bit of predictions by values.
const BY_VALUE: u16 = 1 << 8;

/// The distances to the neighbours of a Lorenzo prediction, in addition to the previous element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stencil {
    pub(crate) near: usize,
    pub(crate) far: Option<usize>,
}

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
    /// The largest number of repeats for neighbours and for rows.
    pub const MOST_REPEATS: u8 = 3;

    /// Returns these axes with this number of repeats for neighbours and rows, at most [`DeltaAxes::MOST_REPEATS`]
    /// each. Axes that are not in use are not repeated.
    #[must_use]
    pub fn repeated(self, neighbours: u8, rows: u8) -> DeltaAxes {
        let neighbours = if self.0 & 1 == 1 { neighbours.min(Self::MOST_REPEATS) } else { 0 };
        let rows = if self.0 & 2 == 2 { rows.min(Self::MOST_REPEATS) } else { 0 };
        DeltaAxes(self.0 & 0x0F | u16::from(neighbours) << 4 | u16::from(rows) << 6)
    }

    /// Returns these axes, without repeats, for a prediction of floats by their values: of neighbours and one or two
    /// other axes. Integers and other axes are predicted by differences of integers.
    #[must_use]
    pub fn by_value(self) -> DeltaAxes {
        let fits = self.has_neighbours() && (1..=2).contains(&(self.0 >> 1 & 7).count_ones());
        DeltaAxes(self.0 & 0x0F | if fits { BY_VALUE } else { 0 })
    }

    /// Returns these axes for differences of integers.
    #[must_use]
    pub fn by_integer(self) -> DeltaAxes {
        DeltaAxes(self.0 & !BY_VALUE)
    }

    /// True if floats are predicted by their values.
    pub fn is_by_value(self) -> bool {
        self.0 & BY_VALUE != 0
    }

    /// Returns the distances of a prediction by values; `None` for differences of integers, or if the tile does not
    /// have the axes.
    pub(crate) fn stencil(self, geom: &Geometry, n: usize) -> Option<Stencil> {
        let mut later = self.later(geom, n).into_iter().flatten();
        let near = later.next().filter(|_| self.is_by_value())?;
        let far = later.next();
        let is_valid = later.next().is_none() && far.is_none_or(|far| far.is_multiple_of(near));
        is_valid.then_some(Stencil { near, far })
    }

    /// Returns these axes without neighbours and without repeats.
    #[must_use]
    pub fn alone(self) -> DeltaAxes {
        DeltaAxes(self.0 & 0x0E)
    }

    /// Returns the numbers of repeats for neighbours and rows.
    pub fn repeats(self) -> (u8, u8) {
        let repeats = self.0.to_le_bytes()[0];
        (repeats >> 4 & 3, repeats >> 6)
    }

    /// True if neighbours are in use.
    pub(crate) fn has_neighbours(self) -> bool {
        self.0 & 1 == 1
    }

    /// True if axes are in use, but not neighbours.
    pub(crate) fn are_alone(self) -> bool {
        self.0 != 0 && !self.has_neighbours()
    }

    /// Returns the distances along the axes after neighbours, in the order of their differences.
    pub(crate) fn later(self, geom: &Geometry, n: usize) -> [Option<usize>; 6] {
        let pick =
            |bit: u16, s: Option<u64>| if self.0 >> bit & 1 == 1 { Geometry::usable(s, n) } else { None };
        let row = pick(1, geom.row);
        let again = |k: u8| row.filter(|_| self.repeats().1 >= k);
        [row, again(1), again(2), again(3), pick(2, geom.plane), pick(3, geom.volume)]
    }

    /// True if each axis in use exists, only axes in use are repeated, and a prediction by values has its axes.
    pub(crate) fn fit(self, geom: &Geometry, n: usize) -> bool {
        let named = (self.0 >> 1 & 7).count_ones() as usize + usize::from(self.repeats().1);
        if self.later(geom, n).iter().flatten().count() != named {
            return false;
        }
        if self.is_by_value() {
            return self == self.by_value() && self.stencil(geom, n).is_some();
        }
        self == self.repeated(self.repeats().0, self.repeats().1)
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
        let (neighbours, rows) = self.repeats();
        if n == 0 {
            return DeltaAxes(0);
        }
        let axes = DeltaAxes(bits);
        if self.is_by_value() && axes.by_value().stencil(geom, n).is_some() {
            return axes.by_value();
        }
        axes.repeated(neighbours, rows)
    }
}
