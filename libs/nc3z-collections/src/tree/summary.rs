//! The result of a run through a tree: how many files became what, and what was skipped.

use crate::tree::other::words_of;
use crate::tree::{FileKind, Other};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// The results of a run.
#[derive(Debug)]
pub struct Summary {
    /// The verb for a processed file: "archived".
    verb: &'static str,
    started: Instant,
    /// Files that are done.
    pub done: u64,
    /// The number of files that were kept, and the word for them.
    pub kept: (u64, &'static str),
    /// Files that failed.
    pub failed: u64,
    /// Files that a stop came before.
    pub not_tried: u64,
    /// Files that were copied as they are.
    pub copied: u64,
    /// The number of files that were interrupted.
    pub interrupted: u64,
    /// The number of links that were created.
    linked: u64,
    before: u64,
    after: u64,
    others: BTreeMap<FileKind, u64>,
}

impl Summary {
    /// Begins to count a run that skips `others`.
    pub fn new(verb: &'static str, others: &[Other]) -> Self {
        let kinds = Other::count(others);
        let kept = (0, "already there");
        let started = Instant::now();
        Summary {
            verb,
            started,
            done: 0,
            kept,
            failed: 0,
            not_tried: 0,
            copied: 0,
            interrupted: 0,
            linked: 0,
            before: 0,
            after: 0,
            others: kinds,
        }
    }

    /// Counts a finished file, with its length before and after.
    pub fn add(&mut self, before: u64, after: u64) {
        self.done += 1;
        self.before += before;
        self.after += after;
    }

    /// Counts a skipped link that is created in the output.
    pub fn link_made(&mut self) {
        self.linked += 1;
        self.forget_link();
    }

    /// Counts a link that is there already.
    pub fn link_present(&mut self) {
        self.kept.0 += 1;
        self.forget_link();
    }

    fn forget_link(&mut self) {
        if let Some(n) = self.others.get_mut(&FileKind::InsideLink) {
            *n = n.saturating_sub(1);
        }
        self.others.retain(|_, n| *n > 0);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.done, self.verb)?;
        let rest = [
            (self.kept.0, self.kept.1),
            (self.copied, "copied"),
            (self.linked, "linked"),
            (self.failed, "failed"),
            (self.interrupted, "interrupted"),
            (self.not_tried, "not tried"),
        ];
        for (n, words) in rest.into_iter().filter(|(n, _)| *n > 0) {
            write!(f, ", {n} {words}")?;
        }
        if let Some(words) = words_of(&self.others) {
            write!(f, ", {words}")?;
        }
        if self.before > 0 {
            write!(f, "; {} -> {}", nc3z_look::text::size(self.before), nc3z_look::text::size(self.after))?;
        }
        if self.after < self.before {
            write!(f, " ({}x)", nc3z_look::text::ratio(self.before, self.after))?;
        }
        write!(f, " in {:.1} s", self.started.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn summary_names_what_there_was_and_nothing_else() {
        let other = |kind| Other { path: PathBuf::new(), name: PathBuf::new(), kind };
        let others = [FileKind::Hdf5, FileKind::Special("a named pipe"), FileKind::Hdf5].map(other);
        let mut summary = Summary::new("archived", &others);
        summary.add(2048, 1024);
        summary.failed = 1;
        summary.interrupted = 2;
        let words = summary.to_string();
        let expected = "1 archived, 1 failed, 2 interrupted, 3 passed over (2 netCDF-4 or HDF5, 1 named pipe); 2.0 KiB -> 1.0 KiB (2.00x) in ";
        assert!(words.starts_with(expected), "{words}");
        assert!(Summary::new("restored", &[]).to_string().starts_with("0 restored in "));
    }
}
