//! Maps patterns to their numbers in a dictionary.

use crate::word::{Word, index};

/// The content of a free slot.
const FREE: u32 = u32::MAX;

/// Open addressing, from pattern to rank. The patterns are stored only in the dictionary: this index is built for
/// each dictionary that is tried, and building it accesses all of its memory.
#[derive(Debug)]
pub(crate) struct RankIndex {
    slots: Vec<u32>,
}

impl RankIndex {
    /// Creates the index of distinct patterns.
    pub(crate) fn new<W: Word>(patterns: &[W]) -> Self {
        let mut made = Self { slots: vec![FREE; (patterns.len() * 2).next_power_of_two()] };
        for (rank, &pattern) in (0u32..).zip(patterns) {
            let at = made.slot_of(patterns, pattern);
            made.slots[at] = rank;
        }
        made
    }

    /// Returns the slot of the pattern, or the free slot for it.
    #[inline]
    fn slot_of<W: Word>(&self, patterns: &[W], pattern: W) -> usize {
        let most = self.slots.len() - 1;
        let mut at = index(pattern.to_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) & most;
        while self.slots[at] != FREE && patterns[self.slots[at] as usize] != pattern {
            at = (at + 1) & most;
        }
        at
    }

    /// Returns the number of a pattern among those of this index.
    #[inline]
    pub(crate) fn get<W: Word>(&self, patterns: &[W], pattern: W) -> Option<u32> {
        let rank = self.slots[self.slot_of(patterns, pattern)];
        (rank != FREE).then_some(rank)
    }
}
