//! The deep check: every tile decoded, and the original's digest rebuilt.

use super::report::{Finding, Report, Structure, Undecoded};
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::options::OpenOptions;
use crate::source::Nearby;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry};
use nc3z_format::array::TileKey;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Tiles of one round of parallel work.
const BATCH_TILES: u64 = 256;

/// Decodes everything; what the quick check has named already is not named again.
pub(super) fn check(archive: &Archive, report: &mut Report, monitor: &dyn Monitor) -> Result<()> {
    report.tiles = 0;
    if !report.lost.is_empty() {
        return check_with_lost_tiles(archive, report, monitor);
    }
    // The restore decodes every tile once. Only if it fails, tiles are checked one by one.
    match archive.check_original(monitor) {
        Ok(restored) => {
            report.tiles = archive.arrays().iter().map(|a| a.tiling.tile_count()).sum();
            report.restored = Some(restored);
        }
        Err(e) if e.is_interrupted() => return Err(e),
        Err(e) => {
            let known = report.findings.len() + report.lost.len();
            check_tiles(archive, monitor, report)?;
            let nothing_new = report.findings.len() + report.lost.len() == known;
            if nothing_new && e.is_unsupported() {
                report.not_rebuilt = Some(e.with_causes());
            } else if nothing_new && known == 0 {
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

/// Checks a repaired archive with lost tiles. Decodes all other tiles, and compares a restore with fill
/// values with the repair's record of it.
fn check_with_lost_tiles(archive: &Archive, report: &mut Report, monitor: &dyn Monitor) -> Result<()> {
    check_tiles(archive, monitor, report)?;
    let recorded = archive.metadata().extra.get("repair").and_then(|r| r.get("filled_sha256"));
    if let Some(first) = report.not_decoded.first() {
        report.not_rebuilt = Some(first.why.clone());
        return Ok(());
    }
    let (Some(recorded), true) = (recorded.and_then(|d| d.as_str()), report.findings.is_empty()) else {
        return Ok(());
    };
    let store = &archive.inner.store;
    let options = OpenOptions::default().with_limits(store.limits.clone()).with_fill_lost(true);
    let filling = Archive::from_source(Arc::clone(&store.source), &options)?;
    let found = nc3z_format::bytes::hex(&filling.check_original(monitor)?.sha256);
    if found != recorded {
        report.findings.push(Finding {
            structure: Structure::Original,
            bytes: 0..0,
            message: format!(
                "the rebuilt file with fill values has SHA-256 {found}, the repair recorded {recorded}"
            ),
            places: Vec::new(),
        });
    }
    Ok(())
}

fn check_tiles(archive: &Archive, monitor: &dyn Monitor, report: &mut Report) -> Result<()> {
    // For each array, the runs of tiles that findings name: first tile to end.
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
        // The first that was not decoded, with the reason, and the last.
        let mut undecoded: Option<(u64, String, u64, u64)> = None;
        let mut begin = 0;
        while begin < tiles {
            if monitor.is_cancelled() {
                return Err(Error::interrupted());
            }
            let end = (begin + BATCH_TILES).min(tiles);
            let unnamed: Vec<u64> = (begin..end).filter(|&tile| !is_named(info.id, tile)).collect();
            let (key, nearby) = (|tile: &u64| TileKey::new(info.id, *tile), Nearby::default());
            let store = &archive.inner.store;
            let bad = store.in_parallel(unnamed, key, &nearby, |tile, worker| {
                let decode = |len| store.decode(key(&tile), &nearby, worker, &mut vec![0; len]);
                Some((tile, info.tile_len(tile).map_err(Into::into).and_then(decode).err()?))
            });
            for (tile, error) in bad.into_iter().flatten() {
                if error.is_unsupported() {
                    let (.., last, count) =
                        undecoded.get_or_insert_with(|| (tile, error.with_causes(), tile, 0));
                    (*last, *count) = (tile, *count + 1);
                    continue;
                }
                report.findings.push(Finding {
                    structure: Structure::Tile,
                    bytes: stored_bytes(archive, info.id, tile),
                    message: error.with_causes(),
                    places: vec![archive.place(info.id, tile..tile + 1)],
                });
            }
            report.tiles += end - begin;
            begin = end;
        }
        if let Some((first, why, last, tiles)) = undecoded {
            report.undecoded += tiles;
            report.tiles -= tiles;
            report.not_decoded.push(Undecoded { place: archive.place(info.id, first..last + 1), tiles, why });
        }
    }
    Ok(())
}

/// The bytes of a tile's block; of a member, the header of its container.
fn stored_bytes(archive: &Archive, array: ArrayId, tile: u64) -> Range<u64> {
    let header = BLOCK_HEADER_LEN as u64;
    match archive.entry(array, tile) {
        Ok(IndexEntry::Stored { offset, len, .. }) => offset..offset + header + u64::from(len),
        Ok(IndexEntry::Shared { offset, .. }) => offset..offset + header,
        _ => 0..0,
    }
}
