//! The values of one variable: rows, lines, delimiters.

use super::dates::Calendar;
use super::element::{Element, Format, fill_value};
use super::name::{escape_name, escape_text, until_nul};
use super::notes;
use super::style::Style;
use crate::classic::Variable;
use crate::error::{Error, Result};
use crate::types::NcType;

/// The indentation of a continued line.
const INDENT: &[u8] = b"    ";
/// [`Values::push`] stops where the text is that long.
const TEXT_LEN: usize = 64 << 10;
/// Values written between two looks at the length of the text: at most 120 bytes each, in the main.
const BATCH: usize = 256;

/// Writes the values of one variable, pushed in row-major order; made by [`super::Cdl::values`].
#[derive(Debug)]
pub struct Values<'h> {
    style: &'h Style,
    name: &'h [u8],
    ty: NcType,
    format: Format,
    fill: Option<&'h [u8]>,
    calendar: Option<Calendar>,
    shape: Vec<u64>,
    /// True for dimensions whose rows are in braces: unlimited ones that are not the first.
    braces: Vec<bool>,
    /// Index along all dimensions but the last; `done` once it has run through.
    outer: Vec<u64>,
    done: bool,
    /// Values of a row, and how many of the current one came.
    columns: u64,
    column: u64,
    /// NULs not written yet, and not counted in `column`. They are written only if another byte follows in
    /// the row.
    nuls: u64,
    /// Bytes on the current line.
    line: usize,
}

impl<'h> Values<'h> {
    /// Appends the variable's name and prepares for its values; `shape` has no zeros.
    pub(crate) fn begin(
        variable: &'h Variable,
        (shape, mut braces): (Vec<u64>, Vec<bool>),
        style: &'h Style,
        calendar: Option<Calendar>,
        out: &mut Vec<u8>,
    ) -> Self {
        let name = until_nul(&variable.name);
        out.extend_from_slice(b"\n ");
        escape_name(name, out);
        let line = if shape.len() <= 1 {
            out.extend_from_slice(b" = ");
            name.len() + 4
        } else {
            out.extend_from_slice(b" =\n  ");
            2
        };
        if let Some(first) = braces.first_mut() {
            *first = false;
        }
        Values {
            style,
            name,
            ty: variable.ty,
            format: Format::new(variable, style),
            fill: fill_value(variable),
            calendar,
            columns: shape.last().copied().unwrap_or(1),
            outer: vec![0; shape.len().saturating_sub(1)],
            shape,
            braces,
            done: false,
            column: 0,
            nuls: 0,
            line,
        }
    }

