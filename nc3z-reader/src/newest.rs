//! The newest generation of an archive: the last intact trailer, compared with the commit slots. If the slots
//! name a later generation than that trailer's, the later one is lost. An older one is then read only on
//! request. `spec/archive.md`, section 7.

use crate::error::{Error, ErrorKind, Result};
use crate::sections::read_part;
use crate::source::ByteSource;
use crate::tail::TailState;
use crate::trailers::{check_trailer, last_trailer_between};
use crate::versions::version_at;
use nc3z_format::archive::constants::{HEAD_OFFSET, SLOTS_AT};
use nc3z_format::archive::{CommitSlot, CommitSlots, SLOTS_LEN, Superblock, TRAILER_LEN, Trailer};
use nc3z_format::{Error as FormatError, Limits};

const TRAILER: u64 = TRAILER_LEN as u64;

/// The last intact trailer, and the error if a later one is lost.
pub(crate) struct Newest {
    /// The last intact trailer with its offset, or the reason why there is none.
    pub(crate) last: Result<(u64, Trailer)>,
    /// Set if a later generation than that trailer's was committed.
    pub(crate) lost: Option<Error>,
}

impl Newest {
    /// Searches the end of the source for the last intact trailer, and continues backwards only as far as the
    /// slots require.
    ///
    /// # Errors
    /// A trailer that needs a feature that this build does not know; a trailer of another original; the source cannot be read.
    pub(crate) fn find(source: &dyn ByteSource, superblock: &Superblock, limits: &Limits) -> Result<Self> {
        let slots = &superblock.slots;
        let last = match last_whole(source, superblock)? {
            Ok((at, trailer)) => Ok((at, check_trailer(trailer, superblock)?)),
            Err(error) => Err(error),
        };
        let lost = lost(source, slots, last.as_ref().ok(), limits);
        Ok(Newest { last, lost })
    }
}

/// The error that names the lost generation, if the slots name one after the last intact trailer.
pub(crate) fn lost(
    source: &dyn ByteSource,
    slots: &CommitSlots,
    last: Option<&(u64, Trailer)>,
    limits: &Limits,
) -> Option<Error> {
    let Some(newest) = slots.newest() else {
        let both = || {
            let found = "both are damaged: nothing says whether a later version was committed";
            FormatError::corrupt("commit slots", SLOTS_AT as u64, "slots", "one whole slot", found).into()
        };
        return slots.are_lost().then(both);
    };
    if let Some((at, trailer)) = last {
        let agrees = match trailer.archive_len.cmp(&newest.archive_len) {
            // A commit that finished just before its slot was written.
            std::cmp::Ordering::Greater => trailer.generation > newest.generation,
            std::cmp::Ordering::Equal if newest.names(trailer) => return unknown(source, slots, trailer),
            std::cmp::Ordering::Equal => false,
            // The commit finished after the source was opened. The generation that was the newest then is
            // read.
            std::cmp::Ordering::Less => {
                if source.len() < newest.archive_len && source.current_len() >= newest.archive_len {
                    return None;
                }
                return Some(lost_behind(source, newest, Some((*at, trailer)), limits));
            }
        };
        let differs = || {
            let of = |generation: u32, crc: u32| format!("commit {generation} with the CRC {crc:08x}");
            let (expected, found) =
                (of(newest.generation, newest.trailer_crc), of(trailer.generation, trailer.crc()));
            FormatError::corrupt("trailer", *at, "trailer that the commit slot names", expected, found).into()
        };
        return (!agrees).then(differs);
    }
    Some(lost_behind(source, newest, None, limits))
}

/// The error where a damaged slot may have named a generation whose beginning follows the last intact trailer.
fn unknown(source: &dyn ByteSource, slots: &CommitSlots, last: &Trailer) -> Option<Error> {
    // While a commit runs, its beginning is not a sign of a loss.
    let is_torn = slots.has_damage()
        && TailState::new(source, last, slots) == TailState::Torn
        && source.current_len() <= source.len();
    let (generation, behind) = (last.generation, source.len().saturating_sub(last.archive_len));
    is_torn.then(|| ErrorKind::NewestUnknown { generation, behind }.into())
}

fn lost_behind(
    source: &dyn ByteSource,
    newest: CommitSlot,
    last: Option<(u64, &Trailer)>,
    limits: &Limits,
) -> Error {
    let whole = last.and_then(|(at, trailer)| version_at(source, at, trailer, limits).ok());
    let CommitSlot { generation, archive_len, version, .. } = newest;
    ErrorKind::NewestLost { version, generation, archive_len, len: source.len(), whole }.into()
}

/// The last intact trailer, at the end or before it. The inner error is the reason why there is none at the
/// end.
fn last_whole(source: &dyn ByteSource, superblock: &Superblock) -> Result<Result<(u64, Trailer)>> {
    let (len, salt) = (source.len(), &superblock.salt);
    let at = len - TRAILER;
    let bytes = read_part(source, at, TRAILER, "trailer")?;
    let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
    let error = match Trailer::decode(bytes, at, salt) {
        Ok(trailer) => return Ok(Ok((at, trailer))),
        // A valid trailer that needs an unknown feature: never fall back to an older one.
        Err(e) if e.is_unsupported() => return Err(e.into()),
        Err(e) => e,
    };
    let slots = &superblock.slots;
    let mut end = len;
    for slot in [slots.newest(), slots.older()].into_iter().flatten() {
        // The end of the generation in the slot is inside the file: no trailer before it is the last one.
        if slot.archive_len <= len {
            if let Some(found) = last_trailer_between(source, slot.archive_len - TRAILER, end, salt)? {
                return Ok(Ok(found));
            }
            end = slot.archive_len;
        }
    }
    // There is none before the first generation.
    let is_first = slots.newest().is_some_and(|slot| slot.generation == 1);
    let found = if is_first { None } else { last_trailer_between(source, HEAD_OFFSET, end, salt)? };
    Ok(found.ok_or_else(|| error.into()))
}

/// The commit slots of an archive whose last trailer ends at `end`: they name that generation and the one
/// before it.
///
/// # Errors
/// The file has no intact trailer, or the metadata are damaged.
pub fn slots_at(source: &dyn ByteSource, end: u64, superblock: &Superblock) -> Result<CommitSlots> {
    let limits = Limits::default().within(source.len());
    let slot = |at: u64| -> Result<(CommitSlot, u64)> {
        let bytes = read_part(source, at, TRAILER, "trailer")?;
        let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
        let trailer = Trailer::decode(bytes, at, &superblock.salt)?;
        let version = version_at(source, at, &trailer, &limits)?;
        Ok((CommitSlot::new(&trailer, version), trailer.previous))
    };
    let (last, previous) = slot(end.saturating_sub(TRAILER))?;
    // A damaged generation has no slot.
    let before = if previous == 0 { None } else { slot(previous).ok().map(|(before, _)| before) };
    Ok(CommitSlots::new(last, before))
}

/// The place of the slots.
pub(crate) const SLOTS: std::ops::Range<u64> = SLOTS_AT as u64..(SLOTS_AT + SLOTS_LEN) as u64;
