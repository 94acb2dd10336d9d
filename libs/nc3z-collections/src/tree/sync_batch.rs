//! Archives that are complete and wait for the disk together, so that thousands of small files do not cause
//! thousands of waits.

use crate::tree::walk::Job;
use nc3z_writer::Prepared;
use std::fs::Metadata;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The maximal number of archives that wait together; each is an open file.
const FILES: usize = 32;
/// The maximal number of bytes of archives that wait together.
const BYTES: u64 = 32 << 20;
/// The maximal time that the first of them waits, so that a run that is stopped loses little work.
const TIME: Duration = Duration::from_millis(500);

/// A complete archive that is not yet on disk under its name.
pub(crate) struct PendingArchive<'j> {
    /// The source and the archive's name.
    pub(crate) job: &'j Job,
    pub(crate) prepared: Prepared,
    /// The source before it was read.
    pub(crate) before: Option<Metadata>,
    /// When work on it began.
    pub(crate) begin: Instant,
}

#[derive(Default)]
pub(crate) struct SyncBatch<'j>(Mutex<Batch<'j>>);

#[derive(Default)]
struct Batch<'j> {
    held: Vec<PendingArchive<'j>>,
    bytes: u64,
    since: Option<Instant>,
}

impl<'j> SyncBatch<'j> {
    /// Adds an archive. Returns all waiting ones if they are enough, otherwise none.
    pub(crate) fn add(&self, held: PendingArchive<'j>) -> Vec<PendingArchive<'j>> {
        let mut batch = self.0.lock().expect("nothing panics while it is locked");
        batch.bytes += held.prepared.done().stored_len;
        batch.held.push(held);
        let since = *batch.since.get_or_insert_with(Instant::now);
        let enough = batch.held.len() >= FILES || batch.bytes >= BYTES || since.elapsed() >= TIME;
        if enough { std::mem::take(&mut *batch).held } else { Vec::new() }
    }

    pub(crate) fn rest(&self) -> Vec<PendingArchive<'j>> {
        std::mem::take(&mut *self.0.lock().expect("nothing panics while it is locked")).held
    }
}
