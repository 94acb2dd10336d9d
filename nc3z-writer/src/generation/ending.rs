//! The end of a generation: section table and trailer.

use super::medium::Medium;
use crate::error::{ErrorKind, Result};
use nc3z_format::Error as FormatError;
use nc3z_format::archive::constants::{REQUIRED_LATER_HEAD, REQUIRED_LOSSY};
use nc3z_format::archive::version::VERSIONS_MOST;
use nc3z_format::archive::{
    Commit, CommitSlot, CommitSlots, Digest, Metadata, Salt, SectionEntry, SectionTable, TRAILER_LEN,
    Trailer, VersionRecord,
};
use nc3z_reader::Archive;
use std::ops::Range;
use std::path::Path;

/// The contents of a generation's trailer, without the offsets, which are known only at the end.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    trailer: Trailer,
    /// Number of the generation's version.
    version: u32,
    /// The commit slot of the generation before.
    before: Option<CommitSlot>,
}

impl Ending {
    /// Creates the ending of an archive's first generation.
    pub(crate) fn first(salt: Salt, original_len: u64) -> Self {
        let trailer = Trailer {
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
            digest: Digest::None,
        };
        Ending { trailer, version: 1, before: None }
    }

    /// Creates the ending of the generation after the last one of `archive`, by default for the same file with
    /// the same features. `path` is for messages.
    pub(crate) fn after(archive: &Archive, path: &Path) -> Result<Self> {
        let last = archive.trailer();
        let version = version_number(archive.version()?.number)?;
        let Some(generation) = last.generation.checked_add(1) else {
            return Err(ErrorKind::GenerationsUsedUp(path.to_owned()).into());
        };
        let previous = last.archive_len - TRAILER_LEN as u64;
        let trailer = Trailer { generation, previous, ..last.clone() };
        Ok(Ending { trailer, version, before: Some(CommitSlot::new(last, version)) })
    }

    pub(crate) fn generation(&self) -> u32 {
        self.trailer.generation
    }

    /// Returns the length of the generation's file.
    pub(crate) fn original_len(&self) -> u64 {
        self.trailer.original_len
    }

    pub(crate) fn salt(&self) -> Salt {
        self.trailer.salt
    }

    pub(crate) fn required(&self) -> u32 {
        self.trailer.required
    }

    /// Sets the generation's version to the one in its metadata.
    pub(crate) fn set_version(&mut self, metadata: &Metadata) -> Result<()> {
        let record = VersionRecord::find(metadata)?.unwrap_or(VersionRecord::FIRST);
        self.version = version_number(record.number)?;
        Ok(())
    }

    /// Returns the number of the generation's version.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Returns the digest of the original; zeros if it is not known.
    pub(crate) fn sha256(&self) -> [u8; 32] {
        self.trailer.digest.sha256().unwrap_or_default()
    }

    pub(crate) fn require(&mut self, features: u32) {
        self.trailer.required |= features;
    }

    /// Sets or clears optional features.
    pub(crate) fn set_optional(&mut self, features: u32, on: bool) {
        self.trailer.optional =
            if on { self.trailer.optional | features } else { self.trailer.optional & !features };
    }

    /// Gives the generation's file the header of the first one.
    pub(crate) fn without_head(&mut self, original_len: u64) {
        self.trailer.required &= !REQUIRED_LATER_HEAD;
        self.trailer.original_len = original_len;
    }

    /// Marks that the generation has a later head, for a file of this length.
    pub(crate) fn with_head(&mut self, original_len: u64) {
        self.trailer.required |= REQUIRED_LATER_HEAD;
        self.trailer.original_len = original_len;
    }

    /// Sets the digest of the original, if it is known. Otherwise a recorded digest becomes stale.
    pub(crate) fn set_digest(&mut self, sha256: Option<[u8; 32]>) {
        self.trailer.digest = match (sha256, self.trailer.digest) {
            (Some(sha256), _) => Digest::Sha256(sha256),
            (None, Digest::None) => Digest::None,
            (None, _) => Digest::Stale,
        };
    }

