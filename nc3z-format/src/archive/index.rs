//! Index entries, and the tree of pages that holds them.

use super::constants::{
    ALIGN, ENTRY_LEN, FANOUT, HEAD_OFFSET, LEAF_ENTRIES, MAX_STORED_LEN, PAGE_HEADER_LEN, PAGE_LEN,
};
use super::ids::ArrayId;
use super::salt::Salt;
use crate::bytes::ByteCursor;
use crate::error::{Error, Result};

/// The place of one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexEntry {
    /// Never written.
    Absent,
    /// Stored in a block that has no other tile.
    Stored {
        /// Offset of the block header.
        offset: u64,
        /// Bytes of the payload.
        len: u32,
        /// The chain of the tile.
        chain: u16,
        /// The block's header CRC.
        check: u32,
    },
    /// All elements have the same bits.
    Constant {
        /// The big-endian value, then zeros.
        value: [u8; 8],
    },
    /// A member of a container.
    Shared {
        /// Offset of the container's block header.
        offset: u64,
        /// The start of its bytes in the decoded container.
        start: u32,
        /// Their number.
        len: u32,
        /// The own chain of the tile.
        chain: u16,
        /// CRC-32 of the decoded tile.
        check: u32,
    },
    /// Damaged beyond repair.
    Lost,
}

impl IndexEntry {
    /// Returns the 24 bytes.
    pub fn encode(&self) -> [u8; ENTRY_LEN] {
        let (kind, chain, len, place, check, start) = match *self {
            IndexEntry::Absent => (0u8, 0, 0, [0; 8], 0, 0),
            IndexEntry::Stored { offset, len, chain, check } => {
                (1, chain, len, offset.to_le_bytes(), check, 0)
            }
            IndexEntry::Constant { value } => (2, 0, 0, value, 0, 0),
            IndexEntry::Shared { offset, start, len, chain, check } => {
                (3, chain, len, offset.to_le_bytes(), check, start)
            }
            IndexEntry::Lost => (4, 0, 0, [0; 8], 0, 0),
        };
        let mut out = [0; ENTRY_LEN];
        out[0] = kind;
        out[2..4].copy_from_slice(&chain.to_le_bytes());
        out[4..8].copy_from_slice(&len.to_le_bytes());
        out[8..16].copy_from_slice(&place);
        out[16..20].copy_from_slice(&check.to_le_bytes());
        out[20..24].copy_from_slice(&start.to_le_bytes());
        out
    }

    /// Reads an entry at offset `at` of its section. Fields that its kind does not use must be zero.
    ///
    /// # Errors
    /// Damage, an unknown kind, an invalid offset or length.
    pub fn decode(bytes: &[u8; ENTRY_LEN], at: u64) -> Result<Self> {
        let mut c = ByteCursor::new("index entry", at, bytes);
        let kind = c.u8("kind")?;
        c.reserved(1)?;
        let (chain, len) = (c.u16("chain")?, c.u32("length")?);
        let place: [u8; 8] = c.array("offset")?;
        let offset = u64::from_le_bytes(place);
        let (check, start) = (c.u32("check")?, c.u32("start")?);
        let entry = match kind {
            0 => IndexEntry::Absent,
            1 => IndexEntry::Stored { offset, len, chain, check },
            2 => IndexEntry::Constant { value: place },
            3 => IndexEntry::Shared { offset, start, len, chain, check },
            4 => IndexEntry::Lost,
            _ => return Err(Error::corrupt("index entry", at, "kind", "0 to 4", kind)),
        };
        if entry.encode() != *bytes {
            return Err(Error::corrupt("index entry", at, "unused fields of this kind", 0, "not zero"));
        }
        if matches!(kind, 1 | 3) {
            if offset < HEAD_OFFSET || !offset.is_multiple_of(ALIGN) {
                let expected = "a multiple of 8 behind the superblock";
                return Err(Error::corrupt("index entry", at.saturating_add(8), "offset", expected, offset));
            }
            if len > MAX_STORED_LEN {
                let expected = format!("at most {MAX_STORED_LEN}");
                return Err(Error::corrupt("index entry", at.saturating_add(4), "length", expected, len));
            }
        }
        Ok(entry)
    }
}

