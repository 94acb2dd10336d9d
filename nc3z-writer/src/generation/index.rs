//! Builds the index of a generation: collects entries, then writes pages and variable table. Unchanged parts of
//! the previous generation's index are not written again. Their rows are copied, and of a tree only the pages
//! above changed entries are new.

use super::sink::Sink;
use crate::error::Result;
use nc3z_format::archive::constants::LEAF_ENTRIES;
use nc3z_format::archive::{
    ArrayId, INLINE_MAX, IndexEntry, PAGE_LEN, Page, PageTreeBuilder, Row, Salt, SectionEncoding,
    SectionEntry, SectionKind, VariableTable, encode_page, tiles_below, tree_height,
};
use nc3z_reader::source::SharedSource;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

/// The index of the generation before.
pub(super) struct Older {
    pub(super) table: VariableTable,
    pub(super) source: SharedSource,
}

/// The entries of an array.
enum Entries {
    /// All of them.
    All(Vec<IndexEntry>),
    /// The number of entries, and the changed ones.
    Changed(u64, BTreeMap<u64, IndexEntry>),
    /// The unchanged entries of an older generation.
    Kept(Row, Vec<IndexEntry>),
}

/// The entries of every array that has tiles.
#[derive(Default)]
pub(super) struct Index {
    arrays: BTreeMap<ArrayId, Entries>,
    older: Option<Older>,
}

impl Index {
    /// Creates the index of a generation that follows another.
    pub(super) fn after(older: Older) -> Self {
        Index { arrays: BTreeMap::new(), older: Some(older) }
    }

    /// True if the previous generation has this array.
    pub(super) fn keeps(&self, array: ArrayId) -> bool {
        self.older.as_ref().is_some_and(|older| older.table.find(array).is_some())
    }

    /// Announces an array. If the previous generation has it, its entries are kept unless they are set.
    pub(super) fn declare(&mut self, array: ArrayId, tiles: u64) {
        let known = self.keeps(array);
        let entries = if known { Entries::Changed(tiles, BTreeMap::new()) } else { Entries::All(Vec::new()) };
        self.arrays.entry(array).or_insert(entries);
    }

    /// Announces all arrays of an older generation with their entries.
    pub(super) fn take_over(&mut self, table: &VariableTable) {
        for row in table.rows() {
            if let Some((row, inline)) = table.find(row.array) {
                self.arrays.insert(row.array, Entries::Kept(*row, inline.to_vec()));
            }
        }
    }

    /// Announces an array. None of its entries in the previous generation are kept.
    pub(super) fn declare_anew(&mut self, array: ArrayId) {
        self.arrays.insert(array, Entries::All(Vec::new()));
    }

    /// Announces an array of this many tiles, which are lost unless they are put.
    pub(super) fn declare_lost(&mut self, array: ArrayId, tiles: u64) {
        let tiles = usize::try_from(tiles).expect("the caller has limited their number");
        self.arrays.insert(array, Entries::All(vec![IndexEntry::Lost; tiles]));
    }

    pub(super) fn set(&mut self, array: ArrayId, tile: u64, entry: IndexEntry) {
        match self.arrays.get_mut(&array).expect("arrays are declared before their tiles come") {
            Entries::All(entries) => {
                let at = usize::try_from(tile).expect("an index fits in memory");
                if entries.len() <= at {
                    entries.resize(at + 1, IndexEntry::Absent);
                }
                entries[at] = entry;
            }
            Entries::Kept(..) => unreachable!("what is taken over does not change"),
            Entries::Changed(tiles, changed) => {
                *tiles = (*tiles).max(tile + 1);
                changed.insert(tile, entry);
            }
        }
    }

