//! From the number of a tile to its elements: locate → fetch in windows → decode in parallel → cache.
//!
//! * [`index`]: index pages, level by level, checked at the first use; or the index recovered by probing
//!   ([`recovered`]).
//! * [`fetch`]: the stored bytes of many tiles, merged into few requests. Only used where the source says
//!   that this saves time. Local sources are read by the thread that decodes.
//! * [`decode`]: containers and dictionaries, which are cached, then the tile. Lost tiles may be filled
//!   ([`fill`]).
//! * [`window`]: one window of tiles is decoded while the next is fetched.
//! * [`run`]: byte ranges of an array; [`cache`]: decoded tiles; [`work`]: the limit of decoded bytes.

pub mod cache;
mod decode;
mod fetch;
mod fill;
mod index;
mod recovered;
mod run;
mod window;
mod work;

pub(crate) use decode::Blocks;
pub(crate) use fetch::WINDOW_TILES;
pub use fill::Fill;
pub(crate) use fill::Fills;
pub(crate) use index::Index;
pub(crate) use recovered::{ProbedBlock, RecoveredIndex};
pub(crate) use run::{Piece, flat_tiling, plans_of_run, read_run};
pub(crate) use window::in_windows;
pub(crate) use work::Work;

use crate::error::{Error, Result};
use crate::parallel;
use crate::source::{Near, SharedSource};
use bytes::Bytes;
use cache::Share;
use nc3z_format::archive::{ArrayId, IndexEntry, Salt};
use nc3z_format::array::{Located, TileKey, locate};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::Header;
use nc3z_format::codec::{Chain, Registry};
use nc3z_format::{Error as FormatError, Limits};
use std::sync::{Arc, OnceLock};

/// Largest number of members of a container that one thread decodes one after another. Usually these are all
/// members in a window, and few enough to share the work among threads.
const MEMBERS: usize = 16;

/// A container that several pieces of work need. The first of them decodes it. `None` if it is damaged.
type SharedContainer = Arc<OnceLock<Option<Arc<Vec<u8>>>>>;

/// Work on members of one container, or on one tile with a block of its own.
struct Members<W> {
    /// Offset of the container, or 0 for a tile with a block of its own.
    container: u64,
    shared: SharedContainer,
    /// Each piece of work has its position among all work.
    work: Vec<(usize, W)>,
}

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
    pub(crate) header: Header,
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
    /// Decoded tiles, in a cache shared with other archives.
    pub(crate) cache: Share,
}

impl TileStore {
    /// An array that has tiles.
    pub(crate) fn info(&self, array: ArrayId) -> Result<&ArrayInfo> {
        let missing = || FormatError::invalid(format!("there is no {array}"));
        Ok(self.arrays.get(array).ok_or_else(missing)?)
    }

    /// Finds the place of a tile, and the other data that it needs.
    pub(crate) fn locate(&self, key: TileKey, near: &Near) -> Result<Located<'_>> {
        let info = self.info(key.array)?;
        let (entry, is_probed) = self.index.find(self, key, near)?;
        Ok(locate(key, &entry, is_probed, info, &self.chains, &|| self.describe_tile(key))?)
    }

    /// Decodes a tile into exactly `out`, whose length the caller took from the array's tiling. If the caller
    /// allowed it, fill values replace a tile that is damaged or lost.
    pub(crate) fn decode(&self, key: TileKey, near: &Near, out: &mut [u8]) -> Result<()> {
        let decoded = self.decode_whole(key, near, out);
        match &self.fills {
            Some(fills) if !self.work.is_spent() => {
                decoded.or_else(|e| fills.fill(&self.header, &self.arrays, key, e, out))
            }
            _ => decoded,
        }
    }

    /// Decodes a tile, or returns the error.
    pub(crate) fn decode_whole(&self, key: TileKey, near: &Near, out: &mut [u8]) -> Result<()> {
        self.locate(key, near)
            .and_then(|found| self.decode_located(&found, near, out))
            .map_err(|e| self.blame(e))
    }

    /// Decodes tiles apart from their final place, in parallel, into buffers of the right length.
    pub(crate) fn decode_all(
        &self,
        wanted: Vec<(TileKey, Vec<u8>)>,
        near: &Near,
    ) -> Result<Vec<(TileKey, Vec<u8>)>> {
        let decode = |(key, mut out): (TileKey, Vec<u8>)| {
            out.resize(self.info(key.array)?.tile_len(key.tile)?, 0);
            self.decode(key, near, &mut out)?;
            Ok((key, out))
        };
        self.by_container(wanted, |(key, _)| *key, near, true, decode).into_iter().collect()
    }

    /// Works on tiles, grouped by container whatever their order. Each container is decoded at most once,
    /// however many threads take part, so that the number of decoded bytes depends on the archive alone.
    /// Results are in the order of `work`.
    pub(crate) fn by_container<W: Send, R: Send>(
        &self,
        work: Vec<W>,
        key: impl Fn(&W) -> TileKey,
        near: &Near,
        in_parallel: bool,
        decode: impl Fn(W) -> R + Send + Sync,
    ) -> Vec<R> {
        let container = |work: &W| self.container_of(key(work), near).unwrap_or(0);
        let mut order: Vec<_> =
            work.into_iter().enumerate().map(|(at, work)| (container(&work), at, work)).collect();
        order.sort_unstable_by_key(|(container, at, _)| (*container, *at));
        let mut pieces: Vec<Members<W>> = Vec::new();
        for (container, at, work) in order {
            let last = pieces.last_mut().filter(|piece| container != 0 && piece.container == container);
            let shared = match last {
                Some(piece) if piece.work.len() < MEMBERS => {
                    piece.work.push((at, work));
                    continue;
                }
                Some(piece) => Arc::clone(&piece.shared),
                None => SharedContainer::default(),
            };
            pieces.push(Members { container, shared, work: vec![(at, work)] });
        }
        let decode = |Members { container, shared, work }: Members<W>| -> Vec<(usize, R)> {
            let all = || work.into_iter().map(|(at, work)| (at, decode(work))).collect();
            if container == 0 { all() } else { self.with_container(container, near, &shared, all) }
        };
        let done: Vec<Vec<_>> = if in_parallel {
            parallel::map(pieces, decode)
        } else {
            pieces.into_iter().map(decode).collect()
        };
        let mut done: Vec<(usize, R)> = done.into_iter().flatten().collect();
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// Offset of the container that a tile is a member of. `None` for other tiles, and if the index is
    /// damaged.
    pub(crate) fn container_of(&self, key: TileKey, near: &Near) -> Option<u64> {
        match self.index.find(self, key, near) {
            Ok((IndexEntry::Shared { offset, .. }, _)) => Some(offset),
            _ => None,
        }
    }

    /// A decoded tile, through the cache. `wanted` bytes of it will be copied.
    pub(crate) fn cached(&self, key: TileKey, near: &Near, wanted: u64, keep: bool) -> Result<Bytes> {
        let len = self.info(key.array)?.tile_len(key.tile)?;
        self.cache.get(key, len, wanted, keep, |out| self.decode(key, near, out))
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

    pub(crate) fn describe_tile(&self, key: TileKey) -> String {
        format!("{}, tile {}", self.describe(key.array), key.tile)
    }
}
