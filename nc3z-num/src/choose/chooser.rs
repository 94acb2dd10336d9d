//! What choosing works on: pieces of one variable, what is known of it, and reused memory.

use super::kept::Kept;
use super::maps::Maps;
use super::pieces::Pieces;
use crate::element::ElementType;
use crate::encode::{Coder, EncodePlan, Shape, TransformPlan};
use crate::geometry::DeltaAxes;
use crate::scratch::Scratch;
use crate::word::{Pool, Word};

/// How much time a variable is worth. Each effort encodes on the samples what the one before would pick, besides its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// zstd only, level 1.
    Fast,
    /// The context coder, or zstd level 9.
    #[default]
    Default,
    /// Finer contexts, zstd level 19.
    Max,
}

/// A plan, and what it costs by an estimate or by real encodes.
pub(crate) type Costed = (u64, EncodePlan);

/// The cheapest first. One function for words of all widths.
pub(crate) fn sort_by_cost(plans: &mut [Costed]) {
    plans.sort_by_key(|plan| plan.0);
}

/// One variable, and what was found of it.
pub(crate) struct Chooser<'a, W> {
    pub(crate) pieces: Pieces<'a, W>,
    /// The elements of all samples.
    pub(crate) sampled: u64,
    /// Whether the samples are worth many encodes.
    pub(crate) thorough: bool,
    pub(crate) ty: ElementType,
    pub(crate) mask: Option<u64>,
    pub(crate) effort: Effort,
    /// Bytes that a dictionary costs besides the tiles, and the elements that share them.
    pub(crate) dict_len: u64,
    pub(crate) elements: u64,
    pub(crate) scratch: Scratch,
    /// Where all of the variable is looked at.
    pub(crate) kept: Option<Kept>,
    /// A scratch that nothing is kept in.
    pub(crate) spare: Option<Scratch>,
    pub(crate) maps: Maps,
    /// A piece as it was mapped, while estimates spoil it.
    pub(crate) integers: Pool,
    pub(crate) tokens: Vec<u8>,
}

impl<W: Word> Chooser<'_, W> {
    /// A plan for trials: zstd at level 1, which ranks plans as its higher levels do.
    pub(crate) fn plan(&self, transform: TransformPlan, axes: DeltaAxes, coder: Coder) -> EncodePlan {
        let shape = if self.effort == Effort::Max { Shape::FINE } else { Shape::ALONE };
        EncodePlan { mask: self.mask, transform, axes, coder, shape, level: 1 }
    }

    /// The zstd level of tiles.
    pub(crate) fn level(&self) -> i32 {
        match self.effort {
            Effort::Fast => 1,
            Effort::Default if W::BITS > 8 => 9,
            Effort::Default | Effort::Max => 19,
        }
    }

    /// What `len` elements bear of the dictionary.
    pub(crate) fn share(&self, plan: &EncodePlan, len: usize) -> u64 {
        let len = len as u64;
        if plan.dictionary().is_some() { self.dict_len * len / self.elements.max(len).max(1) } else { 0 }
    }
}

/// The kind of a transform, and the step of a scale-offset.
pub(crate) type TransformKind = (std::mem::Discriminant<TransformPlan>, u64);

pub(crate) fn transform_kind(transform: &TransformPlan) -> TransformKind {
    let step = if let TransformPlan::ScaleOffset(l) = transform { l.step.to_bits() } else { 0 };
    (std::mem::discriminant(transform), step)
}
