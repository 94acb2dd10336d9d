//! Prints `json`: one object, with the values as nested arrays, and strings for text.

use super::items::Items;
use super::{Error, Result, Sink, values};
use crate::selection::Selection;
use crate::text;
use nc3z_format::NcType;
use nc3z_format::decode_value::Decoding;
use nc3z_reader::Variable;
use serde_json::{Value, json};
use std::io::Write;

/// The maximal number of empty rows that are printed.
const MOST_EMPTY: u64 = 1 << 20;

/// Writes nested arrays as items arrive.
pub struct Json<'o> {
    out: &'o mut dyn Write,
    items: Items,
    counts: Vec<u64>,
    done: u64,
    text: String,
}

impl<'o> Json<'o> {
    /// Prints a selection of a variable to `out`, decoded if there is a `decoding`.
    ///
    /// # Errors
    /// A row of text does not fit in memory; the output fails.
    pub fn new(
        out: &'o mut dyn Write,
        variable: &Variable,
        decoding: Option<&Decoding>,
        selection: &Selection,
    ) -> Result<Self> {
        let (items, counts) = Items::new(variable, decoding, selection)?;
        let dims: Vec<String> = variable.dimensions().map(|d| text::name(&d.name)).collect();
        let head = json!({
            "variable": text::safe(&variable.name()),
            "type": variable.ty().name(),
            "dimensions": dims,
            "shape": selection.counts(),
        });
        if let Value::Object(fields) = head {
            let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{}: {v}", json!(k))).collect();
            write!(out, "{{\n  {},\n  \"data\": ", fields.join(",\n  "))?;
        }
        Ok(Json { out, items, counts, done: 0, text: String::new() })
    }
}

impl Sink for Json<'_> {
    fn block(&mut self, bytes: Vec<u8>) -> Result<()> {
        let Json { out, items, counts, done, text } = self;
        let (ty, decoding) = (items.ty(), items.decoding());
        items.cut(&bytes, &mut |item| {
            text.clear();
            // Returns the number of dimensions for which this is the first, or the last, item: their arrays
            // open, or close, here.
            let edges = |n: u64| {
                let mut width = 1;
                counts
                    .iter()
                    .rev()
                    .take_while(|c| {
                        width *= **c;
                        n.is_multiple_of(width)
                    })
                    .count()
            };
            let open = edges(*done);
            if *done > 0 {
                text.push(',');
                if open == 0 { text.push(' ') } else { text.push('\n') }
            }
            text.extend(std::iter::repeat_n('[', open));
            if let Some(decoding) = &decoding {
                values::json_value(text, decoding.value(item));
            } else if ty == NcType::Char {
                text.push_str(&Value::from(values::string(item)).to_string());
            } else {
                values::json_number(text, ty, item);
            }
            *done += 1;
            text.extend(std::iter::repeat_n(']', edges(*done)));
            out.write_all(text.as_bytes())?;
            Ok(())
        })
    }

    fn finish(&mut self) -> Result<()> {
        if self.done == 0 {
            // Rows without numbers, or strings without characters, down to the empty dimension.
            let depth = self.counts.iter().position(|n| *n == 0).map_or(self.counts.len(), |d| d + 1);
            let rows =
                self.counts[..depth].iter().filter(|n| **n > 0).fold(1_u64, |all, n| all.saturating_mul(*n));
            if rows > MOST_EMPTY {
                return Err(Error::EmptyRows(rows));
            }
            empty(self.out, &self.counts)?;
        }
        self.out.write_all(b"\n}\n")?;
        Ok(())
    }
}

/// Writes nested arrays down to the empty dimension, or to empty strings.
fn empty(out: &mut dyn Write, counts: &[u64]) -> Result<()> {
    let Some((n, inner)) = counts.split_first() else {
        out.write_all(b"\"\"")?;
        return Ok(());
    };
    out.write_all(b"[")?;
    for i in 0..*n {
        if i > 0 {
            out.write_all(b", ")?;
        }
        empty(out, inner)?;
    }
    out.write_all(b"]")?;
    Ok(())
}
