//! Replies in pieces.

use crate::failure::Answer;
use crate::site::OpenFile;
use bytes::Bytes;
use nc3z_look::part::{Csv, Doubles, Subset};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use nc3z_look::part::{PIECE_LEN, pieces_of};

/// A reply that is made while it is sent.
pub(crate) trait Pieces: Send {
    /// Returns the next piece, which is never empty. None at the end. It may block.
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

impl Pieces for Subset {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        Ok(Subset::next_piece(self)?.map(Bytes::from))
    }
}

impl Pieces for Csv {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        Ok(Csv::next_piece(self)?.map(Bytes::from))
    }
}

impl Pieces for Doubles {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        Ok(Doubles::next_piece(self)?.map(Bytes::from))
    }
}