/// The number of levels above the leaves of the tree for `tiles` tiles.
pub fn tree_height(tiles: u64) -> u16 {
    let mut height = 0;
    let mut reach = LEAF_ENTRIES;
    while reach < tiles {
        reach = reach.saturating_mul(FANOUT);
        height += 1;
    }
    height
}

/// The number of tiles below one full page of a level.
pub fn tiles_below(level: u16) -> u64 {
    (0..level).fold(LEAF_ENTRIES, |n, _| n.saturating_mul(FANOUT))
}

/// A page whose CRC has been checked.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    bytes: &'a [u8; PAGE_LEN],
    offset: u64,
    array: ArrayId,
    level: u16,
    count: u16,
    first: u64,
}

impl<'a> Page<'a> {
    /// Checks length and CRC of the page at `offset`.
    ///
    /// # Errors
    /// Damage, or a page in the wrong place.
    pub fn check(bytes: &[u8], salt: &Salt, offset: u64) -> Result<()> {
        let mut c = ByteCursor::new("index page", offset, bytes);
        let found = c.u32("CRC")?;
        let rest = c.split("content", PAGE_LEN - 4)?;
        c.finish()?;
        let expected = salt.crc(offset, rest);
        if found != expected {
            return Err(Error::corrupt(
                "index page",
                offset,
                "CRC",
                format!("{expected:08x}"),
                format!("{found:08x}"),
            ));
        }
        Ok(())
    }

    /// Reads a page that [`Page::check`] has passed.
    ///
    /// # Errors
    /// Invalid fields.
    pub fn new(bytes: &'a [u8], offset: u64) -> Result<Self> {
        let bytes: &[u8; PAGE_LEN] = bytes
            .try_into()
            .map_err(|_| Error::corrupt("index page", offset, "length", PAGE_LEN, bytes.len()))?;
        let mut c = ByteCursor::new("index page", offset, bytes);
        c.u32("CRC")?;
        let array = ArrayId(c.u32("variable")?);
        let (level, count) = (c.u16("level")?, c.u16("count")?);
        c.reserved(4)?;
        let first = c.u64("first tile")?;
        let most = if level == 0 { LEAF_ENTRIES } else { FANOUT };
        if count == 0 || u64::from(count) > most {
            return Err(Error::corrupt("index page", offset + 10, "count", format!("1 to {most}"), count));
        }
        let used = usize::from(count) * if level == 0 { ENTRY_LEN } else { 8 };
        c.split("entries", used)?;
        let left = c.left();
        c.reserved(left)?;
        Ok(Page { bytes, offset, array, level, count, first })
    }

    /// Checks that this is the page of this array and level on the way to `tile`, with the number of entries
    /// that `tile_count` implies.
    ///
    /// # Errors
    /// Another page; no such tile.
    pub fn expect(&self, array: ArrayId, level: u16, tile: u64, tile_count: u64) -> Result<()> {
        let wrong = |what, expected: String, found: String| {
            Err(Error::corrupt("index page", self.offset, what, expected, found))
        };
        if tile >= tile_count {
            return Err(Error::invalid(format!("tile {tile} of {array}: it has {tile_count}")));
        }
        if self.array != array {
            return wrong("variable", array.to_string(), self.array.to_string());
        }
        if self.level != level {
            return wrong("level", level.to_string(), self.level.to_string());
        }
        let span = tiles_below(level);
        let first = tile - tile % span;
        if self.first != first {
            return wrong("first tile", first.to_string(), self.first.to_string());
        }
        let each = if level == 0 { 1 } else { tiles_below(level - 1) };
        let count = (tile_count - first).min(span).div_ceil(each);
        if u64::from(self.count) != count {
            return wrong("count", count.to_string(), self.count.to_string());
        }
        Ok(())
    }

    /// The level: 0 is a leaf.
    pub fn level(&self) -> u16 {
        self.level
    }

