//! The end of a generation: section table and trailer.

use crate::error::{ErrorKind, Result};
use nc3z_format::archive::constants::REQUIRED_LATER_HEAD;
use nc3z_format::archive::{Commit, DigestState, Salt, SectionEntry, SectionTable, TRAILER_LEN, Trailer};
use std::ops::Range;
use std::path::Path;

/// What the trailer of a generation says beside the places of things, which are not known before the end.
#[derive(Debug, Clone)]
pub(crate) struct Ending(Trailer);

impl Ending {
    /// Of the first generation of an archive.
    pub(crate) fn first(salt: Salt, original_len: u64) -> Self {
        Ending(Trailer {
            generation: 1,
            salt,
            required: 0,
            optional: 0,
            sections_offset: 0,
            sections_len: 0,
            sections_crc: 0,
            blocks_begin: 0,
            blocks_end: 0,
            previous: 0,
            archive_len: 0,
            original_len,
            sha256: [0; 32],
            digest_state: DigestState::None,
        })
    }

    /// Of the generation after this one: the same file with the same features, until it is told otherwise. `path` is for messages.
    pub(crate) fn after(last: &Trailer, path: &Path) -> Result<Self> {
        let Some(generation) = last.generation.checked_add(1) else {
            return Err(ErrorKind::GenerationsUsedUp(path.to_owned()).into());
        };
        let previous = last.archive_len - TRAILER_LEN as u64;
        Ok(Ending(Trailer { generation, previous, ..last.clone() }))
    }

    pub(crate) fn generation(&self) -> u32 {
        self.0.generation
    }

    pub(crate) fn salt(&self) -> Salt {
        self.0.salt
    }

    pub(crate) fn required(&self) -> u32 {
        self.0.required
    }

    /// Sets required features.
    pub(crate) fn require(&mut self, features: u32) {
        self.0.required |= features;
    }

    /// Sets or clears optional features.
    pub(crate) fn set_optional(&mut self, features: u32, on: bool) {
        self.0.optional = if on { self.0.optional | features } else { self.0.optional & !features };
    }

    /// The file of this generation has the header of the first one, until it is told otherwise.
    pub(crate) fn without_head(&mut self, original_len: u64) {
        self.0.required &= !REQUIRED_LATER_HEAD;
        self.0.original_len = original_len;
    }

    /// This generation has a head of its own, of a file of this length.
    pub(crate) fn with_head(&mut self, original_len: u64) {
        self.0.required |= REQUIRED_LATER_HEAD;
        self.0.original_len = original_len;
    }

    /// The digest of the original, if it is known.
    pub(crate) fn set_digest(&mut self, sha256: Option<[u8; 32]>) {
        self.0.digest_state = if sha256.is_some() { DigestState::Valid } else { DigestState::Stale };
        self.0.sha256 = sha256.unwrap_or_default();
    }

    /// Section table and trailer, where the table stands at `at`, a multiple of 8, and the generation's blocks at `blocks`.
    pub(crate) fn close(self, sections: Vec<SectionEntry>, blocks: Range<u64>, at: u64) -> Unsealed {
        let table = SectionTable::new(sections).encode();
        let trailer = Trailer {
            sections_offset: at,
            sections_len: u32::try_from(table.len()).expect("a handful of sections"),
            sections_crc: self.0.salt.crc(at, &table),
            blocks_begin: blocks.start,
            blocks_end: blocks.end,
            // Entries of the table are 24 bytes: the trailer stands on a multiple of 8.
            archive_len: at + (table.len() + TRAILER_LEN) as u64,
            ..self.0
        };
        Unsealed { trailer, table, patch: None }
    }
}

/// A generation that is complete but for its trailer.
#[derive(Debug, Clone)]
pub(crate) struct Unsealed {
    pub(crate) trailer: Trailer,
    table: Vec<u8>,
    /// What is known only now of a block that has been written: its offset, and its bytes.
    pub(super) patch: Option<(u64, [u8; Commit::BLOCK_LEN])>,
}

impl Unsealed {
    /// The section table's bytes.
    pub(crate) fn table(&self) -> &[u8] {
        &self.table
    }

    /// Where the trailer stands.
    pub(crate) fn offset(&self) -> u64 {
        self.trailer.archive_len - TRAILER_LEN as u64
    }

    /// The trailer's bytes.
    pub(crate) fn sealed(&self) -> [u8; TRAILER_LEN] {
        self.trailer.encode(&self.trailer.salt, self.offset())
    }

    /// The same, with the digest of the original if it is known.
    pub(crate) fn seal(mut self, digest: Option<[u8; 32]>) -> [u8; TRAILER_LEN] {
        if let Some(sha256) = digest {
            self.trailer.sha256 = sha256;
            self.trailer.digest_state = DigestState::Valid;
        }
        self.sealed()
    }
}
