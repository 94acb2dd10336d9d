//! What a generation that changes the file begins with: how long the archive will be once it is committed.

use super::block::BlockHeader;
use super::constants::{BLOCK_HEADER_LEN, TRAILER_LEN};
use super::ids::ArrayId;
use super::salt::Salt;
use super::{BlockKind, align8};
use crate::error::{Error, Result};

const SECTION: &str = "commit";
/// Bytes of the payload.
const LEN: usize = 16;
/// The same, as a block header has it.
const LEN_IN_HEADER: u32 = 16;

/// The payload of a commit block. Layout: `spec/archive.md`, "Commits".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// Length of the archive with this generation's trailer; 0 as long as it is not known.
    pub archive_len: u64,
    /// Offset of the previous trailer.
    pub previous: u64,
}

impl Commit {
    /// Bytes of the whole block.
    pub const BLOCK_LEN: usize = BLOCK_HEADER_LEN + LEN;

    /// The block of a generation that begins at `offset`.
    pub fn block(self, generation: u32, lossy: bool, salt: &Salt, offset: u64) -> [u8; Self::BLOCK_LEN] {
        let mut payload = [0; LEN];
        payload[..8].copy_from_slice(&self.archive_len.to_le_bytes());
        payload[8..].copy_from_slice(&self.previous.to_le_bytes());
        let (array, tile) = (ArrayId::COMMITS, generation.into());
        let header = BlockHeader {
            generation,
            array,
            kind: BlockKind::Commit,
            lossy,
            chain: 0,
            tile,
            decoded_len: LEN_IN_HEADER,
            stored_len: LEN_IN_HEADER,
            payload_crc: BlockHeader::payload_crc(array, tile, &payload),
            decoded_crc: crc32fast::hash(&payload),
        };
        let mut out = [0; Self::BLOCK_LEN];
        out[..BLOCK_HEADER_LEN].copy_from_slice(&header.encode(salt, offset));
        out[BLOCK_HEADER_LEN..].copy_from_slice(&payload);
        out
    }

    /// Reads a commit block; gives its generation too.
    ///
    /// # Errors
    /// It is none, or damaged; numbers that make no sense.
    pub fn read(block: &[u8; Self::BLOCK_LEN], salt: &Salt, offset: u64) -> Result<(u32, Self)> {
        let (header, payload) = block.split_first_chunk::<BLOCK_HEADER_LEN>().expect("longer by a payload");
        let (header, _) = BlockHeader::decode(header, salt, offset)?;
        let wrong =
            |what, expected: String, found: u64| Err(Error::corrupt(SECTION, offset, what, expected, found));
        if header.kind != BlockKind::Commit || header.array != ArrayId::COMMITS {
            return wrong("kind of block", "7, a commit".into(), header.kind as u64);
        }
        if header.stored_len != LEN_IN_HEADER {
            return wrong("stored length", LEN.to_string(), header.stored_len.into());
        }
        let crc = BlockHeader::payload_crc(header.array, header.tile, payload);
        if crc != header.payload_crc {
            return wrong("CRC of the payload", header.payload_crc.to_string(), crc.into());
        }
        let (archive_len, previous) = payload.split_first_chunk::<8>().expect("sixteen bytes");
        let archive_len = u64::from_le_bytes(*archive_len);
        let previous = u64::from_le_bytes(*previous.first_chunk().expect("eight bytes"));
        let least = align8(offset.saturating_add((Self::BLOCK_LEN + TRAILER_LEN) as u64));
        if archive_len != 0 && (archive_len < least || !archive_len.is_multiple_of(8)) {
            return wrong("archive length", format!("0, or a multiple of 8 from {least}"), archive_len);
        }
        if previous.checked_add(TRAILER_LEN as u64) != Some(offset) {
            return wrong("previous trailer", format!("{TRAILER_LEN} bytes before {offset}"), previous);
        }
        Ok((header.generation, Commit { archive_len, previous }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: Salt = Salt([7; 8]);

    #[test]
    fn round_trip_and_every_flipped_bit_is_seen() {
        let commit = Commit { archive_len: 4096, previous: 1000 - 128 };
        let bytes = commit.block(3, false, &SALT, 1000);
        assert_eq!(Commit::read(&bytes, &SALT, 1000).unwrap(), (3, commit));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Commit::read(&bad, &SALT, 1000).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn its_numbers_fit_its_place() {
        let read = |archive_len, previous| {
            Commit::read(&Commit { archive_len, previous }.block(3, true, &SALT, 1000), &SALT, 1000)
        };
        read(0, 872).unwrap();
        read(1192, 872).unwrap();
        for (archive_len, previous) in [(1184, 872), (1193, 872), (1192, 880), (1192, 0), (1192, u64::MAX)] {
            assert!(read(archive_len, previous).is_err(), "{archive_len} {previous}");
        }
    }
}
