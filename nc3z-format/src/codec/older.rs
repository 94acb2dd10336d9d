//! The name of an older tile at the beginning of a payload. The rest of the payload is coded against that
//! tile.

use crate::archive::constants::{ENTRY_LEN, MAX_DECODED_LEN};
use crate::archive::{ArrayId, IndexEntry};
use crate::bytes::{ByteCursor, put_varint};
use crate::error::{Error, Result};

const WHAT: &str = "payload";

/// The older tile that a tile is coded against, as the tile's payload names it (`spec/chains.md`, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OlderTile {
    /// Where its bytes are: a block, or a member of a container.
    pub entry: IndexEntry,
    /// The id of the array that has the tile.
    pub array: ArrayId,
    /// The number of the older tile.
    pub tile: u64,
    /// Bytes that it decodes to.
    pub decoded_len: u32,
}

impl OlderTile {
    /// The first bytes of the payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.entry.encode().to_vec();
        put_varint(&mut out, self.array.0.into());
        put_varint(&mut out, self.tile);
        put_varint(&mut out, self.decoded_len.into());
        out
    }

    /// Reads the beginning of a payload, and returns it with the remaining bytes.
    ///
    /// # Errors
    /// Corrupt: too few bytes; an entry that no older tile can have; a length that no tile has.
    pub(super) fn read(payload: &[u8]) -> Result<(Self, &[u8])> {
        let mut c = ByteCursor::new(WHAT, 0, payload);
        let entry: [u8; ENTRY_LEN] = c.array("index entry of the older tile")?;
        let entry = IndexEntry::decode(&entry, 0)?;
        if !matches!(entry, IndexEntry::Stored { .. } | IndexEntry::Shared { .. }) {
            let expected = "a block, or a member of a container";
            return Err(Error::corrupt(WHAT, 0, "index entry of the older tile", expected, "another"));
        }
        let at = c.offset();
        let found = c.varint("array of the older tile")?;
        let wrong = |what, expected: String, found| Error::corrupt(WHAT, at, what, expected, found);
        let array = u32::try_from(found)
            .map_err(|_| wrong("array of the older tile", "an id of 32 bits".to_owned(), found))?;
        let tile = c.varint("number of the older tile")?;
        let found = c.varint("decoded length of the older tile")?;
        let decoded_len =
            u32::try_from(found).ok().filter(|&len| len <= MAX_DECODED_LEN).ok_or_else(|| {
                wrong("decoded length of the older tile", format!("at most {MAX_DECODED_LEN}"), found)
            })?;
        Ok((OlderTile { entry, array: ArrayId(array), tile, decoded_len }, c.rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_back_and_every_prefix_is_an_error() {
        let stored = IndexEntry::Stored { offset: 160, len: 9, chain: 1, check: 7 };
        let packed = IndexEntry::Shared { offset: 168, start: 9, len: 10, chain: 11, check: 12 };
        let named = |entry| OlderTile { entry, array: ArrayId::padding(3), tile: 1 << 40, decoded_len: 8000 };
        for older in [named(stored), named(packed)] {
            let bytes = [&older.encode()[..], b"rest"].concat();
            assert_eq!(OlderTile::read(&bytes).unwrap(), (older, &b"rest"[..]));
            for n in 0..bytes.len() - 4 {
                assert!(OlderTile::read(&bytes[..n]).is_err(), "{n}");
            }
        }
        for bad in [IndexEntry::Absent, IndexEntry::Lost, IndexEntry::Constant { value: [1; 8] }] {
            assert!(OlderTile::read(&named(bad).encode()).is_err(), "{bad:?}");
        }
        let long = OlderTile { decoded_len: MAX_DECODED_LEN + 1, ..named(stored) };
        assert!(OlderTile::read(&long.encode()).is_err());
    }
}
