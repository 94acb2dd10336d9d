//! A source of the bytes that were provided so far. It records which other bytes are requested.

use bytes::{Bytes, BytesMut};
use nc3z_reader::source::{ByteSource, Reach};
use nc3z_reader::{Error, Result};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The cost of a request in a browser: 64 KiB at 10 Mbit/s take as long as a round trip of 50 ms. Browsers
/// send at most six requests at once to one host by HTTP/1.1.
fn reach() -> Reach {
    Reach::REMOTE.with_gap(64 << 10).with_requests(6).with_request_len(8 << 20).with_ends(16 << 10, 64 << 10)
}
/// The number of bytes that are kept for later operations.
const KEPT_LEN: u64 = 64 << 20;
/// The maximal number of bytes that one operation may need.
pub(crate) const MOST_LEN: u64 = 512 << 20;

struct Piece {
    bytes: Bytes,
    /// The last operation that used it.
    used: u64,
}

#[derive(Default)]
struct State {
    /// By their offsets; they do not overlap.
    pieces: BTreeMap<u64, Piece>,
    wanted: Vec<Range<u64>>,
    operation: u64,
}

/// The bytes that were provided so far.
pub(crate) struct ProvidedBytes {
    len: u64,
    state: Mutex<State>,
}

impl ProvidedBytes {
    pub(crate) fn new(len: u64) -> Self {
        ProvidedBytes { len, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation. Bytes that only earlier operations needed may be dropped.
    pub(crate) fn begin_operation(&self) {
        let mut state = self.state();
        state.operation += 1;
        let mut kept: u64 = state.pieces.values().map(|piece| piece.bytes.len() as u64).sum();
        while kept > KEPT_LEN {
            let oldest = state.pieces.iter().min_by_key(|(_, piece)| piece.used).map(|(at, _)| *at);
            let Some(piece) = oldest.and_then(|at| state.pieces.remove(&at)) else { break };
            kept -= piece.bytes.len() as u64;
        }
    }

    pub(crate) fn begin_attempt(&self) {
        self.state().wanted.clear();
    }

    /// Returns the ranges that the attempt lacked first. Later requests are ignored: they may be consequences
    /// of the missing bytes.
    pub(crate) fn wanted(&self) -> Vec<Range<u64>> {
        self.state().wanted.clone()
    }

    /// The number of bytes of all pieces that the operation has used.
    pub(crate) fn operation_len(&self) -> u64 {
        let state = self.state();
        let used = state.pieces.values().filter(|piece| piece.used == state.operation);
        used.map(|piece| piece.bytes.len() as u64).sum()
    }

    /// Takes bytes from `offset` on. Bytes that exist already are unchanged.
    pub(crate) fn provide(&self, offset: u64, bytes: &Bytes) {
        let mut state = self.state();
        let end = offset.saturating_add(bytes.len() as u64).min(self.len);
        for gap in state.gaps(&(offset..end)) {
            let at = |place: u64| usize::try_from(place - offset).expect("a place in bytes in memory");
            let used = state.operation;
            state.pieces.insert(gap.start, Piece { bytes: bytes.slice(at(gap.start)..at(gap.end)), used });
        }
    }
}

impl State {
    /// Returns the missing parts of a range.
    fn gaps(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        let before = self.pieces.range(..=at).next_back();
        if let Some((start, piece)) = before {
            at = at.max(start + piece.bytes.len() as u64);
        }
        for (start, piece) in self.pieces.range(range.start..range.end) {
            if *start > at {
                gaps.push(at..*start);
            }
            at = at.max(start + piece.bytes.len() as u64);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// Returns the bytes of a range, which must exist; without a copy if one piece contains them.
    fn bytes(&mut self, range: &Range<u64>) -> Bytes {
        let operation = self.operation;
        let first = self.pieces.range(..=range.start).next_back().map_or(range.start, |(at, _)| *at);
        let mut found = BytesMut::new();
        for (start, piece) in self.pieces.range_mut(first..range.end) {
            let end = start + piece.bytes.len() as u64;
            let (from, to) = (range.start.max(*start), range.end.min(end));
            if from >= to {
                continue;
            }
            piece.used = operation;
            let at = |place: u64| usize::try_from(place - start).expect("a place in bytes in memory");
            let part = piece.bytes.slice(at(from)..at(to));
            if from == range.start && to == range.end {
                return part;
            }
            found.extend_from_slice(&part);
        }
        found.freeze()
    }
}

impl ByteSource for ProvidedBytes {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        buf.copy_from_slice(&self.read_at(offset, buf.len())?);
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let range = offset..offset.saturating_add(len as u64);
        let mut found = self.read_ranges(std::slice::from_ref(&range))?;
        Ok(found.pop().unwrap_or_default())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let Some(wrong) = ranges.iter().find(|range| range.start > range.end || range.end > self.len) {
            let (room, wanted) =
                (self.len.saturating_sub(wrong.start), wrong.end.saturating_sub(wrong.start));
            let missing = wanted.saturating_sub(room);
            return Err(nc3z_format::Error::truncated("file", wrong.start, "read", missing, room).into());
        }
        let mut state = self.state();
        let missing: Vec<Range<u64>> = ranges.iter().flat_map(|range| state.gaps(range)).collect();
        if missing.is_empty() {
            return Ok(ranges.iter().map(|range| state.bytes(range)).collect());
        }
        if state.wanted.is_empty() {
            state.wanted = missing;
        }
        Err(Error::io("read", None, io::Error::other("these bytes are still to be fetched")))
    }

    fn reach(&self) -> Reach {
        reach()
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        self.state().gaps(range).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(held: &ProvidedBytes, offset: u64, bytes: &[u8]) {
        held.provide(offset, &Bytes::copy_from_slice(bytes));
    }

    #[test]
    fn what_is_missing_is_told_once_and_only_what_is_missing() {
        let held = ProvidedBytes::new(100);
        given(&held, 10, &[1; 10]);
        given(&held, 30, &[2; 10]);
        held.begin_attempt();
        assert!(held.read_ranges(&[5..35, 50..60]).is_err());
        assert_eq!(held.wanted(), [5..10, 20..30, 50..60]);
        assert!(held.read_at(90, 5).is_err());
        assert_eq!(held.wanted().len(), 3, "what follows the first lack is not told");
        held.begin_attempt();
        assert_eq!(held.wanted(), []);
    }

    #[test]
    fn pieces_join_and_overlaps_keep_the_first() {
        let held = ProvidedBytes::new(100);
        given(&held, 10, &[1; 10]);
        given(&held, 15, &[2; 10]);
        given(&held, 0, &[3; 50]);
        assert_eq!(
            held.read_at(8, 20).unwrap()[..],
            [[3; 2].as_slice(), &[1; 10], &[2; 5], &[3; 3]].concat()[..]
        );
        assert_eq!(held.read_at(50, 0).unwrap().len(), 0);
        assert!(held.holds(&(0..50)) && !held.holds(&(0..51)));
        assert!(held.read_at(95, 6).unwrap_err().is_corrupt());
        // Longer than the file: the rest is ignored.
        given(&held, 95, &[4; 50]);
        assert!(held.read_at(95, 5).is_ok() && held.read_at(95, 6).is_err());
    }

    #[test]
    fn only_what_no_operation_uses_any_more_goes() {
        let held = ProvidedBytes::new(4 * KEPT_LEN);
        let half = Bytes::from(vec![0; usize::try_from(KEPT_LEN / 2 + 1).unwrap()]);
        held.begin_operation();
        held.provide(0, &half);
        held.begin_operation();
        held.provide(KEPT_LEN, &half);
        assert!(held.holds(&(0..1)), "bytes are kept until the operation ends");
        held.begin_operation();
        assert!(!held.holds(&(0..1)) && held.holds(&(KEPT_LEN..KEPT_LEN + 1)));
    }
}
