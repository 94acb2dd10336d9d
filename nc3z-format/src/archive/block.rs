//! The header of every block.

use super::constants::{BLOCK_HEADER_LEN, BLOCK_MARKER, MAX_DECODED_LEN, MAX_STORED_LEN};
use super::ids::ArrayId;
use super::salt::Salt;
use crate::bytes::ByteCursor;
use crate::error::{Error, Result};

/// The kinds of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockKind {
    /// One tile.
    Tile = 0,
    /// Several small tiles.
    Container = 1,
    /// Data that tiles of a variable share.
    Definition = 2,
    /// A list of constant tiles, with their values.
    Constants = 3,
    /// A chain's JSON.
    Chain = 4,
    /// Redundancy to repair damage.
    Parity = 5,
    /// The head of a later generation.
    Head = 6,
    /// The start of a later generation.
    Commit = 7,
}

impl BlockKind {
    const ALL: [BlockKind; 8] = [
        BlockKind::Tile,
        BlockKind::Container,
        BlockKind::Definition,
        BlockKind::Constants,
        BlockKind::Chain,
        BlockKind::Parity,
        BlockKind::Head,
        BlockKind::Commit,
    ];
}

/// A block header. Layout: `spec/archive.md`, "Blocks".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockHeader {
    /// The commit that wrote it.
    pub generation: u32,
    /// The array of the tile.
    pub array: ArrayId,
    /// The kind of the block.
    pub kind: BlockKind,
    /// True in an archive of rounded values. Each block repeats this, since the trailer may be lost.
    pub lossy: bool,
    /// The chain that made the payload.
    pub chain: u16,
    /// The number of the tile.
    pub tile: u64,
    /// Bytes once decoded.
    pub decoded_len: u32,
    /// Bytes of the payload.
    pub stored_len: u32,
    /// CRC-32 of variable, tile and payload.
    pub payload_crc: u32,
    /// CRC-32 of the decoded bytes.
    pub decoded_crc: u32,
}

const SECTION: &str = "block header";
const CRC_AT: usize = 40;
/// Flag: the archive's values were rounded.
const FLAG_LOSSY: u8 = 1;