    /// Entries or children.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The first tile below it.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// A leaf's entry of a tile that was passed to [`Page::expect`].
    ///
    /// # Errors
    /// Damage in the entry, or a tile that is not in this page.
    pub fn entry(&self, tile: u64) -> Result<IndexEntry> {
        let at = self.slot(tile, 1)?;
        let from = PAGE_HEADER_LEN + at * ENTRY_LEN;
        let mut bytes = [0; ENTRY_LEN];
        bytes.copy_from_slice(&self.bytes[from..from + ENTRY_LEN]);
        IndexEntry::decode(&bytes, self.offset + from as u64)
    }

    /// The child on the way to a tile.
    ///
    /// # Errors
    /// A tile that is not below this page; a child that does not precede this page. All children precede
    /// their parents, so cycles are impossible.
    pub fn child(&self, tile: u64) -> Result<u64> {
        let at = self.slot(tile, tiles_below(self.level.saturating_sub(1)))?;
        let from = PAGE_HEADER_LEN + at * 8;
        let child = ByteCursor::new("index page", self.offset, &self.bytes[from..from + 8])
            .u64("offset of a child page")?;
        if child < HEAD_OFFSET || !child.is_multiple_of(ALIGN) || child >= self.offset {
            let expected = format!("a multiple of {ALIGN} from {HEAD_OFFSET}, below {}", self.offset);
            let at = self.offset.saturating_add(from as u64);
            return Err(Error::corrupt("index page", at, "offset of a child page", expected, child));
        }
        Ok(child)
    }

    fn slot(&self, tile: u64, each: u64) -> Result<usize> {
        let at = tile.checked_sub(self.first).map(|d| d / each).filter(|&at| at < self.count.into());
        at.and_then(|at| usize::try_from(at).ok()).ok_or_else(|| {
            Error::corrupt(
                "index page",
                self.offset,
                "tiles",
                format!("tile {tile}"),
                format!("{} from {}", self.count, self.first),
            )
        })
    }
}

