//! Replies in pieces.

use crate::failure::Answer;
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;

use crate::site::OpenFile;
use std::sync::Arc;

/// Bytes of a piece: what one reply holds in memory.
pub(crate) const PIECE_LEN: u64 = 1 << 20;

/// A reply that is made while it is sent.
pub(crate) trait Pieces: Send {
    /// The next piece, never empty; nothing at the end. It may block.
    fn next(&mut self) -> Answer<Option<Bytes>>;
}

/// A part of a reply to a request for bytes of a file.
pub(crate) enum Part {
    /// Text between the ranges.
    Text(Bytes),
    /// Bytes of the file.
    Range(Range<u64>),
}

/// Bytes of a file.
pub(crate) struct FileBytes {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) parts: VecDeque<Part>,
}

impl Pieces for FileBytes {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        loop {
            match self.parts.pop_front() {
                None => return Ok(None),
                Some(Part::Text(text)) => return Ok(Some(text)),
                Some(Part::Range(range)) if range.is_empty() => {}
                Some(Part::Range(range)) => {
                    let end = range.end.min(range.start.saturating_add(PIECE_LEN));
                    if end < range.end {
                        self.parts.push_front(Part::Range(end..range.end));
                    }
                    return self.file.read(range.start..end).map(Some);
                }
            }
        }
    }
}
