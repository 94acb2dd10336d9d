//! One tile: index entry, stored bytes, checksums, decoding; each step checks what it relies on.

use crate::archive::{Archive, Inner};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind, IndexEntry};
use nc3z_format::arrays::ArrayInfo;
use nc3z_format::codec::{Scratch, TileShape, decode_tile};
use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// Runs `work` with this thread's codec contexts and buffers.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}

impl Archive {
    /// Decodes one tile into `out`, big-endian, as it stands in the original file.
    ///
    /// # Errors
    /// No such tile; `out` of another length than the tile; damaged or unknown content.
    pub fn read_tile_into(&self, array: ArrayId, tile: u64, out: &mut [u8]) -> Result<()> {
        let info = self.inner.arrays.get(array);
        let expected = info.map(|i| i.tile_len(tile)).transpose()?;
        if expected != Some(out.len()) {
            let len = expected.unwrap_or(0);
            return Err(FormatError::invalid(format!(
                "tile {tile} of {array} has {len} bytes, not {}",
                out.len()
            ))
            .into());
        }
        self.inner.decode_tile(array, tile, out)
    }

    /// One decoded tile, big-endian.
    ///
    /// # Errors
    /// As [`Archive::read_tile_into`].
    pub fn read_tile(&self, array: ArrayId, tile: u64) -> Result<Vec<u8>> {
        let info = self.inner.arrays.get(array);
        let info = info.ok_or_else(|| FormatError::invalid(format!("there is no {array}")))?;
        let mut out = vec![0; info.tile_len(tile)?];
        self.inner.decode_tile(array, tile, &mut out)?;
        Ok(out)
    }
}

impl Inner {
    /// Decodes a tile into exactly `out`, whose length the caller took from the array's tiling. Where the caller allowed it,
    /// fill values stand in for a tile that is damaged or lost.
    pub(crate) fn decode_tile(&self, array: ArrayId, tile: u64, out: &mut [u8]) -> Result<()> {
        let decoded = self.decode_whole_tile(array, tile, out);
        match &self.fills {
            Some(fills) => decoded.or_else(|e| fills.fill(self, array, tile, e, out)),
            None => decoded,
        }
    }

    /// Decodes a tile, or says what is wrong with it.
    pub(crate) fn decode_whole_tile(&self, array: ArrayId, tile: u64, out: &mut [u8]) -> Result<()> {
        let place = || format!("{}, tile {tile}", self.describe(array));
        let missing = || FormatError::invalid(format!("there is no {array}"));
        let info = self.arrays.get(array).ok_or_else(missing)?;
        match self.entry(array, tile)? {
            IndexEntry::Stored { offset, len, chain, check } => {
                let block = self.read_block(offset, len, check, &place)?;
                block.expect(BlockKind::Tile, array, tile, chain, out.len(), &place)?;
                self.decode_payload(info, tile, chain, &block.payload, out, &place)?;
                check_crc(out, block.header.decoded_crc, offset, "CRC of the decoded tile", &place)
            }
            IndexEntry::Packed { offset, start, len, chain, check } => {
                let container = self.containers.get(self, offset)?;
                let begin = start as usize;
                let stored = begin
                    .checked_add(len as usize)
                    .and_then(|end| container.get(begin..end))
                    .ok_or_else(|| {
                        FormatError::corrupt(
                            place(),
                            offset,
                            "place in the container",
                            container.len(),
                            begin,
                        )
                    })?;
                self.decode_payload(info, tile, chain, stored, out, &place)?;
                if self.rebuilt.as_ref().is_some_and(|r| r.is_probed(self, array, tile)) {
                    // Containers do not hold it; the container's own checksums have been compared.
                    return Ok(());
                }
                check_crc(out, check, offset, "CRC of the decoded tile", &place)
            }
            IndexEntry::Constant { value } => {
                let size = info.ty.size();
                if value[size..].iter().any(|&b| b != 0) {
                    return Err(
                        FormatError::corrupt(place(), None, "rest of a constant", 0, "not zero").into()
                    );
                }
                out.chunks_mut(size).for_each(|c| c.copy_from_slice(&value[..c.len()]));
                Ok(())
            }
            IndexEntry::Absent => {
                Err(FormatError::corrupt(place(), None, "index entry", "a stored tile", "absent").into())
            }
            IndexEntry::Lost => {
                let found = "lost to damage before the archive was repaired";
                Err(FormatError::corrupt(place(), None, "tile", "whole", found).into())
            }
        }
    }

