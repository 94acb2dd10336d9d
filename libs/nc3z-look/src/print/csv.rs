//! Prints a line for each value, preceded by each dimension's coordinate. `csv` has a column for each
//! dimension, with its index if it has no coordinate. `text` with coordinates prints `lat[3]=-89.0
//! lon[4]=21.0 tas=1.5`, like ncks.

use super::items::{Items, show};
use super::{Error, Result, Sink};
use crate::coordinate::Coordinate;
use crate::selection::Selection;
use crate::text;
use nc3z_format::NcType;
use nc3z_format::decode_value::{Decoding, Value};
use nc3z_reader::{Dataset, Variable};
use std::fmt::Write as _;
use std::io::Write;

/// The format of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A header line; cells separated by commas.
    Csv,
    /// Each value with its name, separated by blanks.
    Named,
}

#[derive(Debug, Clone, Copy)]
struct Shown {
    decoded: bool,
    /// The text of a missing value.
    nothing: &'static str,
}

/// The cells of one dimension.
struct Column {
    /// The text before the value, if values have names.
    name: Option<String>,
    /// The coordinate of the dimension, and its stored values at the selected indices.
    coordinates: Option<(Coordinate, Vec<u8>)>,
    /// The format of these values.
    shown: Shown,
    /// The position of the current index among the selected ones, and its text.
    at: u64,
    cell: String,
}

/// Writes lines as items arrive.
pub struct Csv<W> {
    out: W,
    items: Items,
    nothing: &'static str,
    counts: Vec<u64>,
    selection: Selection,
    columns: Vec<Column>,
    /// The separator between cells, and before the value.
    between: char,
    value_name: Option<String>,
    line: String,
}

impl<W: Write> Csv<W> {
    /// Prints a selection of a variable to `out`, decoded if there is a `decoding`.
    ///
    /// # Errors
    /// The coordinates cannot be read; the output fails.
    pub fn new(
        mut out: W,
        (dataset, variable): (&Dataset, &Variable),
        decoding: Option<&Decoding>,
        selection: &Selection,
        style: Style,
    ) -> Result<Self> {
        let (items, counts) = Items::new(variable, decoding, selection)?;
        let nothing = if style == Style::Csv { "" } else { "_" };
        let shown = Shown { decoded: decoding.is_some(), nothing };
        let mut columns = Vec::new();
        let mut heads = Vec::new();
        let dims = variable.dimensions().zip(&variable.header().dimensions);
        for (d, (dim, id)) in dims.enumerate().take(counts.len()) {
            heads.push(quoted(&text::name(&dim.name)));
            // Times from another variable are not stored values of this dimension.
            let found =
                if shown.decoded { Coordinate::new(dataset, *id) } else { Coordinate::own(dataset, *id) };
            let coordinates = match found {
                Some(coordinate) => {
                    let values = coordinate
                        .items(selection.segments(d))
                        .map_err(|source| Error::Coordinates { name: text::name(&dim.name), source })?;
                    Some((coordinate, values))
                }
                None => None,
            };
            let name = (style == Style::Named).then(|| text::name(&dim.name));
            columns.push(Column { name, coordinates, shown, at: 0, cell: String::new() });
        }
        heads.push(quoted(&text::safe(&variable.name())));
        if style == Style::Csv {
            writeln!(out, "{}", heads.join(","))?;
        }
        let (between, value_name) = match style {
            Style::Csv => (',', None),
            Style::Named => (' ', Some(text::safe(&variable.name()))),
        };
        let selection = selection.clone();
        let mut csv =
            Csv { out, items, nothing, counts, selection, columns, between, value_name, line: String::new() };
        if csv.counts.iter().all(|n| *n > 0) {
            (0..csv.columns.len()).for_each(|d| set(&mut csv.columns[d], &csv.selection, d, 0));
        }
        Ok(csv)
    }

    pub(crate) fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }
}

impl<W: Write> Sink for Csv<W> {
    fn block(&mut self, bytes: Vec<u8>) -> Result<()> {
        let Csv { out, items, nothing, counts, selection, columns, between, value_name, line } = self;
        let (ty, decoding) = (items.ty(), items.decoding());
        items.cut(&bytes, &mut |item| {
            line.clear();
            for column in columns.iter() {
                line.push_str(&column.cell);
                line.push(*between);
            }
            if let Some(name) = value_name {
                line.push_str(name);
                line.push('=');
            }
            let begin = line.len();
            show(line, ty, decoding.as_deref(), nothing, item);
            if ty == NcType::Char {
                let cell = quoted(&line[begin..]);
                line.replace_range(begin.., &cell);
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
            // Moves to the next item: the last dimension runs fastest.
            for d in (0..columns.len()).rev() {
                let next = (columns[d].at + 1) % counts[d];
                set(&mut columns[d], selection, d, next);
                if next > 0 {
                    break;
                }
            }
            Ok(())
        })
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Moves to the `n`-th selected index of a dimension.
fn set(column: &mut Column, selection: &Selection, dim: usize, n: u64) {
    column.at = n;
    column.cell.clear();
    if let Some(name) = &column.name {
        let _ = write!(column.cell, "{name}[{}]", selection.index(dim, n));
        if column.coordinates.is_none() {
            return;
        }
        column.cell.push('=');
    }
    match &column.coordinates {
        Some((coordinate, values)) => {
            let len = coordinate.item_len();
            let at = usize::try_from(n).expect("the coordinates are in memory") * len;
            let item = &values[at..at + len];
            let value = match &column.name {
                _ if column.shown.decoded => Some(coordinate.value(item)),
                // Values with names are for people, who need unpacked coordinates.
                Some(_) => coordinate.unpacked(item),
                None => None,
            };
            match value {
                Some(Value::Missing) => column.cell.push_str(column.shown.nothing),
                Some(value) => column.cell.push_str(&value.to_string()),
                None => show(&mut column.cell, coordinate.variable().ty(), None, "", item),
            }
        }
        None => column.cell = selection.index(dim, n).to_string(),
    }
}

/// Returns a cell, in quotes if it has a comma, a quote, or a blank at an end.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"']) || cell.trim() != cell {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(super::quoted("a b"), "a b");
        assert_eq!(super::quoted("a,b"), "\"a,b\"");
        assert_eq!(super::quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(super::quoted(" x"), "\" x\"");
    }
}
