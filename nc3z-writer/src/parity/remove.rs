//! Parity taken away: cut off where it stands last, left behind as history where other generations follow it.

use super::{HAS_PARITY, cut, is_parity_of, open_archive, open_for_writing, previous_trailer, write_at};
use crate::error::{Error, ErrorKind, Result};
use nc3z_format::archive::{SectionKind, SectionTable, TRAILER_LEN, Trailer};
use nc3z_reader::parity::locate;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::verify::{Structure, quick};
use nc3z_reader::{Archive, Monitor, OpenOptions};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of it now.
    pub after: u64,
    /// Bytes of parity that are still in the file, since other generations follow it: history, of no use any more.
    pub left: u64,
}

/// Takes away the parity of the archive at `path`, in place, whether it is whole, damaged or stale. What a commit left behind that did
/// not finish goes too.
///
/// # Errors
/// It is no archive, or has no parity; something else than the parity is damaged, which it may be able to mend; the system refuses.
pub fn remove(path: &Path, monitor: &dyn Monitor) -> Result<Removed> {
    let file = open_for_writing(path)?;
    let archive = open_archive(&file, path)?;
    let end = archive.trailer_offset() + TRAILER_LEN as u64;
    let before = end + archive.torn_tail();
    let Ok(section) = archive.sections().find(SectionKind::Parity).cloned() else {
        // Parity whose trailer is lost, or was never written.
        if !is_torn_parity(&file, path, end)? {
            let why = "it has no parity".to_owned();
            return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
        }
        check_sound(&file, path, end..before, monitor)?;
        return cut_to(&file, path, before, end);
    };
    let region = section.offset..section.offset + section.len;
    check_sound(&file, path, region.clone(), monitor)?;
    let previous = previous_trailer(&archive, &file, path)?;
    if let Some((_, at)) = previous.filter(|(trailer, _)| is_parity_of(&archive, trailer)) {
        return cut_to(&file, path, before, at + TRAILER_LEN as u64);
    }
    cut(&file, end, path)?;
    let after = supersede(&archive, &file, path, end)?;
    Ok(Removed { before, after, left: region.end - region.start })
}

fn cut_to(file: &File, path: &Path, before: u64, after: u64) -> Result<Removed> {
    cut(file, after, path)?;
    file.sync_all().map_err(|e| Error::io("sync", path, e))?;
    Ok(Removed { before, after, left: 0 })
}

/// Appends a generation that is the last one without its parity; gives the new length.
fn supersede(archive: &Archive, file: &File, path: &Path, end: u64) -> Result<u64> {
    let old = archive.trailer();
    let Some(generation) = old.generation.checked_add(1) else {
        let why = "its generations are used up".to_owned();
        return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
    };
    let entries = archive.sections().entries().iter().filter(|e| e.kind != SectionKind::Parity);
    let table = SectionTable::new(entries.cloned().collect()).encode();
    let salt = archive.superblock().salt;
    let at = end + table.len() as u64;
    let trailer = Trailer {
        generation,
        optional: old.optional & !HAS_PARITY,
        sections_offset: end,
        sections_len: u32::try_from(table.len()).expect("a handful of sections"),
        sections_crc: salt.crc(end, &table),
        blocks_begin: end,
        blocks_end: end,
        previous: archive.trailer_offset(),
        archive_len: at + TRAILER_LEN as u64,
        ..old.clone()
    };
    write_at(file, path, end, &table)?;
    file.sync_data().map_err(|e| Error::io("sync", path, e))?;
    write_at(file, path, at, &trailer.encode(&salt, at))?;
    file.sync_all().map_err(|e| Error::io("sync", path, e))?;
    Ok(at + TRAILER_LEN as u64)
}

fn shared(file: &File, path: &Path) -> Result<SharedSource> {
    let file = file.try_clone().map_err(|e| Error::io("open", path, e))?;
    Ok(Arc::new(FileSource::from_file(file, path)?))
}

/// True where parity of the archive that ends at `end` follows it.
fn is_torn_parity(file: &File, path: &Path, end: u64) -> Result<bool> {
    let source = shared(file, path)?;
    if source.len() <= end {
        return Ok(false);
    }
    let located = locate(&source)?;
    Ok(located.is_some_and(|l| {
        l.missing == 0 && l.layout.params.begin == end.next_multiple_of(l.layout.params.shard_len)
    }))
}

/// Who takes parity away from a damaged archive takes what could have mended it. Damage of the parity itself is no reason to keep it.
fn check_sound(file: &File, path: &Path, parity: Range<u64>, monitor: &dyn Monitor) -> Result<()> {
    let report = quick(&shared(file, path)?, &OpenOptions::default(), monitor)?;
    let its_own = |bytes: &Range<u64>| parity.start <= bytes.start && bytes.end <= parity.end;
    let other = report.findings.iter().find(|f| {
        let harmless = f.structure == Structure::Tail || (!f.bytes.is_empty() && its_own(&f.bytes));
        !harmless && f.structure != Structure::Section(SectionKind::Parity)
    });
    match other {
        None => Ok(()),
        Some(finding) => Err(nc3z_reader::Error::from(nc3z_format::Error::corrupt(
            "archive",
            finding.bytes.start,
            finding.structure.name(),
            "sound, before the parity that could mend it is taken away (`nc3z repair`)",
            &finding.message,
        ))
        .into()),
    }
}
