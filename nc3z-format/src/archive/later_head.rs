//! The head of a later generation: another header, other layouts, and the array of each variable.

use super::block::{BlockHeader, BlockKind};
use super::constants::{BLOCK_HEADER_LEN, MAX_DECODED_LEN, REQUIRED_LATER_HEAD, TRAILER_LEN};
use super::head::{Layouts, put_layouts, read_layouts};
use super::ids::ArrayId;
use super::index::IndexEntry;
use super::salt::Salt;
use super::trailer::Trailer;
use super::vartable::VariableTable;
use crate::bytes::{ByteCursor, put_varint};
use crate::codec::{decode_zstd_frame_after, encode_zstd_frame_after};
use crate::error::{Error, Result};
use crate::limits::Limits;
use std::collections::HashSet;

const SECTION: &str = "later head";
/// Numbers of arrays are below this.
const MOST: u64 = 1 << 30;

/// The head of a later generation. Layout: `spec/archive.md`, "Later heads".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterHead {
    /// Bytes of this generation's classic file.
    pub original_len: u64,
    /// The classic header's bytes.
    pub header: Vec<u8>,
    /// The least number that no array of this generation or an earlier one has used.
    pub next_number: u32,
    /// The array number of each variable.
    pub numbers: Vec<u32>,
    /// The tile layouts of the arrays.
    pub layouts: Layouts,
}

impl LaterHead {
    /// Returns the decoded form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.header.len() + 256);
        put_varint(&mut out, self.original_len);
        put_varint(&mut out, self.header.len() as u64);
        out.extend(&self.header);
        put_varint(&mut out, self.next_number.into());
        self.numbers.iter().for_each(|&n| put_varint(&mut out, n.into()));
        let Layouts { variables, paddings, gap } = &self.layouts;
        put_layouts(&mut out, variables, paddings, *gap);
        out
    }

    /// The stored form of a decoded head: a zstd frame that continues `head_copy`, the decoded head copy.
    ///
    /// # Errors
    /// An error of zstd, which means a lack of memory.
    pub fn store(decoded: &[u8], head_copy: &[u8]) -> Result<Vec<u8>> {
        encode_zstd_frame_after(head_copy, decoded)
    }

    /// The decoded form of a stored one, which has this length.
    ///
    /// # Errors
    /// Damage; more than `limits` allow.
    pub fn unpack(stored: &[u8], decoded_len: u32, head_copy: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let (limit, len) =
            (limits.header_len.saturating_mul(2).min(MAX_DECODED_LEN.into()), decoded_len.into());
        if len > limit {
            return Err(Error::limit(SECTION, None, "decoded length", limit, len));
        }
        let decoded = decode_zstd_frame_after(head_copy, stored, len)?;
        if decoded.len() as u64 != len {
            return Err(Error::corrupt(SECTION, None, "decoded length", len, decoded.len()));
        }
        Ok(decoded)
    }
}

/// The place of a generation's own head, from its index entry: offset, stored length and header CRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterHeadPlace {
    /// Offset of the block's header.
    pub offset: u64,
    /// Bytes of the payload.
    pub stored_len: u32,
    check: u32,
}

impl LaterHeadPlace {
    /// Returns the place that the index gives.
    ///
    /// # Errors
    /// Only one of index and trailer has a later head; the entry is of another kind; the block ends after the trailer.
    pub fn find(table: &VariableTable, trailer: &Trailer) -> Result<Option<Self>> {
        let wrong = |what, expected: &str, found: &str| {
            Err(Error::corrupt("variable table", None, what, expected, found))
        };
        let required = trailer.required & REQUIRED_LATER_HEAD != 0;
        let entry = match (required, table.find(ArrayId::HEADS)) {
            (false, None) => return Ok(None),
            (true, None) => return wrong("later head", "an entry, as the trailer says", "none"),
            (false, Some(_)) => return wrong("later head", "none, as the trailer says", "an entry"),
            (true, Some((_, [entry]))) => entry,
            (true, Some(_)) => return wrong("later head", "one", "more than one"),
        };
        let IndexEntry::Stored { offset, len: stored_len, chain: 0, check } = *entry else {
            return wrong("entry of the later head", "a block, stored with chain 0", "another");
        };
        let place = LaterHeadPlace { offset, stored_len, check };
        let room = trailer.archive_len - TRAILER_LEN as u64;
        if place.block_len().checked_add(offset).is_none_or(|end| end > room) {
            return Err(Error::corrupt(
                SECTION,
                offset,
                "end of the block",
                format!("at most {room}"),
                offset,
            ));
        }
        Ok(Some(place))
    }

