//! Repairs a file with its parity: to a new file, or in place.

use crate::atomic::{AtomicFile, Attributes, is_same_file};
use crate::error::{Error, ErrorKind, Result};
use crate::generation::{LockedArchive, Medium, lock, slots};
use nc3z_format::archive::SLOTS_LEN;
use nc3z_format::archive::constants::SLOTS_AT;
use nc3z_reader::parity::{ParityReport, RepairedShards, check, copy, judge, prove, repair, repaired_slots};
use nc3z_reader::platform;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Monitor, OpenOptions};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Writes the archive at `input`, in the state when its parity was made, to `output`, and checks it by checksums
/// and digest. Returns `None` if the archive has no parity; an archive without damage is copied. The input is never
/// written.
///
/// `accept` checks the repaired file before it is renamed; if it refuses, nothing is written.
///
/// # Errors
/// The parity cannot repair the damage, or the system refuses an operation. Then the output file is unchanged.
pub fn repair_file(
    input: &Path,
    output: &Path,
    force: bool,
    monitor: &dyn Monitor,
    accept: &mut dyn FnMut(&Path) -> Result<bool>,
) -> Result<Option<(ParityReport, RepairedShards)>> {
    let source = Arc::new(FileSource::open(input)?);
    let like = source.file().metadata().map_err(|e| Error::io("look at", input, e))?;
    if is_same_file(&like, output) {
        return Err(ErrorKind::SameFile(input.to_owned()).into());
    }
    let shared: SharedSource = source.clone();
    let Some(report) = check(&shared, monitor)? else { return Ok(None) };
    let target = AtomicFile::create(output, force)?;
    let mut file = target.file();
    copy(&*report.view(&shared), &mut |bytes| {
        file.write_all(bytes).map_err(|e| refused("write", output, e))
    })?;
    let (done, _) = apply(&shared, &report, (target.file(), 0), output, monitor)?;
    repair_slots(&shared, &report, target.file(), target.temporary_path(), monitor)?;
    // `accept` may write another archive from this file, with the same mode and time.
    target.look_like(&like)?;
    if accept(target.temporary_path())? {
        target.commit_as(Attributes::of_file(source.file(), &like))?;
    }
    Ok(Some((report, done)))
}

/// Repairs the archive at `path` in place, and checks it by checksums and digest. Returns `None` if the archive has
/// no parity.
///
/// Only lost shards are overwritten, each with bytes that have its recorded checksum. So the damage never grows,
/// even if the work is interrupted, and the repair can be started again.
///
/// # Errors
/// The parity cannot repair the damage, or does not cover it; this is checked before anything is written
/// ([`judge`]). The system refuses an operation.
pub fn repair_in_place(path: &Path, monitor: &dyn Monitor) -> Result<Option<(ParityReport, RepairedShards)>> {
    let source = Arc::new(FileSource::open(path)?);
    lock(source.file(), path)?;
    let held = LockedArchive::new(source.file(), path)?;
    let shared: SharedSource = source.clone();
    let Some(report) = judge(&shared, &OpenOptions::default(), monitor)? else { return Ok(None) };
    if report.missing > 0 {
        let why =
            format!("its first {} bytes are gone, and with them its place; write a new file", report.missing);
        return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
    }
    let file = File::options()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|e| Error::io("open for writing", path, e))?;
    // The file to write must be the one that was read and locked.
    let look = |file: &File| file.metadata().map_err(|e| Error::io("look at", path, e));
    if platform::identity(&look(source.file())?) != platform::identity(&look(&file)?) {
        return Err(ErrorKind::Busy(path.to_owned()).into());
    }
    let mut done = RepairedShards { shards: 0, packets: 0, bytes: 0 };
    if !report.is_intact() {
        let end;
        (done, end) = apply(&shared, &report, (&file, 0), path, monitor)?;
        held.set_len(end);
        file.sync_all().map_err(|e| Error::io("sync", path, e))?;
        repair_slots(&shared, &report, &file, path, monitor)?;
        file.sync_all().map_err(|e| Error::io("sync", path, e))?;
    }
    held.check(&file)?;
    Ok(Some((report, done)))
}

/// Repairs an archive that is a part of a file: `source` has its bytes, which `file` (called `path`) has from byte `at` on. Returns
/// `None` if the archive has no parity. Only lost parts are written, each with its recorded checksum. The caller
/// checks the result.
///
/// # Errors
/// The parity cannot repair the damage, or would have to write outside of the archive's bytes: nothing is changed. The system
/// refuses an operation.
pub fn repair_within(
    source: &SharedSource,
    file: &File,
    at: u64,
    path: &Path,
    monitor: &dyn Monitor,
) -> Result<Option<RepairedShards>> {
    let Some(report) = judge(source, &OpenOptions::default(), monitor)? else { return Ok(None) };
    if report.missing > 0 || report.layout.params.archive_len > source.len() {
        let why = "its bytes are not at their places in the bundle".to_owned();
        return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
    }
    Ok(Some(apply(source, &report, (file, at), path, monitor)?.0))
}

/// Checks the repaired file, which is open for writing as `file`, and writes its commit slots, which parity does
/// not cover. They get their content in `damaged`, or otherwise name the last generations of the repaired file.
fn repair_slots(
    damaged: &SharedSource,
    report: &ParityReport,
    file: &File,
    path: &Path,
    monitor: &dyn Monitor,
) -> Result<()> {
    let repaired: SharedSource = Arc::new(FileSource::open(path)?);
    // The repaired file has its beginning again, so nothing is missing.
    let mut whole = report.clone();
    whole.missing = 0;
    prove(&*whole.view(&repaired), &whole, monitor)?;
    let Some((salt, slots)) = repaired_slots(damaged, report, &repaired)? else {
        // The file is still not sound; the next check reports it.
        return Ok(());
    };
    slots::write(&Medium::File { file, name: path, path: None }, &salt, &slots)
}

/// Writes the bytes that parity computes to a file in which the archive begins at a byte; also returns the new length of the archive.
fn apply(
    source: &SharedSource,
    report: &ParityReport,
    (file, begin): (&File, u64),
    path: &Path,
    monitor: &dyn Monitor,
) -> Result<(RepairedShards, u64)> {
    // The commit slots, which parity treats as zeros, stay unchanged until the whole file is checked.
    let mut slots = [0; SLOTS_LEN];
    if report.missing > 0 || source.read_into(SLOTS_AT as u64, &mut slots).is_err() {
        slots.fill(0);
    }
    let end = SLOTS_AT + SLOTS_LEN;
    let mut len = source.len();
    let mut write = |offset: u64, bytes: &[u8]| {
        len = len.max(offset + bytes.len() as u64);
        let mut bytes = std::borrow::Cow::from(bytes);
        if let Ok(at) = usize::try_from(offset)
            && at < end
            && at + bytes.len() > SLOTS_AT
        {
            let (from, to) = (at.max(SLOTS_AT), (at + bytes.len()).min(end));
            bytes.to_mut()[from - at..to - at].copy_from_slice(&slots[from - SLOTS_AT..to - SLOTS_AT]);
        }
        platform::write_all_at(file, &bytes, begin + offset).map_err(|e| refused("write", path, e))
    };
    let done = repair(&*report.view(source), report, monitor, &mut write)?;
    Ok((done, len))
}

fn refused(what: &'static str, path: &Path, e: std::io::Error) -> nc3z_reader::Error {
    nc3z_reader::Error::io(what, Some(path), e)
}
