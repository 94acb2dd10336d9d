//! From pattern to number in a dictionary.

use crate::word::index;

/// Open addressing, from pattern to rank.
#[derive(Debug)]
pub(crate) struct RankIndex {
    slots: Vec<(u64, u32)>,
    shift: u32,
}

impl RankIndex {
    pub(crate) fn new(patterns: impl Iterator<Item = u64>, len: usize) -> Self {
        let size = (len * 4).next_power_of_two();
        let mut made = Self { slots: vec![(0, u32::MAX); size], shift: 64 - size.trailing_zeros() };
        for (rank, p) in (0u32..).zip(patterns) {
            let mut at = made.slot(p);
            while made.slots[at].1 != u32::MAX {
                at = (at + 1) & (size - 1);
            }
            made.slots[at] = (p, rank);
        }
        made
    }

    #[inline]
    fn slot(&self, p: u64) -> usize {
        index(p.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift.min(63)) & (self.slots.len() - 1)
    }

    #[inline]
    pub(crate) fn get(&self, p: u64) -> Option<u32> {
        let mut at = self.slot(p);
        loop {
            let (pattern, rank) = self.slots[at];
            if rank == u32::MAX {
                return None;
            }
            if pattern == p {
                return Some(rank);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}
