//! Columns of a catalogue that is being written, and the classic file that they become. Long ones are kept in temporary files.

use super::table::{Axis, Column, Lengths, header, row_len};
use crate::error::{Error, Result};
use nc3z_format::Error as FormatError;
use nc3z_format::NcType;
use nc3z_format::classic::arrange;
use nc3z_reader::source::{ByteSource, FileSource, MemorySource, SharedSource};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a column that are kept in memory.
const IN_MEMORY: usize = 1 << 20;

pub(super) fn failed(what: impl std::fmt::Display) -> Error {
    Error::refused(format!("the catalogue cannot be written: {what}"))
}

/// The bytes of a column.
#[derive(Default)]
struct Spool {
    buffer: Vec<u8>,
    file: Option<File>,
    len: u64,
    /// Bytes that are elsewhere, if they are not here.
    elsewhere: Option<SharedSource>,
}

impl Spool {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.len += bytes.len() as u64;
        if self.buffer.len() < IN_MEMORY { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile().map_err(failed)?,
        };
        file.write_all(&self.buffer).map_err(failed)?;
        self.buffer.clear();
        self.file = Some(file);
        Ok(())
    }

    fn into_source(mut self) -> Result<SharedSource> {
        if self.file.is_some() {
            self.flush()?;
        }
        if let Some(source) = self.elsewhere {
            return Ok(source);
        }
        Ok(match self.file {
            Some(file) => Arc::new(FileSource::from_file(file, Path::new("a temporary file"))?),
            None => Arc::new(MemorySource::new(self.buffer)),
        })
    }
}

/// All columns.
pub(super) struct Spools(Vec<Spool>);

impl Default for Spools {
    fn default() -> Self {
        Spools(Column::ALL.iter().map(|_| Spool::default()).collect())
    }
}

impl Spools {
    /// Appends bytes to a column.
    pub(super) fn bytes(&mut self, column: Column, bytes: &[u8]) -> Result<()> {
        self.0[column as usize].push(bytes)
    }

    /// Takes a source as the bytes of a column, which has none so far.
    pub(super) fn put_source(&mut self, column: Column, source: SharedSource) {
        self.0[column as usize] = Spool { len: source.len(), elsewhere: Some(source), ..Spool::default() };
    }

    /// Appends numbers to a column.
    pub(super) fn numbers(&mut self, column: Column, values: impl IntoIterator<Item = i64>) -> Result<()> {
        let ty = column.spec().ty;
        let spool = &mut self.0[column as usize];
        let narrow = |value: i64| failed(format!("{value} is beyond the range of `{}`", column.spec().name));
        for value in values {
            match ty {
                NcType::Byte => spool.push(&i8::try_from(value).map_err(|_| narrow(value))?.to_be_bytes())?,
                NcType::Short => {
                    spool.push(&i16::try_from(value).map_err(|_| narrow(value))?.to_be_bytes())?;
                }
                NcType::UInt => {
                    spool.push(&u32::try_from(value).map_err(|_| narrow(value))?.to_be_bytes())?;
                }
                NcType::Int => spool.push(&i32::try_from(value).map_err(|_| narrow(value))?.to_be_bytes())?,
                _ => spool.push(&value.to_be_bytes())?,
            }
        }
        Ok(())
    }

    /// Appends counts, lengths and offsets to a column.
    pub(super) fn sizes(&mut self, column: Column, values: impl IntoIterator<Item = u64>) -> Result<()> {
        values.into_iter().try_for_each(|value| {
            let signed = i64::try_from(value);
            let name = column.spec().name;
            let value = signed.map_err(|_| failed(format!("{value} is beyond the range of `{name}`")))?;
            self.numbers(column, [value])
        })
    }

    /// Appends doubles to a column.
    pub(super) fn doubles(&mut self, column: Column, values: impl IntoIterator<Item = f64>) -> Result<()> {
        values.into_iter().try_for_each(|value| self.bytes(column, &value.to_be_bytes()))
    }

    /// The number of rows of each dimension.
    fn lengths(&self) -> Lengths {
        let mut lengths = Lengths::default();
        for column in Column::ALL {
            // Only bundles have all columns of the files.
            let len = &mut lengths[column.spec().axis];
            *len = (*len).max(self.0[*column as usize].len / row_len(*column));
        }
        lengths
    }

