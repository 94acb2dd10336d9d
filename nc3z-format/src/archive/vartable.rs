//! The variable table: for each array its tile count, and its entries or the root of their tree.

use super::constants::{ALIGN, ENTRY_LEN, HEAD_OFFSET, INLINE_MAX, LEAF_ENTRIES, PAGE_LEN, ROW_LEN};
use super::ids::ArrayId;
use super::index::IndexEntry;
use crate::bytes::ByteCursor;
use crate::codec::{shuffle, unshuffle};
use crate::error::{Error, Result};

const SECTION: &str = "variable table";

/// One array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The id of the array of the row.
    pub array: ArrayId,
    /// Its tiles, at least one.
    pub tile_count: u64,
    /// Offset of the root page, or 0 if its entries are in the table.
    pub root: u64,
}

/// The table of the arrays that have tiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariableTable {
    rows: Vec<Row>,
    /// For each row, where its entries begin.
    starts: Vec<usize>,
    entries: Vec<IndexEntry>,
}

impl VariableTable {
    /// Rows ascending by id, and the entries of those without a tree, in the same order.
    pub fn new(rows: Vec<Row>, entries: Vec<IndexEntry>) -> Self {
        let starts = starts(&rows);
        VariableTable { rows, starts, entries }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// An array's row, and its entries if they are in the table.
    pub fn find(&self, array: ArrayId) -> Option<(&Row, &[IndexEntry])> {
        let at = self.rows.binary_search_by_key(&array, |r| r.array).ok()?;
        let row = &self.rows[at];
        let inline = if row.root == 0 { usize::try_from(row.tile_count).ok()? } else { 0 };
        Some((row, &self.entries[self.starts[at]..self.starts[at] + inline]))
    }

    /// Checks that the index pages of all trees fit into an archive of `end` bytes. A page is used only once, so a walk
    /// through all tiles then reads no more bytes than the archive has.
    ///
    /// # Errors
    /// An array has more tiles than there are bytes for its pages.
    pub fn check_pages(&self, end: u64) -> Result<()> {
        let mut left = end;
        for row in self.rows.iter().filter(|row| row.root != 0) {
            let leaves = row.tile_count.div_ceil(LEAF_ENTRIES).checked_mul(PAGE_LEN as u64);
            let rest = leaves.and_then(|len| left.checked_sub(len));
            left = rest.ok_or_else(|| {
                let expected = format!("no more than index pages in {end} bytes have entries for");
                Error::corrupt(SECTION, None, "tile count", expected, row.tile_count)
            })?;
        }
        Ok(())
    }

    /// Returns the decoded section.
    ///
    /// # Panics
    /// With 2^32 rows or entries.
    pub fn encode(&self) -> Vec<u8> {
        let mut rows = Vec::with_capacity(self.rows.len() * ROW_LEN);
        for r in &self.rows {
            rows.extend(r.array.0.to_le_bytes());
            rows.extend(r.tile_count.to_le_bytes());
            rows.extend(r.root.to_le_bytes());
        }
        let entries: Vec<u8> = self.entries.iter().flat_map(IndexEntry::encode).collect();
        let mut out = Vec::with_capacity(8 + rows.len() + entries.len());
        out.extend(u32::try_from(self.rows.len()).expect("fewer than 2^32 arrays").to_le_bytes());
        out.extend(u32::try_from(self.entries.len()).expect("at most 32 a row").to_le_bytes());
        shuffle(ROW_LEN, &rows, &mut out);
        shuffle(ENTRY_LEN, &entries, &mut out);
        out
    }

    /// Reads the decoded section.
    ///
    /// # Errors
    /// Damage; rows out of order; a root with at most 32 tiles, or none with more; entries that are missing or left over.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut c = ByteCursor::new(SECTION, 0, bytes);
        let (n_rows, n_entries) = (c.u32("number of rows")? as usize, c.u32("number of entries")? as usize);
        let at = c.offset();
        let mut rows_bytes = Vec::new();
        unshuffle(ROW_LEN, c.split("rows", n_rows.saturating_mul(ROW_LEN))?, &mut rows_bytes);
        let mut entry_bytes = Vec::new();
        unshuffle(ENTRY_LEN, c.split("entries", n_entries.saturating_mul(ENTRY_LEN))?, &mut entry_bytes);
        c.finish()?;
        let rows = read_rows(&rows_bytes, at)?;
        let inline: u64 = rows.iter().filter(|r| r.root == 0).map(|r| r.tile_count).sum();
        if inline != n_entries as u64 {
            return Err(Error::corrupt(SECTION, 4, "number of entries", inline, n_entries));
        }
        let (chunks, _) = entry_bytes.as_chunks::<ENTRY_LEN>();
        let entries = chunks.iter().map(|e| IndexEntry::decode(e, 0).map_err(|e| e.within(SECTION, 0)));
        Ok(Self::new(rows, entries.collect::<Result<_>>()?))
    }
}

