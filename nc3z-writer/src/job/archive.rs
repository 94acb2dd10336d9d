//! The main job: archives a classic file. The archive is compared with its source, and published only if both
//! agree.

use crate::atomic::{AtomicFile, Attributes, commit_all, is_same_file};
use crate::build::{Build, Built};
use crate::error::{Error, ErrorKind, Result};
use crate::generation::{Medium, Memory};
use crate::job::quantize::quantize;
use crate::options::WriterOptions;
use crate::plan::Partition;
use nc3z_format::Limits;
use nc3z_format::quantize::LossRecord;
use nc3z_reader::platform;
use nc3z_reader::source::{FileSource, SharedSource, Stamp};
use nc3z_reader::{Archive, ClassicFile, Monitor, OpenOptions};
use std::fs::{File, Metadata as FileMetadata};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The result of archiving.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchiveReport {
    /// Bytes of the classic file; if values were rounded, of the quantized file.
    pub original_len: u64,
    /// Bytes of the archive.
    pub stored_len: u64,
    /// Bytes of the archive that are parity.
    pub parity_len: u64,
    /// SHA-256 of that file; with [`WriterOptions::without_digest`], the seed.
    pub sha256: [u8; 32],
    /// True if the archive was read back and compared with the source.
    pub proven: bool,
    /// Irregularities of the classic file, and requests that were not met.
    pub warnings: Vec<String>,
    /// True if optional chunk lengths were requested ([`WriterOptions::with_optional_chunks`]), and no variable has their dimensions.
    pub without_chunks: bool,
    /// The effect of rounding, if it was requested. The archive then does not contain the source's values.
    pub lossy: Option<LossRecord>,
}

