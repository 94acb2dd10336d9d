//! An open archive: immutable facts behind an `Arc`, and access to them.

use crate::block::{Containers, Dictionaries, Pages};
use crate::cache::{Share, TileCache};
use crate::error::{Error, ErrorKind, Result};
use crate::fill::Fills;
use crate::open::{OpenOptions, Parts};
use crate::salvage::Rebuilt;
use crate::source::{self, SharedSource};
use nc3z_format::archive::{
    ArrayId, Head, IndexEntry, Metadata, SectionTable, Superblock, Trailer, VariableTable,
};
use nc3z_format::arrays::Arrays;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::codec::ChainSpec;
use nc3z_format::{Error as FormatError, Limits};
use std::path::Path;
use std::sync::Arc;

/// An open archive. Clones share everything; all methods take `&self` and may be called from any number of threads.
#[derive(Clone)]
pub struct Archive {
    pub(crate) inner: Arc<Inner>,
}

/// What an open archive knows. Nothing here changes but the caches, which hold only verified bytes.
pub(crate) struct Inner {
    pub(crate) source: SharedSource,
    pub(crate) limits: Limits,
    pub(crate) superblock: Superblock,
    pub(crate) trailer: Trailer,
    pub(crate) trailer_offset: u64,
    pub(crate) sections: SectionTable,
    pub(crate) head: Head,
    pub(crate) header: Header,
    pub(crate) layout: Layout,
    pub(crate) arrays: Arrays,
    pub(crate) chains: Vec<ChainSpec>,
    pub(crate) table: VariableTable,
    pub(crate) metadata: Metadata,
    pub(crate) containers: Containers,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) pages: Pages,
    /// The index found by probing, where the archive's own cannot be relied on.
    pub(crate) rebuilt: Option<Rebuilt>,
    /// Where fill values stand in for what is lost, if the caller allowed it.
    pub(crate) fills: Option<Fills>,
    /// Decoded tiles, in a cache shared with other archives.
    pub(crate) tiles: Share,
}

/// What is recorded of the original file's digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// None was recorded.
    None,
    /// SHA-256 of the original file.
    Sha256([u8; 32]),
    /// It was recorded for an earlier generation.
    Stale,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive")
            .field("superblock", &self.inner.superblock)
            .field("trailer", &self.inner.trailer)
            .finish_non_exhaustive()
    }
}

