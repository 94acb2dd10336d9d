//! The record coordinate: the variable whose values order the records.

use super::column::Column;
use super::units::{text, time_unit};
use crate::edit::Edit;
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::classic::{DimId, Variable as HeaderVariable};
use nc3z_format::decode_value::Number;
use nc3z_format::selection::AnySelection;
use nc3z_format::units::{TextTimes, TimeUnit};
use std::cmp::Ordering;

/// The direction of a record coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Direction {
    /// Returns the direction from one value to another; `None` if they are equal or not comparable.
    pub(super) fn new(first: Number, second: Number) -> Option<Self> {
        let order = match (first, second) {
            (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
            (a, b) => a.real().partial_cmp(&b.real())?,
        };
        match order {
            Ordering::Less => Some(Direction::Up),
            Ordering::Greater => Some(Direction::Down),
            Ordering::Equal => None,
        }
    }
}

/// The record coordinate of an archive and of a new file.
pub(super) struct Coordinate<'a> {
    pub(super) column: &'a Column,
    ty: NcType,
    fill: Vec<u8>,
    units: Option<String>,
    time: Option<TimeUnit>,
    /// The times, if they are stored as text.
    words: Option<TextTimes>,
}

impl<'a> Coordinate<'a> {
    /// Returns the variable with the name of the record dimension, times that are stored as text (WRF's `Times`), or
    /// the first variable that is a time.
    pub(super) fn find(edit: &Edit, dimension: &str, columns: &'a [Column]) -> Option<Self> {
        let variable = |column: &Column| &edit.header.variables[column.at];
        let mut along =
            columns.iter().filter(|column| column.new.shape().len() == 1 && column.new.ty() != NcType::Char);
        let own = along.clone().find(|column| column.name == dimension);
        if own.is_none()
            && let Some(found) =
                columns.iter().find_map(|column| Coordinate::of_words(edit, dimension, column))
        {
            return Some(found);
        }
        let column = own.or_else(|| along.find(|c| is_time(variable(c))))?;
        let header = variable(column);
        let units = header.attribute(b"units").map(|a| text(&a.values));
        let time = time_unit(header.attribute(b"units"), header.attribute(b"calendar")).map(|(unit, _)| unit);
        Some(Coordinate {
            column,
            ty: header.ty,
            fill: header.fill_value().to_vec(),
            units,
            time,
            words: None,
        })
    }

    /// Returns the times of a column, if it has times as text.
    fn of_words(edit: &Edit, dimension: &str, column: &'a Column) -> Option<Self> {
        let header = &edit.header;
        let dim = header.dimensions.iter().position(|d| d.name == dimension.as_bytes())?;
        let dim = DimId(u32::try_from(dim).ok()?);
        let words = TextTimes::along(header, &header.variables[column.at], dim)?;
        let time = Some(words.unit());
        Some(Coordinate { column, ty: NcType::Char, fill: Vec::new(), units: None, time, words: Some(words) })
    }

    /// True if the times are stored as text.
    pub(super) fn is_words(&self) -> bool {
        self.words.is_some()
    }

    /// Returns values from their bytes; `None` for missing values.
    pub(super) fn numbers(&self, bytes: &[u8]) -> Vec<Option<Number>> {
        let len = self.words.map_or(self.ty.size() as u64, |words| words.row_len());
        let len = usize::try_from(len).unwrap_or(usize::MAX).max(1);
        bytes.chunks_exact(len).map(|value| self.number(value)).collect()
    }

    fn number(&self, bytes: &[u8]) -> Option<Number> {
        if let Some(words) = &self.words {
            return words.number(bytes).map(Number::Real);
        }
        if bytes == self.fill || self.ty == NcType::Char {
            return None;
        }
        Some(Number::for_type(self.ty, bytes)).filter(|n| !n.is_nan())
    }

    /// Returns the archive's present values.
    pub(super) fn of_archive(&self, edit: &mut Edit, first: u64, count: u64) -> Result<Vec<Option<Number>>> {
        let bytes =
            edit.cells(self.column.at)?.get(&AnySelection::from(&self.column.records(first, count)))?;
        Ok(self.numbers(&bytes))
    }

    pub(super) fn of_file(&self, first: u64, count: u64) -> Result<Vec<Option<Number>>> {
        Ok(self.numbers(&self.column.read(first, count)?))
    }

    /// Formats a value with its units, and with the date of a time.
    pub(super) fn show(&self, value: Number) -> String {
        let number = match value {
            Number::Whole(n) => n.to_string(),
            Number::Real(n) => n.to_string(),
        };
        match (&self.units, &self.time) {
            (Some(units), Some(time)) => format!("{number} {units} ({})", time.show(value.real())),
            (Some(units), None) => format!("{number} {units}"),
            (None, Some(time)) if self.words.is_some() => time.show(value.real()),
            (None, _) => number,
        }
    }
}

fn is_time(variable: &HeaderVariable) -> bool {
    let units = variable.attribute(b"units").filter(|a| a.ty == NcType::Char);
    units.is_some_and(|a| TimeUnit::is_time(&text(&a.values)))
}
