//! What readers of an aggregation should know, though it is no error.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Notes that are kept.
const MOST: usize = 1000;

/// Each note once. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<BTreeSet<String>>>);

impl Notes {
    pub(super) fn add(&self, what: String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST {
            notes.insert(what);
        }
    }

    /// All so far, in the order of the alphabet; they are told once.
    pub fn take(&self) -> Vec<String> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *notes).into_iter().collect()
    }
}
