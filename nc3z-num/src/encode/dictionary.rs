//! Building a dictionary, and looking patterns up in it.

use super::exceptions::Exceptions;
use super::mask::pattern_of;
use super::rank_index::RankIndex;
use crate::dictionary::{Dictionary, MAX_DICTIONARY};
use crate::element::ElementType;
use crate::encode::Runs;
use crate::transform::{key, sort_key};
use crate::word::{Word, index};

impl Dictionary {
    /// Creates the dictionary of these patterns, in any order; `None` if there are none, or too many.
    pub fn new<W: Word>(mut patterns: Vec<W>, ty: ElementType) -> Option<Self> {
        patterns.sort_unstable_by_key(|&b| sort_key(b, ty));
        patterns.dedup();
        let len = patterns.len();
        if len == 0 || len > MAX_DICTIONARY {
            return None;
        }
        Some(Self::of_sorted(patterns))
    }

    /// Replaces patterns by ranks, in place. Returns `None` if more than an eighth of the valid patterns is
    /// unknown.
    pub(crate) fn map<W: Word>(&self, grid: &mut [W], runs: &Runs, ty: ElementType) -> Option<Exceptions<W>> {
        let table = self.patterns::<W>();
        if table.is_empty() || (W::BITS == 8 && table.len() > 255) {
            return None;
        }
        let index = self.index.get_or_init(|| RankIndex::new(table));
        let mut exceptions = Exceptions { list: Vec::new() };
        let mut previous = 0u32;
        let mut last = (table[0], 0u32);
        for run in &runs.list {
            for (at, w) in (run.start..).zip(&mut grid[run.clone()]) {
                if *w != last.0 {
                    if let Some(rank) = index.get(table, *w) {
                        last = (*w, rank);
                    } else {
                        let near = table.get(previous as usize).copied().unwrap_or_default();
                        exceptions.list.push((at, key(*w, ty).minus(key(near, ty))));
                        if exceptions.list.len() * 8 > runs.valid {
                            return None;
                        }
                        *w = W::from_u64(u64::from(previous));
                        continue;
                    }
                }
                previous = last.1;
                *w = W::from_u64(u64::from(previous));
            }
        }
        Some(exceptions)
    }
}

/// Collects the distinct patterns of a variable; gives up when there are too many.
#[derive(Debug)]
pub struct DictionaryBuilder<W> {
    /// Open addressing. Free slots have the default pattern; `filler_seen` is true if that also is a pattern of the
    /// variable.
    slots: Vec<W>,
    len: usize,
    filler_seen: bool,
    full: bool,
}

impl<W: Word> Default for DictionaryBuilder<W> {
    fn default() -> Self {
        Self { slots: vec![W::default(); 1 << 12], len: 0, filler_seen: false, full: false }
    }
}

impl<W: Word> DictionaryBuilder<W> {
    /// [`Self::add`] for one width.
    pub(crate) fn add_all(&mut self, elements: &[W], mask: Option<u64>) -> bool {
        let mask = mask.and_then(pattern_of::<W>);
        let mut last = W::default();
        for part in elements.chunks(1 << 10) {
            if self.full {
                break;
            }
            // Makes room for the whole part, so that the loop need not check.
            while (self.len + part.len()) * 2 > self.slots.len() {
                self.grow();
            }
            for &e in part {
                if e != last && Some(e) != mask {
                    self.insert(e);
                    last = e;
                }
            }
            self.filler_seen |= mask != Some(W::default()) && part.contains(&W::default());
            self.full = self.len() > MAX_DICTIONARY;
        }
        !self.full
    }

    #[inline]
    fn insert(&mut self, e: W) {
        let most = self.slots.len() - 1;
        let mut at = index(e.to_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) & most;
        if e == W::default() {
            return;
        }
        while self.slots[at] != e {
            if self.slots[at] == W::default() {
                self.slots[at] = e;
                self.len += 1;
                return;
            }
            at = (at + 1) & most;
        }
    }

    fn grow(&mut self) {
        let larger = vec![W::default(); self.slots.len() * 4];
        let old = std::mem::replace(&mut self.slots, larger);
        self.len = 0;
        for e in old {
            self.insert(e);
        }
    }

    /// Returns the number of patterns.
    pub(crate) fn len(&self) -> usize {
        self.len + usize::from(self.filler_seen)
    }

    /// The patterns, in no particular order.
    pub(crate) fn patterns(self) -> Vec<W> {
        let filler = self.filler_seen.then(W::default);
        self.slots.into_iter().filter(|&e| e != W::default()).chain(filler).collect()
    }

    /// [`Self::finish`] for one width.
    pub(crate) fn made(self, ty: ElementType) -> Option<Dictionary> {
        if self.full { None } else { Dictionary::new(self.patterns(), ty) }
    }
}
