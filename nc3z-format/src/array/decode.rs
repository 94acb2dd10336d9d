//! From stored bytes to a tile; each step checks what it relies on.

use super::locate::{BlockPlace, Located, MemberPlace, Place, TileKey};
use crate::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind, Salt};
use crate::codec::{Chain, CodecScratch, Dependencies, TileShape};
use crate::error::{Error, Result};

/// A block whose header and payload checksums hold.
#[derive(Debug, Clone)]
pub struct Block<'b> {
    /// The header of the block.
    pub header: BlockHeader,
    /// The output of the chain.
    pub payload: &'b [u8],
    /// The offset of the header.
    pub offset: u64,
}

impl<'b> Block<'b> {
    /// Checks header and payload of the block at a place. `bytes` are those of [`BlockPlace::range`].
    ///
    /// # Errors
    /// Corrupt, with the values that differ; `place` names the owner of the block.
    pub fn check(
        bytes: &'b [u8],
        at: &BlockPlace,
        salt: &Salt,
        place: &dyn Fn() -> String,
    ) -> Result<Block<'b>> {
        let offset = at.offset;
        let (header, payload) = bytes.split_first_chunk::<BLOCK_HEADER_LEN>().ok_or_else(|| {
            let needed = (BLOCK_HEADER_LEN - bytes.len()) as u64;
            Error::truncated(place(), offset, "block header", needed, bytes.len() as u64)
        })?;
        let (header, check) = BlockHeader::decode(header, salt, offset).map_err(|e| e.within(&place(), 0))?;
        if check != at.check {
            return Err(wrong_crc(place(), offset, "block header CRC", at.check, check));
        }
        if header.stored_len != at.stored_len || payload.len() != at.stored_len as usize {
            return Err(Error::corrupt(place(), offset, "stored length", at.stored_len, header.stored_len));
        }
        let crc = BlockHeader::payload_crc(header.array, header.tile, payload);
        if crc != header.payload_crc {
            return Err(wrong_crc(place(), offset, "CRC of the payload", header.payload_crc, crc));
        }
        Ok(Block { header, payload, offset })
    }

    /// Checks that it is the block that was meant.
    ///
    /// # Errors
    /// Corrupt: another kind, tile, chain or decoded length.
    pub fn expect(
        &self,
        kind: BlockKind,
        key: TileKey,
        chain: u16,
        decoded_len: usize,
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        let h = &self.header;
        let wrong = |what, expected: String, found: String| {
            Err(Error::corrupt(place(), self.offset, what, expected, found))
        };
        if h.kind != kind {
            return wrong("block kind", format!("{kind:?}"), format!("{:?}", h.kind));
        }
        if h.array != key.array || h.tile != key.tile {
            let named = |array: ArrayId, tile: u64| format!("tile {tile} of {array}");
            return wrong("block", named(key.array, key.tile), named(h.array, h.tile));
        }
        if h.chain != chain {
            return wrong("chain", chain.to_string(), h.chain.to_string());
        }
        if h.decoded_len as usize != decoded_len {
            return wrong("decoded length", decoded_len.to_string(), h.decoded_len.to_string());
        }
        Ok(())
    }

    /// Returns the decoded payload of a block that holds bytes and no tile, after checking its checksum.
    ///
    /// # Errors
    /// Damage; a chain that the archive or this build does not have; more than `limit` bytes.
    pub fn decode_bytes(
        &self,
        chains: &[Chain],
        limit: u64,
        scratch: &mut CodecScratch,
        place: &dyn Fn() -> String,
    ) -> Result<Vec<u8>> {
        let h = &self.header;
        if u64::from(h.decoded_len) > limit {
            return Err(Error::limit(place(), self.offset, "decoded length", limit, h.decoded_len.into()));
        }
        let chain = chains.get(usize::from(h.chain)).ok_or_else(|| {
            let known = format!("less than {}", chains.len());
            Error::corrupt(place(), self.offset, "chain number", known, h.chain)
        })?;
        let mut out = vec![0; h.decoded_len as usize];
        chain.decode_bytes(self.payload, scratch, &mut out).map_err(|e| e.within(&place(), self.offset))?;
        check_crc(&out, h.decoded_crc, self.offset, "CRC of the decoded bytes", place)?;
        Ok(out)
    }
}

/// A shared container. Its own header gives the length of its block, since members' entries do not have it.
#[derive(Debug, Clone)]
pub struct Container {
    header: BlockHeader,
    /// The place of its block.
    pub place: BlockPlace,
}

impl Container {
    /// The name in messages.
    const NAME: &'static str = "packed container";

