//! Examines the bytes after the last intact trailer: an unfinished commit, or a generation with a damaged trailer
//! that may have been committed. `spec/archive.md`, section 7.

use crate::error::{Error, ErrorKind};
use crate::source::ByteSource;
use nc3z_format::archive::constants::{END_MARKER, TRAILER_MARKER};
use nc3z_format::archive::{CommitSlots, Salt, TRAILER_LEN, Trailer};
use nc3z_format::parity::Packet;

/// Parity begins at the next multiple of its shards' length, which is at most this.
const SHARD_MOST: usize = 4096;
/// Packets are at multiples of this.
const PACKET_STEP: usize = 64;

/// The content after the last intact trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TailState {
    Nothing,
    /// Parity of the same file.
    Parity,
    /// An unfinished commit, or foreign bytes: the state before it counts.
    Torn,
    /// The end of a generation that may have been committed.
    Committed,
}

impl TailState {
    /// Examines the bytes after this trailer, the last intact one of an archive with these slots.
    pub(crate) fn new(source: &dyn ByteSource, trailer: &Trailer, slots: &CommitSlots) -> Self {
        let (end, len) = (trailer.archive_len, source.len());
        if end >= len {
            return TailState::Nothing;
        }
        if has_parity(source, end, &trailer.salt) {
            return TailState::Parity;
        }
        // A commit whose slot was never on disk was not acknowledged, also where its trailer is partly there.
        let may_be_committed = !slots.end_with(trailer) && ends_like_a_trailer(source, &trailer.salt);
        if may_be_committed { TailState::Committed } else { TailState::Torn }
    }

    /// The error for a reader that did not request the older generation.
    pub(crate) fn check(self, trailer: &Trailer) -> Result<(), Error> {
        if self != TailState::Committed {
            return Ok(());
        }
        Err(ErrorKind::OlderState { generation: trailer.generation }.into())
    }
}

/// Returns true if parity follows the archive that ends at `end`.
fn has_parity(source: &dyn ByteSource, end: u64, salt: &Salt) -> bool {
    let room = usize::try_from(source.len() - end).map_or(2 * SHARD_MOST, |n| n.min(2 * SHARD_MOST));
    let mut window = vec![0; room];
    if source.read_into(end, &mut window).is_err() {
        return false;
    }
    let skip = usize::try_from(end.next_multiple_of(PACKET_STEP as u64) - end).expect("less than a step");
    (skip..room.min(SHARD_MOST)).step_by(PACKET_STEP).any(|at| {
        let packet = Packet::len_of(&window[at..]).and_then(|len| window.get(at..at + len));
        let packet = packet.and_then(|bytes| Packet::decode(bytes, end + at as u64).ok());
        packet.is_some_and(|p| p.layout.params.salt == *salt && p.layout.params.begin == end + at as u64)
    })
}

/// Returns true if the last bytes are a damaged trailer of this archive: they have two of its four marks, one
/// of them specific to this archive.
fn ends_like_a_trailer(source: &dyn ByteSource, salt: &Salt) -> bool {
    let mut bytes = [0; TRAILER_LEN];
    let Some(at) = source.len().checked_sub(TRAILER_LEN as u64) else { return false };
    if source.read_into(at, &mut bytes).is_err() {
        return false;
    }
    let here = [bytes[8..16] == salt.0, bytes[64..72] == source.len().to_le_bytes()];
    let any = [bytes[..4] == TRAILER_MARKER, bytes[TRAILER_LEN - 4..] == END_MARKER];
    let count = |marks: [bool; 2]| marks.into_iter().filter(|&mark| mark).count();
    count(here) > 0 && count(here) + count(any) >= 2
}
