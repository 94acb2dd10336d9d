//! The block in which a generation records its changes to the file, and the version that it changes. With this block the generation
//! can be rebuilt if its end is lost.

use super::BlockKind;
use super::block::BlockHeader;
use super::ids::ArrayId;
use super::salt::Salt;
use crate::bytes::{ByteCursor, put_varint};
use crate::error::{Error, Result};
use std::ops::Range;

const SECTION: &str = "commit";

/// The payload of a commit block, the last block of its generation. Layout: `spec/archive.md`, "Commit".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// SHA-256 of the file; zeros where it is not known.
    pub sha256: [u8; 32],
    /// Offset of the generation's first block.
    pub blocks_begin: u64,
    /// Number of its blocks, this one included.
    pub blocks: u64,
    /// Number of the version that it holds.
    pub version: u32,
    /// The generation whose index entries it has but for those that it changes.
    pub base: u32,
    /// The generation whose later head it has; 0 where its head is the head copy.
    pub head: u32,
    /// The tiles that it changes, by array: ascending runs that do not touch.
    pub changed: Vec<(ArrayId, Vec<Range<u64>>)>,
}

impl Commit {
    /// The block at `offset`.
    ///
    /// # Errors
    /// The commit has more runs than a block can hold.
    pub fn block(&self, generation: u32, lossy: bool, salt: &Salt, offset: u64) -> Result<Vec<u8>> {
        let payload = self.encode();
        let most = u64::from(super::constants::MAX_DECODED_LEN);
        let len = u32::try_from(payload.len()).ok().filter(|&len| u64::from(len) <= most);
        let len = len.ok_or_else(|| Error::limit(SECTION, offset, "length", most, payload.len() as u64))?;
        let (array, tile) = (ArrayId::COMMITS, generation.into());
        let header = BlockHeader {
            generation,
            array,
            kind: BlockKind::Commit,
            lossy,
            chain: 0,
            tile,
            decoded_len: len,
            stored_len: len,
            payload_crc: BlockHeader::payload_crc(array, tile, &payload),
            decoded_crc: crc32fast::hash(&payload),
        };
        Ok([&header.encode(salt, offset)[..], &payload].concat())
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = self.sha256.to_vec();
        let head = [self.blocks_begin, self.blocks, self.version.into(), self.base.into(), self.head.into()];
        head.into_iter().for_each(|n| put_varint(&mut out, n));
        put_varint(&mut out, self.changed.len() as u64);
        for (array, runs) in &self.changed {
            put_varint(&mut out, array.0.into());
            put_varint(&mut out, runs.len() as u64);
            let mut at = 0;
            for run in runs {
                put_varint(&mut out, run.start.wrapping_sub(at));
                put_varint(&mut out, run.end - run.start);
                at = run.end;
            }
        }
        out
    }