/// Archives the file at `input` as `output`.
///
/// The output gets its name only when it is complete, compared with the source (unless switched off) and on
/// disk. The input is never written.
///
/// # Errors
/// The input is not a classic netCDF file, or it changed during the work. The output exists or cannot be
/// written. The archive does not restore the source. The monitor cancelled. Then the output file is
/// unchanged.
pub fn archive_file(
    input: &Path,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<ArchiveReport> {
    publish(vec![prepare_file(input, output, options, monitor)?]).remove(0)
}

/// A complete archive in a temporary file next to its target. Dropping it removes the file.
#[derive(Debug)]
pub struct Prepared {
    target: AtomicFile,
    like: Option<Attributes>,
    done: ArchiveReport,
}

impl Prepared {
    /// Returns the result so far. The archive may not be on disk yet.
    pub fn done(&self) -> &ArchiveReport {
        &self.done
    }
}

/// Does the work of [`archive_file`] without the last step, which [`publish`] does for many archives at once.
///
/// # Errors
/// As [`archive_file`].
pub fn prepare_file(
    input: &Path,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Prepared> {
    let file = nc3z_reader::source::open_regular(input)
        .map_err(|e| nc3z_reader::Error::io("open", Some(input), e))?;
    archive_opened(file, input, output, true, options, monitor)
}

/// Syncs archives and renames them, with few waits for the disk ([`commit_all`]). The results are in the
/// order of the archives.
pub fn publish(prepared: Vec<Prepared>) -> Vec<Result<ArchiveReport>> {
    let (files, done): (Vec<_>, Vec<_>) = prepared.into_iter().map(|p| ((p.target, p.like), p.done)).unzip();
    commit_all(files).into_iter().zip(done).map(|(committed, done)| committed.map(|()| done)).collect()
}

/// Archives an open file, for example a spooled pipe. Mode and time are not copied to the archive. `input` is
/// the name in messages.
///
/// # Errors
/// As [`archive_file`].
pub fn archive_open_file(
    file: File,
    input: &Path,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<ArchiveReport> {
    publish(vec![archive_opened(file, input, output, false, options, monitor)?]).remove(0)
}

fn archive_opened(
    file: File,
    input: &Path,
    output: &Path,
    keep_attributes: bool,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Prepared> {
    let before = file.metadata().map_err(|e| nc3z_reader::Error::io("read the length of", Some(input), e))?;
    if !before.is_file() && !before.is_dir() {
        let e = std::io::Error::other("not a regular file; pipe it into `nc3z archive -`");
        return Err(nc3z_reader::Error::io("archive", Some(input), e).into());
    }
    if is_same_file(&before, output) {
        return Err(ErrorKind::SameFile(input.to_owned()).into());
    }
    let source = Arc::new(FileSource::from_file(file, input)?);
    let shared: SharedSource = source.clone();
    let subject = Subject::new(shared, options, monitor)?;
    let mode = if keep_attributes { 0o600 } else { 0o666 };
    let target = AtomicFile::create_with_mode(output, options.force, mode)?;
    let unchanged = || check_unchanged(source.file(), &before, input);
    let opening = subject.opening();
    let done = subject.archive(&target.medium(), input, options, &unchanged, monitor)?;
    check_complete(&target, &opening, monitor)?;
    let like = keep_attributes.then(|| Attributes::of_file(source.file(), &before));
    Ok(Prepared { target, like, done })
}

/// Archives a source in memory, without a file system.
///
/// The returned archive is complete, and compared with the source unless that is switched off. The source
/// must not change during the work. Memory for anything but the archive is bounded as it is for files.
///
/// # Errors
/// The source is not a classic netCDF file or cannot be read. The archive does not restore the source. The
/// monitor cancelled.
pub fn archive_to_vec(
    source: SharedSource,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<(Vec<u8>, ArchiveReport)> {
    let subject = Subject::new(source, options, monitor)?;
    let memory = Memory::default();
    let name = Path::new("source");
    let opening = subject.opening();
    let done = subject.archive(&Medium::Memory(&memory), name, options, &|| Ok(true), monitor)?;
    Archive::from_source(Medium::Memory(&memory).source()?, &opening)?;
    Ok((memory.into_vec(), done))
}

/// Archives a source as the file `output`, as [`archive_file`] does for a file. The source must not change
/// during the work.
///
/// # Errors
/// As [`archive_file`].
pub fn archive_source(
    source: SharedSource,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<ArchiveReport> {
    let subject = Subject::new(source, options, monitor)?;
    let target = AtomicFile::create_with_mode(output, options.force, 0o666)?;
    let opening = subject.opening();
    let done = subject.archive(&target.medium(), Path::new("source"), options, &|| Ok(true), monitor)?;
    commit(target, Attributes::default(), &opening, monitor)?;
    Ok(done)
}

/// Archives a source into an empty open file, called `name`. Nothing is synced. The source must not change during the work.
///
/// # Errors
/// As [`archive_file`]. The file may have a part of the archive then.
pub fn archive_into(
    source: SharedSource,
    file: &File,
    name: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<ArchiveReport> {
    let subject = Subject::new(source, options, monitor)?;
    subject.archive(&Medium::File { file, name, path: None }, name, options, &|| Ok(true), monitor)
}

/// Archives a source as [`archive_to_vec`] does and writes the archive to `out`. Nothing is written before
/// the archive has been compared with the source.
///
/// # Errors
/// The errors of [`archive_to_vec`], and errors of writing to `out`.
pub fn archive_to(
    source: SharedSource,
    out: &mut dyn Write,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<ArchiveReport> {
    let (bytes, done) = archive_to_vec(source, options, monitor)?;
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    written.map_err(|e| Error::io("write", Path::new("the archive"), e))?;
    Ok(done)
}

/// A classic file, rounded if that was requested.
struct Subject {
    classic: ClassicFile,
    warnings: Vec<String>,
    lossy: Option<LossRecord>,
}

impl Subject {
    fn new(source: SharedSource, options: &WriterOptions, monitor: &dyn Monitor) -> Result<Self> {
        let classic = ClassicFile::from_source(source, &Limits::default()).map_err(ErrorKind::Source)?;
        let mut warnings: Vec<String> =
            classic.layout().warnings.iter().map(|w| w.words(classic.header())).collect();
        let by_chain = options.chains.iter().any(|(_, chain)| chain.rounds(&options.registry));
        if options.quantize.is_empty() && !by_chain {
            return Ok(Subject { classic, warnings, lossy: None });
        }
        let quantized = quantize(classic, options, monitor)?;
        warnings.extend(quantized.skipped.into_iter().map(|s| format!("not quantized: {s}")));
        Ok(Subject { classic: quantized.classic, warnings, lossy: Some(quantized.record) })
    }

    /// Returns the options to open the archive of this source.
    fn opening(&self) -> OpenOptions {
        OpenOptions::default().with_header_of(&self.classic)
    }

    /// Writes the archive and compares it with the source; `name` is the name of the source in messages.
    fn archive(
        self,
        medium: &Medium<'_>,
        name: &Path,
        options: &WriterOptions,
        unchanged: &dyn Fn() -> Result<bool>,
        monitor: &dyn Monitor,
    ) -> Result<ArchiveReport> {
        let Subject { classic, mut warnings, lossy } = self;
        let rounded = lossy.iter().flat_map(|record| &record.variables);
        let rounded = Some(rounded.map(|variable| variable.name.clone().into_bytes()).collect());
        let options = &WriterOptions { rounded, ..options.clone() };
        let partition = Partition::new(classic.header(), classic.layout(), options)?;
        warnings.extend(partition.warnings.iter().cloned());
        let build = Build {
            classic: &classic,
            name,
            options,
            lossy: lossy.as_ref(),
            parity: options.parity,
            prove: options.verify,
            unchanged,
            accept: &|_| Ok(()),
            monitor,
        };
        let Built { sha256, stored_len, parity_len } = build.run(&partition, medium)?;
        let original_len = classic.source().len();
        let without_chunks = partition.without_chunks;
        let proven = options.verify && options.seed.is_none();
        Ok(ArchiveReport {
            original_len,
            stored_len,
            parity_len,
            sha256,
            proven,
            warnings,
            without_chunks,
            lossy,
        })
    }
}

/// Opens the archive as a reader does, then renames it to its target.
pub(crate) fn commit(
    target: AtomicFile,
    like: Attributes,
    opening: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<()> {
    check_complete(&target, opening, monitor)?;
    target.commit_as(like)
}

fn check_complete(target: &AtomicFile, opening: &OpenOptions, monitor: &dyn Monitor) -> Result<()> {
    Archive::from_source(nc3z_reader::source::open(target.temporary_path(), true)?, opening)?;
    if monitor.is_cancelled() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
}

/// Returns an error if the source's length or modification time changed since the start. Returns false if the
/// file changed in another way: it was linked or renamed, or written and dated back, which only its bytes
/// show.
///
/// # Errors
/// [`ErrorKind::SourceChanged`]; the system refuses the question.
pub fn check_unchanged(file: &File, before: &FileMetadata, input: &Path) -> Result<bool> {
    let after = file.metadata().map_err(|e| nc3z_reader::Error::io("read the length of", Some(input), e))?;
    if let Some(what) = Stamp::new(before).change(&after) {
        return Err(ErrorKind::SourceChanged { path: input.to_owned(), what }.into());
    }
    Ok(platform::inode_changed(&after) == platform::inode_changed(before))
}