impl Archive {
    /// Opens an archive through a map. See [`crate::source::MmapSource`] for what a map asks of its file.
    ///
    /// # Errors
    /// See [`Archive::from_source`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_source(source::open(path, true)?, &OpenOptions::default())
    }

    /// Opens an archive from any byte source. Reads the superblock, the trailer and the sections it names, never the blocks:
    /// structure is checked here, content when it is read, all of it by [`crate::verify`].
    ///
    /// # Errors
    /// What is wrong with the archive's structure, and where.
    pub fn from_source(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        let parts = Parts::read(&source, options)?;
        Self::from_parts(source, parts, options)
    }

    /// Opens an archive that is complete but for its trailer, which is given: the writer's proof, before the digest is known.
    ///
    /// # Errors
    /// As [`Archive::from_source`].
    pub fn open_unsealed(path: &Path, trailer: Trailer, options: &OpenOptions) -> Result<Self> {
        let source = source::open(path, true)?;
        let parts = Parts::unsealed(&source, trailer, options)?;
        Self::from_parts(source, parts, options)
    }

    fn from_parts(source: SharedSource, parts: Parts, options: &OpenOptions) -> Result<Self> {
        let inner = parts.bind(source, options)?;
        Ok(Archive { inner: Arc::new(inner) })
    }

    /// The classic header.
    pub fn header(&self) -> &Header {
        &self.inner.header
    }

    /// The classic header's bytes, as they stand in the original.
    pub fn header_bytes(&self) -> &[u8] {
        &self.inner.head.header
    }

    /// Where everything lies in the original file.
    pub fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    /// The arrays that have tiles.
    pub fn arrays(&self) -> &Arrays {
        &self.inner.arrays
    }

    /// The chains, by number.
    pub fn chains(&self) -> &[ChainSpec] {
        &self.inner.chains
    }

    /// The head copy: header bytes, chains known when the archive was begun, tile layouts.
    pub fn head(&self) -> &Head {
        &self.inner.head
    }

    /// Writer and options.
    pub fn metadata(&self) -> &Metadata {
        &self.inner.metadata
    }

    /// The last valid trailer.
    pub fn trailer(&self) -> &Trailer {
        &self.inner.trailer
    }

    /// Offset of the last valid trailer.
    pub fn trailer_offset(&self) -> u64 {
        self.inner.trailer_offset
    }

    /// The section table.
    pub fn sections(&self) -> &SectionTable {
        &self.inner.sections
    }

    /// The superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.inner.superblock
    }

    /// The variable table: tile counts, roots, inline entries.
    pub fn variable_table(&self) -> &VariableTable {
        &self.inner.table
    }

    /// Length of the archive file.
    pub fn stored_len(&self) -> u64 {
        self.inner.source.len()
    }

    /// Bytes behind the last valid trailer: a commit that did not finish, or something else's bytes.
    pub fn torn_tail(&self) -> u64 {
        self.inner.source.len() - self.inner.trailer.archive_len
    }

    /// Length of the original file.
    pub fn original_len(&self) -> u64 {
        self.inner.superblock.original_len
    }

    /// The recorded digest of the original file.
    pub fn digest(&self) -> Digest {
        match self.inner.trailer.digest_state {
            nc3z_format::archive::DigestState::None => Digest::None,
            nc3z_format::archive::DigestState::Valid => Digest::Sha256(self.inner.trailer.sha256),
            nc3z_format::archive::DigestState::Stale => Digest::Stale,
        }
    }

    /// A variable's id by name; the first of that name.
    ///
    /// # Errors
    /// No such variable; the message lists what there is.
    pub fn variable_id(&self, name: &str) -> Result<VarId> {
        crate::array::find_variable(self.header(), name)
    }

    /// The cache that its decoded tiles are kept in.
    pub fn cache(&self) -> &TileCache {
        self.inner.tiles.cache()
    }

    /// Whether a tile is in the cache now.
    pub fn is_cached(&self, array: ArrayId, tile: u64) -> bool {
        self.inner.tiles.holds(array, tile)
    }

    /// The index entry of a tile.
    ///
    /// # Errors
    /// No such tile, or a damaged index page.
    pub fn entry(&self, array: ArrayId, tile: u64) -> Result<IndexEntry> {
        self.inner.entry(array, tile)
    }
}

impl Inner {
    /// The index entry of a tile: from the variable table, or down the tree of pages.
    pub(crate) fn entry(&self, array: ArrayId, tile: u64) -> Result<IndexEntry> {
        match &self.rebuilt {
            Some(rebuilt) => Ok(rebuilt.entry(self, array, tile)),
            None => self.stored_entry(array, tile),
        }
    }

    /// The entry that the archive's own index has.
    pub(crate) fn stored_entry(&self, array: ArrayId, tile: u64) -> Result<IndexEntry> {
        let missing = || FormatError::invalid(format!("{array} has no tile {tile}"));
        let (row, inline) = self.table.find(array).ok_or_else(missing)?;
        if tile >= row.tile_count {
            return Err(missing().into());
        }
        if row.root == 0 {
            let at = usize::try_from(tile).expect("less than tile_count, which is at most INLINE_MAX");
            return Ok(inline[at]);
        }
        self.pages.entry(self, row, tile)
    }

    /// A chain by number.
    pub(crate) fn chain(&self, number: u16, place: impl FnOnce() -> String) -> Result<&ChainSpec> {
        self.chains.get(usize::from(number)).ok_or_else(|| {
            let known = format!("less than {}", self.chains.len());
            ErrorKind::from(FormatError::corrupt(place(), None, "chain number", known, number)).into()
        })
    }

    /// How an array is called in messages: by the variable's name where it has one.
    pub(crate) fn describe(&self, array: ArrayId) -> String {
        use nc3z_format::archive::Role;
        let name = |v: u32| {
            let v = self.header.variables.get(v as usize);
            v.map_or_else(String::new, |v| format!(" \"{}\"", String::from_utf8_lossy(&v.name)))
        };
        match array.role() {
            Role::Variable(v) | Role::Padding(v) | Role::Definitions(v) => format!("{array}{}", name(v)),
            _ => array.to_string(),
        }
    }
}

impl From<Error> for std::io::Error {
    fn from(e: Error) -> Self {
        std::io::Error::other(e)
    }
}
