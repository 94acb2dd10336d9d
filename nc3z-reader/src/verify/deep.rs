//! The deep check: every tile decoded, and the original's digest rebuilt.

use super::report::{Finding, Report, Structure};
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Tiles of one round of parallel work.
const BATCH_TILES: u64 = 256;

/// Decodes everything; what the quick check has named already is not named again.
pub(super) fn check(archive: &Archive, report: &mut Report, monitor: &dyn Monitor) -> Result<()> {
    report.tiles = 0;
    // The rebuild decodes every tile once; only where it fails are tiles looked at one by one.
    match archive.check_original(monitor) {
        Ok(restored) => {
            report.tiles = archive.arrays().iter().map(|a| a.tiling.tile_count()).sum();
            report.restored = Some(restored);
        }
        Err(e) if e.is_interrupted() => return Err(e),
        Err(e) => {
            let known = report.findings.len() + report.lost.len();
            check_tiles(archive, monitor, report)?;
            if report.findings.len() + report.lost.len() == known && known == 0 {
                report.findings.push(Finding {
                    structure: Structure::Original,
                    bytes: 0..0,
                    message: e.with_causes(),
                    places: Vec::new(),
                });
            }
        }
    }
    Ok(())
}

fn check_tiles(archive: &Archive, monitor: &dyn Monitor, report: &mut Report) -> Result<()> {
    // By array: first tile to end of what has been named.
    let mut named: HashMap<ArrayId, BTreeMap<u64, u64>> = HashMap::new();
    for place in report.findings.iter().flat_map(|f| &f.places).chain(&report.lost) {
        let end = named.entry(place.array).or_default().entry(place.tiles.start).or_default();
        *end = place.tiles.end.max(*end);
    }
    let is_named = |array: ArrayId, tile: u64| {
        let before = named.get(&array).and_then(|ranges| ranges.range(..=tile).next_back());
        before.is_some_and(|(_, end)| tile < *end)
    };
    for info in archive.arrays().iter() {
        let tiles = info.tiling.tile_count();
        let mut begin = 0;
        while begin < tiles {
            if monitor.is_cancelled() {
                return Err(Error::interrupted());
            }
            let end = (begin + BATCH_TILES).min(tiles);
            let bad: Vec<Finding> = (begin..end)
                .into_par_iter()
                .filter(|&tile| !is_named(info.id, tile))
                .filter_map(|tile| {
                    let error = archive.read_tile(info.id, tile).err()?;
                    Some(Finding {
                        structure: Structure::Tile,
                        bytes: stored_bytes(archive, info.id, tile),
                        message: error.with_causes(),
                        places: vec![archive.place(info.id, tile..tile + 1)],
                    })
                })
                .collect();
            report.findings.extend(bad);
            report.tiles += end - begin;
            begin = end;
        }
    }
    Ok(())
}

/// The bytes of a tile's block; of a member, the header of its container.
fn stored_bytes(archive: &Archive, array: ArrayId, tile: u64) -> Range<u64> {
    let header = BLOCK_HEADER_LEN as u64;
    match archive.entry(array, tile) {
        Ok(IndexEntry::Stored { offset, len, .. }) => offset..offset + header + u64::from(len),
        Ok(IndexEntry::Packed { offset, .. }) => offset..offset + header,
        _ => 0..0,
    }
}