    /// Returns the changed tiles, by array, in runs.
    pub(super) fn changed(&self) -> Vec<(ArrayId, Vec<Range<u64>>)> {
        let mut all = Vec::new();
        for (&array, entries) in self.arrays.iter().filter(|(array, _)| **array != ArrayId::HEADS) {
            let runs = match entries {
                Entries::All(entries) if entries.is_empty() => Vec::new(),
                Entries::All(entries) => std::iter::once(0..entries.len() as u64).collect(),
                Entries::Changed(_, changed) => runs_of(changed.keys().copied()),
                Entries::Kept(..) => Vec::new(),
            };
            if !runs.is_empty() {
                all.push((array, runs));
            }
        }
        all
    }

    /// Writes the pages. Returns the variable table and the section of the pages, if there are any.
    pub(super) fn write<W: Write>(
        self,
        sink: &mut Sink<'_, W>,
        salt: Salt,
    ) -> Result<(VariableTable, Option<SectionEntry>)> {
        let begin = sink.align()?;
        let mut rows = Vec::new();
        let mut inline = Vec::new();
        for (array, entries) in self.arrays {
            let (tile_count, root, entries) = match entries {
                Entries::Kept(row, inline) => (row.tile_count, row.root, inline),
                Entries::All(entries) if entries.len() as u64 <= INLINE_MAX => {
                    (entries.len() as u64, 0, entries)
                }
                Entries::All(entries) => {
                    (entries.len() as u64, write_tree(array, &entries, sink, salt)?, Vec::new())
                }
                Entries::Changed(tiles, changed) => {
                    let older = self.older.as_ref().expect("only what an older generation has can change");
                    let copy = Copy::new(older, array, tiles, &changed, salt);
                    let root = if tiles <= INLINE_MAX { 0 } else { copy.write(sink)? };
                    (tiles, root, if root == 0 { copy.all()? } else { Vec::new() })
                }
            };
            inline.extend(entries);
            rows.push(Row { array, tile_count, root });
        }
        let len = sink.offset() - begin;
        let section = SectionEntry {
            kind: SectionKind::IndexPages,
            encoding: SectionEncoding::SelfChecked,
            crc: 0,
            offset: begin,
            len,
        };
        Ok((VariableTable::new(rows, inline), (len > 0).then_some(section)))
    }
}

/// Returns ascending numbers as runs.
fn runs_of(numbers: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some(run) if run.end == n => run.end += 1,
            _ => runs.push(n..n + 1),
        }
    }
    runs
}

/// Writes a whole tree; returns its root.
fn write_tree<W: Write>(
    array: ArrayId,
    entries: &[IndexEntry],
    sink: &mut Sink<'_, W>,
    salt: Salt,
) -> Result<u64> {
    let mut builder = PageTreeBuilder::new(array, salt, sink.offset());
    let mut write = |page: &[u8]| sink.write(page);
    for entry in entries {
        builder.push(entry, &mut write)?;
    }
    builder.finish(&mut write)
}

/// The entries of one array: the old ones, with changes.
struct Copy<'a> {
    older: &'a Older,
    array: ArrayId,
    /// Number of tiles now, and before.
    tiles: u64,
    before: u64,
    /// The old root; 0 if the entries were in the table.
    root: u64,
    inline: &'a [IndexEntry],
    changed: &'a BTreeMap<u64, IndexEntry>,
    salt: Salt,
}

impl<'a> Copy<'a> {
    fn new(
        older: &'a Older,
        array: ArrayId,
        tiles: u64,
        changed: &'a BTreeMap<u64, IndexEntry>,
        salt: Salt,
    ) -> Self {
        let (row, inline) = older.table.find(array).expect("declare has looked");
        Copy { older, array, tiles, before: row.tile_count, root: row.root, inline, changed, salt }
    }

    /// Returns all entries, which are few.
    fn all(&self) -> Result<Vec<IndexEntry>> {
        let leaf = match self.root {
            0 => None,
            root => Some(self.descend(root, tree_height(self.before), 0)?),
        };
        self.entries(0..self.tiles, leaf)
    }