    /// Reads the payload of a commit block whose header this is, at `offset`.
    ///
    /// # Errors
    /// It is none, or damaged; numbers that make no sense.
    pub fn read(header: &BlockHeader, payload: &[u8], offset: u64) -> Result<Self> {
        let wrong = |what, expected: String, found: u64| -> Error {
            Error::corrupt(SECTION, offset, what, expected, found)
        };
        if header.kind != BlockKind::Commit || header.array != ArrayId::COMMITS {
            return Err(wrong("kind of block", "7, a commit".into(), header.kind as u64));
        }
        let crc = BlockHeader::payload_crc(header.array, header.tile, payload);
        if crc != header.payload_crc {
            return Err(wrong("CRC of the payload", header.payload_crc.to_string(), crc.into()));
        }
        if header.tile != u64::from(header.generation) {
            return Err(wrong("tile", header.generation.to_string(), header.tile));
        }
        let mut c = ByteCursor::new(SECTION, offset, payload);
        let sha256 = c.array("SHA-256")?;
        let (blocks_begin, blocks) = (c.varint("begin of blocks")?, c.varint("number of blocks")?);
        let mut number = |what| {
            let n = c.varint(what)?;
            u32::try_from(n).map_err(|_| wrong(what, "at most 4294967295".into(), n))
        };
        let (version, base, head) = (number("version")?, number("base")?, number("head")?);
        if version == 0 || base == 0 || base >= header.generation || head > header.generation {
            let expected = format!("a version, a generation below {0}, and one up to {0}", header.generation);
            return Err(wrong("version, base and head", expected, base.into()));
        }
        if blocks_begin > offset || blocks == 0 {
            return Err(wrong("begin of blocks", format!("at most {offset}"), blocks_begin));
        }
        // An array takes two bytes at least, and so does a run.
        let arrays = c.varint_up_to("number of arrays", payload.len() / 2)?;
        let mut changed = Vec::new();
        for _ in 0..arrays {
            let id = c.varint("array")?;
            let id = u32::try_from(id).map_err(|_| wrong("array", "at most 4294967295".into(), id))?;
            let count = c.varint_up_to("number of runs", payload.len() / 2)?;
            let mut runs: Vec<Range<u64>> = Vec::new();
            let mut at = 0_u64;
            for _ in 0..count {
                let (gap, len) = (c.varint("gap before a run")?, c.varint("length of a run")?);
                let start = at.checked_add(gap);
                let end = start.and_then(|start| start.checked_add(len)).filter(|_| len > 0);
                let (Some(start), Some(end)) = (start, end) else {
                    return Err(wrong("run of tiles", "a run below 2^64".into(), len));
                };
                runs.push(start..end);
                at = end;
            }
            changed.push((ArrayId(id), runs));
        }
        c.finish()?;
        Ok(Commit { sha256, blocks_begin, blocks, version, base, head, changed })
    }

    /// The SHA-256 of the file, if it is known.
    pub fn digest(&self) -> Option<[u8; 32]> {
        (self.sha256 != [0; 32]).then_some(self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::BLOCK_HEADER_LEN;

    const SALT: Salt = Salt([7; 8]);

    fn sample() -> Commit {
        Commit {
            sha256: [3; 32],
            blocks_begin: 800,
            blocks: 5,
            version: 2,
            base: 1,
            head: 3,
            changed: vec![(ArrayId::variable(0), vec![0..1, 4..9]), (ArrayId::GAP, vec![0..1, 2..3])],
        }
    }

    fn read(block: &[u8], at: u64) -> Result<Commit> {
        let (header, payload) = block.split_first_chunk::<BLOCK_HEADER_LEN>().unwrap();
        let (header, _) = BlockHeader::decode(header, &SALT, at)?;
        Commit::read(&header, payload, at)
    }

    #[test]
    fn round_trip_and_every_flipped_bit_and_every_cut_is_seen() {
        let bytes = sample().block(3, false, &SALT, 1000).unwrap();
        assert_eq!(read(&bytes, 1000).unwrap(), sample());
        assert_eq!((sample().digest(), bytes.len()), (Some([3; 32]), 44 + 32 + 6 + 1 + 6 + 10));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bad, 1000).is_err(), "bit {bit}");
        }
        for len in BLOCK_HEADER_LEN..bytes.len() {
            assert!(read(&bytes[..len], 1000).is_err(), "{len}");
        }
    }

    #[test]
    fn its_numbers_fit_its_place() {
        for bad in [
            Commit { base: 3, ..sample() },
            Commit { base: 0, ..sample() },
            Commit { head: 4, ..sample() },
            Commit { version: 0, ..sample() },
            Commit { blocks: 0, ..sample() },
            Commit { blocks_begin: 1001, ..sample() },
            Commit { changed: vec![(ArrayId::GAP, vec![u64::MAX - 1..u64::MAX, 0..0])], ..sample() },
        ] {
            assert!(read(&bad.block(3, false, &SALT, 1000).unwrap(), 1000).is_err(), "{bad:?}");
        }
        let none = Commit { sha256: [0; 32], changed: Vec::new(), ..sample() };
        assert_eq!(read(&none.block(3, true, &SALT, 1000).unwrap(), 1000).unwrap().digest(), None);
    }
}