impl BlockHeader {
    /// The 44 bytes, for a block at `offset`.
    pub fn encode(&self, salt: &Salt, offset: u64) -> [u8; BLOCK_HEADER_LEN] {
        let mut out = [0; BLOCK_HEADER_LEN];
        out[0..4].copy_from_slice(&BLOCK_MARKER);
        out[4..8].copy_from_slice(&self.generation.to_le_bytes());
        out[8..12].copy_from_slice(&self.array.0.to_le_bytes());
        out[12] = self.kind as u8;
        out[13] = if self.lossy { FLAG_LOSSY } else { 0 };
        out[14..16].copy_from_slice(&self.chain.to_le_bytes());
        out[16..24].copy_from_slice(&self.tile.to_le_bytes());
        out[24..28].copy_from_slice(&self.decoded_len.to_le_bytes());
        out[28..32].copy_from_slice(&self.stored_len.to_le_bytes());
        out[32..36].copy_from_slice(&self.payload_crc.to_le_bytes());
        out[36..40].copy_from_slice(&self.decoded_crc.to_le_bytes());
        let crc = salt.crc(offset, &out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads and checks the header of a block at `offset`. Also returns the CRC that the index refers to.
    ///
    /// # Errors
    /// Damage, another archive's block, or a block in the wrong place.
    pub fn decode(bytes: &[u8; BLOCK_HEADER_LEN], salt: &Salt, offset: u64) -> Result<(Self, u32)> {
        let mut c = ByteCursor::new(SECTION, offset, bytes);
        let marker = c.split("marker", 4)?;
        if marker != BLOCK_MARKER {
            return Err(Error::corrupt(SECTION, offset, "marker", "b1 4e 43 62", format!("{marker:02x?}")));
        }
        let crc = Self::header_crc(bytes);
        let expected = salt.crc(offset, &bytes[..CRC_AT]);
        if crc != expected {
            return Err(Error::corrupt(
                SECTION,
                offset + CRC_AT as u64,
                "CRC",
                format!("{expected:08x}"),
                format!("{crc:08x}"),
            ));
        }
        let (generation, array) = (c.u32("generation")?, ArrayId(c.u32("variable")?));
        if generation == 0 {
            return Err(Error::corrupt(SECTION, offset + 4, "generation", "at least 1", 0));
        }
        let kind = c.u8("kind")?;
        let kind = BlockKind::ALL.into_iter().find(|k| *k as u8 == kind);
        let kind = kind.ok_or_else(|| Error::unsupported(SECTION, offset + 12, "unknown kind of block"))?;
        let flags = c.u8("flags")?;
        if flags & !FLAG_LOSSY != 0 {
            return Err(Error::corrupt(SECTION, offset + 13, "flags", "0 or 1", flags));
        }
        let (chain, tile) = (c.u16("chain")?, c.u64("tile")?);
        let mut capped = |what, most: u32| {
            let at = c.offset();
            let n = c.u32(what)?;
            if n > most {
                Err(Error::corrupt(SECTION, at, what, format!("at most {most}"), n))
            } else {
                Ok(n)
            }
        };
        let decoded_len = capped("decoded length", MAX_DECODED_LEN)?;
        let stored_len = capped("stored length", MAX_STORED_LEN)?;
        let (payload_crc, decoded_crc) = (c.u32("payload CRC")?, c.u32("decoded CRC")?);
        let header = BlockHeader {
            generation,
            array,
            kind,
            lossy: flags & FLAG_LOSSY != 0,
            chain,
            tile,
            decoded_len,
            stored_len,
            payload_crc,
            decoded_crc,
        };
        Ok((header, crc))
    }

    /// The CRC field of an encoded header.
    pub fn header_crc(bytes: &[u8; BLOCK_HEADER_LEN]) -> u32 {
        let [.., a, b, c, d] = *bytes;
        u32::from_le_bytes([a, b, c, d])
    }

    /// CRC-32 of variable, tile and payload.
    pub fn payload_crc(array: ArrayId, tile: u64, payload: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&array.0.to_le_bytes());
        crc.update(&tile.to_le_bytes());
        crc.update(payload);
        crc.finalize()
    }
}

/// The next multiple of 8.
pub const fn align8(offset: u64) -> u64 {
    offset.saturating_add(7) & !7
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> BlockHeader {
        BlockHeader {
            generation: 1,
            array: ArrayId::variable(3),
            kind: BlockKind::Tile,
            lossy: false,
            chain: 2,
            tile: 17,
            decoded_len: 100,
            stored_len: 50,
            payload_crc: 5,
            decoded_crc: 6,
        }
    }

    #[test]
    fn round_trip_and_every_flipped_bit_is_seen() {
        let salt = Salt([7; 8]);
        let bytes = sample().encode(&salt, 160);
        assert_eq!(BlockHeader::decode(&bytes, &salt, 160).unwrap().0, sample());
        for bit in 0..bytes.len() * 8 {
            let mut b = bytes;
            b[bit / 8] ^= 1 << (bit % 8);
            assert!(BlockHeader::decode(&b, &salt, 160).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn flags_other_than_lossy_are_refused() {
        let salt = Salt([7; 8]);
        for flags in 0..=255u8 {
            let mut bytes = sample().encode(&salt, 160);
            bytes[13] = flags;
            let crc = salt.crc(160, &bytes[..CRC_AT]);
            bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
            let decoded = BlockHeader::decode(&bytes, &salt, 160).map(|(h, _)| h);
            match flags {
                0 | 1 => {
                    let decoded = decoded.unwrap();
                    assert_eq!(decoded, BlockHeader { lossy: flags == 1, ..sample() });
                    assert_eq!(decoded.encode(&salt, 160), bytes);
                }
                _ => assert!(decoded.unwrap_err().to_string().contains("flags"), "{flags}"),
            }
        }
    }

    #[test]
    fn block_elsewhere_or_of_another_archive_is_refused() {
        let bytes = sample().encode(&Salt([7; 8]), 160);
        assert!(BlockHeader::decode(&bytes, &Salt([7; 8]), 168).is_err());
        assert!(BlockHeader::decode(&bytes, &Salt([8; 8]), 160).is_err());
    }
}
