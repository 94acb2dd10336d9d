//! The pieces of a variable's values that have nodes in its tree (`spec/digest.md`, section 2).
//!
//! ```text
//! values ─▶ branches (planes, or whatever trailing part of the array has 32 KiB) ─▶ leaves of 4 KiB
//! ```
//! Each branch begins with a new leaf. So no node covers parts of two branches, and the leaves of a slice of whole planes have no
//! values of other planes (docs/design/0041).

use super::tree::{GROUP_LEN, LEAF_LEN};
use crate::error::Result;
use crate::plan::Plan;
use crate::selection::Hyperslab;
use crate::tile::TileLayout;
use crate::types::NcType;
use std::ops::Range;

/// The smallest trailing part of an array with at least this many bytes is a branch.
const BRANCH_FROM: u64 = 32 << 10;

/// Returns the length in bytes of a branch of an array with these lengths. An array that is too short for branches is one branch of `len`
/// bytes. The first dimension, which may be the record dimension, is not part of a branch.
pub fn branch_len(ty: NcType, shape: &[u64], len: u64) -> u64 {
    let mut bytes = ty.size() as u64;
    for &n in shape.iter().skip(1).rev() {
        bytes = bytes.saturating_mul(n);
        if bytes >= BRANCH_FROM {
            return bytes;
        }
    }
    len.max(1)
}

/// A level of the tree over a variable's values: branches that are cut into pieces, or pieces of whole branches. The units are bytes, or
/// the pieces of a lower level.
///
/// ```
/// use nc3z_format::{NcType, digest::Pieces};
/// // Three planes of 40,000 bytes: 9 leaves of 4,096 bytes and one of 3,136.
/// let leaves = Pieces::leaves(NcType::Float, &[3, 100, 100], 30_000);
/// assert_eq!((leaves.count(), leaves.per_branch()), (30, 10));
/// assert_eq!(leaves.range(9), 36_864..40_000);
/// assert_eq!(leaves.coarser(4).range(1), 40_000..80_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    len: u64,
    /// Units of a branch; the last one may have fewer. At least 1.
    branch: u64,
    /// Units of a piece; the last one of a branch may have fewer. At least 1.
    piece: u64,
}

impl Pieces {
    /// The leaves of an array whose first `present` elements exist, in bytes.
    pub fn leaves(ty: NcType, shape: &[u64], present: u64) -> Self {
        let len = present.saturating_mul(ty.size() as u64);
        Pieces { len, branch: branch_len(ty, shape, len), piece: LEAF_LEN as u64 }
    }

    /// The groups of values in branches of `branch` bytes, which threads hash.
    pub(super) fn groups(branch: u64) -> Self {
        Pieces { len: u64::MAX, branch: branch.max(1), piece: GROUP_LEN as u64 }
    }

    /// These pieces as units: the pieces of a level above them are in pieces of this level.
    pub(super) fn as_units(&self) -> Self {
        Pieces { len: self.count(), branch: self.per_branch(), piece: 1 }
    }

    /// Returns pieces that are `2^level` times as large. A piece has `2^level` of these pieces within a branch. If branches have fewer, it
    /// has as many whole branches, a power of two, as have at most `2^level` pieces together.
    #[must_use]
    pub fn coarser(&self, level: u32) -> Self {
        let (many, per_branch) = (1 << level, self.per_branch());
        if per_branch > many {
            return Pieces { piece: self.piece << level, ..*self };
        }
        let branches = 1_u64 << (many / per_branch).ilog2();
        let branch = self.branch.saturating_mul(branches);
        Pieces { branch, piece: branch, ..*self }
    }

    /// Units of a branch.
    pub fn branch(&self) -> u64 {
        self.branch
    }

    /// Units of a piece that does not end its branch.
    pub fn piece(&self) -> u64 {
        self.piece
    }

    /// Pieces of a branch.
    pub fn per_branch(&self) -> u64 {
        self.branch.div_ceil(self.piece)
    }

    /// Number of pieces.
    pub fn count(&self) -> u64 {
        self.len / self.branch * self.per_branch() + (self.len % self.branch).div_ceil(self.piece)
    }

    /// The piece that has this unit.
    pub fn piece_at(&self, unit: u64) -> u64 {
        unit / self.branch * self.per_branch() + unit % self.branch / self.piece
    }

