//! Reads the stored bytes of many tiles in few requests.
//!
//! ```text
//! round 1..h   index pages, one level a round        round h+1   blocks, dictionaries, the beginnings of containers
//!                                                    round h+2   the rest of containers that are longer than was read
//! ```
//! Nothing is checked here. The decoder finds the bytes in memory, and checks them as if it had read them
//! itself.

use super::TileStore;
use crate::error::Result;
use crate::source::{Nearby, Reach};
use nc3z_format::array::{Located, Place, TileKey, definition};
use std::collections::BTreeSet;
use std::ops::Range;

/// Stored bytes of a window, about.
const WINDOW_LEN: u64 = 64 << 20;
/// Largest number of tiles of a window.
pub(crate) const WINDOW_TILES: usize = 4096;

/// The bytes that the tiles of a window need.
#[derive(Default)]
struct Needs {
    ranges: Vec<Range<u64>>,
    containers: BTreeSet<u64>,
    dictionaries: BTreeSet<TileKey>,
    /// Tiles that others of the window are coded against.
    references: BTreeSet<TileKey>,
    /// Bytes of all ranges, and of the gaps that are always read.
    bytes: u64,
    last_end: u64,
}

impl TileStore {
    /// Returns true if fetching ahead saves time.
    pub(crate) fn fetches_ahead(&self) -> bool {
        self.source.reach().fetches_ahead()
    }

    /// Fetches the bytes for the first of these tiles: as many tiles as make a window, and at least one if
    /// there is one.
    ///
    /// Unreadable bytes are left out. The decoder reads them again, so that each tile reports its own error.
    ///
    /// # Errors
    /// Another object is in the place of the source.
    pub(crate) fn fetch(&self, keys: &[TileKey]) -> Result<(usize, Nearby)> {
        let keys = &keys[..keys.len().min(WINDOW_TILES)];
        let reach = self.source.reach();
        let pages = passed(self.index.fetch_pages(self, keys))?;
        let mut needs = Needs::default();
        let mut taken = 0;
        for key in keys {
            // Damage is reported when the tile is decoded.
            if !self.cache.holds(*key)
                && let Ok(found) = self.locate(*key, &pages)
            {
                self.add(&found, reach, &mut needs);
            }
            taken += 1;
            if needs.bytes >= WINDOW_LEN {
                break;
            }
        }
        let pages = self.add_references(&keys[..taken], &pages, &mut needs)?;
        self.add_dictionaries(&pages, &mut needs)?;
        let nearby = passed(Nearby::fetch(&*self.source, &needs.ranges))?;
        let nearby = pages.and(&nearby);
        let rest = self.rest_of_containers(&needs.containers, &nearby);
        let nearby = nearby.and(&passed(Nearby::fetch(&*self.source, &rest))?);
        self.check_identity()?;
        Ok((taken, nearby))
    }

    fn add(&self, found: &Located<'_>, reach: Reach, needs: &mut Needs) {
        match &found.place {
            Place::Block(at) => {
                if let Ok(range) = at.range(self.end, &String::new) {
                    needs.add(range, reach);
                }
            }
            Place::Member(member) => {
                let offset = member.container;
                if !self.blocks.has_container(offset) && needs.containers.insert(offset) {
                    let end = offset.saturating_add(reach.speculative_len).min(self.end);
                    needs.add(offset.min(end)..end, reach);
                }
            }
            Place::Constant(_) => {}
        }
        needs.dictionaries.extend(found.dictionary.filter(|key| !self.blocks.has_dictionary(*key)));
        needs.references.extend(found.reference.filter(|key| !self.cache.holds(*key)));
    }

    /// Finds the tiles that those of the window are coded against. Returns the index pages fetched so far.
    fn add_references(&self, window: &[TileKey], pages: &Nearby, needs: &mut Needs) -> Result<Nearby> {
        let found = std::mem::take(&mut needs.references);
        if found.is_empty() {
            return Ok(pages.clone());
        }
        let window: BTreeSet<&TileKey> = window.iter().collect();
        let keys: Vec<TileKey> = found.into_iter().filter(|key| !window.contains(key)).collect();
        let pages = pages.and(&passed(self.index.fetch_pages(self, &keys))?);
        for key in keys {
            if let Ok(found) = self.locate(key, &pages) {
                self.add(&found, self.source.reach(), needs);
            }
        }
        Ok(pages)
    }

    /// Finds the dictionaries that tiles of the window depend on.
    fn add_dictionaries(&self, pages: &Nearby, needs: &mut Needs) -> Result<()> {
        let keys: Vec<TileKey> = std::mem::take(&mut needs.dictionaries).into_iter().collect();
        let pages = pages.and(&passed(self.index.fetch_pages(self, &keys))?);
        for key in keys {
            let entry = self.index.find(self, key, &pages);
            let at = entry.ok().and_then(|(entry, _)| definition(&entry, &String::new).ok());
            if let Some(range) = at.and_then(|at| at.range(self.end, &String::new).ok()) {
                needs.add(range, self.source.reach());
            }
        }
        Ok(())
    }

    /// The missing parts of containers whose headers were fetched.
    fn rest_of_containers(&self, containers: &BTreeSet<u64>, nearby: &Nearby) -> Vec<Range<u64>> {
        let whole = containers.iter().filter_map(|offset| {
            let container = self.container_header(*offset, nearby).ok()?;
            container.place.range(self.end, &String::new).ok()
        });
        whole.filter(|range| !nearby.holds(range)).collect()
    }
}

impl Needs {
    fn add(&mut self, range: Range<u64>, reach: Reach) {
        // Successive tiles usually follow each other in the archive, and the short gaps between them are read
        // too.
        let gap = range
            .start
            .checked_sub(self.last_end)
            .filter(|gap| *gap <= reach.least_gap() && self.last_end > 0);
        self.bytes = self.bytes.saturating_add(range.end - range.start).saturating_add(gap.unwrap_or(0));
        self.last_end = range.end;
        self.ranges.push(range);
    }
}

/// Returns no bytes where the source refused a part. Fails if another object is in the place of the source.
fn passed(nearby: Result<Nearby>) -> Result<Nearby> {
    match nearby {
        Err(e) if e.is_replaced() || e.is_interrupted() => Err(e),
        other => Ok(other.unwrap_or_default()),
    }
}
