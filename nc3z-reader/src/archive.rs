//! An open archive: immutable facts behind an `Arc`, and access to them. The module `open` makes it.

use crate::check::parity::ReadRepair;
use crate::error::{Error, Result};
use crate::source::short::ShortFacts;
use crate::source::{ByteSource, Nearby, SharedSource};
use crate::tile::cache::TileCache;
use crate::tile::{Fill, TileStore, Worker};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::Limits;
use nc3z_format::archive::constants::{END_MARKER, MAGIC};
use nc3z_format::archive::{
    ArrayId, BLOCK_HEADER_LEN, BlockHeader, Digest, Head, IndexEntry, Metadata, SectionTable, Superblock,
    Trailer, VariableTable,
};
use nc3z_format::array::TileKey;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::{Header, Layout, VarId, VarLayout};
use nc3z_format::codec::{Chain, OlderTile};
use nc3z_format::digest::DigestRecord;
use nc3z_format::spelling::suggest;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// An open archive. Clones share all state. All methods take `&self` and may be called from any number of
/// threads.
#[derive(Clone)]
pub struct Archive {
    pub(crate) inner: Arc<Inner>,
    /// Stored bytes that were fetched for a window of a read; see [`Archive::with_nearby`].
    pub(crate) nearby: Nearby,
}

/// The state of an open archive. Only the caches change, and they hold only verified bytes.
pub(crate) struct Inner {
    pub(crate) store: TileStore,
    pub(crate) superblock: Superblock,
    pub(crate) trailer: Trailer,
    pub(crate) trailer_offset: u64,
    /// The end of the last valid trailer. It is the trailer of this generation, unless an older generation was requested.
    pub(crate) last_end: u64,
    pub(crate) sections: SectionTable,
    pub(crate) head: Head,
    /// The least number that no array has used.
    pub(crate) next_number: u32,
    pub(crate) layout: Arc<Layout>,
    pub(crate) metadata: Metadata,
    /// Facts about an archive in the short form. All other fields describe the long form.
    pub(crate) short: Option<ShortFacts>,
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
    /// An archive with this state.
    pub(crate) fn new(inner: Inner) -> Self {
        Archive { inner: Arc::new(inner), nearby: Nearby::default() }
    }

    /// Returns the archive with a part of its stored bytes in memory. It serves one window of a read, and
    /// releases the bytes when it is dropped.
    pub(crate) fn with_nearby(&self, nearby: Nearby) -> Self {
        Archive { inner: Arc::clone(&self.inner), nearby }
    }

    /// Returns the classic header.
    pub fn header(&self) -> &Header {
        &self.inner.store.header
    }

    /// The classic header's bytes, as in the original.
    pub fn header_bytes(&self) -> &[u8] {
        &self.inner.head.header
    }

    /// The layout of the original file.
    pub fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    /// The least number that no array of this generation or an earlier one has used.
    pub fn next_number(&self) -> u32 {
        self.inner.next_number
    }

    /// The limits with which it was opened.
    pub fn limits(&self) -> &Limits {
        &self.inner.store.limits
    }

    /// The arrays that have tiles.
    pub fn arrays(&self) -> &Arrays {
        &self.inner.store.arrays
    }