    /// The units of a piece. Empty where there is no such piece.
    pub fn range(&self, piece: u64) -> Range<u64> {
        let (branch, within) = (piece / self.per_branch(), piece % self.per_branch());
        let first = branch.saturating_mul(self.branch);
        let begin = first.saturating_add(within.saturating_mul(self.piece)).min(self.len);
        let end = begin.saturating_add(self.piece).min(first.saturating_add(self.branch)).min(self.len);
        begin..end.max(begin)
    }

    /// The smallest range of whole pieces that has these units.
    pub fn around(&self, units: Range<u64>) -> Range<u64> {
        if units.is_empty() {
            return units;
        }
        self.range(self.piece_at(units.start)).start..self.range(self.piece_at(units.end - 1)).end
    }

    /// Returns the pieces that a hyperslab of the array touches, as a plan whose tiles are the pieces.
    ///
    /// # Errors
    /// Arrays that are too large, a hyperslab beyond them.
    pub fn plan(&self, ty: NcType, shape: &[u64], present: u64, slab: &Hyperslab) -> Result<Plan> {
        let elements = |bytes: u64| (bytes / ty.size() as u64).max(1);
        let tiling = TileLayout::linear(elements(self.piece.min(self.branch))).bind(shape, present)?;
        Plan::in_branches(&tiling, elements(self.branch), slab)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every unit's piece, one after another.
    fn one_by_one(p: Pieces) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < p.len {
            let branch_end = (at / p.branch + 1) * p.branch;
            let end = (at + p.piece).min(branch_end).min(p.len);
            found.push(at..end);
            at = end;
        }
        found
    }

    #[test]
    fn numbers_and_ranges_are_those_of_counting() {
        for len in [0, 1, 5, 40, 41, 97] {
            for branch in [1, 3, 4, 10, 40, 100] {
                for piece in [1, 2, 3, 4, 64] {
                    let p = Pieces { len, branch, piece };
                    for p in [p, p.coarser(1), p.coarser(3), p.as_units().coarser(2)] {
                        let ranges = one_by_one(p);
                        assert_eq!(p.count(), ranges.len() as u64, "{p:?}");
                        for (n, range) in (0..).zip(&ranges) {
                            assert_eq!(p.range(n), *range, "{p:?}");
                            assert!(range.clone().all(|unit| p.piece_at(unit) == n), "{p:?}");
                            assert_eq!(p.around(range.end - 1..range.end), *range);
                        }
                        assert!(p.range(p.count()).is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn branches_are_the_smallest_trailing_part_without_the_first_dimension() {
        let len = |shape: &[u64]| branch_len(NcType::Float, shape, 77);
        assert_eq!(len(&[10, 90, 180]), 90 * 180 * 4);
        assert_eq!(len(&[10, 19, 80, 100]), 19 * 80 * 100 * 4, "32,000 bytes in a plane");
        assert_eq!(len(&[10, 19, 8, 10]), 77, "6,080 bytes in a record");
        assert_eq!(len(&[10, 103, 8, 10]), 103 * 8 * 10 * 4);
        assert_eq!(len(&[10, 8192]), 32 << 10);
        assert_eq!(len(&[10, 8191]), 77);
        assert_eq!(len(&[1 << 40]), 77);
        assert_eq!(len(&[]), 77);
        assert_eq!(len(&[9, 0, 1 << 40]), 4 << 40, "an array of nothing has no branch");
        assert_eq!(len(&[9, 1 << 40, 0]), 77);
        assert_eq!(len(&[9, u64::MAX, u64::MAX]), u64::MAX);
    }

    #[test]
    fn pieces_above_branches_have_whole_branches() {
        // 11 leaves in a branch.
        let leaves = Pieces::leaves(NcType::Float, &[1000, 73, 144], 1000 * 73 * 144);
        assert_eq!(leaves.per_branch(), 11);
        for (level, branches) in [(4, 1), (5, 2), (6, 4), (7, 8), (8, 16)] {
            let nodes = leaves.coarser(level);
            assert_eq!((nodes.range(1), nodes.per_branch()), (42_048 * branches..42_048 * 2 * branches, 1));
        }
        assert_eq!(leaves.coarser(3).per_branch(), 2);
    }
}
