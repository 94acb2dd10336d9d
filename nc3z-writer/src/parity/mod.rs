//! Adds and removes parity, and repairs with it. `spec/parity.md`; reading and checking is in
//! [`nc3z_reader::parity`].
//!
//! Parity is a separate generation: a region of packets and parity shards after the existing archive, then a section table
//! and a trailer. So parity is added by appending and removed by cutting, and `archive --parity` gives the same bytes as
//! `archive` followed by `parity add`.
//!
//! ```text
//! add:     region, sync, section table and trailer, sync, slot  a crash leaves the old archive and a torn tail
//! remove:  slots, sync, cut after the previous trailer, sync    done or not done
//!          before later generations: one without it, sync       a crash leaves the old archive and a torn tail
//! repair:  only lost shards are overwritten                     a crash leaves no additional damage
//! ```

mod encode;
mod region;
mod remove;
mod renew;
mod repair;

pub use remove::{Removed, remove};
pub(crate) use renew::Renewal;
pub use renew::Renewed;
pub use repair::{repair_file, repair_in_place, repair_within};

use crate::error::{ErrorKind, Result};
use crate::generation::{self, Ending, InPlace, Medium, Unsealed};
use nc3z_format::archive::{SectionEncoding, SectionEntry, SectionKind, SectionTable, TRAILER_LEN, Trailer};
use nc3z_format::parity::{Params, ParityLayout, Share};
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::verify::Structure;
use nc3z_reader::{Archive, Monitor, OpenOptions, verify};
use std::path::Path;

/// Optional feature bit of the trailer: has parity.
const HAS_PARITY: u32 = 1;

/// Adds parity to the archive at `path`, in place. Returns its length before and after.
///
/// # Errors
/// It is not an archive, or a damaged one, or its parity already covers all of it. The system refuses an operation.
/// After an error the archive is unchanged.
pub fn add(path: &Path, share: Share, memory: u64, monitor: &dyn Monitor) -> Result<(u64, u64)> {
    let mut place = InPlace::open(path, &OpenOptions::default())?;
    if let Some(layout) = current(place.archive())? {
        let why = format!(
            "it has parity of {} shards for each {} already; `nc3z parity remove` removes it",
            layout.shards.parity(),
            layout.shards.slots(0)
        );
        return Err(ErrorKind::Parity { path: path.to_owned(), why }.into());
    }
    check_sound(&place, monitor)?;
    if let Some(longer) = place.longer()? {
        place = longer;
    }
    let before = place.end();
    let after = place.append(|medium| write(place.archive(), medium, share, memory, monitor))?;
    Ok((before, after))
}

/// Returns the share that the archive's parity can repair, if it has parity.
pub(crate) fn share_of(archive: &Archive) -> Option<Share> {
    let section = archive.sections().find(SectionKind::Parity).ok()?;
    if let Ok(Some(layout)) = nc3z_reader::parity::locate_in(archive) {
        return Some(share_of_layout(&layout));
    }
    // All packets are damaged; the section still has its length.
    let tail = u64::from(archive.trailer().sections_len) + TRAILER_LEN as u64;
    Some(Share::of_region(section.offset, tail, section.len))
}

/// Returns the share for bytes that cannot be opened as an archive.
pub(crate) fn share_in(source: &SharedSource) -> Option<Share> {
    nc3z_reader::parity::locate(source).ok().flatten().map(|located| share_of_layout(&located.layout))
}

fn share_of_layout(layout: &ParityLayout) -> Share {
    let p = &layout.params;
    Share::of_region(p.begin, p.archive_len - p.end, p.end - p.begin)
}

/// True if the archive's last generation contains only its parity.
pub(crate) fn is_last(archive: &Archive, source: &dyn ByteSource) -> bool {
    matches!(before_last(archive, source), Ok(Some(_)))
}

