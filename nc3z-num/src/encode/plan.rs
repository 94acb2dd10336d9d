//! The encoder's plan for the tiles of a variable.

use crate::dictionary::Dictionary;
use crate::geometry::DeltaAxes;
use crate::scale_offset::ScaleOffset;
use std::sync::Arc;

/// The resolution of contexts and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Binary logarithm of the table size, 5 to 12.
    pub log: u8,
    /// Classes of the previous row, 1 to 16.
    pub north: u8,
    /// Classes of the previous token, 1 to 16.
    pub west: u8,
}

impl Shape {
    /// Tables by the previous token only.
    pub(crate) const ALONE: Self = Self { log: 9, north: 1, west: 6 };
    /// Tables by the previous row as well, which reduces decoding speed by a fifth to a half.
    pub(crate) const ROWS: Self = Self { log: 9, north: 4, west: 4 };
    /// Like [`Shape::ROWS`], by more classes, for long tiles.
    pub(crate) const FINER_ROWS: Self = Self { log: 9, north: 8, west: 8 };
    /// Like [`Shape::ROWS`], in the finest useful resolution, for [`crate::Effort::Max`].
    pub(crate) const FINE: Self = Self { log: 11, north: 8, west: 4 };
    /// Tables by single tokens, for categories; the first is without rows.
    pub(crate) const OF_CATEGORIES: [Self; 3] = [
        Self { log: 11, north: 1, west: 16 },
        Self { log: 11, north: 4, west: 8 },
        Self { log: 8, north: 16, west: 16 },
    ];
}

/// The way to store residuals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coder {
    /// Unchanged.
    #[default]
    Store,
    /// Little-endian words, zstd.
    Zstd,
    /// Byte planes, zstd.
    Planes,
    /// Magnitude tokens in context, tANS.
    Ctx,
    /// Mixed predictions of bits, arithmetic coding: the smallest and slowest.
    Mix,
}

impl Coder {
    /// Returns the code in a payload's first bytes.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Coder::Store => 0,
            Coder::Zstd => 1,
            Coder::Planes => 2,
            Coder::Ctx => 3,
            Coder::Mix => 4,
        }
    }
}

/// The transform to try.
#[derive(Debug, Clone, Default)]
pub enum TransformPlan {
    /// Order-preserving integers; common low zero bits are trimmed.
    #[default]
    Ordered,
    /// This scale-offset if it fits the tile, otherwise one found for the tile.
    ScaleOffset(ScaleOffset),
    /// A scale-offset found for each plane of the tile.
    ScaleOffsetPerPlane,
    /// Ranks in this dictionary.
    Dictionary(Arc<Dictionary>),
}

impl TransformPlan {
    /// True if another transform maps every tile to the same integers.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (TransformPlan::Ordered, TransformPlan::Ordered)
            | (TransformPlan::ScaleOffsetPerPlane, TransformPlan::ScaleOffsetPerPlane) => true,
            (TransformPlan::ScaleOffset(a), TransformPlan::ScaleOffset(b)) => a == b,
            (TransformPlan::Dictionary(a), TransformPlan::Dictionary(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// The instructions for the tiles of a variable. Any plan can encode any tile.
#[derive(Debug, Clone)]
pub struct EncodePlan {
    /// Bit pattern to mask out.
    pub mask: Option<u64>,
    /// Transform.
    pub transform: TransformPlan,
    /// Differences; axes that a tile does not have are ignored.
    pub axes: DeltaAxes,
    /// Residual codec.
    pub coder: Coder,
    /// Resolution of [`Coder::Ctx`].
    pub shape: Shape,
    /// zstd level of residuals.
    pub level: i32,
}

impl Default for EncodePlan {
    fn default() -> Self {
        Self {
            mask: None,
            transform: TransformPlan::Ordered,
            axes: DeltaAxes::NONE,
            coder: Coder::Store,
            shape: Shape::ROWS,
            level: 9,
        }
    }
}

impl EncodePlan {
    /// True if the other plan differs at most in zstd's level and the contexts' resolution.
    pub fn is_same_way(&self, other: &Self) -> bool {
        let transforms = self.transform.is_same(&other.transform);
        transforms && self.mask == other.mask && self.axes == other.axes && self.coder == other.coder
    }

    /// True if the other plan gives the same payload for every tile.
    pub fn is_same(&self, other: &Self) -> bool {
        self.is_same_way(other) && self.level == other.level && self.shape == other.shape
    }

    /// The dictionary it refers to.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.transform {
            TransformPlan::Dictionary(dict) => Some(dict),
            _ => None,
        }
    }
}
