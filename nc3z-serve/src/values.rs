//! One variable, or a part of it: as numbers for the page, and as CSV.

use crate::dap::{Asked, numbers, variable};
use crate::failure::{Answer, Failure};
use crate::pieces::{PIECE_LEN, Pieces, pieces_of};
use bytes::Bytes;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::Variable;
use std::collections::VecDeque;
use std::fmt::Write;

/// Coordinates of all dimensions together that are kept while CSV is made: some 100 MB of text.
const COORDINATES: u64 = 2_000_000;
/// Elements of a piece of CSV.
const ELEMENTS: u64 = 16 << 10;

/// The only variable that is asked for.
fn only(asked: &Asked) -> Answer<(Variable, Hyperslab)> {
    match &asked.projections[..] {
        [one] => Ok((variable(asked, one), one.slab.clone())),
        _ => Err(Failure::bad("name one variable: ?NAME or ?NAME[first:stride:last]…")),
    }
}

/// Little-endian doubles.
pub(crate) struct Doubles {
    variable: Variable,
    left: VecDeque<Hyperslab>,
    len: u64,
}

impl Doubles {
    pub(crate) fn new(asked: &Asked, limit: u64) -> Answer<Self> {
        let (variable, slab) = only(asked)?;
        let len = slab.count.iter().fold(8_u64, |n, count| n.saturating_mul(*count));
        if len > limit {
            return Err(Failure::too_long(len, limit));
        }
        variable.plan(&slab)?;
        Ok(Doubles { variable, left: pieces_of(&slab, PIECE_LEN / 8), len })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

impl Pieces for Doubles {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        let Some(slab) = self.left.pop_front() else { return Ok(None) };
        let mut out = Vec::new();
        if self.variable.ty() == NcType::Char {
            for value in self.variable.read::<u8>(&slab)? {
                out.extend(f64::from(value).to_le_bytes());
            }
        } else {
            for value in self.variable.read::<f64>(&slab)? {
                out.extend(value.to_le_bytes());
            }
        }
        Ok(Some(out.into()))
    }
}

/// A line for each element: its coordinates, and its value.
pub(crate) struct Csv {
    variable: Variable,
    slab: Hyperslab,
    left: VecDeque<Hyperslab>,
    head: Option<String>,
    /// The words for each index of each dimension.
    coordinates: Vec<Vec<String>>,
}

impl Csv {
    pub(crate) fn new(asked: &Asked, limit: u64) -> Answer<Self> {
        let (variable, slab) = only(asked)?;
        let rank = slab.count.len() as u64;
        // Two characters for each number, at the least.
        let len = slab.count.iter().fold(2 + 2 * rank, |n, count| n.saturating_mul(*count));
        if len > limit {
            return Err(Failure::too_long(len, limit));
        }
        let words: u64 = slab.count.iter().fold(0, |n, count| n.saturating_add(*count));
        if words > COORDINATES {
            return Err(Failure::too_long(words.saturating_mul(50), COORDINATES * 50));
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
            let own = asked.dataset.variable(&text).ok();
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
}

impl Pieces for Csv {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head.into()));
        }
        let Some(part) = self.left.pop_front() else { return Ok(None) };
        let bytes = self.variable.read_bytes(&part)?;
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
        Ok(Some(out.into()))
    }
}

/// A name in quotes where CSV needs them.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
