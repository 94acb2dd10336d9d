//! Notes for readers of an aggregation that are not errors.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximal number of notes.
const MOST: usize = 1000;

/// A set of notes without duplicates. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<BTreeSet<String>>>);

impl Notes {
    pub(super) fn add(&self, what: String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST {
            notes.insert(what);
        }
    }

    /// Returns all notes so far in alphabetical order, and removes them, so that each is reported once.
    pub fn take(&self) -> Vec<String> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *notes).into_iter().collect()
    }
}
