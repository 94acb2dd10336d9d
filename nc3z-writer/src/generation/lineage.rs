//! What the commit block of a generation says of older generations (`spec/archive.md`, section 11).

use super::ending::Ending;
use crate::error::Result;
use nc3z_format::archive::{ArrayId, Commit};
use nc3z_reader::Archive;
use std::ops::Range;

/// The generations that a new one refers to.
pub(super) struct Lineage {
    /// The generation whose index entries the new one has, but for those that change.
    base: u32,
    /// The generation of the later head that the generation before has; 0 where its head is the head copy.
    head_before: u32,
    /// The same of the new generation.
    head: u32,
}

impl Lineage {
    /// Of a generation after this one, with the head copy as its head.
    pub(super) fn after(archive: &Archive) -> Result<Self> {
        let (base, head_before) = archive.block_generations()?;
        Ok(Lineage { base, head_before, head: 0 })
    }

    /// The head is that of the generation before.
    pub(super) fn keep_head(&mut self) {
        self.head = self.head_before;
    }

    /// The head is a block of the new generation, which has this number.
    pub(super) fn put_head(&mut self, generation: u32) {
        self.head = generation;
    }

    /// The generation holds again what an older version held.
    pub(super) fn take_over(&mut self, version: &Archive) -> Result<()> {
        (self.base, self.head) = version.block_generations()?;
        Ok(())
    }

    /// The commit of a generation whose blocks begin at `blocks_begin`, and are `blocks` with that of the commit.
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
