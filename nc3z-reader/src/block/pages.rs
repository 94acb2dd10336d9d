//! Index pages, checked when first touched and kept a while.

use crate::archive::Inner;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::{IndexEntry, PAGE_LEN, Page, Row, tree_height};
use quick_cache::sync::Cache;

/// Pages kept: 4 MiB.
const PAGES: usize = 1024;

/// Verified pages by offset.
pub(crate) struct Pages(Cache<u64, Bytes>);

impl Pages {
    pub(crate) fn new() -> Self {
        Pages(Cache::new(PAGES))
    }

    /// The entry of a tile, from the root page down.
    pub(crate) fn entry(&self, inner: &Inner, row: &Row, tile: u64) -> Result<IndexEntry> {
        let mut offset = row.root;
        let mut level = tree_height(row.tile_count);
        loop {
            let bytes = self.page(inner, offset)?;
            let page = Page::new(&bytes, offset)?;
            page.expect(row.array, level, tile, row.tile_count)?;
            if level == 0 {
                return Ok(page.entry(tile)?);
            }
            let child = page.child(tile)?;
            if child >= offset {
                // Children are written before their parents; this also rules cycles out.
                return Err(FormatError::corrupt(
                    "index page",
                    offset,
                    "offset of a child page",
                    format!("below {offset}"),
                    child,
                )
                .into());
            }
            (offset, level) = (child, level - 1);
        }
    }

    fn page(&self, inner: &Inner, offset: u64) -> Result<Bytes> {
        self.0.get_or_insert_with(&offset, || {
            if offset.checked_add(PAGE_LEN as u64).is_none_or(|end| end > inner.trailer_offset) {
                return Err(FormatError::corrupt(
                    "index page",
                    offset,
                    "offset",
                    format!("below {}", inner.trailer_offset),
                    offset,
                )
                .into());
            }
            let bytes = inner.source.read_at(offset, PAGE_LEN)?;
            Page::check(&bytes, &inner.superblock.salt, offset)?;
            Ok(bytes)
        })
    }
}
