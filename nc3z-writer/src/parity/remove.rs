//! Removes parity. It is cut off if it is the last generation; otherwise it stays as history.

use super::{HAS_PARITY, is_parity_of, other_sections, previous_trailer};
use crate::error::{ErrorKind, Result};
use crate::generation::{Ending, InPlace, Unsealed};
use nc3z_format::archive::{SectionKind, TRAILER_LEN};
use nc3z_reader::parity::locate;
use nc3z_reader::verify::{Structure, quick};
use nc3z_reader::{Archive, Monitor, OpenOptions};
use std::ops::Range;
use std::path::Path;

/// The result of removing parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of it now.
    pub after: u64,
    /// Bytes of parity that remain in the file before later generations. They are history and cannot repair
    /// anything.
    pub left: u64,
}

/// Removes the parity of the archive at `path`, in place, even if it is damaged or stale. Bytes left by an
/// unfinished commit are removed too.
///
/// # Errors
/// It is not an archive, or has no parity. Other parts than the parity are damaged, which the parity may repair.
/// The system refuses an operation.
pub fn remove(path: &Path, monitor: &dyn Monitor) -> Result<Removed> {
    let place = InPlace::open(path, &OpenOptions::default().with_older(true))?;
    let archive = place.archive();
    let end = place.end();
    let before = end + archive.torn_tail();
    let Ok(section) = archive.sections().find(SectionKind::Parity).cloned() else {
        // Parity whose trailer is lost or was never written.
        if archive.is_short() || !is_torn_parity(&place)? {
            let why = "it has no parity".to_owned();
            return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
        }
        check_sound(&place, end..before, monitor)?;
        refuse_lost(&place)?;
        return cut_to(&place, before, end);
    };
    let region = section.offset..section.offset + section.len;
    check_sound(&place, region.clone(), monitor)?;
    refuse_lost(&place)?;
    let previous = previous_trailer(archive, &*place.source()?)?;
    if let Some((_, at)) = previous.filter(|(trailer, _)| is_parity_of(archive, trailer)) {
        return cut_to(&place, before, at + TRAILER_LEN as u64);
    }
    let after = place.append(|_| without_parity(&place))?;
    Ok(Removed { before, after, left: region.end - region.start })
}

/// Refuses if a later version has lost its end, because that would be cut off with the parity.
fn refuse_lost(place: &InPlace) -> Result<()> {
    let archive = place.archive();
    let version = archive.version()?.number;
    if archive.superblock().slots.newest().is_some_and(|slot| u64::from(slot.version) > version) {
        Archive::from_source(place.source()?, &OpenOptions::default())?;
    }
    Ok(())
}

fn cut_to(place: &InPlace, before: u64, after: u64) -> Result<Removed> {
    place.cut(after)?;
    Ok(Removed { before, after, left: 0 })
}

/// Returns a generation equal to the last one without its parity.
fn without_parity(place: &InPlace) -> Result<Unsealed> {
    let mut ending = Ending::after(place.archive(), place.path())?;
    ending.set_optional(HAS_PARITY, false);
    let end = place.end();
    Ok(ending.close(other_sections(place.archive()), end..end, end))
}

/// True if parity of the archive follows its end.
fn is_torn_parity(place: &InPlace) -> Result<bool> {
    let (source, end) = (place.source()?, place.end());
    if source.len() <= end {
        return Ok(false);
    }
    let located = locate(&source)?;
    Ok(located.is_some_and(|l| {
        l.missing == 0 && l.layout.params.begin == end.next_multiple_of(l.layout.params.shard_len)
    }))
}

/// Refuses if the archive is damaged: its parity may repair the damage. Damage of the parity itself is accepted.
fn check_sound(place: &InPlace, parity: Range<u64>, monitor: &dyn Monitor) -> Result<()> {
    let report = quick(&place.source()?, &OpenOptions::default(), monitor)?;
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
            "sound, before the parity that could repair it is removed (`nc3z repair`)",
            &finding.message,
        ))
        .into()),
    }
}
