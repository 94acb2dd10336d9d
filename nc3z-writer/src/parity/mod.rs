//! Parity: added, removed, and used to mend. `spec/parity.md`; reading and checking is in [`nc3z_reader::parity`].
//!
//! Parity is a generation of its own: a region of packets and parity shards behind the archive as it was, then a section table and a
//! trailer. So adding appends, removing cuts off, and `archive --parity` gives the same bytes as `archive` and `parity add`.
//!
//! ```text
//! add:     region, sync, section table and trailer, sync       a crash leaves the archive as it was, and a torn tail
//! remove:  cut behind the previous trailer, sync               done or not done
//!          where others follow: a generation without it, sync  a crash leaves the archive as it was, and a torn tail
//! mend:    lost shards alone are written over                  a crash leaves no more damage than there was
//! ```

mod encode;
mod mend;
mod region;
mod remove;

pub use mend::{mend_file, mend_in_place};
pub use remove::{Removed, remove};

use crate::error::{Error, ErrorKind, Result};
use nc3z_format::archive::{SectionEncoding, SectionEntry, SectionKind, SectionTable, TRAILER_LEN, Trailer};
use nc3z_format::parity::{Params, ParityLayout, Share};
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Monitor, OpenOptions, verify};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Optional feature bit of the trailer: has parity.
const HAS_PARITY: u32 = 1;

/// Adds parity to the archive at `path`, in place. Gives its length before and after.
///
/// # Errors
/// It is no archive, or a damaged one, or has parity that covers all of it already; the system refuses. The archive is then what it was.
pub fn add(path: &Path, share: Share, memory: u64, monitor: &dyn Monitor) -> Result<(u64, u64)> {
    let file = open_for_writing(path)?;
    let archive = open_archive(&file, path)?;
    let before = archive.trailer_offset() + TRAILER_LEN as u64;
    if let Some(layout) = current(&archive)? {
        let why = format!(
            "it has parity of {} shards for each {} already; `nc3z parity remove` takes it away",
            layout.shards.parity(),
            layout.shards.slots(0)
        );
        return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
    }
    check_sound(&file, path, before, monitor)?;
    // What a commit left that did not finish is no part of the archive.
    cut(&file, before, path)?;
    match append(&archive, &file, path, share, memory, monitor) {
        Ok(after) => {
            file.sync_all().map_err(|e| Error::io("sync", path, e))?;
            Ok((before, after))
        }
        Err(e) => {
            cut(&file, before, path)?;
            Err(e)
        }
    }
}

/// The share that the archive's parity was made for, if it has any.
pub(crate) fn share_of(archive: &Archive) -> Option<Share> {
    let section = archive.sections().find(SectionKind::Parity).ok()?;
    if let Ok(Some(layout)) = nc3z_reader::parity::locate_in(archive) {
        return Some(share_of_layout(&layout));
    }
    // All packets are damaged: the section is as long as it was.
    let tail = u64::from(archive.trailer().sections_len) + TRAILER_LEN as u64;
    Some(Share::of_region(section.offset, tail, section.len))
}

/// The same for what does not open as an archive does.
pub(crate) fn share_in(source: &SharedSource) -> Option<Share> {
    nc3z_reader::parity::locate(source).ok().flatten().map(|located| share_of_layout(&located.layout))
}

fn share_of_layout(layout: &ParityLayout) -> Share {
    let p = &layout.params;
    Share::of_region(p.begin, p.archive_len - p.end, p.end - p.begin)
}

/// True where the archive's last generation is its parity and nothing else.
pub(crate) fn is_last(archive: &Archive, file: &File, path: &Path) -> bool {
    let previous = previous_trailer(archive, file, path).ok().flatten();
    previous.is_some_and(|(trailer, _)| is_parity_of(archive, &trailer))
}

/// The parity that covers all of the archive, if it has one.
fn current(archive: &Archive) -> Result<Option<ParityLayout>> {
    let layout = nc3z_reader::parity::locate_in(archive)?;
    Ok(layout.filter(|l| l.params.archive_len == archive.trailer_offset() + TRAILER_LEN as u64))
}

fn previous_trailer(archive: &Archive, file: &File, path: &Path) -> Result<Option<(Trailer, u64)>> {
    let at = archive.trailer().previous;
    if at == 0 {
        return Ok(None);
    }
    let mut bytes = [0; TRAILER_LEN];
    file.read_exact_at(&mut bytes, at).map_err(|e| Error::io("read", path, e))?;
    Ok(Some((Trailer::decode(&bytes, at, &archive.superblock().salt)?, at)))
}

