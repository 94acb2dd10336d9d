//! From pattern to number in a dictionary.

use crate::word::{Word, index};

/// No pattern.
const FREE: u32 = u32::MAX;

/// Open addressing, from pattern to rank. The patterns themselves stand in the dictionary: this is made anew for each that is tried, and
/// what it takes is touched all over.
#[derive(Debug)]
pub(crate) struct RankIndex {
    slots: Vec<u32>,
}

impl RankIndex {
    /// Of distinct patterns.
    pub(crate) fn new<W: Word>(patterns: &[W]) -> Self {
        let mut made = Self { slots: vec![FREE; (patterns.len() * 2).next_power_of_two()] };
        for (rank, &pattern) in (0u32..).zip(patterns) {
            let at = made.slot_of(patterns, pattern);
            made.slots[at] = rank;
        }
        made
    }

    /// The slot with the pattern, or the free one where it belongs.
    #[inline]
    fn slot_of<W: Word>(&self, patterns: &[W], pattern: W) -> usize {
        let most = self.slots.len() - 1;
        let mut at = index(pattern.to_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) & most;
        while self.slots[at] != FREE && patterns[self.slots[at] as usize] != pattern {
            at = (at + 1) & most;
        }
        at
    }

    /// The number of a pattern among those that this was made of.
    #[inline]
    pub(crate) fn get<W: Word>(&self, patterns: &[W], pattern: W) -> Option<u32> {
        let rank = self.slots[self.slot_of(patterns, pattern)];
        (rank != FREE).then_some(rank)
    }
}