    /// Runs a payload through its chain.
    fn decode_payload(
        &self,
        info: &ArrayInfo,
        tile: u64,
        chain: u16,
        payload: &[u8],
        out: &mut [u8],
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        let chain = self.chain(chain, place)?;
        let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(tile)? };
        let dictionary = self.dictionaries.for_tile(self, info.id, info.ty, chain)?;
        with_scratch(|s| decode_tile(chain, payload, &shape, dictionary.as_deref(), s, out))
            .map_err(|e| e.within(&place(), 0).into())
    }

    /// Reads a block and checks header and payload.
    pub(crate) fn read_block(
        &self,
        offset: u64,
        stored_len: u32,
        check: u32,
        place: &dyn Fn() -> String,
    ) -> Result<Block> {
        let end = offset.checked_add(BLOCK_HEADER_LEN as u64 + u64::from(stored_len));
        if end.is_none_or(|end| end > self.trailer_offset) {
            let room = self.trailer_offset.saturating_sub(offset);
            return Err(FormatError::corrupt(
                place(),
                offset,
                "end of the block",
                format!("at most {room} bytes on"),
                stored_len,
            )
            .into());
        }
        let bytes = self.source.read_at(offset, BLOCK_HEADER_LEN + stored_len as usize)?;
        let header: &[u8; BLOCK_HEADER_LEN] =
            bytes[..BLOCK_HEADER_LEN].try_into().expect("sliced to this length");
        let (header, header_crc) =
            BlockHeader::decode(header, &self.superblock.salt, offset).map_err(|e| e.within(&place(), 0))?;
        if header_crc != check {
            return Err(FormatError::corrupt(
                place(),
                offset,
                "block header CRC",
                format!("{check:08x}"),
                format!("{header_crc:08x}"),
            )
            .into());
        }
        if header.stored_len != stored_len {
            return Err(FormatError::corrupt(
                place(),
                offset,
                "stored length",
                stored_len,
                header.stored_len,
            )
            .into());
        }
        let payload = bytes.slice(BLOCK_HEADER_LEN..);
        let crc = BlockHeader::payload_crc(header.array, header.tile, &payload);
        if crc != header.payload_crc {
            let (expected, found) = (format!("{:08x}", header.payload_crc), format!("{crc:08x}"));
            return Err(FormatError::corrupt(place(), offset, "CRC of the payload", expected, found).into());
        }
        Ok(Block { header, payload, offset })
    }
}

/// A block whose header and payload checksums hold.
pub(crate) struct Block {
    pub(crate) header: BlockHeader,
    pub(crate) payload: Bytes,
    pub(crate) offset: u64,
}

impl Block {
    /// Checks that it is the block the index meant.
    pub(crate) fn expect(
        &self,
        kind: BlockKind,
        array: ArrayId,
        tile: u64,
        chain: u16,
        decoded_len: usize,
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        let h = &self.header;
        let wrong = |what, expected: String, found: String| {
            Err(FormatError::corrupt(place(), self.offset, what, expected, found).into())
        };
        if h.kind != kind {
            return wrong("block kind", format!("{kind:?}"), format!("{:?}", h.kind));
        }
        if h.array != array || h.tile != tile {
            return wrong(
                "block",
                format!("tile {tile} of {array}"),
                format!("tile {} of {}", h.tile, h.array),
            );
        }
        if h.chain != chain {
            return wrong("chain", chain.to_string(), h.chain.to_string());
        }
        if h.decoded_len as usize != decoded_len {
            return wrong("decoded length", decoded_len.to_string(), h.decoded_len.to_string());
        }
        Ok(())
    }
}

/// Compares the CRC of decoded bytes.
pub(crate) fn check_crc(
    bytes: &[u8],
    expected: u32,
    offset: u64,
    what: &'static str,
    place: &dyn Fn() -> String,
) -> Result<()> {
    let found = crc32fast::hash(bytes);
    if found == expected {
        return Ok(());
    }
    Err(FormatError::corrupt(place(), offset, what, format!("{expected:08x}"), format!("{found:08x}")).into())
}