    /// Bytes of the block, its header included.
    pub fn block_len(&self) -> u64 {
        BLOCK_HEADER_LEN as u64 + u64::from(self.stored_len)
    }

    /// Reads the block. `head_copy` is the decoded head copy.
    ///
    /// # Errors
    /// Another block than the index entry describes; damage; limits.
    pub fn read(
        &self,
        block: &[u8],
        salt: &Salt,
        head_copy: &[u8],
        limits: &Limits,
    ) -> Result<LaterHeadParts> {
        let wrong = |what, expected: u32, found: u32| {
            Err(Error::corrupt(SECTION, self.offset, what, format!("{expected:08x}"), format!("{found:08x}")))
        };
        let mut c = ByteCursor::new(SECTION, self.offset, block);
        let (header, check) = BlockHeader::decode(&c.array("block header")?, salt, self.offset)?;
        if check != self.check {
            return wrong("block header CRC", self.check, check);
        }
        let payload = c.rest();
        let what = (header.kind, header.array, header.tile, header.chain, header.stored_len as usize);
        if what != (BlockKind::Head, ArrayId::HEADS, 0, 0, payload.len()) {
            let found = format!("{what:?}");
            return Err(Error::corrupt(
                SECTION,
                self.offset,
                "block",
                "a block with a later head, as long as the index says",
                found,
            ));
        }
        let crc = BlockHeader::payload_crc(header.array, header.tile, payload);
        if crc != header.payload_crc {
            return wrong("CRC of the payload", header.payload_crc, crc);
        }
        let decoded = LaterHead::unpack(payload, header.decoded_len, head_copy, limits)?;
        let crc = crc32fast::hash(&decoded);
        if crc != header.decoded_crc {
            return wrong("CRC of the decoded head", header.decoded_crc, crc);
        }
        LaterHeadParts::split(&decoded, limits)
    }
}

/// A later head whose numbers and layouts can be read after the header is parsed.
#[derive(Debug, Clone)]
pub struct LaterHeadParts {
    /// Bytes of this generation's classic file.
    pub original_len: u64,
    /// The classic header's bytes.
    pub header: Vec<u8>,
    rest: Vec<u8>,
    rest_at: u64,
}

impl LaterHeadParts {
    /// Splits the decoded form.
    ///
    /// # Errors
    /// Damage, limits.
    pub fn split(decoded: &[u8], limits: &Limits) -> Result<Self> {
        let mut c = ByteCursor::new(SECTION, 0, decoded);
        let original_len = c.varint("original length")?;
        let len = c.varint_up_to("header length", decoded.len())?;
        if len as u64 > limits.header_len {
            return Err(Error::limit(SECTION, 0, "header length", limits.header_len, len as u64));
        }
        let header = c.split("header", len)?.to_vec();
        let rest_at = c.offset();
        Ok(LaterHeadParts { original_len, header, rest: c.rest().to_vec(), rest_at })
    }

