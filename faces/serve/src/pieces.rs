//! Replies in pieces.

use crate::failure::Answer;
use bytes::Bytes;
use nc3z_look::part::{Csv, Doubles, Subset};

pub(crate) use nc3z_look::part::{PIECE_LEN, pieces_of};

/// A reply that is made while it is sent.
pub(crate) trait Pieces: Send {
    /// Returns the next piece, which is never empty. None at the end. It may block.
    fn next(&mut self) -> Answer<Option<Bytes>>;
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