/// Returns the trailer before the archive's last generation, if that contains only its parity.
pub(crate) fn before_last(archive: &Archive, source: &dyn ByteSource) -> Result<Option<Trailer>> {
    let previous = previous_trailer(archive, source)?;
    Ok(previous.map(|(trailer, _)| trailer).filter(|trailer| is_parity_of(archive, trailer)))
}

/// Returns the parity that covers all of the archive, if there is one.
fn current(archive: &Archive) -> Result<Option<ParityLayout>> {
    let layout = nc3z_reader::parity::locate_in(archive)?;
    Ok(layout.filter(|l| l.params.archive_len == archive.trailer_offset() + TRAILER_LEN as u64))
}

fn previous_trailer(archive: &Archive, source: &dyn ByteSource) -> Result<Option<(Trailer, u64)>> {
    let at = archive.trailer().previous;
    if at == 0 {
        return Ok(None);
    }
    let mut bytes = [0; TRAILER_LEN];
    source.read_into(at, &mut bytes)?;
    Ok(Some((Trailer::decode(&bytes, at, &archive.superblock().salt)?, at)))
}

/// Returns whether the archive's last generation only adds parity to the generation of `previous`.
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
    // Sections of this generation are after the previous trailer.
    let own: Vec<SectionKind> =
        archive.sections().entries().iter().filter(|e| e.offset > mine.previous).map(|e| e.kind).collect();
    *mine == as_added && own == [SectionKind::Parity]
}

/// Appends parity to an open archive on its medium; returns the new length.
pub(crate) fn append(
    archive: &Archive,
    medium: &Medium<'_>,
    share: Share,
    memory: u64,
    monitor: &dyn Monitor,
) -> Result<u64> {
    let end = archive.trailer().archive_len;
    generation::append(medium, end, || write(archive, medium, share, memory, monitor))
}

/// Writes the region of the archive that ends at the medium's end.
fn write(
    archive: &Archive,
    medium: &Medium<'_>,
    share: Share,
    memory: u64,
    monitor: &dyn Monitor,
) -> Result<Unsealed> {
    let old_len = archive.trailer().archive_len;
    let mut ending = Ending::after(archive, medium.name())?;
    ending.set_optional(HAS_PARITY, true);
    let mut entries = other_sections(archive);
    let parity = SectionEntry {
        kind: SectionKind::Parity,
        encoding: SectionEncoding::SelfChecked,
        crc: 0,
        offset: 0,
        len: 0,
    };
    entries.push(parity.clone());
    let table_len = SectionTable::new(entries.clone()).encode().len() as u64;
    let tail_len = table_len + TRAILER_LEN as u64;
    let params = Params::choose(ending.salt(), ending.generation(), old_len, tail_len, share)?;
    let layout = ParityLayout::new(params)?;
    let (begin, end) = (layout.params.begin, layout.params.end);
    let place = entries.last_mut().expect("pushed above");
    *place = SectionEntry { offset: begin, len: end - begin, ..parity };
    // Parity covers the end of the archive, which is not written yet.
    let unsealed = ending.close(entries, old_len..old_len, end);
    let tail = [unsealed.table(), &unsealed.sealed()].concat();
    medium.write_at(old_len, &vec![0; usize::try_from(begin - old_len).expect("less than a shard")])?;
    region::write(&region::Covered { medium, layout: &layout, tail: &tail }, memory, monitor)?;
    Ok(unsealed)
}

/// Returns the sections of the last generation without its parity.
fn other_sections(archive: &Archive) -> Vec<SectionEntry> {
    archive.sections().entries().iter().filter(|e| e.kind != SectionKind::Parity).cloned().collect()
}

/// Refuses a damaged archive: parity would preserve the damage.
fn check_sound(place: &InPlace, monitor: &dyn Monitor) -> Result<()> {
    let report = verify::quick(&place.source()?, &OpenOptions::default(), monitor)?;
    // A torn tail is cut off, and the commit slots are written anew.
    match report
        .findings
        .iter()
        .filter(|f| f.structure != Structure::CommitSlots)
        .find(|f| f.bytes.start < place.end() || f.bytes.is_empty())
    {
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
