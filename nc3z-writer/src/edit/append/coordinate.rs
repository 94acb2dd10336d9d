//! The record coordinate: the variable whose values order the records.

use super::{Column, Edit};
use crate::edit::Picks;
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::classic::Variable as HeaderVariable;
use std::cmp::Ordering;

/// A value of a record coordinate.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Number {
    Int(i128),
    Real(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Int(n) => n.fmt(f),
            Number::Real(n) => n.fmt(f),
        }
    }
}

/// Which way a record coordinate runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Direction {
    /// The way from one value to another; nothing where they are the same or not comparable.
    pub(super) fn of(first: Number, second: Number) -> Option<Self> {
        match first.partial_cmp(&second)? {
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
}

impl<'a> Coordinate<'a> {
    /// The variable that is named as the record dimension is, or the first one that is a time.
    pub(super) fn find(edit: &Edit, dimension: &str, columns: &'a [Column]) -> Option<Self> {
        let variable = |column: &Column| &edit.header.variables[column.at];
        let mut along =
            columns.iter().filter(|column| column.new.shape().len() == 1 && column.new.ty() != NcType::Char);
        let column = along
            .clone()
            .find(|column| column.name == dimension)
            .or_else(|| along.find(|c| is_time(variable(c))))?;
        let header = variable(column);
        let units = header.attribute(b"units").map(|a| text(&a.values));
        Some(Coordinate { column, ty: header.ty, fill: header.fill_value().to_vec(), units })
    }

    /// Values out of their bytes; nothing where a value is missing.
    pub(super) fn numbers(&self, bytes: &[u8]) -> Vec<Option<Number>> {
        bytes.chunks_exact(self.ty.size()).map(|value| self.number(value)).collect()
    }

    fn number(&self, bytes: &[u8]) -> Option<Number> {
        if bytes == self.fill {
            return None;
        }
        number(self.ty, bytes).filter(|n| !matches!(n, Number::Real(x) if x.is_nan()))
    }

    /// The archive's values as they are now.
    pub(super) fn of_archive(&self, edit: &mut Edit, first: u64, count: u64) -> Result<Vec<Option<Number>>> {
        let bytes = edit.cells(self.column.at)?.get(&Picks::from(&self.column.records(first, count)))?;
        Ok(self.numbers(&bytes))
    }

    /// The new file's values.
    pub(super) fn of_file(&self, first: u64, count: u64) -> Result<Vec<Option<Number>>> {
        Ok(self.numbers(&self.column.read(first, count)?))
    }

    /// A value for people: with its units.
    pub(super) fn show(&self, value: Number) -> String {
        match &self.units {
            Some(units) => format!("{value} {units}"),
            None => value.to_string(),
        }
    }
}

fn is_time(variable: &HeaderVariable) -> bool {
    variable.attribute(b"units").is_some_and(|a| {
        a.ty == NcType::Char
            && text(&a.values).split_whitespace().any(|word| word.eq_ignore_ascii_case("since"))
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}

fn number(ty: NcType, bytes: &[u8]) -> Option<Number> {
    Some(match ty {
        NcType::Byte => Number::Int(i8::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::UByte => Number::Int(u8::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::Short => Number::Int(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::UShort => Number::Int(u16::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::Int => Number::Int(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::UInt => Number::Int(u32::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::Int64 => Number::Int(i64::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::UInt64 => Number::Int(u64::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::Float => Number::Real(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        NcType::Double => Number::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        NcType::Char => return None,
    })
}
