//! Compares the index with the blocks: every page is the right one, and every entry points to a block whose
//! header agrees. Damage found by the walk is assigned to the tiles that the index places there.

use super::report::{Findings, Raw, Report, Structure};
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;
use crate::tile::TileStore;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::constants::{FANOUT, LEAF_ENTRIES};
use nc3z_format::archive::{
    ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind, IndexEntry, PAGE_LEN, Page, Role, Row, tree_height,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// A run of tiles that are marked as lost.
type Lost = Vec<(ArrayId, Range<u64>)>;

/// Checks all entries. Returns the tiles that are recorded as lost.
pub(super) fn check(
    archive: &Archive,
    report: &mut Report,
    findings: &mut Findings,
    monitor: &dyn Monitor,
) -> Result<Lost> {
    let store = &archive.inner.store;
    // The places of damage found by the walk, by first byte.
    let known: BTreeMap<u64, (u64, usize)> = findings
        .all
        .iter()
        .enumerate()
        .filter(|(_, raw)| matches!(raw.structure, Structure::Block | Structure::IndexPage | Structure::Tail))
        .map(|(i, raw)| (raw.bytes.start, (raw.bytes.end, i)))
        .collect();
    let mut lost = Lost::new();
    for row in store.index.table.rows() {
        let check = Check { store, row, known: &known, monitor };
        let mut outcome = Outcome::default();
        if row.root == 0 {
            let (_, entries) = store.index.table.find(row.array).expect("it is one of the rows");
            let mut container = None;
            for (tile, entry) in (0..).zip(entries) {
                check.entry(tile, entry, &mut container, &mut outcome);
            }
        } else {
            check.page(row.root, tree_height(row.tile_count), 0, &mut outcome)?;
        }
        report.tiles += outcome.entries;
        for (i, tiles) in outcome.touched {
            findings.all[i].touch(row.array, tiles);
        }
        outcome.new.into_iter().for_each(|raw| findings.add(raw));
        lost.extend(outcome.lost.into_iter().map(|tiles| (row.array, tiles)));
    }
    Ok(lost)
}

/// The entries of one array.
struct Check<'a> {
    store: &'a TileStore,
    row: &'a Row,
    known: &'a BTreeMap<u64, (u64, usize)>,
    monitor: &'a dyn Monitor,
}

/// The result for a part of the entries.
#[derive(Default)]
struct Outcome {
    entries: u64,
    touched: Vec<(usize, Range<u64>)>,
    new: Vec<Raw>,
    lost: Vec<Range<u64>>,
}

impl Outcome {
    fn merge(&mut self, other: Outcome) {
        self.entries += other.entries;
        self.touched.extend(other.touched);
        self.new.extend(other.new);
        for range in other.lost {
            self.lose(range);
        }
    }

    fn lose(&mut self, range: Range<u64>) {
        match self.lost.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.lost.push(range),
        }
    }
}

/// The number of tiles below a page of a level.
fn reach(level: u16) -> u64 {
    (0..level).fold(LEAF_ENTRIES, |n, _| n.saturating_mul(FANOUT))
}