    /// Reads numbers and layouts. `ranks` has one number for each variable, `paddings` is the number of
    /// padding pseudo-variables.
    ///
    /// # Errors
    /// Damage; a number that two variables have.
    pub fn finish(self, ranks: &[usize], paddings: usize) -> Result<LaterHead> {
        let mut c = ByteCursor::new(SECTION, self.rest_at, &self.rest);
        // A number takes at least one byte. The count is compared before memory is allocated.
        if ranks.len() >= c.left() {
            let (needed, left) = (ranks.len() as u64, c.left() as u64);
            return Err(Error::truncated(SECTION, c.offset(), "numbers of arrays", needed - left, left));
        }
        let at = c.offset();
        let next = c.varint("next number of an array")?;
        let next_number = u32::try_from(next)
            .ok()
            .filter(|_| next <= MOST)
            .ok_or_else(|| Error::corrupt(SECTION, at, "next number of an array", "at most 2^30", next))?;
        let mut numbers = Vec::with_capacity(ranks.len());
        let mut known = HashSet::with_capacity(ranks.len());
        for _ in ranks {
            let at = c.offset();
            let found = c.varint("number of an array")?;
            let number = u32::try_from(found).ok().filter(|_| found < next);
            let number = number.filter(|&n| known.insert(n)).ok_or_else(|| {
                Error::corrupt(
                    SECTION,
                    at,
                    "number of an array",
                    format!("a number below {next} that no other variable has"),
                    found,
                )
            })?;
            numbers.push(number);
        }
        let layouts = read_layouts(&mut c, SECTION, ranks, paddings)?;
        c.finish()?;
        Ok(LaterHead { original_len: self.original_len, header: self.header, next_number, numbers, layouts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::TileLayoutSpec;

    fn head() -> LaterHead {
        LaterHead {
            original_len: 5000,
            header: b"CDF header of a later generation".to_vec(),
            next_number: 9,
            numbers: vec![7, 0],
            layouts: Layouts {
                variables: vec![
                    TileLayoutSpec::Linear(300),
                    TileLayoutSpec::Chunked { shape: vec![1, 90], padded: true },
                ],
                paddings: vec![5],
                gap: 1 << 20,
            },
        }
    }

    fn read(decoded: &[u8]) -> Result<LaterHead> {
        LaterHeadParts::split(decoded, &Limits::default())?.finish(&[3, 2], 1)
    }

    #[test]
    fn round_trip_and_every_prefix_is_an_error() {
        let bytes = head().encode();
        assert_eq!(read(&bytes).unwrap(), head());
        for n in 0..bytes.len() {
            assert!(read(&bytes[..n]).is_err(), "{n}");
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn a_number_belongs_to_one_variable() {
        let e = read(&LaterHead { numbers: vec![7, 7], ..head() }.encode()).unwrap_err();
        assert!(e.to_string().contains("number of an array"), "{e}");
        assert!(read(&LaterHead { numbers: vec![7, 9], ..head() }.encode()).is_err());
        read(&LaterHead { numbers: vec![7, 8], ..head() }.encode()).unwrap();
        let most = |next_number| LaterHead { numbers: vec![7, (1 << 30) - 1], next_number, ..head() };
        read(&most(1 << 30).encode()).unwrap();
        assert!(read(&most((1 << 30) + 1).encode()).is_err());
    }

    #[test]
    fn damage_of_the_stored_form_is_an_error_or_other_bytes() {
        let (limits, decoded) = (Limits::default(), head().encode());
        let long: Vec<u8> = (0..4000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        let like = LaterHead { header: long.clone(), ..head() }.encode();
        for (decoded, head_copy, most) in [
            (&decoded, &b"else"[..], decoded.len() + 20),
            (&vec![b'a'; 500], b"else", 30),
            (&like, &long, 100),
        ] {
            let len = u32::try_from(decoded.len()).unwrap();
            let stored = LaterHead::store(decoded, head_copy).unwrap();
            assert!(stored.len() <= most, "{}", stored.len());
            assert!(&LaterHead::unpack(&stored, len, head_copy, &limits).unwrap() == decoded);
            assert!(LaterHead::unpack(&stored, len + 1, head_copy, &limits).is_err());
            for n in 0..stored.len() {
                assert!(LaterHead::unpack(&stored[..n], len, head_copy, &limits).is_err(), "{n}");
            }
            for bit in 0..stored.len().min(400) * 8 {
                let mut bad = stored.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                if let Ok(found) = LaterHead::unpack(&bad, len, head_copy, &limits) {
                    assert_eq!(found.len(), decoded.len());
                }
            }
        }
        let small = Limits { header_len: 10, ..limits };
        assert!(LaterHead::unpack(&[0; 30], 29, b"", &small).unwrap_err().to_string().contains("limit"));
    }
}
