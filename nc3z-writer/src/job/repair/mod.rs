//! Repairs an archive by the best means that it allows: by its parity, otherwise by copying its complete versions, otherwise the
//! intact blocks of its newest version.

pub(crate) mod blocks;
pub(crate) mod versions;

use self::blocks::{BlockRepairOptions, RepairedBlocks, repair_blocks};
use self::versions::{RepairedVersions, repair_versions};
use crate::atomic::AtomicFile;
use crate::error::{Error, Result};
use crate::job::rewritten::Input;
use crate::options::{DEFAULT_MEMORY, ParityChoice, WriterOptions};
use crate::parity::{self, add, remove};
use nc3z_format::Limits;
use nc3z_format::codec::Registry;
use nc3z_reader::parity::{ParityReport, RepairedShards};
use nc3z_reader::recover::superblock_anew;
use nc3z_reader::source::SharedSource;
use nc3z_reader::verify::{Finding, quick};
use nc3z_reader::{Archive, Monitor, OpenOptions, source};
use std::path::Path;

/// A step of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairStep {
    /// Lost bytes are computed from the parity.
    Parity,
    /// Complete versions are copied.
    Versions,
    /// Intact blocks of the newest version are copied.
    Blocks,
}

/// A fact that is known before the repair ends.
#[derive(Debug)]
#[non_exhaustive]
pub enum RepairNote<'a> {
    /// The archive has parity, which cannot repair the damage. The next steps follow.
    ParityFailed(&'a Error),
    /// The newest version is not complete, so that only its intact blocks are saved; these older versions of the damaged archive
    /// are complete.
    OlderComplete(&'a [u64]),
}

/// Receives the progress of a repair. `()` ignores it.
pub trait RepairObserver: Sync {
    /// Returns the monitor for a step, which processes `bytes` bytes if that is known.
    fn monitor(&self, step: RepairStep, bytes: u64) -> Box<dyn Monitor + '_> {
        let _ = (step, bytes);
        Box::new(())
    }

    /// Receives a fact.
    fn note(&self, note: RepairNote<'_>) {
        let _ = note;
    }
}

impl RepairObserver for () {}

/// The options of a repair.
#[derive(Debug, Clone, Default)]
pub struct RepairOptions {
    /// Replaces an existing output.
    pub force: bool,
    /// Does not use the parity.
    pub without_parity: bool,
    /// Also takes blocks of a commit that has no trailer; versions are then not copied.
    pub uncommitted: bool,
    /// The new archive's parity.
    pub parity: ParityChoice,
    /// Limits for sizes that the file may claim.
    pub limits: Limits,
    /// The filters and codecs that the archive may use.
    pub registry: Registry,
}

/// The result of a repair, by the step that succeeded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RepairOutcome {
    /// Repaired by parity: the archive has all its original bytes.
    Parity {
        /// The state of the parity before the repair.
        report: ParityReport,
        /// The number of repaired parts.
        done: RepairedShards,
    },
    /// By its complete versions; always [`RepairedVersions::Written`].
    Versions(RepairedVersions),
    /// By intact blocks.
    Blocks(RepairedBlocks),
}

impl RepairOutcome {
    /// True if the new archive provably has everything that the damaged one had before it was damaged.
    pub fn is_complete(&self) -> bool {
        match self {
            RepairOutcome::Parity { .. } => true,
            RepairOutcome::Versions(RepairedVersions::Written { lost, unproven, .. }) => {
                lost.is_empty() && unproven.is_empty()
            }
            RepairOutcome::Versions(_) => false,
            RepairOutcome::Blocks(repaired) => repaired.is_complete(),
        }
    }
}

/// The error of a repair.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct RepairError {
    /// The step that failed.
    pub step: RepairStep,
    /// The error that caused it.
    pub source: Error,
}

/// The result of repairing an archive in place.
#[derive(Debug)]
#[non_exhaustive]
pub struct RepairedInPlace {
    /// The state of the parity before the repair.
    pub report: ParityReport,
    /// The number of repaired parts.
    pub done: RepairedShards,
    /// Damage that the parity does not cover, or the reason why it was not looked for.
    pub left: nc3z_reader::Result<Vec<Finding>>,
}

/// Writes a sound archive with the intact content of the archive at `input` to `output`. The input is never written.
///
/// # Errors
/// Nothing can be saved: the file is not an archive, or its beginning and end are lost. The output exists or cannot be written. The
/// monitor cancelled. Then nothing is written.
pub fn repair_file(
    input: &Path,
    output: &Path,
    options: &RepairOptions,
    observer: &dyn RepairObserver,
) -> Result<RepairOutcome, RepairError> {
    let mut rewritten = None;
    if !options.without_parity {
        let by_parity = by_parity(input, output, options, observer, &mut rewritten);
        match by_parity.map_err(|source| RepairError { step: RepairStep::Parity, source }) {
            // The repaired file is not sound, and its intact parts were saved.
            _ if rewritten.is_some() => {}
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            Err(e) if e.source.is_corrupt() => observer.note(RepairNote::ParityFailed(&e.source)),
            Err(e) => return Err(e),
        }
    }
    rewritten.unwrap_or_else(|| rewrite(input, output, options, observer))
}

/// Repairs the archive at `path` with its parity, in place. None if it has no parity.
///
/// # Errors
/// The parity cannot repair the damage: nothing is changed. The system refuses an operation.
pub fn repair_in_place(path: &Path, observer: &dyn RepairObserver) -> Result<Option<RepairedInPlace>> {
    let monitor = of_parity(path, observer);
    let Some((report, done)) = parity::repair_in_place(path, &*monitor)? else { return Ok(None) };
    drop(monitor);
    // Parity repairs only what it covers.
    let monitor = of_parity(path, observer);
    let left = source::open(path, false).and_then(|s| quick(&s, &OpenOptions::default(), &*monitor));
    let left = left.map(|report| report.findings);
    Ok(Some(RepairedInPlace { report, done, left }))
}