    /// Bytes of the decoded container, as its header has them.
    pub const fn decoded_len(&self) -> u32 {
        self.header.decoded_len
    }

    /// Reads the header at `offset`, which should be a container's.
    ///
    /// # Errors
    /// Damage; another kind of block; a container of more than `limit` bytes.
    pub fn read(header: &[u8; BLOCK_HEADER_LEN], salt: &Salt, offset: u64, limit: u64) -> Result<Self> {
        let (header, check) = BlockHeader::decode(header, salt, offset)?;
        if u64::from(header.decoded_len) > limit {
            let len = header.decoded_len.into();
            return Err(Error::limit(Self::NAME, offset, "decoded length", limit, len));
        }
        let place = BlockPlace { offset, stored_len: header.stored_len, check };
        Ok(Container { header, place })
    }

    /// The bytes of its members, which follow each other after the directory. `bytes` are those of its
    /// place's range.
    ///
    /// # Errors
    /// Damage; a chain that the archive or this build does not have.
    pub fn decode(
        &self,
        bytes: &[u8],
        salt: &Salt,
        chains: &[Chain],
        scratch: &mut CodecScratch,
    ) -> Result<Vec<u8>> {
        let place = || Self::NAME.to_owned();
        let block = Block::check(bytes, &self.place, salt, &place)?;
        let h = &self.header;
        let key = TileKey::new(ArrayId::CONTAINERS, h.tile);
        block.expect(BlockKind::Container, key, h.chain, h.decoded_len as usize, &place)?;
        block.decode_bytes(chains, h.decoded_len.into(), scratch, &place)
    }
}

impl MemberPlace {
    /// The member's bytes in its decoded container.
    ///
    /// # Errors
    /// Corrupt: it reaches beyond the container.
    pub fn bytes<'c>(&self, container: &'c [u8], place: &dyn Fn() -> String) -> Result<&'c [u8]> {
        let begin = self.start as usize;
        let found = begin.checked_add(self.len as usize).and_then(|end| container.get(begin..end));
        found.ok_or_else(|| {
            Error::corrupt(place(), self.container, "place in the container", container.len(), begin)
        })
    }
}

impl Located<'_> {
    /// Decodes the tile into exactly `out`. `stored` depends on the tile's place: the block's range, the
    /// decoded container, or no bytes for a constant.
    ///
    /// # Errors
    /// Damage; a chain that this build does not know.
    pub fn decode(
        &self,
        stored: &[u8],
        given: &Dependencies<'_>,
        salt: &Salt,
        scratch: &mut CodecScratch,
        out: &mut [u8],
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        match &self.place {
            Place::Block(at) => {
                let block = Block::check(stored, at, salt, place)?;
                block.expect(BlockKind::Tile, self.key, self.chain_number, out.len(), place)?;
                self.run_chain(block.payload, given, scratch, out, place)?;
                check_crc(out, block.header.decoded_crc, at.offset, "CRC of the decoded tile", place)
            }
            Place::Member(member) => {
                self.run_chain(member.bytes(stored, place)?, given, scratch, out, place)?;
                // Containers do not hold it; their own checksums have been compared.
                let Some(crc) = member.decoded_crc else { return Ok(()) };
                check_crc(out, crc, member.container, "CRC of the decoded tile", place)
            }
            Place::Constant(value) => {
                let size = self.info.ty.size();
                if value[size..].iter().any(|&b| b != 0) {
                    return Err(Error::corrupt(place(), None, "rest of a constant", 0, "not zero"));
                }
                out.chunks_mut(size).for_each(|c| c.copy_from_slice(&value[..c.len()]));
                Ok(())
            }
        }
    }

    fn run_chain(
        &self,
        payload: &[u8],
        given: &Dependencies<'_>,
        scratch: &mut CodecScratch,
        out: &mut [u8],
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        let shape = TileShape { ty: self.info.ty, geometry: self.info.tiling.geometry(self.form_of)? };
        self.chain.decode_tile(payload, &shape, given, scratch, out).map_err(|e| e.within(&place(), 0))
    }
}

/// Compares the CRC of decoded bytes; `what` names it.
///
/// # Errors
/// Corrupt: another.
pub fn check_crc(
    bytes: &[u8],
    expected: u32,
    offset: u64,
    what: &'static str,
    place: &dyn Fn() -> String,
) -> Result<()> {
    let found = crc32fast::hash(bytes);
    if found == expected { Ok(()) } else { Err(wrong_crc(place(), offset, what, expected, found)) }
}

fn wrong_crc(place: String, offset: u64, what: &'static str, expected: u32, found: u32) -> Error {
    Error::corrupt(place, offset, what, format!("{expected:08x}"), format!("{found:08x}"))
}
