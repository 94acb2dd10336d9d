//! What lies behind the last whole trailer: what a commit left that did not finish, or a generation that was committed and whose trailer is
//! damaged. `spec/archive.md`, section 7.

use crate::error::{Error, ErrorKind};
use crate::source::ByteSource;
use nc3z_format::archive::constants::{END_MARKER, TRAILER_MARKER};
use nc3z_format::archive::{Salt, TRAILER_LEN, Trailer};
use nc3z_format::parity::Packet;

/// Parity begins at the next multiple of its shards' length, which is this at most.
const SHARD_MOST: usize = 4096;
/// Packets stand on multiples of this.
const PACKET_STEP: usize = 64;

/// What lies behind the last whole trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing.
    Nothing,
    /// Parity: the same file.
    Parity,
    /// A commit that did not finish, or bytes of something else: the state before it counts.
    Torn,
    /// A generation that was committed.
    Committed,
}

impl Behind {
    /// Looks at the bytes behind this trailer.
    pub(crate) fn of(source: &dyn ByteSource, trailer: &Trailer) -> Self {
        let (end, len) = (trailer.archive_len, source.len());
        if end >= len {
            return Behind::Nothing;
        }
        if has_parity(source, end, &trailer.salt) {
            return Behind::Parity;
        }
        if ends_like_a_trailer(source, &trailer.salt) { Behind::Committed } else { Behind::Torn }
    }

    /// The error of who did not ask for the older generation.
    pub(crate) fn check(self, trailer: &Trailer) -> Result<(), Error> {
        if self != Behind::Committed {
            return Ok(());
        }
        Err(ErrorKind::OlderState { generation: trailer.generation }.into())
    }
}

/// Whether parity of the archive that ends at `end` follows it.
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

/// Whether the last bytes are a trailer of this archive but for damage: two of its four marks are there, and one of them is of this
/// archive's.
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