    /// The columns with rows, in their order, and the number of rows of each dimension. `order` returns the runs of rows of a dimension in
    /// the order of the file. None if that is the order in which they were appended.
    pub(super) fn into_columns(
        self,
        order: &dyn Fn(Axis) -> Option<Vec<Run>>,
    ) -> Result<(Vec<Rows>, Lengths)> {
        let lengths = self.lengths();
        let mut all = Vec::new();
        for (column, spool) in Column::ALL.iter().zip(self.0) {
            let rows = spool.len / row_len(*column);
            if rows == 0 {
                continue;
            }
            let runs = order(column.spec().axis).unwrap_or_else(|| vec![(0, rows)]);
            all.push(Rows { column: *column, runs, source: spool.into_source()? });
        }
        Ok((all, lengths))
    }

    /// The classic file. `order` is that of [`Spools::into_columns`].
    pub(super) fn into_classic(
        self,
        order: &dyn Fn(Axis) -> Option<Vec<Run>>,
        is_bundle: bool,
    ) -> Result<(SharedSource, Lengths)> {
        let (all, lengths) = self.into_columns(order)?;
        let (header, columns) = header(&lengths, is_bundle);
        debug_assert!(columns.iter().eq(all.iter().map(|rows| &rows.column)));
        let arranged = arrange(header, 0)?;
        let mut sources: Vec<SharedSource> = vec![Arc::new(MemorySource::new(arranged.header_bytes.clone()))];
        let mut pieces = vec![Piece { at: 0, source: 0, from: 0 }];
        for (rows, variable) in all.into_iter().zip(&arranged.header.variables) {
            let row = row_len(rows.column);
            let mut at = variable.begin;
            for (first, count) in rows.runs {
                pieces.push(Piece { at, source: sources.len(), from: first * row });
                at += count * row;
            }
            sources.push(rows.source);
            // Variables of short types are padded to a multiple of 4 with their fill value.
            let padding: Vec<u8> = variable
                .fill_value()
                .iter()
                .copied()
                .cycle()
                .take(usize::try_from(at.next_multiple_of(4) - at).unwrap_or(0))
                .collect();
            if !padding.is_empty() {
                pieces.push(Piece { at, source: sources.len(), from: 0 });
                sources.push(Arc::new(MemorySource::new(padding)));
            }
        }
        Ok((Arc::new(Classic { len: arranged.layout.file_len, pieces, sources }), lengths))
    }
}

/// The first of some rows, and their number.
pub(super) type Run = (u64, u64);

/// The rows of a column.
pub(super) struct Rows {
    pub(super) column: Column,
    /// Runs of the rows of the source, in the order of the file.
    runs: Vec<Run>,
    source: SharedSource,
}

impl Rows {
    /// The bytes of the rows, if they are in their order.
    pub(super) fn source(&self) -> &SharedSource {
        &self.source
    }

    /// Calls `each` with the rows in their order: some of them at a time, as their number and their bytes.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let row = row_len(self.column);
        let most = IN_MEMORY as u64 / row;
        for (first, count) in &self.runs {
            for from in (0..*count).step_by(IN_MEMORY / usize::try_from(row).unwrap_or(1)) {
                let some = most.min(count - from);
                let len = usize::try_from(some * row).map_err(failed)?;
                each(some, &self.source.read_at((first + from) * row, len)?)?;
            }
        }
        Ok(())
    }
}

/// A run of bytes of the classic file, up to the next one.
struct Piece {
    at: u64,
    source: usize,
    from: u64,
}

/// A classic file in pieces.
struct Classic {
    len: u64,
    pieces: Vec<Piece>,
    sources: Vec<SharedSource>,
}

impl ByteSource for Classic {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, mut offset: u64, mut out: &mut [u8]) -> nc3z_reader::Result<()> {
        let left = self.len.saturating_sub(offset);
        if out.len() as u64 > left {
            let at = Some(offset);
            return Err(
                FormatError::truncated("the dataset", at, "bytes", out.len() as u64 - left, left).into()
            );
        }
        let mut next = self.pieces.partition_point(|piece| piece.at <= offset);
        while !out.is_empty() {
            let piece = &self.pieces[next - 1];
            let end = self.pieces.get(next).map_or(self.len, |piece| piece.at);
            let len = usize::try_from(end - offset).map_or(out.len(), |len| len.min(out.len()));
            let (here, rest) = out.split_at_mut(len);
            self.sources[piece.source].read_into(piece.from + (offset - piece.at), here)?;
            (offset, out, next) = (end, rest, next + 1);
        }
        Ok(())
    }
}
