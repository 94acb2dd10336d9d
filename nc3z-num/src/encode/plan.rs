//! A plan: everything that the encoder is told about the tiles of a variable.

use crate::dictionary::Dictionary;
use crate::geometry::DeltaAxes;
use crate::scale_offset::ScaleOffset;
use std::sync::Arc;

/// How fine contexts and tables may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Binary logarithm of the table size, 5 to 12.
    pub log: u8,
    /// Classes of the previous row, 1 to 8.
    pub north: u8,
    /// Classes of the previous token, 1 to 16.
    pub west: u8,
}

impl Shape {
    /// Tables by the token before alone.
    pub(crate) const ALONE: Self = Self { log: 9, north: 1, west: 6 };
    /// Tables by the previous row, too, which takes a decoder a fifth to a half of its speed.
    pub(crate) const ROWS: Self = Self { log: 9, north: 4, west: 4 };
    /// As [`Shape::ROWS`], as fine as pays, for [`crate::Effort::Max`].
    pub(crate) const FINE: Self = Self { log: 11, north: 8, west: 4 };
}

/// How residuals are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coder {
    /// As they are.
    #[default]
    Store,
    /// Little-endian words, zstd.
    Zstd,
    /// Byte planes, zstd.
    Planes,
    /// Magnitude tokens in context, tANS.
    Ctx,
}

impl Coder {
    /// As a payload's first bytes name it.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Coder::Store => 0,
            Coder::Zstd => 1,
            Coder::Planes => 2,
            Coder::Ctx => 3,
        }
    }
}

/// Which transform to try.
#[derive(Debug, Clone, Default)]
pub enum TransformPlan {
    /// Order-preserving integers; common low zero bits are trimmed.
    #[default]
    Ordered,
    /// This scale-offset where it fits the tile, else one found for the tile.
    ScaleOffset(ScaleOffset),
    /// A scale-offset found for each plane of the tile.
    ScaleOffsetPerPlane,
    /// Ranks in this dictionary.
    Dictionary(Arc<Dictionary>),
}

impl TransformPlan {
    /// Whether another maps every tile to the same.
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

/// What to do with the tiles of a variable. Any plan can encode any tile.
#[derive(Debug, Clone)]
pub struct EncodePlan {
    /// Bit pattern to mask out.
    pub mask: Option<u64>,
    /// Transform.
    pub transform: TransformPlan,
    /// Differences; axes that a tile does not have are left out.
    pub axes: DeltaAxes,
    /// Residual codec.
    pub coder: Coder,
    /// Fineness of [`Coder::Ctx`].
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
    /// Whether another plan differs at most in zstd's level.
    pub fn is_same_way(&self, other: &Self) -> bool {
        let transforms = self.transform.is_same(&other.transform);
        transforms && self.mask == other.mask && self.axes == other.axes && self.coder == other.coder
    }

    /// Whether another plan makes the same of every tile.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
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