    /// Appends the next values: whole elements, big-endian, as in the file. Stops when `out` has about 64
    /// KiB, so that comments and escapes cannot make it grow without bound. Returns the remaining bytes.
    ///
    /// # Panics
    /// If `bytes` has an incomplete element, or more elements than the variable.
    #[must_use = "not all values may have been written"]
    pub fn push<'b>(&mut self, bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
        assert!(bytes.len().is_multiple_of(self.ty.size()), "whole elements are pushed");
        match (self.ty, &self.format) {
            (NcType::Char, Format::Text) => self.push_text(bytes, out),
            (NcType::Byte | NcType::Char, _) => self.push_numbers::<i8>(bytes, out),
            (NcType::UByte, _) => self.push_numbers::<u8>(bytes, out),
            (NcType::Short, _) => self.push_numbers::<i16>(bytes, out),
            (NcType::UShort, _) => self.push_numbers::<u16>(bytes, out),
            (NcType::Int, _) => self.push_numbers::<i32>(bytes, out),
            (NcType::UInt, _) => self.push_numbers::<u32>(bytes, out),
            (NcType::Int64, _) => self.push_numbers::<i64>(bytes, out),
            (NcType::UInt64, _) => self.push_numbers::<u64>(bytes, out),
            (NcType::Float, _) => self.push_numbers::<f32>(bytes, out),
            (NcType::Double, _) => self.push_numbers::<f64>(bytes, out),
        }
    }

    /// Checks that all values came.
    ///
    /// # Errors
    /// Invalid: values are missing.
    pub fn finish(self) -> Result<()> {
        if self.done {
            return Ok(());
        }
        let name = String::from_utf8_lossy(self.name);
        let (outer, column, shape) = (&self.outer, self.column, &self.shape);
        let place = format!("row {outer:?}, column {column} of shape {shape:?}");
        Err(Error::invalid(format!("the values of `{name}` end at {place}")))
    }

    fn push_numbers<'b, T: Element>(&mut self, mut bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
        let fill = self.fill.map(T::from_be);
        let batch = if self.style.full { 1 } else { BATCH };
        while !bytes.is_empty() && out.len() < TEXT_LEN {
            if self.column == 0 {
                self.begin_row(out);
            }
            // All but the last value of the row are alike.
            let alike = usize::try_from(self.columns - self.column - 1).unwrap_or(usize::MAX);
            let (inside, rest) = bytes.split_at(alike.min(batch).min(bytes.len() / T::SIZE) * T::SIZE);
            for value in inside.chunks_exact(T::SIZE) {
                let begin = out.len();
                self.print(value, fill, out);
                out.extend_from_slice(b", ");
                if self.style.full {
                    notes::value(self.name, self.style.indices, &self.outer, self.column, out);
                } else {
                    self.put(begin, out);
                }
                self.column += 1;
            }
            bytes = rest;
            if self.column + 1 == self.columns && !bytes.is_empty() {
                let (value, rest) = bytes.split_at(T::SIZE);
                let begin = out.len();
                self.print(value, fill, out);
                self.end_row(begin, out);
                bytes = rest;
            }
        }
        bytes
    }

    #[inline]
    fn print<T: Element>(&self, item: &[u8], fill: Option<T>, out: &mut Vec<u8>) {
        let value = T::from_be(item);
        if fill.is_some_and(|fill| value.is_fill(fill)) {
            out.push(b'_');
        } else if !self.calendar.as_ref().is_some_and(|calendar| calendar.print(item, out)) {
            value.print(&self.format, out);
        }
    }

    fn push_text<'b>(&mut self, mut bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
        while let Some((&byte, rest)) = bytes.split_first() {
            if out.len() >= TEXT_LEN {
                break;
            }
            if self.column == 0 && self.nuls == 0 {
                self.begin_row(out);
                out.push(b'"');
            }
            if byte == 0 {
                self.nuls += 1;
            } else if self.nuls > 0 {
                let now = self.nuls.min(BATCH as u64);
                (0..now).for_each(|_| out.extend_from_slice(b"\\000"));
                self.nuls -= now;
                self.column += now;
                continue;
            } else {
                if byte == b'\n' {
                    out.extend_from_slice(b"\\n\",\n    \"");
                } else {
                    escape_text(byte, |b| (0x20..0x7F).contains(&b), out);
                }
                self.column += 1;
            }
            bytes = rest;
            if self.column + self.nuls == self.columns {
                out.push(b'"');
                (self.column, self.nuls) = (self.columns - 1, 0);
                let begin = out.len();
                self.end_row(begin, out);
            }
        }
        bytes
    }

    /// Writes the start of a row: braces, a comment.
    fn begin_row(&mut self, out: &mut Vec<u8>) {
        assert!(!self.done, "not more values than the variable has");
        for level in 1..self.shape.len() {
            if self.braces[level] && self.outer[level..].iter().all(|&i| i == 0) {
                let begin = out.len();
                out.push(b'{');
                self.put(begin, out);
            }
        }
        if self.style.brief && self.shape.len() > 1 {
            notes::row(self.name, self.style.indices, &self.outer, self.columns, out);
            self.line = INDENT.len();
        }
    }

    /// Writes the end of a row after its last value, which begins at `begin`: braces, a delimiter, a comment.
    fn end_row(&mut self, begin: usize, out: &mut Vec<u8>) {
        let is_last =
            |from: usize| self.outer[from..].iter().zip(&self.shape[from..]).all(|(i, n)| i + 1 == *n);
        let closed = (1..self.shape.len()).filter(|&level| self.braces[level] && is_last(level)).count();
        let last = is_last(0);
        out.extend(std::iter::repeat_n(b'}', closed));
        if self.style.full {
            out.push(if last { b';' } else { b',' });
            notes::value(self.name, self.style.indices, &self.outer, self.column, out);
        } else {
            self.put(begin, out);
            out.extend_from_slice(if last { b" ;\n" } else { b",\n  " });
            self.line = 2;
        }
        self.column = 0;
        // Odometer over all but the last dimension.
        self.done = last;
        for (index, len) in self.outer.iter_mut().zip(&self.shape).rev() {
            *index += 1;
            if *index < *len {
                break;
            }
            *index = 0;
        }
    }

    /// Accounts for what `out` holds from `begin` on, which is not to be broken; on a new line if this one is full.
    #[inline]
    fn put(&mut self, begin: usize, out: &mut Vec<u8>) {
        let len = out.len() - begin;
        if self.line + len > self.style.line_len.saturating_sub(2) && len > 2 {
            out.extend_from_slice(b"\n    ");
            out[begin..].rotate_right(1 + INDENT.len());
            self.line = INDENT.len();
        }
        self.line += len;
        if out.last() == Some(&b'\n') && len > 0 {
            self.line = 0;
        }
    }
}