    /// Creates section table and trailer. The table is at offset `at`, a multiple of 8; the generation's blocks
    /// are at `blocks`.
    pub(crate) fn close(self, sections: Vec<SectionEntry>, blocks: Range<u64>, at: u64) -> Unsealed {
        let table = SectionTable::new(sections).encode();
        let trailer = Trailer {
            sections_offset: at,
            sections_len: u32::try_from(table.len()).expect("a handful of sections"),
            sections_crc: self.trailer.salt.crc(at, &table),
            blocks_begin: blocks.start,
            blocks_end: blocks.end,
            // Entries of the table have 24 bytes, so the trailer is at a multiple of 8.
            archive_len: at + (table.len() + TRAILER_LEN) as u64,
            ..self.trailer
        };
        Unsealed { trailer, version: self.version, before: self.before, table, commit: None }
    }
}

/// A generation that is complete except for its trailer.
#[derive(Debug, Clone)]
pub(crate) struct Unsealed {
    pub(crate) trailer: Trailer,
    version: u32,
    before: Option<CommitSlot>,
    table: Vec<u8>,
    /// The offset of the written commit block, and its content.
    pub(super) commit: Option<(u64, Commit)>,
}

impl Unsealed {
    /// The section table's bytes.
    pub(crate) fn table(&self) -> &[u8] {
        &self.table
    }

    /// Returns the offset of the trailer.
    pub(crate) fn offset(&self) -> u64 {
        self.trailer.archive_len - TRAILER_LEN as u64
    }

    /// The trailer's bytes.
    pub(crate) fn sealed(&self) -> [u8; TRAILER_LEN] {
        self.trailer.encode(&self.trailer.salt, self.offset())
    }

    /// Returns the commit block with the present digest, and its offset, if it differs from the written one.
    pub(super) fn patch(&self) -> Result<Option<(u64, Vec<u8>)>> {
        let Some((offset, commit)) = &self.commit else { return Ok(None) };
        let t = &self.trailer;
        let commit = Commit { sha256: t.digest.sha256().unwrap_or_default(), ..commit.clone() };
        if Some(&commit) == self.commit.as_ref().map(|(_, written)| written) {
            return Ok(None);
        }
        let lossy = t.required & REQUIRED_LOSSY != 0;
        Ok(Some((*offset, commit.block(t.generation, lossy, &t.salt, *offset)?)))
    }

    /// Returns the commit slots of the archive that ends with this trailer.
    pub(crate) fn slots(&self) -> CommitSlots {
        CommitSlots::new(CommitSlot::new(&self.trailer, self.version), self.before)
    }

    /// Ends a new archive: writes its trailer, with the digest of the original if it is known, and its commit
    /// slot. Returns its length.
    ///
    /// # Errors
    /// Writing to the medium fails.
    pub(crate) fn end(mut self, medium: &Medium<'_>, digest: Option<[u8; 32]>) -> Result<u64> {
        self.set_digest(digest);
        medium.write_at(self.offset(), &self.sealed())?;
        super::slots::write(medium, &self.trailer.salt, &self.slots())?;
        Ok(self.trailer.archive_len)
    }

    fn set_digest(&mut self, digest: Option<[u8; 32]>) {
        if let Some(sha256) = digest {
            self.trailer.digest = Digest::Sha256(sha256);
        }
    }

    /// Returns the trailer's bytes, with the digest of the original if it is known.
    pub(crate) fn seal(mut self, digest: Option<[u8; 32]>) -> [u8; TRAILER_LEN] {
        self.set_digest(digest);
        self.sealed()
    }
}

/// Returns the number of a version in the form for slots.
///
/// # Errors
/// No version number is left.
pub(crate) fn version_number(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| {
        let what = "number of a version (`nc3z prune -o` keeps numbers; archive the newest version anew)";
        FormatError::limit("metadata", None, what, VERSIONS_MOST, number).into()
    })
}
