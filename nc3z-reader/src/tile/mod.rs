//! From the number of a tile to its elements: locate → fetch in windows → decode in parallel → cache.
//!
//! * [`index`]: index pages, level by level, checked at the first use; or the index recovered by probing
//!   ([`recovered`]).
//! * [`fetch`]: the stored bytes of many tiles, merged into few requests. Only used where the source says
//!   that this saves time. Local sources are read by the thread that decodes.
//! * [`decode`]: containers and dictionaries, which are cached, then the tile. Lost tiles may be filled
//!   ([`fill`]).
//! * [`reader`]: the engine. It reads a plan into a [`destination`] whose pieces it places as
//!   [`lattice`]s: window by window ([`window`]), in parallel, each container decoded once ([`group`]).
//! * [`stored`]: the tiles of an archive as the engine takes them; [`run`]: byte ranges of an array.
//! * [`worker`]: what a worker keeps from tile to tile; [`cache`]: decoded tiles; [`work`]: the limit of
//!   decoded bytes.

pub mod cache;
mod decode;
mod destination;
mod fetch;
mod fill;
mod group;
mod index;
mod lattice;
mod reader;
mod recovered;
mod run;
mod stored;
mod window;
mod work;
mod worker;

pub(crate) use decode::Blocks;
pub(crate) use destination::{AsStored, Destination, Failure, Misfit, Pass, cut, in_memory};
pub use fill::Fill;
pub(crate) use fill::Fills;
pub(crate) use index::Index;
pub(crate) use lattice::{Lattice, both, element, of_tile};
pub(crate) use reader::{SHARES, TileReader, Tiles};
pub(crate) use recovered::{ProbedBlock, RecoveredIndex};
pub(crate) use run::{flat_tiling, plans_of_run, read_run};
pub(crate) use stored::StoredTiles;
pub(crate) use work::Work;
pub(crate) use worker::Worker;

use crate::check::parity::ReadRepairSource;
use crate::error::{Error, Result};
use crate::source::{Nearby, SharedSource};
use crate::tile_location;
use bytes::Bytes;
use cache::Share;
use group::by_container;
use nc3z_format::archive::{ArrayId, IndexEntry, Salt};
use nc3z_format::array::{Located, TileKey, locate};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::Header;
use nc3z_format::codec::{Chain, Registry};
use nc3z_format::{Error as FormatError, Limits};
use std::sync::Arc;

/// The tiles of one open archive: all that is needed to find, fetch and decode them. Only the caches change,
/// and they hold only verified bytes.
pub(crate) struct TileStore {
    pub(crate) source: SharedSource,
    /// The source's identity when the archive was opened.
    pub(crate) identity: Option<Arc<str>>,
    pub(crate) limits: Limits,
    pub(crate) salt: Salt,
    /// Blocks and index pages end before this byte.
    pub(crate) end: u64,
    pub(crate) header: Arc<Header>,
    pub(crate) arrays: Arrays,
    /// The chains by number, bound when the archive was opened.
    pub(crate) chains: Vec<Chain>,
    pub(crate) registry: Registry,
    pub(crate) index: Index,
    pub(crate) blocks: Blocks,
    /// The number of bytes that may still be decoded.
    pub(crate) work: Work,
    /// Records the fill values for damaged or lost tiles, if the caller allowed them.
    pub(crate) fills: Option<Fills>,
    /// Computes damaged bytes of the source from parity, if the caller allowed it.
    pub(crate) read_repair: Option<Arc<ReadRepairSource>>,
    /// Decoded tiles, in a cache shared with other archives.
    pub(crate) cache: Share,
}

impl TileStore {
    /// An array that has tiles.
    pub(crate) fn info(&self, array: ArrayId) -> Result<&ArrayInfo> {
        let missing = || FormatError::invalid(format!("no {array}"));
        Ok(self.arrays.get(array).ok_or_else(missing)?)
    }

