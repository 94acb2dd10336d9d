//! Decodes a tile from its stored bytes. The containers and dictionaries that tiles share are decoded once
//! and cached.

use super::{TileStore, Worker};
use crate::error::{Error, Result};
use crate::source::Nearby;
use bytes::Bytes;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockKind, parse_directory};
use nc3z_format::array::{
    Block, BlockPlace, Container, Located, Place, TileKey, check_crc, check_reference, definition,
    locate_base,
};
use nc3z_format::codec::{Dependencies, OlderTile, ReferenceTile, decode_dictionary};
use nc3z_format::num::Dictionary;
use nc3z_format::{Error as FormatError, NcType};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use std::sync::Arc;

/// Bytes of decoded containers that are cached: their members are usually read one after another. One of the
/// largest containers, 8 MiB, must fit a shard of the cache. Otherwise it would be decoded again for each of
/// its members.
const CONTAINERS_LEN: u64 = 64 << 20;
/// The number of cached dictionaries. Each has at most 65,536 values.
const DICTIONARIES: usize = 256;

#[derive(Clone)]
struct ByLength;

impl Weighter<u64, Bytes> for ByLength {
    fn weight(&self, _: &u64, container: &Bytes) -> u64 {
        container.len() as u64 + 64
    }
}

/// Verified, decoded blocks that many tiles need.
pub(crate) struct Blocks {
    containers: Cache<u64, Bytes, ByLength>,
    dictionaries: Cache<TileKey, Arc<Dictionary>>,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks {
            // One shard. With two, chance would decide how many of a file's containers share a shard, and so
            // the cost of reading the file.
            containers: Cache::with_options(
                OptionsBuilder::new()
                    .estimated_items_capacity(128)
                    .weight_capacity(CONTAINERS_LEN)
                    .shards(1)
                    .build()
                    .expect("the capacity, the weighter and the hasher are set"),
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
    pub(super) fn decode_located(
        &self,
        found: &Located<'_>,
        nearby: &Nearby,
        worker: &mut Worker,
        out: &mut [u8],
    ) -> Result<()> {
        let place = || self.describe_tile(found.key);
        if !matches!(found.place, Place::Constant(_)) {
            self.work.spend(out.len() as u64)?;
        }
        let dictionary =
            found.dictionary.map(|key| self.dictionary(key, found.info.ty, nearby)).transpose()?;
        let reference = found.reference.map(|key| self.reference(found, key, nearby, worker)).transpose()?;
        let reference = reference.as_ref().map(|(ty, bytes)| ReferenceTile { ty: *ty, bytes });
        let base = found.chain.needs().base.then(|| self.base(found, nearby, worker)).transpose()?;
        let base = base.as_ref().map(|(_, bytes)| &bytes[..]);
        let given = Dependencies::default()
            .with_dictionary(dictionary.as_deref())
            .with_reference(reference)
            .with_base(base);
        let stored = self.read_place(&found.place, nearby, worker, &place)?;
        Ok(found.decode(&stored, &given, &self.salt, worker.codec(), out, &place)?)
    }

    /// The bytes from which a tile is decoded: its block, the decoded container that it is a member of, or none
    /// for a constant.
    fn read_place(
        &self,
        found: &Place,
        nearby: &Nearby,
        worker: &mut Worker,
        place: &dyn Fn() -> String,
    ) -> Result<Bytes> {
        match found {
            Place::Block(at) => self.read_block(at, nearby, place),
            Place::Member(member) => self.container(member.container, nearby, worker),
            Place::Constant(_) => Ok(Bytes::new()),
        }
    }

    /// The decoded tile that another tile is coded against, and its type. A reference is itself coded against
    /// no tile, so that no chain of references arises.
    fn reference(
        &self,
        tile: &Located<'_>,
        key: TileKey,
        nearby: &Nearby,
        worker: &mut Worker,
    ) -> Result<(NcType, Bytes)> {
        let place = || format!("{}, which is coded against", self.describe_tile(tile.key));
        let mut decode = || {
            let other = self.locate(key, nearby)?;
            check_reference(tile, &other, &|| self.describe_tile(key))?;
            let len = other.info.tile_len(key.tile)?;
            let mut decode = |out: &mut [u8]| self.decode_located(&other, nearby, worker, out);
            // Filled tiles are in the cache too, but their values are not a valid reference.
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
    pub(crate) fn base(
        &self,
        tile: &Located<'_>,
        nearby: &Nearby,
        worker: &mut Worker,
    ) -> Result<(OlderTile, Vec<u8>)> {
        let place = || format!("{}, the older tile it is coded against", self.describe_tile(tile.key));
        let stored = self.read_place(&tile.place, nearby, worker, &place)?;
        let payload = match &tile.place {
            Place::Block(at) => Block::check(&stored, at, &self.salt, &place)?.payload,
            Place::Member(member) => member.bytes(&stored, &place)?,
            Place::Constant(_) => {
                let expected = "stored, since it is coded against an older tile";
                return Err(FormatError::corrupt(place(), None, "tile", expected, "a constant").into());
            }
        };
        let (older, named) = locate_base(tile, payload, &self.chains, &place)?;
        let stored = self.read_place(&older.place, nearby, worker, &place)?;
        let said = named.decoded_len;
        if let Place::Block(at) = &older.place {
            let len = Block::check(&stored, at, &self.salt, &place)?.header.decoded_len;
            if said != len {
                return Err(FormatError::corrupt(place(), at.offset, "decoded length", said, len).into());
            }
        }
        if u64::from(said) > self.limits.tile_len || !(said as usize).is_multiple_of(older.info.ty.size()) {
            let expected = format!("whole elements, at most {} bytes", self.limits.tile_len);
            let at = older.place.offset();
            return Err(FormatError::corrupt(place(), at, "decoded length", expected, said).into());
        }
        let dictionary =
            older.dictionary.map(|key| self.dictionary(key, older.info.ty, nearby)).transpose()?;
        let given = Dependencies::default().with_dictionary(dictionary.as_deref());
        self.work.spend(said.into())?;
        let mut out = vec![0; said as usize];
        older.decode(&stored, &given, &self.salt, worker.codec(), &mut out, &place)?;
        Ok((named, out))
    }

    /// The unchecked bytes of a block, header first.
    pub(crate) fn read_block(
        &self,
        at: &BlockPlace,
        nearby: &Nearby,
        place: &dyn Fn() -> String,
    ) -> Result<Bytes> {
        let range = at.range(self.end, place)?;
        nearby.read_at(&*self.source, range.start, BLOCK_HEADER_LEN + at.stored_len as usize)
    }

    /// The decoded bytes of the container at `offset`.
    pub(crate) fn container(&self, offset: u64, nearby: &Nearby, worker: &mut Worker) -> Result<Bytes> {
        if let Some(bytes) = worker.container(offset) {
            return Ok(bytes.clone());
        }
        if let Some(failure) = worker.failure(offset) {
            return Err(failure);
        }
        let read = || self.read_container(offset, nearby, worker);
        let bytes = self.blocks.containers.get_or_insert_with(&offset, read)?;
        worker.hold(offset, bytes.clone());
        Ok(bytes)
    }

    /// The decoded container at `offset`, before work on its members. An error is reported by the first member;
    /// the others read the container again.
    pub(super) fn open_container(&self, offset: u64, nearby: &Nearby, worker: &mut Worker) -> Option<Bytes> {
        self.container(offset, nearby, worker).map_err(|e| worker.fail(offset, e)).ok()
    }

    fn read_container(&self, offset: u64, nearby: &Nearby, worker: &mut Worker) -> Result<Bytes> {
        let container = self.container_header(offset, nearby)?;
        self.work.spend(container.decoded_len().into())?;
        let bytes = self.read_block(&container.place, nearby, &|| "packed container".to_owned())?;
        let decoded = container.decode(&bytes, &self.salt, &self.chains, worker.codec())?;
        // spec/conformance.md, section 3: the members fill the container exactly.
        parse_directory(&decoded).map_err(|e| e.within("packed container", offset))?;
        Ok(decoded.into())
    }

    /// The header of the container at `offset`, which has its length.
    pub(crate) fn container_header(&self, offset: u64, nearby: &Nearby) -> Result<Container> {
        if offset.checked_add(BLOCK_HEADER_LEN as u64).is_none_or(|end| end > self.end) {
            let expected = format!("below {}", self.end);
            return Err(FormatError::corrupt("packed container", offset, "offset", expected, offset).into());
        }
        let header = nearby.read_at(&*self.source, offset, BLOCK_HEADER_LEN)?;
        let header = header.first_chunk().expect("read with this length");
        Ok(Container::read(header, &self.salt, offset, self.limits.container_len)?)
    }

    /// A dictionary, decoded at its first use.
    fn dictionary(&self, key: TileKey, ty: NcType, nearby: &Nearby) -> Result<Arc<Dictionary>> {
        self.blocks.dictionaries.get_or_insert_with(&key, || {
            let place = || format!("{}, number {}", self.describe(key.array), key.tile);
            let payload = self.read_definition(key, nearby)?;
            let decoded = decode_dictionary(&payload, ty).map_err(|e| e.within(&place(), 0))?;
            Ok(Arc::new(decoded))
        })
    }

    /// The bytes of a definition that tiles of a variable share. Their checksums have been compared.
    pub(crate) fn read_definition(&self, key: TileKey, nearby: &Nearby) -> Result<Bytes> {
        let place = || format!("{}, number {}", self.describe(key.array), key.tile);
        let (entry, _) = self.index.find(self, key, nearby)?;
        let at = definition(&entry, &place)?;
        let bytes = self.read_block(&at, nearby, &place)?;
        let block = Block::check(&bytes, &at, &self.salt, &place)?;
        block.expect(BlockKind::Definition, key, 0, block.payload.len(), &place)?;
        check_crc(block.payload, block.header.decoded_crc, at.offset, "CRC of the definition", &place)?;
        Ok(bytes.slice(BLOCK_HEADER_LEN..))
    }

    /// The decoded bytes of a block that is not a tile, at any place.
    pub(crate) fn read_bytes_block(&self, at: &BlockPlace, array: ArrayId) -> Result<Vec<u8>> {
        let (nearby, place) = (Nearby::default(), || array.to_string());
        let bytes = self.read_block(at, &nearby, &place)?;
        let block = Block::check(&bytes, at, &self.salt, &place)?;
        let limit = self.limits.container_len;
        Ok(block.decode_bytes(&self.chains, limit, Worker::default().codec(), &place)?)
    }
}
