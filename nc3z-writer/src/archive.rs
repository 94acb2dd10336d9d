//! The main job: a classic file in, a proven archive out, or nothing.

use crate::atomic::{AtomicFile, is_same_file};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Share, WriterOptions};
use crate::partition::Partition;
use crate::pipeline::{Plans, write_tiles};
use crate::quantize::quantize;
use crate::writer::{ArchiveWriter, Unsealed};
use nc3z_format::Limits;
use nc3z_format::archive::forever::REQUIRED_LOSSY;
use nc3z_format::archive::{Head, Metadata};
use nc3z_format::arrays::Arrays;
use nc3z_format::quantize::LossRecord;
use nc3z_reader::source::{ByteSource, FileSource, SharedSource};
use nc3z_reader::{Archive, ClassicFile, Monitor, OpenOptions};
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata as FileMetadata};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the output buffer.
const OUT_BUFFER: usize = 1 << 20;
/// Bytes that are compared or hashed at a time.
const COMPARE_LEN: usize = 1 << 20;

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Archived {
    /// Bytes of the classic file; of the quantized one where values were rounded.
    pub original_len: u64,
    /// Bytes of the archive.
    pub stored_len: u64,
    /// SHA-256 of that file.
    pub sha256: [u8; 32],
    /// True where the archive was read back and compared with the source.
    pub proven: bool,
    /// What is odd about the classic file, and what was left out of what was asked for.
    pub warnings: Vec<String>,
    /// What rounding did, where it was asked for: the archive does then not hold the source's values.
    pub lossy: Option<LossRecord>,
}

