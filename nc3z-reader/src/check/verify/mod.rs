//! Checks of a whole archive. They cover every byte of the file, not only the index, so that damage is found
//! before it matters. A finding names the structure and the data that it affects.
//!
//! [`quick`] compares every stored byte with its checksum and decodes nothing; [`deep`] also decodes every tile and rebuilds the
//! original's digest. Both go on after a finding.

mod blocks;
mod deep;
mod examine;
mod index;
mod members;
mod older;
mod regions;
mod report;
mod walk;

pub use examine::{Examination, Examined, examine};
pub use older::{OlderVersion, older_versions};
pub use report::{Finding, Report, Structure, Undecoded};

use crate::archive::Archive;
use crate::check::parity;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::options::OpenOptions;
use crate::source::SharedSource;
use crate::source::short::expanded;
use nc3z_format::archive::short::is_short;
use report::{Findings, Raw};
use std::sync::Arc;
use walk::Walk;

/// Compares every byte of the archive with its checksum or rule, and the index with the blocks. The work is
/// shared among the threads of rayon's current pool. The progress in `monitor` counts the archive's bytes.
///
/// # Errors
/// No archive of a version that this build reads; a cancelled monitor. Damage of the archive is in the
/// report.
pub fn quick(source: &SharedSource, options: &OpenOptions, monitor: &dyn Monitor) -> Result<Report> {
    Ok(check(source, options, monitor)?.0)
}

/// As [`quick`]. Then decodes every tile and, if all are sound, rebuilds the original and compares its
/// digest. Also compares the index with the containers' own lists of members. The progress in `monitor`
/// counts the archive's bytes, then the original's.
///
/// # Errors
/// As [`quick`].
pub fn deep(source: &SharedSource, options: &OpenOptions, monitor: &dyn Monitor) -> Result<Report> {
    let (mut report, archive) = check(source, options, monitor)?;
    if let Some(archive) = archive {
        deep::check(&archive, &mut report, monitor)?;
        // For a damaged index the important findings are known, and its claims may be unlimited.
        if report.findings.is_empty() {
            members::check(&archive, &mut report, monitor)?;
        }
    }
    Ok(report)
}

/// The first finding of a quick check as a message, or nothing if the archive is sound.
///
/// # Errors
/// As [`quick`].
pub(crate) fn first_finding(
    source: &SharedSource,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Option<String>> {
    let (report, _) = inspect(source, options, monitor)?;
    Ok(report.findings.first().map(|f| format!("{}: {}", f.structure.name(), f.message)))
}

/// The quick check. Also returns the archive, if it opens normally.
fn check(
    source: &SharedSource,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<(Report, Option<Archive>)> {
    let (mut report, archive) = inspect(source, options, monitor)?;
    if !report.is_sound() {
        // Only a check of all shards shows whether parity can repair the archive. The parity's own shards are
        // not enough.
        report.parity = match parity::judge(source, options, monitor) {
            Err(e) if e.is_interrupted() => return Err(e),
            found => found.ok().flatten(),
        };
    }
    Ok((report, archive))
}

/// As [`check`], without the answer whether parity can repair the findings.
fn inspect(
    source: &SharedSource,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<(Report, Option<Archive>)> {
    let mut report = Report { stored_len: source.len(), ..Report::default() };
    let mut findings = Findings::default();
    let walked = match Walk::new(source, options, &mut report, &mut findings, monitor) {
        Ok(walk) => walk.run()?,
        Err(e) if e.is_unsupported() => return Err(e),
        Err(e) => {
            // Both ends or the directory are unreadable: no further check makes sense.
            let mut start = [0; 16];
            let short = source.read_into(0, &mut start).is_ok() && is_short(&start);
            report.findings.push(Finding {
                structure: if short { Structure::ShortForm } else { Structure::Superblock },
                bytes: 0..source.len(),
                message: e.with_causes(),
                places: Vec::new(),
            });
            return Ok((report, None));
        }
    };
    let strict = OpenOptions { fill_lost: false, generation: None, older: true, ..options.clone() };
    let opened = Archive::from_source(Arc::clone(&walked), &strict);
    let mut lost = Vec::new();
    match &opened {
        Ok(archive) => lost = index::check(archive, &mut report, &mut findings, monitor)?,
        Err(e) if e.is_unsupported() => return Err(opened.expect_err("it is an error")),
        // The bytes of the index have the right checksums, but are invalid.
        Err(e) if findings.is_empty() => findings.push(Structure::Index, 0..0, e.with_causes()),
        Err(_) => {}
    }
    // If the archive does not open, the head still gives the names of the variables.
    let words = opened.as_ref().ok().cloned().or_else(|| Archive::skeleton(source, &strict).ok());
    report.more = findings.more;
    report.findings = findings.all.into_iter().map(|raw| named(raw, words.as_ref())).collect();
    // Findings in the long form are reported with their place in the file.
    if let Ok((_, Some(short))) = expanded(source) {
        let of_long = report.findings.iter_mut().filter(|f| f.structure != Structure::ShortForm);
        of_long.for_each(|f| f.bytes = short.in_file(&f.bytes));
    }
    report.findings.sort_by_key(|f| (f.bytes.start, f.bytes.end));
    if let Ok(archive) = &opened {
        report.lost = lost.into_iter().map(|(array, tiles)| archive.place(array, tiles)).collect();
    }
    Ok((report, opened.ok()))
}

/// Puts a finding into the user's words.
fn named(mut raw: Raw, archive: Option<&Archive>) -> Finding {
    raw.settle();
    let Raw { structure, bytes, message, tiles } = raw;
    let places = archive.map(|a| tiles.into_iter().map(|(array, tiles)| a.place(array, tiles)).collect());
    Finding { structure, bytes, message, places: places.unwrap_or_default() }
}
