//! Decodes a tile from its stored bytes. The containers and dictionaries that tiles share are decoded once
//! and cached.

use super::{SharedContainer, TileStore};
use crate::error::{Error, Result};
use crate::source::Near;
use bytes::Bytes;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockKind, parse_directory};
use nc3z_format::array::{
    Block, BlockPlace, Container, Located, Place, TileKey, check_crc, check_reference, definition,
    locate_base,
};
use nc3z_format::codec::{CodecScratch, Dependencies, OlderTile, ReferenceTile, decode_dictionary};
use nc3z_format::num::Dictionary;
use nc3z_format::{Error as FormatError, NcType};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of decoded containers that are cached: their members are usually read one after another. One of the
/// largest containers, 8 MiB, must fit a shard of the cache. Otherwise it would be decoded again for each of
/// its members.
const CONTAINERS_LEN: u64 = 64 << 20;
/// The number of cached dictionaries. Each has at most 65,536 values.
const DICTIONARIES: usize = 256;

thread_local! {
    static SCRATCH: RefCell<CodecScratch> = RefCell::new(CodecScratch::default());
    /// The container whose members this thread decodes, and its archive.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// A container that stays in memory even if the cache evicts it.
struct Held {
    blocks: u64,
    offset: u64,
    /// The container, or its error. The first member reports the error, the others read the container again.
    container: Result<Arc<Vec<u8>>, Option<Error>>,
}

/// Restores the container that was held before.
struct Restore(Option<Held>);

impl Drop for Restore {
    fn drop(&mut self) {
        HELD.set(self.0.take());
    }
}

/// Runs `work` with this thread's codec contexts and buffers.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut CodecScratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}

#[derive(Clone)]
struct ByLength;

impl Weighter<u64, Arc<Vec<u8>>> for ByLength {
    fn weight(&self, _: &u64, container: &Arc<Vec<u8>>) -> u64 {
        container.len() as u64 + 64
    }
}

/// Verified, decoded blocks that many tiles need.
pub(crate) struct Blocks {
    /// Distinguishes these blocks from those of other archives.
    id: u64,
    /// By offset.
    containers: Cache<u64, Arc<Vec<u8>>, ByLength>,
    /// By key.
    dictionaries: Cache<TileKey, Arc<Dictionary>>,
}

impl Default for Blocks {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Blocks {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            // One shard. With two, chance would decide how many of a file's containers share a shard, and so
            // the cost of reading the file.
            containers: Cache::with_options(
                OptionsBuilder::new()
                    .estimated_items_capacity(128)
                    .weight_capacity(CONTAINERS_LEN)
                    .shards(1)
                    .build()
                    .expect("all that is asked for is given"),
                ByLength,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            dictionaries: Cache::new(DICTIONARIES),
        }
    }
}

impl Blocks {
    pub(super) fn has_container(&self, offset: u64) -> bool {
        self.containers.contains_key(&offset)
    }

    pub(super) fn has_dictionary(&self, key: TileKey) -> bool {
        self.dictionaries.contains_key(&key)
    }
}

impl TileStore {
    /// Decodes a tile that has been located.
    pub(super) fn decode_located(&self, found: &Located<'_>, near: &Near, out: &mut [u8]) -> Result<()> {
        let place = || self.describe_tile(found.key);
        if !matches!(found.place, Place::Constant(_)) {
            self.work.spend(out.len() as u64)?;
        }
        let dictionary = found.dictionary.map(|key| self.dictionary(key, found.info.ty, near)).transpose()?;
        let reference = found.reference.map(|key| self.reference(found, key, near)).transpose()?;
        let reference = reference.as_ref().map(|(ty, bytes)| ReferenceTile { ty: *ty, bytes });
        let base = found.chain.needs().base.then(|| self.base(found, near)).transpose()?;
        let base = base.as_ref().map(|(_, bytes)| &bytes[..]);
        let given = Dependencies::default()
            .with_dictionary(dictionary.as_deref())
            .with_reference(reference)
            .with_base(base);
        let mut decode =
            |stored: &[u8]| with_scratch(|s| found.decode(stored, &given, &self.salt, s, out, &place));
        match &found.place {
            Place::Block(at) => decode(&self.read_block(at, near, &place)?),
            Place::Member(member) => decode(&self.container(member.container, near)?),
            Place::Constant(_) => decode(&[]),
        }?;
        Ok(())
    }

    /// The decoded tile that another tile is coded against, and its type. A reference is itself coded against
    /// no tile, so that no chain of references arises.
    fn reference(&self, tile: &Located<'_>, key: TileKey, near: &Near) -> Result<(NcType, Bytes)> {
        let place = || format!("{}, which is coded against", self.describe_tile(tile.key));
        let decode = || {
            let other = self.locate(key, near)?;
            check_reference(tile, &other, &|| self.describe_tile(key))?;
            let len = other.info.tile_len(key.tile)?;
            let decode = |out: &mut [u8]| self.decode_located(&other, near, out);
            // Filled tiles are in the cache too, but their values are no valid reference.
            if self.fills.is_none() {
                return Ok((other.info.ty, self.cache.get(key, len, 0, true, decode)?));
            }
            let mut bytes = vec![0; len];
            decode(&mut bytes)?;
            Ok((other.info.ty, bytes.into()))
        };
        decode().map_err(|e: Error| e.needed_by(&place()))
    }

    /// The older tile that a tile is coded against, and its decoded bytes. The older tile is coded against
    /// none.
    pub(crate) fn base(&self, tile: &Located<'_>, near: &Near) -> Result<(OlderTile, Vec<u8>)> {
        let place = || format!("{}, the older tile it is coded against", self.describe_tile(tile.key));
        let (older, named) = match &tile.place {
            Place::Block(at) => {
                let bytes = self.read_block(at, near, &place)?;
                let payload = Block::check(&bytes, at, &self.salt, &place)?.payload;
                locate_base(tile, payload, &self.chains, &place)?
            }
            Place::Member(member) => {
                let container = self.container(member.container, near)?;
                locate_base(tile, member.bytes(&container, &place)?, &self.chains, &place)?
            }
            Place::Constant(_) => {
                let expected = "stored, since it is coded against an older tile";
                return Err(FormatError::corrupt(place(), None, "tile", expected, "a constant").into());
            }
        };
        let dictionary = older.dictionary.map(|key| self.dictionary(key, older.info.ty, near)).transpose()?;
        let given = Dependencies::default().with_dictionary(dictionary.as_deref());
        let said = named.decoded_len;
        // Does not use the scratch buffers of the waiting tile: these are taken after this is done.
        let decode = |stored: &[u8], len: u32| -> Result<Vec<u8>> {
            if u64::from(len) > self.limits.tile_len || !(len as usize).is_multiple_of(older.info.ty.size()) {
                let expected = format!("whole elements, at most {} bytes", self.limits.tile_len);
                let at = older.place.offset();
                return Err(FormatError::corrupt(place(), at, "decoded length", expected, len).into());
            }
            self.work.spend(len.into())?;
            let mut out = vec![0; len as usize];
            with_scratch(|s| older.decode(stored, &given, &self.salt, s, &mut out, &place))?;
            Ok(out)
        };
        let out = match &older.place {
            Place::Block(at) => {
                let stored = self.read_block(at, near, &place)?;
                let len = Block::check(&stored, at, &self.salt, &place)?.header.decoded_len;
                if said != len {
                    return Err(FormatError::corrupt(place(), at.offset, "decoded length", said, len).into());
                }
                decode(&stored, len)?
            }
            Place::Member(member) => decode(&self.container(member.container, near)?, said)?,
            Place::Constant(_) => unreachable!("`OlderTile` has entries of blocks and of members"),
        };
        Ok((named, out))
    }

    /// The unchecked bytes of a block, header first.
    pub(crate) fn read_block(
        &self,
        at: &BlockPlace,
        near: &Near,
        place: &dyn Fn() -> String,
    ) -> Result<Bytes> {
        let range = at.range(self.end, place)?;
        near.read_at(&*self.source, range.start, BLOCK_HEADER_LEN + at.stored_len as usize)
    }

    /// Works on members of the container at `offset`. The container is decoded once for all that use
    /// `shared`, even if the cache evicts it meanwhile.
    pub(super) fn with_container<T>(
        &self,
        offset: u64,
        near: &Near,
        shared: &SharedContainer,
        work: impl FnOnce() -> T,
    ) -> T {
        let mut failure = None;
        let decode = || self.container(offset, near).map_err(|e| failure = Some(e)).ok();
        let container = shared.get_or_init(decode).clone();
        let container = match (container, failure) {
            (Some(container), _) => Ok(container),
            (None, Some(failure)) => Err(Some(failure)),
            // Another member has reported the failure.
            (None, None) => return work(),
        };
        let held = Held { blocks: self.blocks.id, offset, container };
        let _before = Restore(HELD.replace(Some(held)));
        work()
    }

    /// The decoded bytes of the container at `offset`.
    pub(crate) fn container(&self, offset: u64, near: &Near) -> Result<Arc<Vec<u8>>> {
        let held = HELD.with_borrow_mut(|held| {
            let held = held.as_mut().filter(|held| held.blocks == self.blocks.id && held.offset == offset)?;
            match &mut held.container {
                Ok(container) => Some(Ok(Arc::clone(container))),
                Err(failure) => failure.take().map(Err),
            }
        });
        if let Some(held) = held {
            return held;
        }
        self.blocks.containers.get_or_insert_with(&offset, || self.read_container(offset, near).map(Arc::new))
    }

    fn read_container(&self, offset: u64, near: &Near) -> Result<Vec<u8>> {
        let container = self.container_header(offset, near)?;
        self.work.spend(container.decoded_len().into())?;
        let bytes = self.read_block(&container.place, near, &|| "packed container".to_owned())?;
        let decoded = with_scratch(|s| container.decode(&bytes, &self.salt, &self.chains, s))?;
        // spec/conformance.md, section 3: the members fill the container exactly.
        parse_directory(&decoded).map_err(|e| e.within("packed container", offset))?;
        Ok(decoded)
    }

    /// The header of the container at `offset`, which has its length.
    pub(crate) fn container_header(&self, offset: u64, near: &Near) -> Result<Container> {
        if offset.checked_add(BLOCK_HEADER_LEN as u64).is_none_or(|end| end > self.end) {
            let expected = format!("below {}", self.end);
            return Err(FormatError::corrupt("packed container", offset, "offset", expected, offset).into());
        }
        let header = near.read_at(&*self.source, offset, BLOCK_HEADER_LEN)?;
        let header = header.first_chunk().expect("read with this length");
        Ok(Container::read(header, &self.salt, offset, self.limits.container_len)?)
    }

    /// A dictionary, decoded at its first use.
    fn dictionary(&self, key: TileKey, ty: NcType, near: &Near) -> Result<Arc<Dictionary>> {
        self.blocks.dictionaries.get_or_insert_with(&key, || {
            let place = || format!("{}, number {}", self.describe(key.array), key.tile);
            let payload = self.read_definition(key, near)?;
            let decoded = decode_dictionary(&payload, ty).map_err(|e| e.within(&place(), 0))?;
            Ok(Arc::new(decoded))
        })
    }

    /// The bytes of a definition that tiles of a variable share. Their checksums have been compared.
    pub(crate) fn read_definition(&self, key: TileKey, near: &Near) -> Result<Bytes> {
        let place = || format!("{}, number {}", self.describe(key.array), key.tile);
        let (entry, _) = self.index.find(self, key, near)?;
        let at = definition(&entry, &place)?;
        let bytes = self.read_block(&at, near, &place)?;
        let block = Block::check(&bytes, &at, &self.salt, &place)?;
        block.expect(BlockKind::Definition, key, 0, block.payload.len(), &place)?;
        check_crc(block.payload, block.header.decoded_crc, at.offset, "CRC of the definition", &place)?;
        Ok(bytes.slice(BLOCK_HEADER_LEN..))
    }

    /// The decoded bytes of a block that is no tile, at any place.
    pub(crate) fn read_bytes_block(&self, at: &BlockPlace, array: ArrayId) -> Result<Vec<u8>> {
        let (near, place) = (Near::default(), || array.to_string());
        let bytes = self.read_block(at, &near, &place)?;
        let block = Block::check(&bytes, at, &self.salt, &place)?;
        Ok(with_scratch(|s| block.decode_bytes(&self.chains, self.limits.container_len, s, &place))?)
    }
}
