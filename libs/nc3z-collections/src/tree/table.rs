//! Tables as CSV (RFC 4180), of any size: rows are read and written one at a time, as bytes.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::{self, BufRead, Write};

/// The largest length of a row in bytes: paths have a few thousand at most.
const ROW: usize = 1 << 20;

/// A table that is read.
pub(crate) struct TableReader<R> {
    input: R,
    parser: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The number of rows that were read, with the first line.
    rows: u64,
}

impl<R: BufRead> TableReader<R> {
    /// Reads a table whose fields are separated by `delimiter`.
    pub(crate) fn new(input: R, delimiter: u8) -> Self {
        let parser = ReaderBuilder::new().delimiter(delimiter).build();
        TableReader { input, parser, bytes: vec![0; 1 << 10], ends: vec![0; 16], rows: 0 }
    }

    /// Reads the next row; none at the end.
    ///
    /// # Errors
    /// The input cannot be read; a row is too long.
    pub(crate) fn row(&mut self) -> io::Result<Option<Row<'_>>> {
        let (mut bytes, mut fields) = (0, 0);
        loop {
            let input = self.input.fill_buf()?;
            let (result, read, written, ended) =
                self.parser.read_record(input, &mut self.bytes[bytes..], &mut self.ends[fields..]);
            self.input.consume(read);
            (bytes, fields) = (bytes + written, fields + ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull
                    if self.bytes.len() >= ROW =>
                {
                    let what = format!(
                        "row {} is longer than {ROW} bytes: a quote is missing, or this is not a table",
                        self.rows + 1
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    self.rows += 1;
                    let (bytes, ends) = (&self.bytes[..bytes], &self.ends[..fields]);
                    return Ok(Some(Row { bytes, ends, number: self.rows }));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}

/// A row of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    number: u64,
}

impl<'a> Row<'a> {
    /// Returns the number of the row; the first line is 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn get(&self, n: usize) -> Option<&'a [u8]> {
        let end = *self.ends.get(n)?;
        let begin = n.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(begin..end)
    }

    /// Returns a field as text.
    pub(crate) fn text(&self, n: usize) -> Option<&'a str> {
        std::str::from_utf8(self.get(n)?).ok()
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let row = *self;
        (0..row.ends.len()).filter_map(move |n| row.get(n))
    }
}

/// Writes a row.
///
/// # Errors
/// Errors of the output.
pub(crate) fn write_row(out: &mut dyn Write, fields: &[&[u8]]) -> io::Result<()> {
    for (n, field) in fields.iter().enumerate() {
        if n > 0 {
            out.write_all(b",")?;
        }
        if field.iter().any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r')) {
            let quoted: Vec<u8> =
                field.iter().flat_map(|b| if *b == b'"' { vec![b'"', b'"'] } else { vec![*b] }).collect();
            out.write_all(b"\"")?;
            out.write_all(&quoted)?;
            out.write_all(b"\"")?;
        } else {
            out.write_all(field)?;
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_endless_ones_are_refused() {
        let long = "x".repeat(5000);
        let rows: [[&[u8]; 3]; 4] = [
            [b"path", b"size", b""],
            [b"a \"b\",\n\r.nc", b"1", b"\xff"],
            [long.as_bytes(), b"", b"2"],
            [b"", b"", b""],
        ];
        let mut out = Vec::new();
        rows.iter().for_each(|row| write_row(&mut out, row).unwrap());
        let mut table = TableReader::new(&out[..], b',');
        for row in rows {
            let read = table.row().unwrap().unwrap();
            assert_eq!(read.fields().collect::<Vec<&[u8]>>(), row);
        }
        assert!(table.row().unwrap().is_none());
        let endless = [b"\"".as_slice(), &vec![b'x'; 3 << 20]].concat();
        assert!(TableReader::new(&endless[..], b',').row().unwrap_err().to_string().contains("row 1"));
    }
}