impl Check<'_> {
    /// Checks a page and all pages below it. A damaged page is a finding, and the check continues with the
    /// next page.
    fn page(&self, offset: u64, level: u16, first: u64, outcome: &mut Outcome) -> Result<()> {
        if self.monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let tiles = first..first.saturating_add(reach(level)).min(self.row.tile_count);
        let bytes = match self.read_page(offset, level, first) {
            Ok(bytes) => bytes,
            Err(e) => {
                self.damaged(
                    offset,
                    offset..offset.saturating_add(PAGE_LEN as u64),
                    tiles,
                    e.with_causes(),
                    outcome,
                );
                return Ok(());
            }
        };
        let page = Page::new(&bytes, offset)?;
        if level == 0 {
            let mut container = None;
            for tile in tiles {
                match page.entry(tile) {
                    Ok(entry) => self.entry(tile, &entry, &mut container, outcome),
                    Err(e) => self.wrong(tile, e.to_string(), outcome),
                }
            }
            return Ok(());
        }
        let below = reach(level - 1);
        let mut children = Vec::new();
        for first in tiles.step_by(usize::try_from(below).unwrap_or(usize::MAX)) {
            match page.child(first) {
                Ok(child) => children.push((child, first)),
                Err(e) => self.wrong(first, e.to_string(), outcome),
            }
        }
        let check = |(child, first): (u64, u64)| {
            let mut part = Outcome::default();
            self.page(child, level - 1, first, &mut part)?;
            Ok(part)
        };
        let parts: Result<Vec<Outcome>> = parallel::map(children, check).into_iter().collect();
        parts?.into_iter().for_each(|part| outcome.merge(part));
        Ok(())
    }

    fn read_page(&self, offset: u64, level: u16, first: u64) -> Result<Bytes> {
        if offset.checked_add(PAGE_LEN as u64).is_none_or(|end| end > self.store.end) {
            let expected = format!("below {}", self.store.end);
            return Err(FormatError::corrupt("index page", offset, "offset", expected, offset).into());
        }
        let bytes = self.store.source.read_at(offset, PAGE_LEN)?;
        Page::check(&bytes, &self.store.salt, offset)?;
        Page::new(&bytes, offset)?.expect(self.row.array, level, first, self.row.tile_count)?;
        Ok(bytes)
    }

    /// Checks one entry. `container` is the last container whose header was checked.
    fn entry(&self, tile: u64, entry: &IndexEntry, container: &mut Option<u64>, outcome: &mut Outcome) {
        outcome.entries += 1;
        let tiles = tile..tile + 1;
        match *entry {
            IndexEntry::Lost => outcome.lose(tiles),
            IndexEntry::Absent => {
                self.wrong(tile, "index entry is absent, expected a stored tile".into(), outcome);
            }
            IndexEntry::Constant { value } => {
                let size = self.store.arrays.get(self.row.array).map_or(8, |info| info.ty.size());
                if value[size..].iter().any(|&b| b != 0) {
                    self.wrong(tile, "rest of a constant is not zero".into(), outcome);
                }
            }
            IndexEntry::Stored { offset, .. } | IndexEntry::Shared { offset, .. } => {
                if let Some(i) = self.known_at(offset) {
                    outcome.touched.push((i, tiles));
                    return;
                }
                let packed = matches!(entry, IndexEntry::Shared { .. });
                if packed && *container == Some(offset) {
                    return;
                }
                match self.header(tile, entry) {
                    Ok(()) if packed => *container = Some(offset),
                    Ok(()) => {}
                    Err(e) => self.damaged(offset, offset..offset + 1, tiles, e.with_causes(), outcome),
                }
            }
        }
    }

    /// Checks the block header that an entry points to.
    fn header(&self, tile: u64, entry: &IndexEntry) -> Result<()> {
        let (IndexEntry::Stored { offset, .. } | IndexEntry::Shared { offset, .. }) = *entry else {
            return Ok(());
        };
        let mut bytes = [0; BLOCK_HEADER_LEN];
        self.store.source.read_into(offset, &mut bytes)?;
        let (h, crc) = BlockHeader::decode(&bytes, &self.store.salt, offset)?;
        let array = self.row.array;
        let as_expected = match *entry {
            IndexEntry::Stored { len, chain, check, .. } => {
                let kind = match array.role() {
                    Role::Definitions(_) => BlockKind::Definition,
                    Role::Heads => BlockKind::Head,
                    _ => BlockKind::Tile,
                };
                let decoded = self.store.arrays.get(array).map(|info| info.tile_len(tile)).transpose()?;
                (h.array, h.tile, h.kind, h.stored_len, h.chain, crc)
                    == (array, tile, kind, len, chain, check)
                    && decoded.is_none_or(|n| n == h.decoded_len as usize)
            }
            _ => h.kind == BlockKind::Container && h.array == ArrayId::CONTAINERS,
        };
        if as_expected {
            return Ok(());
        }
        let found = format!("tile {} of {}", h.tile, h.array);
        Err(FormatError::corrupt("index", offset, "block", format!("tile {tile} of {array}"), found).into())
    }

    /// The finding of the walk that covers this byte.
    fn known_at(&self, offset: u64) -> Option<usize> {
        let (_, &(end, i)) = self.known.range(..=offset).next_back()?;
        (offset < end).then_some(i)
    }

    fn damaged(&self, at: u64, bytes: Range<u64>, tiles: Range<u64>, words: String, outcome: &mut Outcome) {
        if let Some(i) = self.known_at(at) {
            outcome.touched.push((i, tiles));
            return;
        }
        let tiles = vec![(self.row.array, tiles)];
        outcome.new.push(Raw { structure: Structure::Index, bytes, message: words, tiles });
    }

    fn wrong(&self, tile: u64, message: String, outcome: &mut Outcome) {
        let tiles = vec![(self.row.array, tile..tile.saturating_add(1))];
        outcome.new.push(Raw { structure: Structure::Index, bytes: 0..0, message, tiles });
    }
}
