//! The name of an older tile at the beginning of a payload. The rest of the payload is coded against that
//! tile.

use crate::archive::constants::{ENTRY_LEN, MAX_DECODED_LEN};
use crate::archive::{ArrayId, IndexEntry};
use crate::bytes::{Cursor, put_varint};
use crate::error::{Error, Result};

const WHAT: &str = "payload";

/// The older tile that a tile is coded against, as the tile's payload names it (`spec/archive.md`, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OlderTile {
    /// Where its bytes are: a block, or a member of a container.
    pub entry: IndexEntry,
    /// The name of the tile. In a chain without `of` it is the tile in the same place.
    pub named: Option<NamedTile>,
}

/// An older tile of any array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedTile {
    /// Whose tile.
    pub array: ArrayId,
    /// Its number.
    pub tile: u64,
    /// Bytes that it decodes to.
    pub decoded_len: u32,
}

impl OlderTile {
    /// The first bytes of the payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.entry.encode().to_vec();
        if let Some(named) = &self.named {
            put_varint(&mut out, named.array.0.into());
            put_varint(&mut out, named.tile);
            put_varint(&mut out, named.decoded_len.into());
        }
        out
    }

    /// The beginning of a payload, and the rest. `is_named` is what the chain says.
    ///
    /// # Errors
    /// Corrupt: fewer bytes; no entry that an older tile can have; a length that no tile has.
    pub(super) fn read(payload: &[u8], is_named: bool) -> Result<(Self, &[u8])> {
        let mut c = Cursor::new(WHAT, 0, payload);
        let entry: [u8; ENTRY_LEN] = c.array("index entry of the older tile")?;
        let entry = IndexEntry::decode(&entry, 0)?;
        let (fits, expected) = match entry {
            IndexEntry::Stored { .. } => (true, ""),
            IndexEntry::Packed { .. } => (is_named, "a block"),
            _ if is_named => (false, "a block, or a member of a container"),
            _ => (false, "a block"),
        };
        if !fits {
            return Err(Error::corrupt(WHAT, 0, "index entry of the older tile", expected, "another"));
        }
        let named = is_named.then(|| read_named(&mut c)).transpose()?;
        Ok((OlderTile { entry, named }, c.rest()))
    }
}

fn read_named(c: &mut Cursor<'_>) -> Result<NamedTile> {
    let at = c.offset();
    let found = c.varint("array of the older tile")?;
    let wrong = |what, expected: String, found| Err(Error::corrupt(WHAT, at, what, expected, found));
    let Ok(array) = u32::try_from(found) else {
        return wrong("array of the older tile", "an id of 32 bits".to_owned(), found);
    };
    let tile = c.varint("number of the older tile")?;
    let found = c.varint("decoded length of the older tile")?;
    match u32::try_from(found).ok().filter(|&len| len <= MAX_DECODED_LEN) {
        Some(decoded_len) => Ok(NamedTile { array: ArrayId(array), tile, decoded_len }),
        None => wrong("decoded length of the older tile", format!("at most {MAX_DECODED_LEN}"), found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_back_and_every_prefix_is_an_error() {
        let stored = IndexEntry::Stored { offset: 160, len: 9, chain: 1, check: 7 };
        let packed = IndexEntry::Packed { offset: 168, start: 9, len: 10, chain: 11, check: 12 };
        let named = NamedTile { array: ArrayId::padding(3), tile: 1 << 40, decoded_len: 8000 };
        for older in [
            OlderTile { entry: stored, named: None },
            OlderTile { entry: stored, named: Some(named) },
            OlderTile { entry: packed, named: Some(named) },
        ] {
            let bytes = [&older.encode()[..], b"rest"].concat();
            let is_named = older.named.is_some();
            assert_eq!(OlderTile::read(&bytes, is_named).unwrap(), (older, &b"rest"[..]));
            for n in 0..bytes.len() - 4 {
                assert!(OlderTile::read(&bytes[..n], is_named).is_err(), "{n}");
            }
        }
        let read = |entry: IndexEntry, is_named| {
            OlderTile::read(&[&entry.encode()[..], &[1, 2, 3]].concat(), is_named).map(|_| ())
        };
        assert!(read(packed, false).is_err());
        for bad in [IndexEntry::Absent, IndexEntry::Lost, IndexEntry::Constant { value: [1; 8] }] {
            assert!(read(bad, false).is_err() && read(bad, true).is_err(), "{bad:?}");
        }
        let long = NamedTile { decoded_len: MAX_DECODED_LEN + 1, ..named };
        let bytes = OlderTile { entry: stored, named: Some(long) }.encode();
        assert!(OlderTile::read(&bytes, true).is_err());
    }
}