    /// The chains, by number.
    pub fn chains(&self) -> &[Chain] {
        &self.inner.store.chains
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

    /// Returns the section table.
    pub fn sections(&self) -> &SectionTable {
        &self.inner.sections
    }

    /// Returns the superblock.
    pub fn superblock(&self) -> &Superblock {
        &self.inner.superblock
    }

    /// The variable table: tile counts, roots, inline entries.
    pub fn variable_table(&self) -> &VariableTable {
        &self.inner.store.index.table
    }

    /// Length of the archive file.
    pub fn stored_len(&self) -> u64 {
        self.inner.store.source.stored_len()
    }

    /// True if the archive is stored in the short form. Offsets are then those of the equivalent long form.
    pub fn is_short(&self) -> bool {
        self.inner.short.is_some()
    }

    /// True if the archive is in the short form that compresses the original as a whole.
    pub fn is_whole(&self) -> bool {
        self.share_of_whole(0).is_some()
    }

    /// The stored bytes for `bytes` bytes of the original, in proportion, if the archive compresses the
    /// original as a whole. `None` for all other archives.
    pub fn share_of_whole(&self, bytes: u64) -> Option<u64> {
        self.inner.short.as_ref().and_then(|short| short.share(bytes, self.original_len()))
    }

    /// Bytes after the last valid trailer: an unfinished commit, or foreign bytes.
    pub fn torn_tail(&self) -> u64 {
        let extra = self.inner.short.as_ref().map_or(0, |short| short.extra);
        self.inner.store.source.len().saturating_sub(self.inner.last_end) + extra
    }

    /// The source of the archive's bytes.
    pub fn source(&self) -> &SharedSource {
        &self.inner.store.source
    }

    /// Distinguishes the source from others of the same name at the time of opening, if the source supports
    /// this: see [`crate::source::ByteSource::identity`].
    pub fn identity(&self) -> Option<&str> {
        self.inner.store.identity.as_deref()
    }

    /// Length of the original file of this generation.
    pub fn original_len(&self) -> u64 {
        self.inner.trailer.original_len
    }

    /// The recorded digest of the original file.
    pub fn digest(&self) -> Digest {
        self.inner.trailer.digest
    }

    /// Recorded digests of the original's content, and its MD5, computed when the archive was written.
    /// Nothing is computed here.
    ///
    /// The record is empty if the original has no recorded SHA-256, or another one than when the digests were
    /// computed.
    pub fn recorded_digests(&self) -> DigestRecord {
        let Some(sha256) = self.digest().sha256() else { return DigestRecord::default() };
        DigestRecord::find(&self.metadata().extra, &sha256, self.header().variables.len()).unwrap_or_default()
    }

    /// Finds a variable's id by name. Of several variables of this name, returns the first.
    ///
    /// # Errors
    /// No such variable. The message lists the variables of the file.
    pub fn variable_id(&self, name: &str) -> Result<VarId> {
        find_variable(self.header(), name)
    }

    /// The layout of a variable in the original file.
    ///
    /// # Errors
    /// No such variable.
    pub fn variable_layout(&self, var: VarId) -> Result<&VarLayout> {
        let known = self.layout().variables.len();
        let missing = || FormatError::invalid(format!("no variable {}; there are {known}", var.0)).into();
        self.layout().variable(var).ok_or_else(missing)
    }

    /// The cache for its decoded tiles.
    pub fn cache(&self) -> &TileCache {
        self.inner.store.cache.cache()
    }

    /// Returns true if a tile is in the cache now.
    pub fn is_cached(&self, array: ArrayId, tile: u64) -> bool {
        self.inner.store.cache.holds(TileKey::new(array, tile))
    }

    /// The index entry of a tile.
    ///
    /// # Errors
    /// No such tile, or a damaged index page.
    pub fn entry(&self, array: ArrayId, tile: u64) -> Result<IndexEntry> {
        let store = &self.inner.store;
        Ok(store.index.find(store, TileKey::new(array, tile), &self.nearby)?.0)
    }

    /// Decodes one tile into `out`. The elements are big-endian, as in the original file.
    ///
    /// # Errors
    /// No such tile; `out` of another length than the tile; damaged or unknown content.
    pub fn read_tile_into(&self, array: ArrayId, tile: u64, out: &mut [u8]) -> Result<()> {
        let store = &self.inner.store;
        check_len(store.info(array)?, tile, out)?;
        store.decode(TileKey::new(array, tile), &self.nearby, &mut Worker::default(), out)
    }

    /// One decoded tile, big-endian.
    ///
    /// # Errors
    /// As [`Archive::read_tile_into`].
    pub fn read_tile(&self, array: ArrayId, tile: u64) -> Result<Vec<u8>> {
        let mut out = vec![0; self.inner.store.info(array)?.tile_len(tile)?];
        self.read_tile_into(array, tile, &mut out)?;
        Ok(out)
    }

    /// One decoded tile, through the cache of decoded tiles. Use it for tiles that are read more than once.
    ///
    /// # Errors
    /// As [`Archive::read_tile_into`].
    pub fn cached_tile(&self, array: ArrayId, tile: u64) -> Result<Bytes> {
        let worker = &mut Worker::default();
        self.inner.store.cached(TileKey::new(array, tile), &self.nearby, worker, 0, true)
    }

    /// Fetches the stored bytes of tiles of any arrays in few requests, if requests cost time. Reads of these tiles by the returned
    /// archive need no request. Bytes that cannot be fetched are left out: the read reports the error.
    ///
    /// # Errors
    /// Another object is in the place of the source.
    pub fn fetched(&self, tiles: &[TileKey]) -> Result<Self> {
        if !self.inner.store.fetches_ahead() {
            return Ok(self.clone());
        }
        Ok(self.with_nearby(self.inner.store.fetch(tiles)?.1))
    }

    /// Fetches the index pages of tiles in few requests, if requests cost time. The returned archive knows their entries.
    ///
    /// # Errors
    /// The source refuses.
    pub fn indexed(&self, tiles: &[TileKey]) -> Result<Self> {
        let store = &self.inner.store;
        if !store.fetches_ahead() {
            return Ok(self.clone());
        }
        Ok(self.with_nearby(store.index.fetch_pages(store, tiles)?))
    }

    /// Returns the tile against which a later version of this tile may be coded: this tile, or the tile that this one is coded
    /// against. The result is itself not coded against another tile. `None` if there is no such tile.
    ///
    /// # Errors
    /// No such tile; damage.
    pub fn base_tile(&self, array: ArrayId, tile: u64) -> Result<Option<BaseTile>> {
        let (store, nearby) = (&self.inner.store, Nearby::default());
        let entry = self.entry(array, tile)?;
        if !matches!(entry, IndexEntry::Stored { .. } | IndexEntry::Shared { .. }) {
            return Ok(None);
        }
        let found = store.locate(TileKey::new(array, tile), &nearby)?;
        if found.chain.needs().base {
            let (older, bytes) = store.base(&found, &nearby, &mut Worker::default())?;
            let OlderTile { entry, array, tile, .. } = older;
            return Ok(Some(BaseTile { array, tile, entry, bytes: bytes.into() }));
        }
        if let Some(key) = found.reference {
            let other = store.info(key.array)?;
            let alike = other.ty == found.info.ty
                && other.tiling.inner_geometry(key.tile)? == found.info.tiling.inner_geometry(tile)?;
            // A reference is itself coded against no tile, so the recursion ends here.
            return if alike { self.base_tile(key.array, key.tile) } else { Ok(None) };
        }
        Ok(Some(BaseTile { array, tile, entry, bytes: self.cached_tile(array, tile)? }))
    }

    /// The recorded CRC-32 of a decoded tile, or `None` for a tile without stored bytes, such as a constant one.
    ///
    /// # Errors
    /// No such tile; a damaged block header.
    pub fn noted_crc(&self, array: ArrayId, tile: u64) -> Result<Option<u32>> {
        let store = &self.inner.store;
        match self.entry(array, tile)? {
            IndexEntry::Shared { check, .. } => Ok(Some(check)),
            IndexEntry::Stored { offset, .. } => {
                let mut bytes = [0; BLOCK_HEADER_LEN];
                store.source.read_into(offset, &mut bytes)?;
                Ok(Some(BlockHeader::decode(&bytes, &store.salt, offset)?.0.decoded_crc))
            }
            _ => Ok(None),
        }
    }

    /// Returns whether a source is an archive. Its first bytes decide, unless they are those of neither an archive nor a classic file:
    /// then the last bytes decide, since the first ones may be damaged.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn is_one(source: &dyn ByteSource) -> Result<bool> {
        let mut begin = [0; MAGIC.len()];
        let len = usize::try_from(source.len()).map_or(begin.len(), |len| len.min(begin.len()));
        source.read_into(0, &mut begin[..len])?;
        if begin == MAGIC || begin.starts_with(b"CDF") {
            return Ok(begin == MAGIC);
        }
        let mut end = [0; END_MARKER.len()];
        let at = source.len().checked_sub(END_MARKER.len() as u64);
        Ok(at.is_some_and(|at| source.read_into(at, &mut end).is_ok()) && end == END_MARKER)
    }

