//! Finding the parity: by the section table, or, where trailer or superblock are lost, by its packets.

use crate::archive::Archive;
use crate::error::Result;
use crate::options::OpenOptions;
use crate::source::truncated::TruncatedSource;
use crate::source::{ByteSource, SharedSource, SlotlessSource};
use memchr::memmem;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::{Salt, SectionEntry, SectionKind};
use nc3z_format::parity::{PACKET_HEADER_LEN, PACKET_MARKER, Packet, ParityLayout, UNIT};
use std::ops::Range;
use std::sync::Arc;

/// Bytes searched in one step.
const WINDOW: u64 = 1 << 20;
/// No packet is longer.
const MOST_PACKET: u64 = 4096;
/// A file has packets of one parity, or of a few if parity was added again. More are a forgery.
const MOST_CANDIDATES: usize = 16;

/// The place of an archive's parity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The places of all parts, in the archive as it was.
    pub layout: ParityLayout,
    /// Bytes that the file has lost from its beginning.
    pub missing: u64,
}

impl Located {
    /// The source with the offsets that the archive had, as parity covers it: the commit slots are zeros.
    pub fn view(&self, source: &SharedSource) -> SharedSource {
        let mut view = Arc::clone(source);
        if self.missing > 0 {
            view = Arc::new(TruncatedSource::new(view, self.missing));
        }
        Arc::new(SlotlessSource(view))
    }
}

/// Finds the archive's parity, if it has any. This is cheap if the archive opens; otherwise the whole file is
/// searched for packets.
///
/// # Errors
/// The source cannot be read; the archive has a parity section without one whole packet.
pub fn locate(source: &SharedSource) -> Result<Option<Located>> {
    match Archive::from_source(Arc::clone(source), &OpenOptions::default()) {
        Ok(archive) if archive.torn_tail() == 0 => {
            Ok(locate_in(&archive)?.map(|layout| Located { layout, missing: 0 }))
        }
        _ => match search(&**source, 0..source.len(), Want::Newest)? {
            None => search(&**source, 0..source.len(), Want::Moved),
            found => Ok(found),
        },
    }
}

/// The place of the parity that the archive's section table names.
///
/// # Errors
/// As [`locate`].
pub fn locate_in(archive: &Archive) -> Result<Option<ParityLayout>> {
    let Ok(section) = archive.sections().find(SectionKind::Parity) else { return Ok(None) };
    locate_section(&*archive.inner.store.source, section, archive.superblock().salt).map(Some)
}

/// The parity in a section.
///
/// # Errors
/// The source cannot be read; all packets are damaged.
pub(crate) fn locate_section(
    source: &dyn ByteSource,
    section: &SectionEntry,
    salt: Salt,
) -> Result<ParityLayout> {
    let end = section.offset.saturating_add(section.len).min(source.len());
    let found = search(source, section.offset..end, Want::First(salt))?;
    let (expected, none) = ("at least one whole packet", "none: all are damaged");
    let none = || FormatError::corrupt("parity", section.offset, "packets", expected, none).into();
    found.map(|located| located.layout).ok_or_else(none)
}

/// The packets to search for.
#[derive(Clone, Copy)]
enum Want {
    /// The first packet of this salt, in its place.
    First(Salt),
    /// The newest generation that has packets in their places; of several claims, the one with the most.
    Newest,
    /// The newest generation, in a file that lost its beginning: all packets are the same distance before
    /// their places.
    Moved,
}

fn search(source: &dyn ByteSource, place: Range<u64>, want: Want) -> Result<Option<Located>> {
    let mut candidates: Vec<(Located, u64)> = Vec::new();
    // A limit, because a file full of packet beginnings would otherwise cost checksums without end.
    let mut budget = source.len().saturating_mul(64);
    let mut begin = place.start;
    let mut skip = begin;
    while begin < place.end {
        let end = (begin + WINDOW).min(place.end);
        let stop = (end + MOST_PACKET).min(source.len());
        let window = super::readable(source, begin, usize::try_from(stop - begin).expect("about a window"))?;
        for at in markers(&window, usize::try_from(end - begin).expect("as above")) {
            let offset = begin + at as u64;
            let aligned = offset.is_multiple_of(UNIT);
            if offset < skip || budget < MOST_PACKET || !(aligned || matches!(want, Want::Moved)) {
                continue;
            }
            budget -= MOST_PACKET;
            let Ok(packet) = Packet::decode_anywhere(&window[at..], offset) else { continue };
            let Some(located) = fits(packet, offset, want) else { continue };
            if !plausible(&located, source.len()) {
                continue;
            }
            skip = offset + located.layout.params.packet_len;
            if matches!(want, Want::First(_)) {
                return Ok(Some(located));
            }
            if let Some((_, count)) = candidates.iter_mut().find(|(known, _)| *known == located) {
                *count += 1;
            } else if candidates.len() < MOST_CANDIDATES {
                candidates.push((located, 1));
            }
        }
        begin = end;
    }
    let best = candidates.into_iter().max_by_key(|(found, count)| (found.layout.params.generation, *count));
    Ok(best.map(|(located, _)| located))
}

/// Places below `end` where a packet may begin.
fn markers(window: &[u8], end: usize) -> impl Iterator<Item = usize> {
    let last = window.len().saturating_sub(PACKET_HEADER_LEN - 1).min(end);
    memmem::find_iter(window, &PACKET_MARKER).take_while(move |&at| at < last)
}

/// Returns a packet that is where `want` requires: in its place, or before it by the bytes that the file lost
/// at its beginning.
fn fits(packet: Packet, offset: u64, want: Want) -> Option<Located> {
    let missing = packet.layout.packet_offset(packet.number).checked_sub(offset)?;
    let mine = match want {
        Want::First(salt) => missing == 0 && salt == packet.layout.params.salt,
        Want::Newest => missing == 0,
        Want::Moved => missing > 0,
    };
    mine.then_some(Located { layout: packet.layout, missing })
}

/// Refuses packets that claim a region far beyond the file. They would take memory, and missing bytes cannot
/// be computed anyway.
fn plausible(located: &Located, len: u64) -> bool {
    let most = len.saturating_mul(8).saturating_add(WINDOW);
    located.layout.params.archive_len <= most && located.missing <= most
}