/// The page at `offset`. `body` contains its entries, or the offsets of the pages below it.
///
/// # Panics
/// If the body is longer than a page has room for.
pub fn encode_page(salt: &Salt, offset: u64, array: ArrayId, level: u16, first: u64, body: &[u8]) -> Vec<u8> {
    let count = body.len() / if level == 0 { ENTRY_LEN } else { 8 };
    let mut bytes = vec![0; PAGE_LEN];
    bytes[4..8].copy_from_slice(&array.0.to_le_bytes());
    bytes[8..10].copy_from_slice(&level.to_le_bytes());
    bytes[10..12].copy_from_slice(&u16::try_from(count).expect("a page has room for 509").to_le_bytes());
    bytes[16..24].copy_from_slice(&first.to_le_bytes());
    bytes[PAGE_HEADER_LEN..PAGE_HEADER_LEN + body.len()].copy_from_slice(body);
    let crc = salt.crc(offset, &bytes[4..]);
    bytes[..4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Writes the pages of one array, leaves first, each page when it is full.
#[derive(Debug)]
pub struct PageTreeBuilder {
    array: ArrayId,
    salt: Salt,
    /// The offset of the next page.
    offset: u64,
    /// The incomplete page of each level.
    open: Vec<OpenPage>,
}

#[derive(Debug)]
struct OpenPage {
    first: u64,
    count: u16,
    next: u64,
    body: Vec<u8>,
}

impl PageTreeBuilder {
    /// Begins a tree whose pages are written from `offset` on.
    pub fn new(array: ArrayId, salt: Salt, offset: u64) -> Self {
        PageTreeBuilder { array, salt, offset, open: Vec::new() }
    }

    /// Adds the next tile's entry. Full pages are passed to `sink`.
    ///
    /// # Errors
    /// The error of the sink.
    pub fn push<E>(
        &mut self,
        entry: &IndexEntry,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.add(0, &entry.encode(), sink)
    }

    fn add<E>(
        &mut self,
        level: usize,
        item: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.open.len() == level {
            self.open.push(OpenPage { first: 0, count: 0, next: 0, body: Vec::new() });
        }
        let most = if level == 0 { LEAF_ENTRIES } else { FANOUT };
        if u64::from(self.open[level].count) == most {
            self.close(level, sink)?;
        }
        let page = &mut self.open[level];
        if page.count == 0 {
            page.first = page.next;
        }
        page.body.extend(item);
        page.count += 1;
        page.next +=
            if level == 0 { 1 } else { tiles_below(u16::try_from(level - 1).expect("trees are low")) };
        Ok(())
    }

    /// Writes the incomplete page of a level, and adds its offset to the level above.
    fn close<E>(&mut self, level: usize, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let offset = self.write(level, sink)?;
        self.add(level + 1, &offset.to_le_bytes(), sink)
    }

    fn write<E>(&mut self, level: usize, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<u64, E> {
        let page = &mut self.open[level];
        let tall = u16::try_from(level).expect("trees are low");
        let bytes = encode_page(&self.salt, self.offset, self.array, tall, page.first, &page.body);
        page.count = 0;
        page.body.clear();
        let offset = self.offset;
        self.offset += PAGE_LEN as u64;
        sink(&bytes)?;
        Ok(offset)
    }

    /// Writes the incomplete pages. Returns the root's offset.
    ///
    /// # Errors
    /// The error of the sink.
    ///
    /// # Panics
    /// If no entry was added.
    pub fn finish<E>(mut self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<u64, E> {
        let mut level = 0;
        loop {
            if level + 1 == self.open.len() {
                return self.write(level, sink);
            }
            self.close(level, sink)?;
            level += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(i: u64) -> IndexEntry {
        IndexEntry::Stored { offset: 160 + i * 8, len: 7, chain: 1, check: 9 }
    }

    fn find(pages: &[u8], base: u64, salt: Salt, root: u64, tiles: u64, tile: u64) -> Result<IndexEntry> {
        let (mut offset, mut level) = (root, tree_height(tiles));
        loop {
            let at = usize::try_from(offset - base).unwrap();
            let bytes = &pages[at..at + PAGE_LEN];
            Page::check(bytes, &salt, offset)?;
            let page = Page::new(bytes, offset)?;
            page.expect(ArrayId::variable(5), level, tile, tiles)?;
            if level == 0 {
                return page.entry(tile);
            }
            (offset, level) = (page.child(tile)?, level - 1);
        }
    }

    #[test]
    fn every_tile_is_found_in_trees_of_all_heights() {
        let salt = Salt([3; 8]);
        for tiles in [1, 2, 168, 169, 170, 338, 169 * 509, 169 * 509 + 1] {
            let base = 4000;
            let mut builder = PageTreeBuilder::new(ArrayId::variable(5), salt, base);
            let mut pages = Vec::new();
            let mut sink = |p: &[u8]| -> Result<()> {
                pages.extend(p);
                Ok(())
            };
            for i in 0..tiles {
                builder.push(&entry(i), &mut sink).unwrap();
            }
            let root = builder.finish(&mut sink).unwrap();
            let step = (tiles / 500).max(1);
            for i in (0..tiles).step_by(usize::try_from(step).unwrap()).chain([tiles - 1]) {
                assert_eq!(find(&pages, base, salt, root, tiles, i).unwrap(), entry(i), "{i} of {tiles}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_of_a_page_is_seen() {
        let salt = Salt([3; 8]);
        let mut builder = PageTreeBuilder::new(ArrayId::variable(5), salt, 0);
        let mut page = Vec::new();
        let mut sink = |p: &[u8]| -> Result<()> {
            page.extend(p);
            Ok(())
        };
        builder.push(&entry(1), &mut sink).unwrap();
        builder.finish(&mut sink).unwrap();
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Page::check(&page, &salt, 0).is_err());
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn entries_round_trip_and_unused_fields_must_be_zero() {
        let entries = [
            IndexEntry::Absent,
            entry(3),
            IndexEntry::Constant { value: [1, 2, 3, 4, 0, 0, 0, 0] },
            IndexEntry::Shared { offset: 168, start: 9, len: 10, chain: 11, check: 12 },
            IndexEntry::Lost,
        ];
        for e in entries {
            assert_eq!(IndexEntry::decode(&e.encode(), 0).unwrap(), e);
        }
        let mut bytes = IndexEntry::Lost.encode();
        bytes[20] = 1;
        assert!(IndexEntry::decode(&bytes, 0).is_err());
        bytes = [0; ENTRY_LEN];
        bytes[0] = 9;
        assert!(IndexEntry::decode(&bytes, 0).is_err());
    }
}
