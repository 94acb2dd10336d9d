//! The state of a choice: pieces of one variable, facts about it, and reused memory.

use super::cached::CachedEncoding;
use super::maps::Maps;
use super::pieces::Pieces;
use crate::element::ElementType;
use crate::encode::{Coder, EncodePlan, Shape, TransformPlan};
use crate::geometry::DeltaAxes;
use crate::scratch::Scratch;
use crate::word::{Pool, Word};

/// [`Effort::Default`] packs bytes at zstd's highest level if level 1 leaves at most 1/`REPEATED` of them.
const REPEATED: u64 = 32;

/// The time to spend on a variable. Each effort also encodes the lower effort's choice on the samples.
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

/// One variable, and the facts found about it.
pub(crate) struct Chooser<'a, W> {
    pub(crate) pieces: Pieces<'a, W>,
    /// The elements of all samples.
    pub(crate) sampled: u64,
    /// True if the samples are worth many encodes.
    pub(crate) thorough: bool,
    pub(crate) ty: ElementType,
    pub(crate) mask: Option<u64>,
    /// For an array of categories, such as types of clouds: the transform without differences, and the bytes of its
    /// dictionary.
    pub(crate) categories: Option<(TransformPlan, u64)>,
    pub(crate) effort: Effort,
    /// The bytes of a dictionary, and the number of elements that share them.
    pub(crate) dict_len: u64,
    pub(crate) elements: u64,
    pub(crate) scratch: Scratch,
    /// The best encoding so far, if the samples are the whole variable.
    pub(crate) cached: Option<CachedEncoding>,
    /// A scratch without cached content.
    pub(crate) spare: Option<Scratch>,
    pub(crate) maps: Maps,
    /// A mapped piece for estimates, which change it.
    pub(crate) integers: Pool,
    pub(crate) tokens: Vec<u8>,
}

impl<W: Word> Chooser<'_, W> {
    /// Returns a plan for trials: zstd at level 1, which ranks plans as its higher levels do.
    pub(crate) fn plan(&self, transform: TransformPlan, axes: DeltaAxes, coder: Coder) -> EncodePlan {
        let shape = if self.effort == Effort::Max { Shape::FINE } else { Shape::ALONE };
        EncodePlan { mask: self.mask, transform, axes, coder, shape, level: 1 }
    }

    /// Returns the zstd level of tiles, if level 1 leaves `left` bytes of the samples. The time of the highest level
    /// grows with the bytes that it leaves.
    pub(crate) fn level(&self, left: u64) -> i32 {
        let repeated = W::BITS == 8 && left.saturating_mul(REPEATED) <= self.sampled;
        match self.effort {
            Effort::Fast => 1,
            Effort::Default if !repeated => 9,
            Effort::Default | Effort::Max => 19,
        }
    }

    /// Returns the share of the dictionary's bytes for `len` elements.
    pub(crate) fn share(&self, plan: &EncodePlan, len: usize) -> u64 {
        let len = len as u64;
        let stored = match &self.categories {
            Some((transform, stored)) if transform.is_same(&plan.transform) => *stored,
            _ if plan.dictionary().is_some() => self.dict_len,
            _ => 0,
        };
        stored * len / self.elements.max(len).max(1)
    }
}

/// The kind of a transform, with the step of a scale-offset.
pub(crate) type TransformKind = (std::mem::Discriminant<TransformPlan>, u64);

pub(crate) fn transform_kind(transform: &TransformPlan) -> TransformKind {
    let step = if let TransformPlan::ScaleOffset(l) = transform { l.step.to_bits() } else { 0 };
    (std::mem::discriminant(transform), step)
}