    /// Finds the place of a tile, and the other data that it needs.
    pub(crate) fn locate(&self, key: TileKey, nearby: &Nearby) -> Result<Located<'_>> {
        let info = self.info(key.array)?;
        let (entry, is_probed) = self.index.find(self, key, nearby)?;
        Ok(locate(key, &entry, is_probed, info, &self.chains, &|| self.describe_tile(key))?)
    }

    /// Decodes a tile into exactly `out`, whose length the caller took from the array's tiling. If the caller
    /// allowed it, fill values replace a tile that is damaged or lost.
    pub(crate) fn decode(
        &self,
        key: TileKey,
        nearby: &Nearby,
        worker: &mut Worker,
        out: &mut [u8],
    ) -> Result<()> {
        let decoded = self.decode_whole(key, nearby, worker, out).or_else(|e| {
            let repairs =
                |read_repair: &Arc<ReadRepairSource>| ReadRepairSource::may_repair(&e) && read_repair.begin();
            if !self.read_repair.as_ref().is_some_and(repairs) {
                return Err(e);
            }
            // Bytes that were fetched before are those of the damaged file.
            self.decode_whole(key, &Nearby::default(), &mut Worker::default(), out)
        });
        match &self.fills {
            Some(fills) if !self.work.is_spent() => {
                decoded.or_else(|e| fills.fill(&self.header, &self.arrays, key, e, out))
            }
            _ => decoded,
        }
    }

    /// Decodes a tile, or returns the error.
    pub(crate) fn decode_whole(
        &self,
        key: TileKey,
        nearby: &Nearby,
        worker: &mut Worker,
        out: &mut [u8],
    ) -> Result<()> {
        self.locate(key, nearby)
            .and_then(|found| self.decode_located(&found, nearby, worker, out))
            .map_err(|e| self.blame(e))
    }

    /// Works on tiles in parallel, each container decoded once: see [`by_container`].
    pub(crate) fn in_parallel<W: Send, R: Send>(
        &self,
        work: Vec<W>,
        key: impl Fn(&W) -> TileKey,
        nearby: &Nearby,
        decode: impl Fn(W, &mut Worker) -> R + Send + Sync,
    ) -> Vec<R> {
        let container = |work: &W| self.container_of(key(work), nearby).unwrap_or(0);
        let open = |offset, worker: &mut Worker| self.open_container(offset, nearby, worker);
        by_container(work, container, open, true, decode)
    }

    /// Offset of the container that a tile is a member of. `None` for other tiles, and if the index is
    /// damaged.
    pub(crate) fn container_of(&self, key: TileKey, nearby: &Nearby) -> Option<u64> {
        match self.index.find(self, key, nearby) {
            Ok((IndexEntry::Shared { offset, .. }, _)) => Some(offset),
            _ => None,
        }
    }

    /// A decoded tile, through the cache. `wanted` bytes of it will be copied.
    pub(crate) fn cached(
        &self,
        key: TileKey,
        nearby: &Nearby,
        worker: &mut Worker,
        wanted: u64,
        keep: bool,
    ) -> Result<Bytes> {
        let len = self.info(key.array)?.tile_len(key.tile)?;
        self.cache.get(key, len, wanted, keep, |out| self.decode(key, nearby, worker, out))
    }

    /// If checksums fail, the likelier cause is that another object is in the place of the source.
    fn blame(&self, error: Error) -> Error {
        if self.identity.is_none() || !error.is_corrupt() {
            return error;
        }
        self.check_identity().err().unwrap_or(error)
    }

    /// Checks that the source is still the one that was opened.
    pub(crate) fn check_identity(&self) -> Result<()> {
        let Some(expected) = &self.identity else { return Ok(()) };
        match self.source.identity() {
            Some(found) if found == *expected => Ok(()),
            found => Err(Error::replaced(&**expected, found.as_deref().unwrap_or("unknown"))),
        }
    }

    /// The name of an array in messages: the variable's name, if it has one.
    pub(crate) fn describe(&self, array: ArrayId) -> String {
        match self.arrays.variable_of(array) {
            Some(v) => format!("{array} \"{}\"", self.header.variables[v.index()].name_lossy()),
            None => array.to_string(),
        }
    }

    /// A tile in messages, with the hyperslab that it holds.
    pub(crate) fn describe_tile(&self, key: TileKey) -> String {
        let slab = tile_location::slab_words(&self.header, &self.arrays, key);
        format!("{}, tile {}{slab}", self.describe(key.array), key.tile)
    }
}
