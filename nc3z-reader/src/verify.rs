//! Checks of a whole archive.

use crate::archive::Archive;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::restore::Restored;
use nc3z_format::archive::ArrayId;
use rayon::prelude::*;

/// One thing that is wrong.
#[derive(Debug)]
pub struct Finding {
    /// Whose tile, where it is one.
    pub array: Option<ArrayId>,
    /// Which tile.
    pub tile: Option<u64>,
    /// What is wrong, and where.
    pub message: String,
}

/// What a check found.
#[derive(Debug)]
pub struct Report {
    /// Tiles that were decoded and compared with their checksums.
    pub tiles: u64,
    /// What is wrong; empty for a sound archive.
    pub findings: Vec<Finding>,
    /// The rebuilt original, where every tile was sound.
    pub restored: Option<Restored>,
}

impl Report {
    /// True where nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Decodes every tile and, if all are sound, rebuilds the original and compares its digest. Goes on after a finding.
///
/// # Errors
/// A cancelled monitor; what is wrong with the archive is in the report.
pub fn verify(archive: &Archive, monitor: &dyn Monitor) -> Result<Report> {
    let mut report = Report { tiles: 0, findings: Vec::new(), restored: None };
    if archive.torn_tail() > 0 {
        report.findings.push(Finding {
            array: None,
            tile: None,
            message: format!(
                "{} bytes after the last valid trailer at byte {}: the tail of a commit that did not finish, or foreign bytes",
                archive.torn_tail(),
                archive.trailer_offset()
            ),
        });
    }
    // The rebuild decodes every tile once; only where it fails are tiles looked at one by one.
    match archive.check_original(monitor) {
        Ok(restored) => {
            report.tiles = archive.arrays().iter().map(|a| a.tiling.tile_count()).sum();
            report.restored = Some(restored);
        }
        Err(e) if !e.is_interrupted() => {
            check_tiles(archive, monitor, &mut report)?;
            if report.findings.iter().all(|f| f.tile.is_none()) {
                report.findings.push(Finding { array: None, tile: None, message: e.to_string() });
            }
        }
        Err(e) => return Err(e),
    }
    Ok(report)
}

fn check_tiles(archive: &Archive, monitor: &dyn Monitor, report: &mut Report) -> Result<()> {
    for info in archive.arrays().iter() {
        let tiles = info.tiling.tile_count();
        for begin in (0..tiles).step_by(256) {
            if monitor.is_cancelled() {
                return Err(crate::Error::interrupted());
            }
            let end = (begin + 256).min(tiles);
            let bad: Vec<Finding> = (begin..end)
                .into_par_iter()
                .filter_map(|tile| {
                    let error = archive.read_tile(info.id, tile).err()?;
                    Some(Finding { array: Some(info.id), tile: Some(tile), message: error.to_string() })
                })
                .collect();
            report.findings.extend(bad);
            report.tiles += end - begin;
        }
    }
    Ok(())
}
