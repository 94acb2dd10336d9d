//! Exports a variable or a part of it: as numbers for the page, and as CSV.

use super::{PIECE_LEN, PartError, Projection, numbers, pieces_of, variable_of};
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::{Dataset, Variable};
use std::collections::VecDeque;
use std::fmt::Write;

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

/// A line for each element: its coordinates, and its value.
pub struct Csv {
    variable: Variable,
    slab: Hyperslab,
    left: VecDeque<Hyperslab>,
    head: Option<String>,
    /// The text for each index of each dimension.
    coordinates: Vec<Vec<String>>,
}

impl Csv {
    /// Reads the coordinates of the part.
    ///
    /// # Errors
    /// A part that is not in the variable, that has more than `limit` bytes, or that has too many
    /// coordinates. Coordinates that cannot be read.
    pub fn new(dataset: &Dataset, part: &Projection, limit: u64) -> Result<Self, PartError> {
        let (variable, slab) = (variable_of(dataset, part)?, part.slab.clone());
        let rank = slab.count.len() as u64;
        // At least two characters for each number.
        let len = slab.count.iter().fold(2 + 2 * rank, |n, count| n.saturating_mul(*count));
        if len > limit {
            return Err(PartError::TooLong { len, limit });
        }
        let words: u64 = slab.count.iter().fold(0, |n, count| n.saturating_add(*count));
        if words > COORDINATES {
            return Err(PartError::TooLong { len: words.saturating_mul(50), limit: COORDINATES * 50 });
        }
        variable.plan(&slab)?;
        let mut head = String::new();
        let mut coordinates = Vec::new();
        let names: Vec<Vec<u8>> = variable.dimensions().map(|d| d.name.clone()).collect();
        for (n, name) in names.iter().enumerate() {
            let part = Hyperslab {
                start: vec![slab.start[n]],
                count: vec![slab.count[n]],
                stride: vec![slab.stride[n]],
            };
            let text = String::from_utf8_lossy(name);
            let own = dataset.variable(&text).ok();
            let own = own.filter(|v| v.shape() == [variable.shape()[n]] && v.ty() != NcType::Char);
            coordinates.push(if let Some(coordinate) = own {
                numbers(coordinate.ty(), &coordinate.read_bytes(&part)?)
            } else {
                let step = slab.stride[n].unsigned_abs();
                (0..slab.count[n]).map(|i| (slab.start[n] + i * step).to_string()).collect()
            });
            let _ = write!(head, "{},", quoted(&text));
        }
        let _ = writeln!(head, "{}", quoted(&variable.name()));
        let left = pieces_of(&slab, ELEMENTS);
        Ok(Csv { variable, slab, left, head: Some(head), coordinates })
    }

    /// Returns the next piece. None at the end.
    ///
    /// # Errors
    /// The values cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<String>, PartError> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        let Some(part) = self.left.front() else { return Ok(None) };
        let bytes = self.variable.read_bytes(part)?;
        let part = self.left.pop_front().expect("its front was just read");
        let mut out = String::new();
        let first: Vec<u64> = part
            .start
            .iter()
            .zip(&self.slab.start)
            .zip(&self.slab.stride)
            .map(|((at, first), stride)| (at - first) / stride.unsigned_abs().max(1))
            .collect();
        let mut at = vec![0_u64; first.len()];
        for value in numbers(self.variable.ty(), &bytes) {
            for (dim, words) in self.coordinates.iter().enumerate() {
                let index = usize::try_from(first[dim] + at[dim]).expect("an index of a list in memory");
                out.push_str(&words[index]);
                out.push(',');
            }
            out.push_str(&value);
            out.push('\n');
            for dim in (0..at.len()).rev() {
                at[dim] += 1;
                if at[dim] < part.count[dim] {
                    break;
                }
                at[dim] = 0;
            }
        }
        Ok(Some(out))
    }
}

/// Returns a name, in quotes where CSV needs them.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
