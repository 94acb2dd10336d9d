//! Writes a new classic file from front to back: header, fixed variables, records; each value once.

use nc3z_format::classic::{Arrangement, VarId, Variable};
use std::io::{self, Write};
use std::ops::Range;

/// Bytes of records that are collected before they are written, unless one record is longer.
const BATCH_LEN: u64 = 16 << 20;

/// The source of a new file's values.
pub trait ClassicValues {
    /// The error of the source; it also carries errors of writing.
    type Error: From<io::Error>;

    /// Passes the big-endian bytes of a variable to `sink` in row-major order, in pieces of any length. For a
    /// record variable it passes the records `rows`. For a fixed variable `rows` is `0..1`, and it passes all values.
    ///
    /// # Errors
    /// The source fails, or `sink` returned an error, which must be passed on.
    fn read(
        &mut self,
        var: VarId,
        rows: Range<u64>,
        sink: &mut Sink<'_, Self::Error>,
    ) -> Result<(), Self::Error>;
}

/// Receives a piece of values.
pub type Sink<'s, E> = dyn FnMut(&[u8]) -> Result<(), E> + 's;

/// Writes a classic file. Memory: 16 MiB or one piece of `values`, whichever is more.
///
/// # Errors
/// `values` fails, writing fails, or `values` gives more or fewer bytes than the arrangement requires.
pub fn write_classic<V: ClassicValues>(
    arrangement: &Arrangement,
    values: &mut V,
    out: &mut dyn Write,
) -> Result<(), V::Error> {
    out.write_all(&arrangement.header_bytes)?;
    let header = &arrangement.header;
    for (id, variable) in header.variables().filter(|(_, v)| !header.is_record(v)) {
        let len = arrangement.layout.variables[id.index()].slot_len;
        through(values, id, 0..1, len, out)?;
        // Fixed variables are padded to a multiple of 4.
        pad(variable, len, len.next_multiple_of(4), out)?;
    }
    write_records(arrangement, values, out)
}

fn write_records<V: ClassicValues>(
    arrangement: &Arrangement,
    values: &mut V,
    out: &mut dyn Write,
) -> Result<(), V::Error> {
    let Some(records) = &arrangement.layout.records else { return Ok(()) };
    let variable = |id: VarId| &arrangement.header.variables[id.index()];
    let per_batch = (BATCH_LEN / records.stride).min(records.count);
    if per_batch <= 1 {
        for record in 0..records.count {
            for slot in &records.slots {
                through(values, slot.variable, record..record + 1, slot.slot_len, out)?;
                pad(variable(slot.variable), slot.slot_len, slot.padded_len, out)?;
            }
        }
        return Ok(());
    }
    let in_memory = |n: u64| usize::try_from(n).expect("a batch fits in memory");
    let stride = in_memory(records.stride);
    let mut batch = vec![0; in_memory(per_batch) * stride];
    for slot in &records.slots {
        let (begin, end) = (slot.offset_in_record + slot.slot_len, slot.offset_in_record + slot.padded_len);
        for record in batch.chunks_exact_mut(stride) {
            let mut padding = &mut record[in_memory(begin)..in_memory(end)];
            pad(variable(slot.variable), slot.slot_len, slot.padded_len, &mut padding)?;
        }
    }
    let mut first = 0;
    while first < records.count {
        let rows = first..records.count.min(first + per_batch);
        let batch = &mut batch[..in_memory(rows.end - rows.start) * stride];
        for slot in &records.slots {
            let (len, offset) = (in_memory(slot.slot_len), in_memory(slot.offset_in_record));
            let total = len * batch.len() / stride;
            let mut at = 0;
            values.read(slot.variable, rows.clone(), &mut |mut bytes| {
                check(bytes.len() as u64 <= (total - at) as u64, slot.variable)?;
                while !bytes.is_empty() {
                    let within = at % len;
                    let (here, rest) = bytes.split_at(bytes.len().min(len - within));
                    let to = at / len * stride + offset + within;
                    batch[to..to + here.len()].copy_from_slice(here);
                    at += here.len();
                    bytes = rest;
                }
                Ok(())
            })?;
            check(at == total, slot.variable)?;
        }
        out.write_all(batch)?;
        first = rows.end;
    }
    Ok(())
}

/// Writes values directly to the file.
fn through<V: ClassicValues>(
    values: &mut V,
    id: VarId,
    rows: Range<u64>,
    len: u64,
    out: &mut dyn Write,
) -> Result<(), V::Error> {
    let mut left = len;
    values.read(id, rows, &mut |bytes| {
        check(bytes.len() as u64 <= left, id)?;
        left -= bytes.len() as u64;
        Ok(out.write_all(bytes)?)
    })?;
    Ok(check(left == 0, id)?)
}

fn check(fits: bool, id: VarId) -> io::Result<()> {
    let what = || format!("variable {} was given more or fewer values than it has", id.0);
    if fits { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidData, what())) }
}