    /// Damage that reads so far have found and computed from parity; see [`crate::OpenOptions::with_read_repair`].
    pub fn read_repair(&self) -> Option<ReadRepair> {
        self.inner.store.read_repair.as_ref().and_then(|read_repair| read_repair.found().cloned())
    }

    /// The tiles that reads so far replaced by fill values; see [`crate::OpenOptions::with_fill_lost`].
    pub fn filled(&self) -> BTreeMap<(ArrayId, u64), Fill> {
        self.inner.store.fills.as_ref().map(crate::tile::Fills::all).unwrap_or_default()
    }

    /// Returns the same tiles as runs of neighbours.
    pub fn filled_runs(&self) -> Vec<(ArrayId, Range<u64>)> {
        let mut runs: Vec<(ArrayId, Range<u64>)> = Vec::new();
        for &(array, tile) in self.filled().keys() {
            match runs.last_mut() {
                Some((last, range)) if *last == array && range.end == tile => range.end += 1,
                _ => runs.push((array, tile..tile + 1)),
            }
        }
        runs
    }
}

/// Checks that a tile fills `out`.
pub(crate) fn check_len(info: &ArrayInfo, tile: u64, out: &[u8]) -> Result<()> {
    let (expected, given) = (info.tile_len(tile)?, out.len());
    if expected == given {
        return Ok(());
    }
    let array = info.id;
    let words = format!("tile {tile} of {array} has {expected} bytes, not {given}");
    Err(FormatError::invalid(words).into())
}

/// A tile against which later ones may be coded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BaseTile {
    /// The array of the tile.
    pub array: ArrayId,
    /// The number of the tile.
    pub tile: u64,
    /// The place of its bytes: a block, or a member of a container.
    pub entry: IndexEntry,
    /// The decoded bytes of the tile.
    pub bytes: Bytes,
}

pub(crate) fn find_variable(header: &Header, name: &str) -> Result<VarId> {
    header.variable(name.as_bytes()).map(|(id, _)| id).ok_or_else(|| {
        let names = header.variables.iter().map(|v| String::from_utf8_lossy(&v.name));
        FormatError::invalid(format!("no variable \"{name}\"{}", suggest(name, names))).into()
    })
}

impl From<Error> for std::io::Error {
    fn from(e: Error) -> Self {
        std::io::Error::other(e)
    }
}
