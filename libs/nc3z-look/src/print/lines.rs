//! Prints `text`: a line for each row of the last dimension, and an empty line between planes.

use super::items::{Items, show};
use super::{Result, Sink};
use crate::selection::{Selection, elements};
use nc3z_format::NcType;
use nc3z_format::decode_value::Decoding;
use nc3z_reader::Variable;
use std::io::Write;

/// Writes lines as items arrive.
pub struct Lines<'o> {
    out: &'o mut dyn Write,
    items: Items,
    done: u64,
    /// The number of items of a line, of a plane, in all.
    row: u64,
    plane: u64,
    total: u64,
    line: String,
}

impl<'o> Lines<'o> {
    /// Prints a selection of a variable to `out`, decoded if there is a `decoding`.
    ///
    /// # Errors
    /// A row of text does not fit in memory.
    pub fn new(
        out: &'o mut dyn Write,
        variable: &Variable,
        decoding: Option<&Decoding>,
        selection: &Selection,
    ) -> Result<Self> {
        let (items, counts) = Items::new(variable, decoding, selection)?;
        let mut inner = counts.iter().rev().copied();
        // A string has its own line.
        let row = if items.ty() == NcType::Char { 1 } else { inner.next().unwrap_or(1) };
        // If the product overflows, another dimension is empty.
        let plane = row.saturating_mul(inner.next().unwrap_or(1));
        Ok(Lines { out, items, done: 0, row, plane, total: elements(&counts), line: String::new() })
    }
}

impl Sink for Lines<'_> {
    fn block(&mut self, bytes: Vec<u8>) -> Result<()> {
        let Lines { out, items, done, row, plane, total, line } = self;
        let (ty, decoding) = (items.ty(), items.decoding());
        items.cut(&bytes, &mut |item| {
            if !done.is_multiple_of(*row) {
                line.push(' ');
            }
            show(line, ty, decoding.as_deref(), "_", item);
            *done += 1;
            if done.is_multiple_of(*row) {
                line.push('\n');
                if done.is_multiple_of(*plane) && *done < *total {
                    line.push('\n');
                }
                out.write_all(line.as_bytes())?;
                line.clear();
            }
            Ok(())
        })
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