/// Pads values of `len` bytes to the next multiple of 4 with fill values, as the format requires.
fn pad(variable: &Variable, len: u64, padded_len: u64, out: &mut dyn Write) -> io::Result<()> {
    // At most three bytes: only types of one or two bytes need padding.
    (len..padded_len)
        .zip(variable.fill_value().iter().cycle())
        .try_for_each(|(_, byte)| out.write_all(&[*byte]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::NcType;
    use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, Version, arrange};
    use nc3z_format::{Hyperslab, Limits};
    use nc3z_reader::source::MemorySource;
    use nc3z_reader::{ClassicFile, Dataset};
    use std::sync::Arc;

    /// Values that encode their position, in pieces of an odd length, and optionally too few or too many of
    /// them.
    struct Pattern<'a> {
        arrangement: &'a Arrangement,
        piece: usize,
        extra: i64,
    }

    fn value(var: VarId, at: u64) -> u8 {
        (at * 7 + u64::from(var.0) * 101 + at / 256).to_le_bytes()[0]
    }

    impl ClassicValues for Pattern<'_> {
        type Error = io::Error;

        fn read(&mut self, var: VarId, rows: Range<u64>, sink: &mut Sink<'_, io::Error>) -> io::Result<()> {
            let len = self.arrangement.layout.variables[var.index()].slot_len;
            let end = (rows.end * len).saturating_add_signed(self.extra);
            let bytes: Vec<u8> = (rows.start * len..end).map(|at| value(var, at)).collect();
            bytes.chunks(self.piece).try_for_each(sink)
        }
    }

    fn arrangement(records: u64, variables: &[(NcType, &[u32])]) -> Arrangement {
        let dimension = |(name, len): (&str, u64)| Dimension { name: name.into(), len };
        let variable = |(n, (ty, dims)): (usize, &(NcType, &[u32]))| Variable {
            name: format!("v{n}").into_bytes(),
            dimensions: dims.iter().copied().map(DimId).collect(),
            attributes: vec![],
            ty: *ty,
            vsize: 0,
            begin: 0,
        };
        let mut header = Header {
            version: Version::Cdf5,
            numrecs: NumRecs::Streaming,
            dimensions: [("t", 0), ("x", 3), ("long", 5 << 20)].map(dimension).to_vec(),
            attributes: vec![],
            variables: variables.iter().enumerate().map(variable).collect(),
        };
        if let Some(v) = header.variables.iter_mut().find(|v| v.ty == NcType::Byte) {
            v.attributes.push(Attribute { name: b"_FillValue".into(), ty: NcType::Byte, values: vec![0x55] });
        }
        arrange(header, records).unwrap()
    }

    fn written(arrangement: &Arrangement, piece: usize, extra: i64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        write_classic(arrangement, &mut Pattern { arrangement, piece, extra }, &mut out).map(|()| out)
    }

    fn read_back(arrangement: &Arrangement, bytes: Vec<u8>) {
        assert_eq!(bytes.len() as u64, arrangement.layout.file_len);
        let source = Arc::new(MemorySource::new(bytes));
        let file = ClassicFile::from_source(source, &Limits::default()).unwrap();
        assert_eq!(file.layout().warnings, []);
        let dataset = Dataset::from(file);
        for variable in dataset.variables() {
            let bytes = variable.read_bytes(&Hyperslab::all(variable.shape())).unwrap();
            assert!(
                bytes.iter().zip(0..).all(|(b, at)| *b == value(variable.id(), at)),
                "{}",
                variable.name()
            );
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mixed: &[(NcType, &[u32])] = &[
            (NcType::Byte, &[0, 1]),
            (NcType::Double, &[]),
            (NcType::Short, &[0]),
            (NcType::Byte, &[1]),
            (NcType::Int, &[0, 1]),
        ];
        for variables in [mixed, &mixed[..1], &mixed[1..2], &[]] {
            for (records, piece) in [(0, 1), (1, 5), (2, 1), (1000, 7), (1000, 1 << 20)] {
                let arrangement = arrangement(records, variables);
                read_back(&arrangement, written(&arrangement, piece, 0).unwrap());
            }
        }
    }

    #[test]
    fn records_longer_than_a_batch_and_several_batches() {
        for (records, dims) in [(2, &[0, 2][..]), (7_000_000, &[0])] {
            let arrangement = arrangement(records, &[(NcType::Int, dims), (NcType::Byte, &[0])]);
            read_back(&arrangement, written(&arrangement, 1 << 20, 0).unwrap());
        }
    }

    #[test]
    fn padding_is_the_fill_value() {
        let one = arrangement(1, &[(NcType::Byte, &[1]), (NcType::Short, &[])]);
        let bytes = written(&one, 9, 0).unwrap();
        assert_eq!(bytes[bytes.len() - 5], 0x55);
        assert_eq!(bytes[bytes.len() - 2..], [0x80, 0x01]);
    }

    #[test]
    fn another_number_of_values_is_an_error() {
        for records in [1, 9] {
            let arrangement = arrangement(records, &[(NcType::Short, &[0, 1]), (NcType::Int, &[1])]);
            for extra in [-2, 2] {
                assert!(written(&arrangement, 4, extra).unwrap_err().to_string().contains("more or fewer"));
            }
        }
    }
}
