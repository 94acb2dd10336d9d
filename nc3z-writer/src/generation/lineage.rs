//! The references to older generations in a generation's commit block (`spec/archive.md`, section 11).

use super::ending::Ending;
use crate::error::Result;
use nc3z_format::archive::{ArrayId, Commit};
use nc3z_reader::Archive;
use std::ops::Range;

/// The generations that a new one refers to.
pub(super) struct Lineage {
    /// The generation whose index entries the new one has, except for changed ones.
    base: u32,
    /// The generation that has the head of the previous generation; 0 if that is the head copy.
    head_before: u32,
    /// The generation that has the new generation's head; 0 if that is the head copy.
    head: u32,
}

impl Lineage {
    /// Creates the lineage of the generation after this one, with the head copy as its head.
    pub(super) fn after(archive: &Archive) -> Result<Self> {
        let (base, head_before) = archive.block_generations()?;
        Ok(Lineage { base, head_before, head: 0 })
    }

    /// Keeps the head of the generation before.
    pub(super) fn keep_head(&mut self) {
        self.head = self.head_before;
    }

    /// Sets the head to a block of the new generation, which has this number.
    pub(super) fn put_head(&mut self, generation: u32) {
        self.head = generation;
    }

    /// Sets the content to that of an older version.
    pub(super) fn take_over(&mut self, version: &Archive) -> Result<()> {
        (self.base, self.head) = version.block_generations()?;
        Ok(())
    }

    /// Returns the commit of a generation whose blocks begin at `blocks_begin`; `blocks` is their number,
    /// including the commit.
    pub(super) fn commit(
        &self,
        ending: &Ending,
        blocks_begin: u64,
        blocks: u64,
        changed: Vec<(ArrayId, Vec<Range<u64>>)>,
    ) -> Commit {
        let (sha256, version) = (ending.sha256(), ending.version());
        Commit { sha256, blocks_begin, blocks, version, base: self.base, head: self.head, changed }
    }
}
