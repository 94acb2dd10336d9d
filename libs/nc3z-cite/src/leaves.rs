//! The leaves that a hyperslab meets: a plan for an array that is divided into leaves.

use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::digest::Pieces;
use nc3z_format::plan::{Plan, TilePlan};
use nc3z_format::selection::Hyperslab;

/// An array divided into leaves.
pub(crate) struct Leaves {
    ty: NcType,
    shape: Vec<u64>,
    present: u64,
    pieces: Pieces,
}

impl Leaves {
    pub(crate) fn new(ty: NcType, shape: &[u64], present: u64) -> Result<Self> {
        if present.checked_mul(ty.size() as u64).is_none() {
            return Err(Error::refused("more elements than can be addressed"));
        }
        Ok(Leaves { ty, shape: shape.to_vec(), present, pieces: Pieces::leaves(ty, shape, present) })
    }

    /// Returns the plan of a hyperslab, whose tiles are leaves. All of them are present.
    pub(crate) fn plan(&self, slab: &Hyperslab) -> Result<Plan> {
        let plan: Plan = self.pieces.plan(self.ty, &self.shape, self.present, slab)?;
        if !plan.is_complete() {
            return Err(Error::Request("the file does not hold all that is selected".to_owned()));
        }
        Ok(plan)
    }

    pub(crate) fn count(&self) -> u64 {
        self.pieces.count()
    }

    /// The number of leaves of a branch.
    pub(crate) fn per_branch(&self) -> u64 {
        self.pieces.per_branch()
    }

    /// The length of a leaf in bytes.
    pub(crate) fn len_of(&self, leaf: u64) -> usize {
        let bytes = self.pieces.range(leaf);
        usize::try_from(bytes.end - bytes.start).expect("at most 4 KiB")
    }

    /// Returns the bytes of a leaf in a slice's values, if they are contiguous there.
    pub(crate) fn whole<'v>(&self, leaf: &TilePlan<'_>, values: &'v [u8]) -> Option<&'v [u8]> {
        let first = usize::try_from(leaf.whole?).ok()?.checked_mul(self.ty.size())?;
        values.get(first..first.checked_add(self.len_of(leaf.tile))?)
    }

    /// Returns whether a slice's values are equal to those of a leaf, where both have them.
    pub(crate) fn agrees(&self, leaf: &TilePlan<'_>, bytes: &[u8], values: &[u8]) -> bool {
        let size = self.ty.size();
        let element = |of: &[u8], at: u64| -> Option<[u8; 8]> {
            let at = usize::try_from(at).ok()?.checked_mul(size)?;
            let mut element = [0; 8];
            element[..size].copy_from_slice(of.get(at..at.checked_add(size)?)?);
            Some(element)
        };
        leaf.runs().all(|run| {
            (0..run.len).all(|n| {
                let to = run.dst.wrapping_add(run.dst_step.cast_unsigned().wrapping_mul(n));
                let found = element(values, to);
                found.is_some() && found == element(bytes, run.src + n * run.src_step)
            })
        })
    }
}
