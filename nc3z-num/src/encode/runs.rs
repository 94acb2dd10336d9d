//! Runs of valid positions.

use crate::mask::pack;
use std::ops::Range;

/// Positions of a tile without the masked pattern: ascending, not touching, not empty.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) list: Vec<Range<usize>>,
    /// Positions in all runs together.
    pub(crate) valid: usize,
}

impl Runs {
    pub(crate) fn copy(&mut self, other: &Self) {
        self.list.clone_from(&other.list);
        self.valid = other.valid;
    }

    fn clear(&mut self) {
        self.list.clear();
        self.valid = 0;
    }

    /// Appends a run; joins it to the last if they touch.
    fn push(&mut self, run: Range<usize>) {
        self.valid += run.len();
        match self.list.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.list.push(run),
        }
    }

    pub(crate) fn all(&mut self, n: usize) {
        self.clear();
        if n > 0 {
            self.push(0..n);
        }
    }

    /// Finds the runs of bytes of `valid` that are 0xFF; the others are 0.
    pub(crate) fn scan(&mut self, valid: &[u8]) {
        self.clear();
        let (mut start, mut open) = (0usize, 0u64);
        for (at, block) in (0..).step_by(64).zip(valid.chunks(64)) {
            let bits = pack(block);
            // A one marks every change; none follows the end.
            let known = u64::MAX >> (64 - block.len());
            let mut changes = (bits ^ (bits << 1 | open)) & known;
            while changes != 0 {
                let here = at + changes.trailing_zeros() as usize;
                if open == 0 {
                    start = here;
                } else {
                    self.push(start..here);
                }
                open ^= 1;
                changes &= changes - 1;
            }
        }
        if open == 1 {
            self.push(start..valid.len());
        }
    }

    /// Moves the words in the runs to the front.
    pub(crate) fn gather<T: Copy>(&self, grid: &mut [T]) {
        let mut to = 0;
        for run in &self.list {
            grid.copy_within(run.clone(), to);
            to += run.len();
        }
    }
}