fn read_rows(bytes: &[u8], at: u64) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::with_capacity(bytes.len() / ROW_LEN);
    for row in bytes.as_chunks::<ROW_LEN>().0 {
        let mut c = ByteCursor::new(SECTION, at, row);
        let row = Row {
            array: ArrayId(c.u32("variable")?),
            tile_count: c.u64("tile count")?,
            root: c.u64("root")?,
        };
        if rows.last().is_some_and(|last| last.array >= row.array) {
            return Err(Error::corrupt(SECTION, at, "order of rows", "ascending ids", row.array));
        }
        if row.tile_count == 0 || (row.root == 0 && row.tile_count > INLINE_MAX) {
            let expected = if row.root == 0 { "1 to 32 without a tree" } else { "at least 1" };
            return Err(Error::corrupt(SECTION, at, "tile count", expected, row.tile_count));
        }
        if row.root != 0 && row.tile_count <= INLINE_MAX {
            return Err(Error::corrupt(SECTION, at, "root of at most 32 tiles", 0, row.root));
        }
        if row.root != 0 && (row.root < HEAD_OFFSET || !row.root.is_multiple_of(ALIGN)) {
            return Err(Error::corrupt(
                SECTION,
                at,
                "root",
                "0, or a multiple of 8 behind the superblock",
                row.root,
            ));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn starts(rows: &[Row]) -> Vec<usize> {
    let mut at = 0;
    let start = |r: &Row| {
        let here = at;
        if r.root == 0 {
            at += usize::try_from(r.tile_count).expect("at most INLINE_MAX");
        }
        here
    };
    rows.iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_lookup_and_every_prefix_is_an_error() {
        let constant = |v| IndexEntry::Constant { value: [v, 0, 0, 0, 0, 0, 0, 0] };
        let rows = vec![
            Row { array: ArrayId::variable(0), tile_count: 2, root: 0 },
            Row { array: ArrayId::variable(4), tile_count: 100, root: 8192 },
            Row { array: ArrayId::GAP, tile_count: 1, root: 0 },
        ];
        let table = VariableTable::new(rows, vec![constant(1), constant(2), constant(3)]);
        let bytes = table.encode();
        let back = VariableTable::decode(&bytes).unwrap();
        assert_eq!(back, table);
        assert_eq!(back.find(ArrayId::GAP).unwrap().1, [constant(3)]);
        assert_eq!(back.find(ArrayId::variable(4)).unwrap().0.root, 8192);
        assert!(back.find(ArrayId::variable(1)).is_none());
        for n in 0..bytes.len() {
            assert!(VariableTable::decode(&bytes[..n]).is_err(), "{n}");
        }
    }

    #[test]
    fn trees_of_more_pages_than_there_are_bytes_are_corrupt() {
        let row = |array, tile_count| Row { array: ArrayId::variable(array), tile_count, root: 8192 };
        let check = |counts: &[u64], end| {
            let rows = (0..).zip(counts).map(|(array, &count)| row(array, count)).collect();
            VariableTable::new(rows, Vec::new()).check_pages(end)
        };
        let page = PAGE_LEN as u64;
        assert!(check(&[LEAF_ENTRIES, LEAF_ENTRIES + 1], 3 * page).is_ok());
        for (counts, end) in [
            (&[LEAF_ENTRIES, LEAF_ENTRIES + 1][..], 3 * page - 1),
            (&[1 << 62], 1 << 40),
            (&[u64::MAX], u64::MAX),
        ] {
            assert!(check(counts, end).unwrap_err().is_corrupt(), "{counts:?}");
        }
    }
}
