//! The stored bytes of tiles. They are checked and decoded once, so that a repair can copy them without changing a bit.

use crate::archive::Archive;
use crate::error::Result;
use crate::source::Nearby;
use crate::tile::Worker;
use bytes::Bytes;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockKind, IndexEntry, Member, parse_directory};
use nc3z_format::array::{Block, Place, TileKey};

/// The most definitions of one variable that are carried over.
const MAX_DEFINITIONS: u64 = 1 << 16;

/// The stored bytes of a tile whose checksums are correct.
#[derive(Debug, Clone)]
pub enum StoredTile {
    /// All elements have the same bits: the big-endian value, then zeros.
    Constant {
        /// The bytes of the value.
        value: [u8; 8],
        /// Bytes of an element.
        size: u8,
    },
    /// A member of a shared container.
    Shared {
        /// The chain of the tile.
        chain: u16,
        /// The output of the chain.
        bytes: Vec<u8>,
        /// CRC-32 of the decoded tile.
        decoded_crc: u32,
    },
    /// A block that has no other tile.
    Block {
        /// The chain of the block.
        chain: u16,
        /// The output of the chain.
        payload: Bytes,
        /// Bytes once decoded.
        decoded_len: u32,
        /// CRC-32 of the decoded bytes.
        decoded_crc: u32,
    },
}

/// The stored bytes of a container whose checksums are correct.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoredContainer {
    /// The chain of the container.
    pub chain: u16,
    /// The output of the chain.
    pub payload: Bytes,
    /// Bytes once decoded.
    pub decoded_len: u32,
    /// CRC-32 of the decoded bytes.
    pub decoded_crc: u32,
    /// The members of the container.
    pub members: Vec<Member>,
}

impl Archive {
    /// Returns the stored bytes of the container at an offset from [`Archive::stored_offset`], after checking all its checksums.
    ///
    /// # Errors
    /// There is no container at the offset; damage.
    pub fn stored_container(&self, offset: u64) -> Result<StoredContainer> {
        let (store, nearby) = (&self.inner.store, Nearby::default());
        let place = || "packed container".to_owned();
        // Decoded first: this also checks the container's place, lengths and content.
        let decoded = store.container(offset, &nearby, &mut Worker::default())?;
        let at = store.container_header(offset, &nearby)?.place;
        let bytes = store.read_block(&at, &nearby, &place)?;
        let header = Block::check(&bytes, &at, &store.salt, &place)?.header;
        Ok(StoredContainer {
            chain: header.chain,
            payload: bytes.slice(BLOCK_HEADER_LEN..),
            decoded_len: header.decoded_len,
            decoded_crc: header.decoded_crc,
            members: parse_directory(&decoded)?,
        })
    }

    /// The members of the container at an offset of the index.
    ///
    /// # Errors
    /// No container there; damage.
    pub(crate) fn container_members(&self, offset: u64) -> Result<Vec<Member>> {
        let decoded = self.inner.store.container(offset, &Nearby::default(), &mut Worker::default())?;
        Ok(parse_directory(&decoded)?)
    }

    /// Returns the stored bytes of a tile, after checking their checksums. The tile is decoded only if its own checksum is not
    /// recorded.
    ///
    /// # Errors
    /// No such tile; damage; a lost tile.
    pub fn stored_tile(&self, array: ArrayId, tile: u64) -> Result<StoredTile> {
        let (store, nearby) = (&self.inner.store, Nearby::default());
        let key = TileKey::new(array, tile);
        let place = || store.describe_tile(key);
        let found = store.locate(key, &nearby)?;
        match &found.place {
            Place::Constant(value) => {
                let size = u8::try_from(found.info.ty.size()).expect("elements have at most 8 bytes");
                Ok(StoredTile::Constant { value: *value, size })
            }
            Place::Member(member) => {
                let container = store.container(member.container, &nearby, &mut Worker::default())?;
                let bytes = member.bytes(&container, &place)?.to_vec();
                let decoded_crc = match member.decoded_crc {
                    Some(crc) => crc,
                    None => self.decoded_crc(key)?,
                };
                Ok(StoredTile::Shared { chain: found.chain_number, bytes, decoded_crc })
            }
            Place::Block(at) => {
                let bytes = store.read_block(at, &nearby, &place)?;
                let block = Block::check(&bytes, at, &store.salt, &place)?;
                let decoded_len = found.info.tile_len(tile)?;
                block.expect(BlockKind::Tile, key, found.chain_number, decoded_len, &place)?;
                Ok(StoredTile::Block {
                    chain: found.chain_number,
                    payload: bytes.slice(BLOCK_HEADER_LEN..),
                    decoded_len: block.header.decoded_len,
                    decoded_crc: block.header.decoded_crc,
                })
            }
        }
    }

    /// CRC-32 of a decoded tile.
    fn decoded_crc(&self, key: TileKey) -> Result<u32> {
        let mut bytes = vec![0; self.inner.store.info(key.array)?.tile_len(key.tile)?];
        self.inner.store.decode_whole(key, &Nearby::default(), &mut Worker::default(), &mut bytes)?;
        Ok(crc32fast::hash(&bytes))
    }

    /// The offset of a tile's block, or of a member's container. `None` if the tile has none.
    pub fn stored_offset(&self, array: ArrayId, tile: u64) -> Option<u64> {
        match self.entry(array, tile) {
            Ok(IndexEntry::Stored { offset, .. } | IndexEntry::Shared { offset, .. }) => Some(offset),
            _ => None,
        }
    }

    /// The intact definitions of the variable whose array has this number, each with its number, and the
    /// numbers of the damaged ones.
    pub fn stored_definitions(&self, variable: u32) -> (Vec<(u64, Bytes)>, Vec<u64>) {
        let array = ArrayId::definitions(variable);
        let count = self.definition_count(variable).min(MAX_DEFINITIONS);
        let (mut whole, mut lost) = (Vec::new(), Vec::new());
        for number in 0..count {
            match self.inner.store.read_definition(TileKey::new(array, number), &Nearby::default()) {
                Ok(bytes) => whole.push((number, bytes)),
                Err(_) => lost.push(number),
            }
        }
        (whole, lost)
    }

    /// The number of definitions of a variable that an index knows of.
    fn definition_count(&self, variable: u32) -> u64 {
        let array = ArrayId::definitions(variable);
        let stored = self.variable_table().find(array).map_or(0, |(row, _)| row.tile_count);
        stored.max(self.inner.store.index.recovered.as_ref().map_or(0, |r| r.definitions(array)))
    }
}
