//! Writes a part of a data set as a classic file, while it is sent.

use super::header::{arrangement, dimensions_of, header_of};
use super::{PIECE_LEN, PartError, Projection, pieces_of, variable_of};
use nc3z_format::Hyperslab;
use nc3z_format::classic::{Arrangement, DimId, with_related};
use nc3z_reader::{Dataset, Variable};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// First index, count and stride.
type Span = (u64, u64, i64);

/// A classic file of a part of a data set.
pub struct Subset {
    variables: Vec<(Variable, Hyperslab)>,
    arrangement: Arrangement,
    todo: VecDeque<Step>,
    next_record: u64,
    /// The piece that is being made.
    piece: Vec<u8>,
}

/// A part of the file.
enum Step {
    Header,
    Values(usize, Hyperslab),
    Padding(usize, Range<u64>),
}

impl Subset {
    /// Finds the dimensions and attributes of the requested variables, and lays out the file. Reads no
    /// values.
    ///
    /// # Errors
    /// Two parts of one dimension; a part that is not in its variable; more than `limit` bytes.
    pub fn new(dataset: &Dataset, projections: &[Projection], limit: u64) -> Result<Self, PartError> {
        let old = dataset.header();
        for part in projections {
            let variable = variable_of(dataset, part)?;
            if part.slab.stride.iter().any(|stride| *stride < 1) {
                return Err(PartError::Refused("a file is made of ascending indices".to_owned()));
            }
            variable.plan(&part.slab)?;
        }
        let spans = spans_of(dataset, projections)?;
        let chosen = with_related(old, projections.iter().map(|p| p.variable));
        let used = dimensions_of(old, &chosen);
        let len = |id| spans.get(&id).map(|(_, count, _)| *count);
        let (header, records) = header_of(dataset, &chosen, &used, &len);
        let mut variables = Vec::new();
        for id in chosen {
            let variable = dataset.variable_at(id).expect("the id is one of the header's");
            let mut slab = variable.all();
            for (n, dim) in old.variables[id.index()].dimensions.iter().enumerate() {
                if let Some((start, count, stride)) = spans.get(dim) {
                    (slab.start[n], slab.count[n], slab.stride[n]) = (*start, *count, *stride);
                }
            }
            variable.plan(&slab)?;
            variables.push((variable, slab));
        }
        let arrangement = arrangement(&header, records).map_err(|e| PartError::Refused(e.to_string()))?;
        let len = arrangement.layout.file_len;
        if len > limit {
            return Err(PartError::TooLong { len, limit });
        }
        let mut todo = VecDeque::from([Step::Header]);
        for (n, (_, slab)) in variables.iter().enumerate() {
            let place = &arrangement.layout.variables[n];
            if !place.is_record {
                todo.extend(
                    pieces_of(slab, PIECE_LEN / place.element_size()).into_iter().map(|s| Step::Values(n, s)),
                );
                todo.push_back(Step::Padding(n, place.slot_len..place.slot_len.next_multiple_of(4)));
            }
        }
        Ok(Subset { variables, arrangement, todo, next_record: 0, piece: Vec::new() })
    }

    /// Bytes of the file.
    pub fn byte_len(&self) -> u64 {
        self.arrangement.layout.file_len
    }

    /// Returns the next records: several at a time if they are short, otherwise one record as several steps.
    fn records(&mut self) -> Result<Option<Vec<u8>>, PartError> {
        let Some(records) = &self.arrangement.layout.records else { return Ok(None) };
        let first = self.next_record;
        if first >= records.count {
            return Ok(None);
        }
        let rows = (PIECE_LEN / records.stride.max(1)).clamp(1, records.count - first);
        let row = |slab: &Hyperslab, count: u64| {
            let mut part = slab.clone();
            part.start[0] += first * slab.stride[0].unsigned_abs();
            part.count[0] = count;
            part
        };
        if rows == 1 {
            for slot in &records.slots {
                let n = slot.variable.index();
                let (variable, slab) = &self.variables[n];
                let parts = pieces_of(&row(slab, 1), PIECE_LEN / variable.ty().size() as u64);
                self.todo.extend(parts.into_iter().map(|part| Step::Values(n, part)));
                self.todo.push_back(Step::Padding(n, slot.slot_len..slot.padded_len));
            }
            self.next_record += rows;
            return Ok(Some(Vec::new()));
        }
        let in_memory = |n: u64| usize::try_from(n).expect("a piece fits in memory");
        let stride = in_memory(records.stride);
        let mut batch = vec![0; in_memory(rows) * stride];
        for slot in &records.slots {
            let (variable, slab) = &self.variables[slot.variable.index()];
            let values = variable.read_bytes(&row(slab, rows))?;
            let (len, offset) = (in_memory(slot.slot_len), in_memory(slot.offset_in_record));
            let padding = padding(variable, slot.slot_len..slot.padded_len);
            for (record, values) in batch.chunks_exact_mut(stride).zip(values.chunks_exact(len.max(1))) {
                record[offset..offset + len].copy_from_slice(values);
                record[offset + len..offset + len + padding.len()].copy_from_slice(&padding);
            }
        }
        self.next_record += rows;
        Ok(Some(batch))
    }

    /// Returns the next piece, which is never empty. None at the end.
    ///
    /// # Errors
    /// The values cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, PartError> {
        while (self.piece.len() as u64) < PIECE_LEN / 2 {
            match self.todo.front() {
                Some(Step::Header) => self.piece.extend(&self.arrangement.header_bytes),
                Some(Step::Values(n, slab)) => self.piece.extend(self.variables[*n].0.read_bytes(slab)?),
                Some(Step::Padding(n, range)) => {
                    self.piece.extend(padding(&self.variables[*n].0, range.clone()));
                }
                None => match self.records()? {
                    Some(bytes) => {
                        self.piece.extend(bytes);
                        continue;
                    }
                    None => break,
                },
            }
            // Removed only after success, so that a failed call can be repeated.
            self.todo.pop_front();
        }
        let piece = std::mem::take(&mut self.piece);
        Ok((!piece.is_empty()).then_some(piece))
    }
}

/// Returns the fill value of the type; the C library uses it as padding.
fn padding(variable: &Variable, range: Range<u64>) -> Vec<u8> {
    let own = variable.attribute("_FillValue").filter(|a| a.ty == variable.ty());
    let fill = own.map(|a| &a.values[..]).filter(|v| v.len() == variable.ty().size());
    let fill = fill.unwrap_or(variable.ty().default_fill());
    range.map(|at| fill[usize::try_from(at).expect("less than four") % fill.len()]).collect()
}

/// The parts of dimensions that the projections select.
fn spans_of(dataset: &Dataset, projections: &[Projection]) -> Result<BTreeMap<DimId, Span>, PartError> {
    let mut spans: BTreeMap<DimId, Span> = BTreeMap::new();
    let header = dataset.header();
    for projection in projections {
        let slab = &projection.slab;
        for (n, dim) in header.variables[projection.variable.index()].dimensions.iter().enumerate() {
            let span = (slab.start[n], slab.count[n], slab.stride[n]);
            if *spans.entry(*dim).or_insert(span) != span {
                let name = header.dimensions[dim.index()].name_lossy();
                return Err(PartError::Refused(format!(
                    "a file has one part of dimension `{name}`, but two are requested"
                )));
            }
        }
    }
    Ok(spans)
}
