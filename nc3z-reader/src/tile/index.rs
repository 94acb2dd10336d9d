//! Index entries: from the variable table, from the tree of pages, or recovered by probing.

use super::{RecoveredIndex, TileStore};
use crate::error::Result;
use crate::source::Nearby;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::{IndexEntry, PAGE_LEN, Page, Row, VariableTable, tree_height};
use nc3z_format::array::TileKey;
use quick_cache::sync::Cache;
use std::ops::Range;
use std::sync::OnceLock;

/// The number of cached pages, together 4 MiB.
const PAGES: usize = 1024;

/// The index of an open archive.
pub(crate) struct Index {
    /// Tile counts, roots, inline entries.
    pub(crate) table: VariableTable,
    /// The index found by probing, if the archive's own index is not reliable.
    pub(crate) recovered: Option<RecoveredIndex>,
    /// Made by the first search for a page: most archives have none.
    pages: OnceLock<Cache<u64, Bytes>>,
}

/// A tile during the descent through the tree of pages.
struct Way<'t> {
    row: &'t Row,
    tile: u64,
    page: u64,
    level: u16,
}

impl Index {
    pub(crate) fn new(table: VariableTable) -> Self {
        Index { table, recovered: None, pages: OnceLock::new() }
    }

    fn pages(&self) -> &Cache<u64, Bytes> {
        self.pages.get_or_init(|| Cache::new(PAGES))
    }

    /// The entry of a tile, and true if the entry was found by probing. The checksum of a probed member is
    /// not known.
    pub(crate) fn find(
        &self,
        store: &TileStore,
        key: TileKey,
        nearby: &Nearby,
    ) -> Result<(IndexEntry, bool)> {
        let stored = || self.stored_entry(store, key, nearby);
        match &self.recovered {
            Some(recovered) => Ok(recovered.find(key, stored)),
            None => Ok((stored()?, false)),
        }
    }

    /// The row of an array, and the entries of a small one. `None` if the tile does not exist.
    fn row(&self, key: TileKey) -> Option<(&Row, &[IndexEntry])> {
        self.table.find(key.array).filter(|(row, _)| key.tile < row.tile_count)
    }

    /// The entry in the archive's own index.
    fn stored_entry(&self, store: &TileStore, key: TileKey, nearby: &Nearby) -> Result<IndexEntry> {
        let missing = || FormatError::invalid(format!("{} has no tile {}", key.array, key.tile));
        let (row, inline) = self.row(key).ok_or_else(missing)?;
        if row.root == 0 {
            let at = usize::try_from(key.tile).expect("less than tile_count, which is at most INLINE_MAX");
            return Ok(inline[at]);
        }
        let mut offset = row.root;
        for level in (0..=tree_height(row.tile_count)).rev() {
            let bytes = self.page(store, offset, nearby)?;
            let page = Page::new(&bytes, offset)?;
            page.expect(row.array, level, key.tile, row.tile_count)?;
            if level == 0 {
                return Ok(page.entry(key.tile)?);
            }
            // A child precedes its parent, so cycles are impossible: `Page::child` has checked this.
            offset = page.child(key.tile)?;
        }
        unreachable!("the last level is 0")
    }

    fn page(&self, store: &TileStore, offset: u64, nearby: &Nearby) -> Result<Bytes> {
        self.pages().get_or_insert_with(&offset, || {
            if offset.checked_add(PAGE_LEN as u64).is_none_or(|end| end > store.end) {
                let expected = format!("below {}", store.end);
                return Err(FormatError::corrupt("index page", offset, "offset", expected, offset).into());
            }
            let bytes = nearby.read_at(&*store.source, offset, PAGE_LEN)?;
            Page::check(&bytes, &store.salt, offset)?;
            Ok(bytes)
        })
    }

    /// Fetches the pages that lead to these tiles, level by level, all pages of a level at once. A damaged
    /// page is reported to the reader of an entry below it.
    ///
    /// # Errors
    /// The error of the source.
    pub(crate) fn fetch_pages(&self, store: &TileStore, keys: &[TileKey]) -> Result<Nearby> {
        let mut nearby = Nearby::default();
        let mut ways: Vec<Way<'_>> = Vec::new();
        for key in keys {
            if let Some((row, _)) = self.row(*key).filter(|(row, _)| row.root != 0) {
                let level = tree_height(row.tile_count);
                ways.push(Way { row, tile: key.tile, page: row.root, level });
            }
        }
        // Trees of different heights end in different rounds.
        while !ways.is_empty() {
            let mut wanted: Vec<Range<u64>> = ways
                .iter()
                .filter(|way| !self.pages().contains_key(&way.page))
                .filter_map(|way| Some(way.page..way.page.checked_add(PAGE_LEN as u64)?))
                .filter(|range| range.end <= store.end && !nearby.holds(range))
                .collect();
            wanted.dedup();
            nearby = nearby.and(&Nearby::fetch(&*store.source, &wanted)?);
            ways.retain_mut(|way| {
                let Ok(bytes) = self.page(store, way.page, &nearby) else { return false };
                let Ok(page) = Page::new(&bytes, way.page) else { return false };
                if page.expect(way.row.array, way.level, way.tile, way.row.tile_count).is_err() {
                    return false;
                }
                let (Some(level), Ok(child)) = (way.level.checked_sub(1), page.child(way.tile)) else {
                    return false;
                };
                (way.level, way.page) = (level, child);
                true
            });
        }
        Ok(nearby)
    }
}
