//! Exports a variable or a part of it: as numbers for the page, and as CSV.

use super::{PIECE_LEN, PartError, Projection, pieces_of, variable_of};
use crate::print::{self, Sink, Style};
use crate::selection::Selection;
use nc3z_format::decode_value::Decoding;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::{Dataset, Variable};
use std::collections::VecDeque;

/// The maximal number of coordinates of all dimensions that are kept while CSV is made: about 100 MB of text.
const COORDINATES: u64 = 2_000_000;
/// The number of elements of a piece of CSV.
const ELEMENTS: u64 = 16 << 10;

/// Values as little-endian doubles.
pub struct Doubles {
    variable: Variable,
    left: VecDeque<Hyperslab>,
    len: u64,
}

impl Doubles {
    /// Checks the part. Reads no values.
    ///
    /// # Errors
    /// A part that is not in the variable; more than `limit` bytes.
    pub fn new(dataset: &Dataset, part: &Projection, limit: u64) -> Result<Self, PartError> {
        let (variable, slab) = (variable_of(dataset, part)?, &part.slab);
        let len = slab.count.iter().fold(8_u64, |n, count| n.saturating_mul(*count));
        if len > limit {
            return Err(PartError::TooLong { len, limit });
        }
        variable.plan(slab)?;
        let left = pieces_of(slab, PIECE_LEN / 8);
        Ok(Doubles { variable, left, len })
    }

    /// Divides the same part into other pieces.
    #[must_use]
    pub fn in_pieces(mut self, pieces: VecDeque<Hyperslab>) -> Self {
        self.left = pieces;
        self
    }

    /// Bytes of all pieces.
    pub fn byte_len(&self) -> u64 {
        self.len
    }

    /// Returns the next piece. None at the end.
    ///
    /// # Errors
    /// The values cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, PartError> {
        let Some(slab) = self.left.front() else { return Ok(None) };
        let mut out = Vec::new();
        if self.variable.ty() == NcType::Char {
            for value in self.variable.read::<u8>(slab)? {
                out.extend(f64::from(value).to_le_bytes());
            }
        } else {
            for value in self.variable.read::<f64>(slab)? {
                out.extend(value.to_le_bytes());
            }
        }
        self.left.pop_front();
        Ok(Some(out))
    }
}

/// CSV as `nc3z read --format csv` prints it: decoded values and coordinates, and a line for each string of text.
pub struct Csv {
    variable: Variable,
    left: VecDeque<Hyperslab>,
    lines: print::Csv<Vec<u8>>,
}

impl Csv {
    /// Reads the coordinates of the part.
    ///
    /// # Errors
    /// A part that is not in the variable, that has more than `limit` bytes, or that has too many
    /// coordinates. Coordinates that cannot be read.
    pub fn new(dataset: &Dataset, part: &Projection, limit: u64) -> Result<Self, PartError> {
        let (variable, slab) = (variable_of(dataset, part)?, &part.slab);
        let rank = slab.count.len() as u64;
        // At least two characters for each number; a string may be empty.
        let strings = slab.count.len() - usize::from(variable.ty() == NcType::Char && rank > 0);
        let len = slab.count[..strings].iter().fold(2 + 2 * rank, |n, count| n.saturating_mul(*count));
        if len > limit {
            return Err(PartError::TooLong { len, limit });
        }
        let words: u64 = slab.count[..strings].iter().fold(0, |n, count| n.saturating_add(*count));
        if words > COORDINATES {
            return Err(PartError::TooLong { len: words.saturating_mul(50), limit: COORDINATES * 50 });
        }
        variable.plan(slab)?;
        let decoding = Decoding::new(dataset.header(), variable.header());
        let selection = Selection::from(slab);
        let lines =
            print::Csv::new(Vec::new(), (dataset, &variable), Some(&decoding), &selection, Style::Csv)?;
        let left = pieces_of(slab, ELEMENTS);
        Ok(Csv { variable, left, lines })
    }

    /// Returns the next piece. None at the end.
    ///
    /// # Errors
    /// The values cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, PartError> {
        loop {
            let made = std::mem::take(self.lines.out_mut());
            if !made.is_empty() {
                return Ok(Some(made));
            }
            let Some(part) = self.left.front() else { return Ok(None) };
            let bytes = self.variable.read_bytes(part)?;
            // Removed only after success, so that a failed call can be repeated.
            self.left.pop_front();
            self.lines.block(bytes)?;
        }
    }
}
