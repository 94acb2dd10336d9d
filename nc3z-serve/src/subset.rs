//! A part of a data set as a classic file, made while it is sent.

use crate::dap::{Asked, Projection};
use crate::failure::{Answer, Failure};
use crate::pieces::{PIECE_LEN, Pieces, pieces_of};
use bytes::Bytes;
use nc3z_format::Hyperslab;
use nc3z_format::classic::{
    Arrangement, DimId, Dimension, Header, Variable as Entry, Version, arrange, with_related,
};
use nc3z_reader::{Dataset, Variable};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;

/// First index, count and stride.
type Span = (u64, u64, i64);

/// A classic file of a part of a data set.
pub(crate) struct Subset {
    variables: Vec<(Variable, Hyperslab)>,
    arrangement: Arrangement,
    todo: VecDeque<Step>,
    next_record: u64,
}

/// A part of the file.
enum Step {
    Header,
    Values(usize, Hyperslab),
    Padding(usize, Range<u64>),
}

impl Subset {
    /// Finds what belongs to the variables that are asked for, and arranges the file. No values are read.
    pub(crate) fn new(asked: &Asked, limit: u64) -> Answer<Self> {
        let old = asked.dataset.header();
        let spans = spans_of(&asked.dataset, &asked.projections)?;
        let chosen = with_related(old, asked.projections.iter().map(|p| p.variable));
        let used: BTreeSet<DimId> =
            chosen.iter().flat_map(|id| old.variables[id.index()].dimensions.iter().copied()).collect();
        let new_ids: HashMap<DimId, DimId> = used.iter().copied().zip((0_u32..).map(DimId)).collect();
        let mut header = Header {
            version: old.version,
            numrecs: old.numrecs,
            dimensions: Vec::new(),
            attributes: old.attributes.clone(),
            variables: Vec::new(),
        };
        let mut records = 0;
        let whole = |dim: &DimId| {
            let len = old.dimensions[dim.index()].len;
            (0, if len == 0 { asked.dataset.records() } else { len }, 1)
        };
        for id in &used {
            let Dimension { name, len } = &old.dimensions[id.index()];
            let (_, count, _) = spans.get(id).copied().unwrap_or_else(|| whole(id));
            if *len == 0 {
                records = count;
            }
            header.dimensions.push(Dimension { name: name.clone(), len: if *len == 0 { 0 } else { count } });
        }
        let mut variables = Vec::new();
        for id in chosen {
            let variable = asked.dataset.variable_at(id).expect("the id is one of the header's");
            let mut new: Entry = old.variables[id.index()].clone();
            let mut slab = variable.all();
            for (n, dim) in new.dimensions.iter_mut().enumerate() {
                if let Some((start, count, stride)) = spans.get(dim) {
                    (slab.start[n], slab.count[n], slab.stride[n]) = (*start, *count, *stride);
                }
                *dim = new_ids[dim];
            }
            variable.plan(&slab)?;
            header.variables.push(new);
            variables.push((variable, slab));
        }
        let arrangement = arrangement(&header, records)?;
        let len = arrangement.layout.file_len;
        if len > limit {
            return Err(Failure::too_long(len, limit));
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
        Ok(Subset { variables, arrangement, todo, next_record: 0 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.arrangement.layout.file_len
    }

    /// The next records: several at a time if they are short, else the parts of one as steps.
    fn records(&mut self) -> Answer<Option<Vec<u8>>> {
        let Some(records) = &self.arrangement.layout.records else { return Ok(None) };
        let first = self.next_record;
        if first >= records.count {
            return Ok(None);
        }
        let rows = (PIECE_LEN / records.stride.max(1)).clamp(1, records.count - first);
        self.next_record += rows;
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
        Ok(Some(batch))
    }
}

impl Pieces for Subset {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        let mut out = Vec::new();
        while (out.len() as u64) < PIECE_LEN / 2 {
            match self.todo.pop_front() {
                Some(Step::Header) => out.extend(&self.arrangement.header_bytes),
                Some(Step::Values(n, slab)) => out.extend(self.variables[n].0.read_bytes(&slab)?),
                Some(Step::Padding(n, range)) => out.extend(padding(&self.variables[n].0, range)),
                None => match self.records()? {
                    Some(bytes) => out.extend(bytes),
                    None => break,
                },
            }
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }
}

/// The fill value of the type, as the C library pads with it.
fn padding(variable: &Variable, range: Range<u64>) -> Vec<u8> {
    let own = variable.attribute("_FillValue").filter(|a| a.ty == variable.ty());
    let fill = own.map(|a| &a.values[..]).filter(|v| v.len() == variable.ty().size());
    let fill = fill.unwrap_or(variable.ty().default_fill());
    range.map(|at| fill[usize::try_from(at).expect("less than four") % fill.len()]).collect()
}

/// The parts of dimensions that the projections ask for.
fn spans_of(dataset: &Dataset, projections: &[Projection]) -> Answer<BTreeMap<DimId, Span>> {
    let mut spans: BTreeMap<DimId, Span> = BTreeMap::new();
    let header = dataset.header();
    for projection in projections {
        let slab = &projection.slab;
        for (n, dim) in header.variables[projection.variable.index()].dimensions.iter().enumerate() {
            let span = (slab.start[n], slab.count[n], slab.stride[n]);
            if *spans.entry(*dim).or_insert(span) != span {
                let name = header.dimensions[dim.index()].name_lossy();
                return Err(Failure::bad(format!(
                    "a file has one part of dimension `{name}`, and two are asked for"
                )));
            }
        }
    }
    Ok(spans)
}

/// The file's header, of the first kind from the original's on that it fits.
fn arrangement(header: &Header, records: u64) -> Answer<Arrangement> {
    let fit = |version| {
        let mut header = header.clone();
        header.version = version;
        arrange(header, records)
    };
    let kinds = [Version::Cdf1, Version::Cdf2, Version::Cdf5];
    let from = kinds.iter().position(|version| *version == header.version).unwrap_or(0);
    match kinds[from..].iter().find_map(|version| fit(*version).ok()) {
        Some(arrangement) => Ok(arrangement),
        None => fit(Version::Cdf5).map_err(|e| Failure::bad(e.to_string())),
    }
}
