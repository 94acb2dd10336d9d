//! Decoded containers of small tiles, kept a little while: their members are mostly read one after another.

use super::fetch::{check_crc, with_scratch};
use crate::archive::Inner;
use crate::error::{Error, Result};
use crate::salvage::Found;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind};
use nc3z_format::codec::decode_bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// Bytes of decoded containers that are kept.
const CACHE_LEN: u64 = 8 << 20;

#[derive(Clone)]
struct ByLength;

impl Weighter<u64, Arc<Vec<u8>>> for ByLength {
    fn weight(&self, _: &u64, container: &Arc<Vec<u8>>) -> u64 {
        container.len() as u64 + 64
    }
}

/// Verified, decoded containers by offset.
pub(crate) struct Containers(Cache<u64, Arc<Vec<u8>>, ByLength>);

impl Containers {
    pub(crate) fn new() -> Self {
        Containers(Cache::with_weighter(128, CACHE_LEN, ByLength))
    }

    /// The decoded bytes of the container at `offset`.
    pub(crate) fn get(&self, inner: &Inner, offset: u64) -> Result<Arc<Vec<u8>>> {
        self.0.get_or_insert_with(&offset, || read(inner, offset).map(Arc::new))
    }
}

fn read(inner: &Inner, offset: u64) -> Result<Vec<u8>> {
    let place = || "packed container".to_owned();
    let corrupt = |what, expected: String, found: String| {
        Error::from(FormatError::corrupt(place(), offset, what, expected, found))
    };
    if offset.checked_add(BLOCK_HEADER_LEN as u64).is_none_or(|end| end > inner.trailer_offset) {
        return Err(corrupt("offset", format!("below {}", inner.trailer_offset), offset.to_string()));
    }
    // Members' entries do not hold the container's length: its own header does, under its own CRC.
    let header = inner.source.read_at(offset, BLOCK_HEADER_LEN)?;
    let header: &[u8; BLOCK_HEADER_LEN] = (&*header).try_into().expect("read with this length");
    let (header, crc) = BlockHeader::decode(header, &inner.superblock.salt, offset)?;
    if u64::from(header.decoded_len) > inner.limits.tile_len {
        return Err(FormatError::limit(
            place(),
            offset,
            "decoded length",
            inner.limits.tile_len,
            header.decoded_len.into(),
        )
        .into());
    }
    let block = inner.read_block(offset, header.stored_len, crc, &place)?;
    let len = header.decoded_len as usize;
    block.expect(BlockKind::Container, ArrayId::CONTAINERS, header.tile, header.chain, len, &place)?;
    let chain = inner.chain(header.chain, place)?;
    let mut out = vec![0; len];
    with_scratch(|s| decode_bytes(chain, &block.payload, s, &mut out))
        .map_err(|e| e.within(&place(), offset))?;
    check_crc(&out, header.decoded_crc, offset, "CRC of the decoded container", &place)?;
    Ok(out)
}

impl Inner {
    /// The decoded bytes of a block that is no tile: a constants list.
    pub(crate) fn read_bytes_block(&self, found: &Found) -> Result<Vec<u8>> {
        let place = || found.header.array.to_string();
        if u64::from(found.header.decoded_len) > self.limits.tile_len {
            let (limit, len) = (self.limits.tile_len, found.header.decoded_len.into());
            return Err(FormatError::limit(place(), found.offset, "decoded length", limit, len).into());
        }
        let block = self.read_block(found.offset, found.header.stored_len, found.check, &place)?;
        let chain = self.chain(found.header.chain, place)?;
        let mut out = vec![0; found.header.decoded_len as usize];
        with_scratch(|s| decode_bytes(chain, &block.payload, s, &mut out))
            .map_err(|e| e.within(&place(), found.offset))?;
        check_crc(&out, found.header.decoded_crc, found.offset, "CRC of the decoded list", &place)?;
        Ok(out)
    }
}
