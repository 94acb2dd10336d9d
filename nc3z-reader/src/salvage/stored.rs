//! Tiles as they are stored, checked and decoded once, so that a repair can carry them over without changing a bit.

use crate::archive::{Archive, Inner};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::{ArrayId, BlockKind, IndexEntry};

/// The most definitions of one variable that are carried over.
const MAX_DEFINITIONS: u64 = 1 << 16;

/// A tile whose checksums hold, as it is stored.
#[derive(Debug, Clone)]
pub enum StoredTile {
    /// All elements have the same bits: the big-endian value, then zeros.
    Constant {
        /// The value.
        value: [u8; 8],
        /// Bytes of an element.
        size: u8,
    },
    /// A member of a container.
    Packed {
        /// Its chain.
        chain: u16,
        /// What the chain made.
        bytes: Vec<u8>,
        /// CRC-32 of the decoded tile.
        decoded_crc: u32,
    },
    /// A block of its own.
    Block {
        /// Its chain.
        chain: u16,
        /// What the chain made.
        payload: Bytes,
        /// Bytes once decoded.
        decoded_len: u32,
        /// CRC-32 of the decoded bytes.
        decoded_crc: u32,
    },
}

impl Archive {
    /// A tile as it is stored. Checksums of stored bytes have been compared; it is decoded only where that is needed to know its
    /// own checksum.
    ///
    /// # Errors
    /// No such tile; damage; a lost tile.
    pub fn stored_tile(&self, array: ArrayId, tile: u64) -> Result<StoredTile> {
        let inner = &*self.inner;
        let place = || format!("{}, tile {tile}", inner.describe(array));
        let info = inner.arrays.get(array);
        let info = info.ok_or_else(|| FormatError::invalid(format!("there is no {array}")))?;
        match inner.entry(array, tile)? {
            IndexEntry::Constant { value } => {
                let size = u8::try_from(info.ty.size()).expect("elements have at most 8 bytes");
                Ok(StoredTile::Constant { value, size })
            }
            IndexEntry::Packed { offset, start, len, chain, check } => {
                let container = inner.containers.get(inner, offset)?;
                let begin = start as usize;
                let bytes = begin.checked_add(len as usize).and_then(|end| container.get(begin..end));
                let bytes = bytes.ok_or_else(|| {
                    FormatError::corrupt(place(), offset, "place in the container", container.len(), begin)
                })?;
                let probed = inner.rebuilt.as_ref().is_some_and(|r| r.is_probed(inner, array, tile));
                let decoded_crc = if probed { self.decoded_crc(array, tile)? } else { check };
                Ok(StoredTile::Packed { chain, bytes: bytes.to_vec(), decoded_crc })
            }
            IndexEntry::Stored { offset, len, chain, check } => {
                let block = inner.read_block(offset, len, check, &place)?;
                let decoded_len = info.tile_len(tile)?;
                block.expect(BlockKind::Tile, array, tile, chain, decoded_len, &place)?;
                Ok(StoredTile::Block {
                    chain,
                    payload: block.payload.clone(),
                    decoded_len: block.header.decoded_len,
                    decoded_crc: block.header.decoded_crc,
                })
            }
            IndexEntry::Absent | IndexEntry::Lost => {
                Err(FormatError::corrupt(place(), None, "tile", "stored", "lost").into())
            }
        }
    }

    /// CRC-32 of a decoded tile.
    fn decoded_crc(&self, array: ArrayId, tile: u64) -> Result<u32> {
        let info = self.inner.arrays.get(array);
        let info = info.ok_or_else(|| FormatError::invalid(format!("there is no {array}")))?;
        let mut bytes = vec![0; info.tile_len(tile)?];
        self.inner.decode_whole_tile(array, tile, &mut bytes)?;
        Ok(crc32fast::hash(&bytes))
    }

    /// Where in the archive a tile's block begins (a member's container); `None` where it has none.
    pub fn stored_offset(&self, array: ArrayId, tile: u64) -> Option<u64> {
        match self.inner.entry(array, tile) {
            Ok(IndexEntry::Stored { offset, .. } | IndexEntry::Packed { offset, .. }) => Some(offset),
            _ => None,
        }
    }

    /// The definitions of a variable whose blocks are whole, by number, and the numbers of those that are not.
    pub fn stored_definitions(&self, variable: u32) -> (Vec<(u64, Bytes)>, Vec<u64>) {
        let array = ArrayId::definitions(variable);
        let count = self.definition_count(variable).min(MAX_DEFINITIONS);
        let (mut whole, mut lost) = (Vec::new(), Vec::new());
        for number in 0..count {
            match definition(&self.inner, array, number) {
                Ok(bytes) => whole.push((number, bytes)),
                Err(_) => lost.push(number),
            }
        }
        (whole, lost)
    }

    /// The number of definitions of a variable that an index knows of.
    fn definition_count(&self, variable: u32) -> u64 {
        let array = ArrayId::definitions(variable);
        let stored = self.inner.table.find(array).map_or(0, |(row, _)| row.tile_count);
        stored.max(self.inner.rebuilt.as_ref().map_or(0, |r| r.definitions(array)))
    }
}

fn definition(inner: &Inner, array: ArrayId, number: u64) -> Result<Bytes> {
    let place = || format!("{}, number {number}", inner.describe(array));
    let IndexEntry::Stored { offset, len, check, .. } = inner.entry(array, number)? else {
        return Err(FormatError::corrupt(place(), None, "definition", "a block", "lost").into());
    };
    let block = inner.read_block(offset, len, check, &place)?;
    block.expect(BlockKind::Definition, array, number, 0, block.payload.len(), &place)?;
    Ok(block.payload)
}