    /// Returns the entries of some tiles of one leaf; `leaf` is the page of the old entries, if they had one.
    fn entries(&self, tiles: Range<u64>, leaf: Option<u64>) -> Result<Vec<IndexEntry>> {
        let page = leaf.map(|at| self.read(at, 0, tiles.start)).transpose()?;
        let mut entries = Vec::new();
        for tile in tiles {
            entries.push(match (self.changed.get(&tile), &page) {
                (Some(entry), _) => *entry,
                (None, _) if tile >= self.before => IndexEntry::Absent,
                (None, Some((at, bytes))) => Page::new(bytes, *at)?.entry(tile)?,
                (None, None) => self.inline[usize::try_from(tile).expect("at most INLINE_MAX")],
            });
        }
        Ok(entries)
    }

    /// Returns the page of the level `to` that covers tile 0, starting from a page of `level`.
    fn descend(&self, mut at: u64, level: u16, to: u16) -> Result<u64> {
        for level in (to + 1..=level).rev() {
            let (_, bytes) = self.read(at, level, 0)?;
            at = Page::new(&bytes, at)?.child(0)?;
        }
        Ok(at)
    }

    /// Reads a page of the old tree.
    fn read(&self, at: u64, level: u16, tile: u64) -> Result<(u64, bytes::Bytes)> {
        let bytes = self.older.source.read_at(at, PAGE_LEN)?;
        Page::check(&bytes, &self.salt, at)?;
        Page::new(&bytes, at)?.expect(self.array, level, tile, self.before)?;
        Ok((at, bytes))
    }

    /// Writes the new pages of the tree; returns its root.
    fn write<W: Write>(&self, sink: &mut Sink<'_, W>) -> Result<u64> {
        let height = tree_height(self.tiles);
        let was = tree_height(self.before);
        let old = match self.root {
            0 => None,
            root if was >= height => Some(self.descend(root, was, height)?),
            _ => None,
        };
        self.page(height, 0, old, sink)
    }

    /// Writes the page of a level that begins with tile `first`; `old` is its old version. Returns its offset.
    fn page<W: Write>(
        &self,
        level: u16,
        first: u64,
        old: Option<u64>,
        sink: &mut Sink<'_, W>,
    ) -> Result<u64> {
        let end = |tiles: u64| first.saturating_add(tiles_below(level)).min(tiles);
        let tiles = first..end(self.tiles);
        // If the tree became taller, the old tree is below its first page.
        let old = old.or_else(|| {
            let is_root = first == 0 && self.root != 0 && level == tree_height(self.before);
            is_root.then_some(self.root)
        });
        if let Some(at) = old
            && tiles.end == end(self.before)
            && self.changed.range(tiles.clone()).next().is_none()
        {
            return Ok(at);
        }
        let body: Vec<u8> = if level == 0 {
            debug_assert!(tiles.end - tiles.start <= LEAF_ENTRIES);
            self.entries(tiles, old)?.iter().flat_map(IndexEntry::encode).collect()
        } else {
            self.children(level, tiles, old, sink)?.into_iter().flat_map(u64::to_le_bytes).collect()
        };
        let offset = sink.offset();
        sink.write(&encode_page(&self.salt, offset, self.array, level, first, &body))?;
        Ok(offset)
    }

    fn children<W: Write>(
        &self,
        level: u16,
        tiles: Range<u64>,
        old: Option<u64>,
        sink: &mut Sink<'_, W>,
    ) -> Result<Vec<u64>> {
        let page = old.map(|at| self.read(at, level, tiles.start)).transpose()?;
        let mut children = Vec::new();
        let mut first = tiles.start;
        while first < tiles.end {
            let old = match &page {
                Some((at, bytes)) if first < self.before => Some(Page::new(bytes, *at)?.child(first)?),
                _ => None,
            };
            children.push(self.page(level - 1, first, old, sink)?);
            first = first.saturating_add(tiles_below(level - 1));
        }
        Ok(children)
    }
}