/// True where the archive's last generation is that of `previous` with parity, and nothing else.
fn is_parity_of(archive: &Archive, previous: &Trailer) -> bool {
    let mine = archive.trailer();
    let as_added = Trailer {
        generation: mine.generation,
        optional: mine.optional,
        sections_offset: mine.sections_offset,
        sections_len: mine.sections_len,
        sections_crc: mine.sections_crc,
        blocks_begin: mine.previous + TRAILER_LEN as u64,
        blocks_end: mine.previous + TRAILER_LEN as u64,
        previous: mine.previous,
        archive_len: mine.archive_len,
        ..previous.clone()
    };
    // Sections of its own would lie behind the previous trailer.
    let own: Vec<SectionKind> =
        archive.sections().entries().iter().filter(|e| e.offset > mine.previous).map(|e| e.kind).collect();
    *mine == as_added && own == [SectionKind::Parity]
}

/// Appends region, section table and trailer to an open archive whose file ends with its trailer; gives the new length.
/// The region is on disk before the trailer is written; the caller syncs afterwards.
pub(crate) fn append(
    archive: &Archive,
    file: &File,
    path: &Path,
    share: Share,
    memory: u64,
    monitor: &dyn Monitor,
) -> Result<u64> {
    let old = archive.trailer();
    let old_len = archive.trailer_offset() + TRAILER_LEN as u64;
    let salt = archive.superblock().salt;
    let mut entries: Vec<SectionEntry> =
        archive.sections().entries().iter().filter(|e| e.kind != SectionKind::Parity).cloned().collect();
    let parity = SectionEntry {
        kind: SectionKind::Parity,
        encoding: SectionEncoding::SelfChecked,
        crc: 0,
        offset: 0,
        len: 0,
    };
    entries.push(parity.clone());
    let table_len = SectionTable::new(entries.clone()).encode().len() as u64;
    let Some(generation) = old.generation.checked_add(1) else {
        let why = "its generations are used up".to_owned();
        return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
    };
    let params = Params::choose(salt, generation, old_len, table_len + TRAILER_LEN as u64, share)?;
    let layout = ParityLayout::new(params)?;
    let (begin, end) = (layout.params.begin, layout.params.end);
    let place = entries.last_mut().expect("pushed above");
    *place = SectionEntry { offset: begin, len: end - begin, ..parity };
    let mut tail = SectionTable::new(entries).encode();
    let trailer = Trailer {
        generation,
        optional: old.optional | HAS_PARITY,
        sections_offset: end,
        sections_len: u32::try_from(tail.len()).expect("a handful of sections"),
        sections_crc: salt.crc(end, &tail),
        blocks_begin: old_len,
        blocks_end: old_len,
        previous: archive.trailer_offset(),
        archive_len: layout.params.archive_len,
        ..old.clone()
    };
    tail.extend(trailer.encode(&salt, layout.params.archive_len - TRAILER_LEN as u64));
    write_at(file, path, old_len, &vec![0; usize::try_from(begin - old_len).expect("less than a shard")])?;
    let covered = region::Covered { file, path, layout: &layout, tail: &tail };
    region::write(&covered, memory, monitor)?;
    file.sync_data().map_err(|e| Error::io("sync", path, e))?;
    write_at(file, path, end, &tail)?;
    Ok(layout.params.archive_len)
}

fn open_for_writing(path: &Path) -> Result<File> {
    File::options().read(true).write(true).open(path).map_err(|e| Error::io("open for writing", path, e))
}

fn open_archive(file: &File, path: &Path) -> Result<Archive> {
    let file = file.try_clone().map_err(|e| Error::io("open", path, e))?;
    let source = Arc::new(FileSource::from_file(file, path)?);
    Ok(Archive::from_source(source, &OpenOptions::default())?)
}

/// Parity over damage would keep the damage.
fn check_sound(file: &File, path: &Path, len: u64, monitor: &dyn Monitor) -> Result<()> {
    let file = file.try_clone().map_err(|e| Error::io("open", path, e))?;
    let source: SharedSource = Arc::new(FileSource::from_file(file, path)?);
    let report = verify::quick(&source, &OpenOptions::default(), monitor)?;
    // A torn tail is cut off.
    match report.findings.iter().find(|f| f.bytes.start < len || f.bytes.is_empty()) {
        None => Ok(()),
        Some(finding) => Err(nc3z_reader::Error::from(nc3z_format::Error::corrupt(
            "archive",
            finding.bytes.start,
            finding.structure.name(),
            "sound, before parity is added",
            &finding.message,
        ))
        .into()),
    }
}

fn cut(file: &File, len: u64, path: &Path) -> Result<()> {
    file.set_len(len).map_err(|e| Error::io("cut", path, e))
}

fn write_at(file: &File, path: &Path, offset: u64, bytes: &[u8]) -> Result<()> {
    file.write_all_at(bytes, offset).map_err(|e| Error::io("write", path, e))
}
