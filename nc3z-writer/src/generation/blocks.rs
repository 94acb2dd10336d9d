//! Writes blocks.

use super::sink::Sink;
use crate::error::Result;
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::archive::{ArrayId, BlockHeader, BlockKind, IndexEntry, Salt};
use std::io::Write;

/// The fields that all blocks of a generation share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) generation: u32,
    pub(super) salt: Salt,
    pub(super) required: u32,
}

/// The description of a block's content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    pub(super) kind: BlockKind,
    pub(super) array: ArrayId,
    pub(super) tile: u64,
    pub(super) chain: u16,
    pub(super) decoded_len: u32,
    pub(super) decoded_crc: u32,
}

impl Content {
    fn header(self, stamp: Stamp, payload: &[u8]) -> BlockHeader {
        let Content { kind, array, tile, chain, decoded_len, decoded_crc } = self;
        BlockHeader {
            generation: stamp.generation,
            array,
            kind,
            lossy: stamp.required & REQUIRED_LOSSY != 0,
            chain,
            tile,
            decoded_len,
            stored_len: u32::try_from(payload.len()).expect("payloads are not larger than their tile"),
            payload_crc: BlockHeader::payload_crc(array, tile, payload),
            decoded_crc,
        }
    }
}

/// Writes a block. Returns its offset and header CRC.
pub(super) fn write_block<W: Write>(
    sink: &mut Sink<'_, W>,
    stamp: Stamp,
    content: Content,
    payload: &[u8],
) -> Result<(u64, u32)> {
    let offset = sink.align()?;
    let encoded = content.header(stamp, payload).encode(&stamp.salt, offset);
    sink.write(&encoded)?;
    sink.write(payload)?;
    Ok((offset, BlockHeader::header_crc(&encoded)))
}

/// A container of another archive, copied in its stored form.
pub(crate) struct WholeContainer {
    pub(crate) chain: u16,
    /// The payload that the chain produced.
    pub(crate) payload: Vec<u8>,
    /// Bytes once decoded.
    pub(crate) decoded_len: u32,
    /// CRC-32 of the decoded bytes.
    pub(crate) decoded_crc: u32,
    /// All its members with their entries, without the container's offset.
    pub(crate) members: Vec<(ArrayId, u64, IndexEntry)>,
}