fn of_parity<'o>(path: &Path, observer: &'o dyn RepairObserver) -> Box<dyn Monitor + 'o> {
    observer.monitor(RepairStep::Parity, len_of(path).saturating_mul(3))
}

fn len_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

/// Repairs by parity. If the repaired file is still not sound (its parity does not cover everything, or was added after the damage),
/// its intact parts are saved in `rewritten`.
fn by_parity(
    input: &Path,
    output: &Path,
    options: &RepairOptions,
    observer: &dyn RepairObserver,
    rewritten: &mut Option<Result<RepairOutcome, RepairError>>,
) -> Result<Option<RepairOutcome>> {
    let monitor = of_parity(input, observer);
    let open = OpenOptions::of_command().with_registry(options.registry.clone());
    let outcome = parity::repair_file(input, output, options.force, &*monitor, &mut |repaired| {
        let source = source::open(repaired, false)?;
        let sound = quick(&source, &open, &*monitor).is_ok_and(|report| report.is_sound());
        if sound {
            change_parity(options.parity, repaired, &*monitor)?;
        } else {
            *rewritten = Some(rewrite(repaired, output, options, observer));
        }
        Ok(sound)
    })?;
    Ok(outcome.map(|(report, done)| RepairOutcome::Parity { report, done }))
}

/// The repaired archive has its former parity. If another share is requested, the parity is changed before the archive gets its name.
fn change_parity(choice: ParityChoice, archive: &Path, monitor: &dyn Monitor) -> Result<()> {
    if choice == ParityChoice::Keep {
        return Ok(());
    }
    remove(archive, monitor)?;
    if let Some(share) = choice.share(None) {
        add(archive, share, DEFAULT_MEMORY, monitor)?;
    }
    Ok(())
}

/// Saves the intact versions or blocks of `input`, which is the archive or the result of a repair by parity.
fn rewrite(
    input: &Path,
    output: &Path,
    options: &RepairOptions,
    observer: &dyn RepairObserver,
) -> Result<RepairOutcome, RepairError> {
    if !options.uncommitted {
        let monitor = observer.monitor(RepairStep::Versions, 0);
        let saved = with_superblock(input, output, options).and_then(|mended| match &mended {
            Some((copy, note)) => {
                Ok(by_versions(copy.temporary_path(), output, options, &*monitor)?.with_note(note))
            }
            None => by_versions(input, output, options, &*monitor),
        });
        match saved.map_err(|e| stopped(e, &*monitor, RepairStep::Versions))? {
            RepairedVersions::None => {}
            RepairedVersions::Older(whole) if whole.is_empty() => {}
            RepairedVersions::Older(whole) => observer.note(RepairNote::OlderComplete(&whole)),
            written @ RepairedVersions::Written { .. } => return Ok(RepairOutcome::Versions(written)),
        }
    }
    let how = BlockRepairOptions {
        force: options.force,
        uncommitted: options.uncommitted,
        parity: options.parity,
        limits: options.limits.clone(),
    };
    let monitor = observer.monitor(RepairStep::Blocks, len_of(input));
    let repaired = repair_blocks(input, output, &how, &*monitor);
    Ok(RepairOutcome::Blocks(repaired.map_err(|e| stopped(e, &*monitor, RepairStep::Blocks))?))
}

/// A copy of an archive of several versions with a new superblock beside `output`, and a sentence on that. None if the superblock is
/// intact, or if it cannot be made from the other structures.
fn with_superblock(
    input: &Path,
    output: &Path,
    options: &RepairOptions,
) -> Result<Option<(AtomicFile, String)>> {
    let source: SharedSource = source::open(input, false)?;
    let how = OpenOptions::of_command().with_registry(options.registry.clone());
    let found = superblock_anew(&source, &how);
    let Ok(Some(superblock)) = found else { return Ok(None) };
    let Err(e) = Archive::from_source(source, &how) else { return Ok(None) };
    let before = Input::open(input, Some(output))?;
    let copy = AtomicFile::create(output, options.force)?;
    let mut from = std::fs::File::open(input).map_err(|e| Error::io("open", input, e))?;
    // What the disk cannot read is left to the next step, which reports a full disk, too.
    if std::io::copy(&mut from, &mut copy.file()).is_err() {
        return Ok(None);
    }
    copy.medium().write_at(0, &superblock.encode())?;
    copy.look_like(&before.before)?;
    Ok(Some((copy, format!("{}: it is made anew", e.with_causes()))))
}

/// Saves the intact versions, if there are several and the newest is one of them.
fn by_versions(
    input: &Path,
    output: &Path,
    options: &RepairOptions,
    monitor: &dyn Monitor,
) -> Result<RepairedVersions> {
    let how = WriterOptions::default().with_registry(options.registry.clone()).with_force(options.force);
    let saved = repair_versions(input, output, &how, monitor)?;
    if let RepairedVersions::Written { done, .. } = &saved
        && let Some(share) = options.parity.share(done.parity_before)
    {
        add(output, share, DEFAULT_MEMORY, monitor)?;
    }
    Ok(saved)
}

/// Names the step. An error after the monitor cancelled is an interruption.
fn stopped(e: Error, monitor: &dyn Monitor, step: RepairStep) -> RepairError {
    let source = if monitor.is_cancelled() { nc3z_reader::Error::interrupted().into() } else { e };
    RepairError { step, source }
}