/// Archives the file at `input` as `output`.
///
/// The output appears under its name only when it is complete, proven (unless switched off) and on disk. The input is
/// never written.
///
/// # Errors
/// The input is not a classic netCDF file, or changed meanwhile; the output exists or cannot be written; the proof
/// failed; the monitor cancelled. There is then no output that was not there before.
pub fn archive_file(
    input: &Path,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Archived> {
    let file = File::open(input).map_err(|e| nc3z_reader::Error::io("open", Some(input), e))?;
    archive_opened(file, input, output, true, options, monitor)
}

/// The same for an open file, a pipe that was spooled: mode and time are not taken over. `input` is for messages.
///
/// # Errors
/// As [`archive_file`].
pub fn archive_open_file(
    file: File,
    input: &Path,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Archived> {
    archive_opened(file, input, output, false, options, monitor)
}

fn archive_opened(
    file: File,
    input: &Path,
    output: &Path,
    keep_attributes: bool,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Archived> {
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
    let mut classic = ClassicFile::from_source(shared, &Limits::default())?;
    let mut warnings: Vec<String> = classic.layout().warnings.iter().map(ToString::to_string).collect();
    let mut lossy = None;
    if !options.quantize.is_empty() {
        let quantized = quantize(classic, &options.quantize, monitor)?;
        warnings.extend(quantized.skipped.into_iter().map(|s| format!("not quantized: {s}")));
        lossy = Some(quantized.record);
        classic = quantized.classic;
    }
    let mode = if keep_attributes { 0o600 } else { 0o666 };
    let target = AtomicFile::create_with_mode(output, options.force, mode)?;
    let partition = Partition::new(classic.header(), classic.layout(), options)?;
    warnings.extend(partition.warnings.iter().cloned());
    let unsealed = write_unsealed(&classic, partition, &target, options, lossy.as_ref(), monitor)
        .or_else(|e| check_unchanged(source.file(), &before, input).and(Err(e)))?;
    let sha256 = if options.verify {
        // Where the source changed meanwhile, that is the news, not the difference it made.
        prove(&classic, &target, &unsealed, input, monitor)
            .or_else(|e| check_unchanged(source.file(), &before, input).and(Err(e)))?
    } else {
        hash(&**classic.source(), monitor)?
    };
    check_unchanged(source.file(), &before, input)?;
    let plain_len = unsealed.trailer.archive_len;
    seal(&target, unsealed, Some(sha256))?;
    let stored_len = add_parity(&target, options.parity, options.memory, monitor)?.unwrap_or(plain_len);
    commit(target, keep_attributes.then_some(&before), monitor)?;
    let original_len = classic.source().len();
    Ok(Archived { original_len, stored_len, sha256, proven: options.verify, warnings, lossy })
}

/// Writes the trailer.
pub(crate) fn seal(target: &AtomicFile, unsealed: Unsealed, digest: Option<[u8; 32]>) -> Result<()> {
    let trailer = unsealed.seal(digest);
    (&mut target.file()).write_all(&trailer).map_err(|e| Error::io("write", target.target(), e))
}

/// Adds parity, where it is asked for; gives the new length.
pub(crate) fn add_parity(
    target: &AtomicFile,
    share: Option<Share>,
    memory: u64,
    monitor: &dyn Monitor,
) -> Result<Option<u64>> {
    let Some(share) = share else { return Ok(None) };
    let source = nc3z_reader::source::open(target.temporary_path(), false)?;
    let archive = Archive::from_source(source, &OpenOptions::default())?;
    crate::parity::append(&archive, target.file(), target.target(), share, memory, monitor).map(Some)
}

/// Opens the archive as any reader would open it, and gives it its name.
pub(crate) fn commit(target: AtomicFile, like: Option<&FileMetadata>, monitor: &dyn Monitor) -> Result<()> {
    Archive::open(target.temporary_path())?;
    if monitor.is_cancelled() {
        return Err(ErrorKind::Interrupted.into());
    }
    target.commit(like)
}

pub(crate) fn write_unsealed(
    classic: &ClassicFile,
    partition: Partition,
    target: &AtomicFile,
    options: &WriterOptions,
    lossy: Option<&LossRecord>,
    monitor: &dyn Monitor,
) -> Result<Unsealed> {
    let out = BufWriter::with_capacity(OUT_BUFFER, target.file());
    write_to(classic, partition, out, target.target(), options, lossy, monitor)
}

/// Writes everything but the trailer; `path` is for messages.
pub(crate) fn write_to<W: Write>(
    classic: &ClassicFile,
    partition: Partition,
    out: W,
    path: &Path,
    options: &WriterOptions,
    lossy: Option<&LossRecord>,
    monitor: &dyn Monitor,
) -> Result<Unsealed> {
    let (header, layout) = (classic.header(), classic.layout());
    let arrays = Arrays::new(
        header,
        layout,
        &partition.variables,
        &partition.paddings,
        partition.gap,
        &Limits::default(),
    )?;
    let plans = Plans::new(classic, &arrays, options)?;
    let head = Head {
        header: classic.header_bytes().to_vec(),
        chains: plans.table.chains().to_vec(),
        layouts: partition.variables,
        padding_tile_lens: partition.paddings,
        gap_tile_len: partition.gap,
    };
    let mut writer = ArchiveWriter::start(out, path, &head, classic.source().len(), options.preset)?;
    writer.require(options.required);
    if lossy.is_some() {
        writer.require(REQUIRED_LOSSY);
    }
    write_tiles(classic, &arrays, &plans, options, &mut writer, monitor)?;
    let metadata = Metadata {
        writer: concat!("nc3z ", env!("CARGO_PKG_VERSION")).to_owned(),
        options: options.recorded(),
        extra: options.extra.clone().into_iter().chain(lossy.map(LossRecord::entry)).collect(),
        ..Metadata::default()
    };
    writer.finish(&metadata)
}

/// Rebuilds the original from what was written and compares it with the source, byte by byte; gives its SHA-256.
pub(crate) fn prove(
    classic: &ClassicFile,
    target: &AtomicFile,
    unsealed: &Unsealed,
    input: &Path,
    monitor: &dyn Monitor,
) -> Result<[u8; 32]> {
    let archive =
        Archive::open_unsealed(target.temporary_path(), unsealed.trailer.clone(), &OpenOptions::default())?;
    let mut sha = Sha256::new();
    let source = classic.source();
    let mut buffer = vec![0; COMPARE_LEN];
    archive.rebuild_into(monitor, &mut |at: u64, bytes: &[u8]| -> Result<()> {
        let mut at = at;
        for part in bytes.chunks(COMPARE_LEN) {
            let original = &mut buffer[..part.len()];
            source.read_into(at, original)?;
            if original != part {
                let same = original.iter().zip(part).take_while(|(a, b)| a == b).count();
                return Err(ErrorKind::Proof { path: input.to_owned(), offset: at + same as u64 }.into());
            }
            sha.update(part);
            at += part.len() as u64;
        }
        Ok(())
    })?;
    Ok(sha.finalize().into())
}

/// SHA-256 of all bytes of a source.
pub(crate) fn hash(source: &dyn ByteSource, monitor: &dyn Monitor) -> Result<[u8; 32]> {
    let mut sha = Sha256::new();
    let mut buffer = vec![0; COMPARE_LEN];
    let mut at = 0;
    while at < source.len() {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let n = usize::try_from(source.len() - at).map_or(COMPARE_LEN, |n| n.min(COMPARE_LEN));
        source.read_into(at, &mut buffer[..n])?;
        sha.update(&buffer[..n]);
        at += n as u64;
    }
    Ok(sha.finalize().into())
}

/// The source must be, by length and modification time, what it was at the start.
pub(crate) fn check_unchanged(file: &File, before: &FileMetadata, input: &Path) -> Result<()> {
    let after = file.metadata().map_err(|e| nc3z_reader::Error::io("read the length of", Some(input), e))?;
    let changed = |what: String| Err(ErrorKind::SourceChanged { path: input.to_owned(), what }.into());
    if after.len() != before.len() {
        return changed(format!("its length was {}, is {}", before.len(), after.len()));
    }
    if after.modified().ok() != before.modified().ok() {
        return changed("its modification time is another".to_owned());
    }
    Ok(())
}
