//! Reports of a run while it works.

use crate::tree::Error;
use crate::tree::offline::OfflineFiles;
use crate::tree::walk::{Job, Notice};
use nc3z_reader::Monitor;
use nc3z_writer::ArchiveReport;
use std::path::Path;

/// A report of a run, from any of its threads.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file of a tree is skipped, and the user should know.
    Notice(&'a Notice),
    /// Files without data on disk are left out, or read last.
    Offline(&'a OfflineFiles),
    /// A temporary file of a run that was killed was removed.
    Removed(&'a Path),
    /// A file was archived.
    Archived(&'a Job, &'a ArchiveReport),
    /// The archive of a file already existed.
    Present(&'a Job),
    /// The work on a file is over, except for waiting for the disk.
    FileDone,
    /// In a dry run: the file would be archived.
    WouldArchive(&'a Job),
    /// In a dry run: another file has the name of the archive.
    WouldFail(&'a Job),
    /// A link leads out of the tree and is not made in the copy.
    LinkLeadsOut(&'a Path),
}

/// Receives the reports of a run.
pub trait Observer: Sync {
    /// Returns what receives the progress in bytes, and decides whether the run ends.
    fn monitor(&self) -> &dyn Monitor;

    /// Is called before the first file, with the bytes of all.
    fn begin(&self, jobs: &[Job], bytes: u64) {
        let _ = (jobs, bytes);
    }

    /// Is called after the last file.
    fn end(&self) {}

    /// Is called with each report.
    fn event(&self, event: Event<'_>) {
        let _ = event;
    }

    /// Is called with each failure of a file, or of a directory that cannot be read. Returns its text for the log.
    fn failed(&self, job: Option<&Job>, path: &Path, error: Error) -> String;
}

/// Reports no progress, and stops when another monitor does.
pub(super) struct Silent<'a>(pub(super) &'a dyn Monitor);

impl Monitor for Silent<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
