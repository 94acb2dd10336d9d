//! Provides the quantized file as a byte source: nothing is stored, and every read rounds its bytes.

use super::select::Chosen;
use super::select::refused;
use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{Header, Layout, Records, VarId, encode};
use nc3z_format::quantize::{Loss, Quantizer};
use nc3z_reader::ClassicFile;
use nc3z_reader::source::ByteSource;
use std::sync::Arc;

/// If a record has at most `RECORD_LEN` bytes, records are read whole, `WINDOW_LEN` bytes at a time.
const RECORD_LEN: u64 = 1 << 20;
const WINDOW_LEN: u64 = 4 << 20;

/// A classic file whose chosen variables are rounded.
pub(super) struct QuantizedSource {
    original: Arc<ClassicFile>,
    header_bytes: Vec<u8>,
    layout: Layout,
    len: u64,
    /// Position in the list of chosen variables, for each variable of the original.
    chosen: Vec<Option<usize>>,
    quantizers: Vec<Quantizer>,
    /// Fixed variables with bytes, by `begin`.
    fixed: Vec<VarId>,
}

impl QuantizedSource {
    pub(super) fn new(original: Arc<ClassicFile>, header: &Header, variables: &[Chosen]) -> Result<Self> {
        let header_bytes = encode(header)?;
        let header_len = header_bytes.len() as u64;
        // First without an end, to find the end.
        let open = Layout::new(header, header_len, i64::MAX.cast_unsigned())?;
        let end = |begin: u64, len: u64| begin.checked_add(len).filter(|end| i64::try_from(*end).is_ok());
        let mut len = Some(header_len.next_multiple_of(4));
        for v in open.variables.iter().filter(|v| !v.is_record) {
            len = len.max(v.slot_len.checked_next_multiple_of(4).and_then(|n| end(v.begin, n)));
        }
        if let Some(begin) = open.variables.iter().filter(|v| v.is_record).map(|v| v.begin).min() {
            let records = open.record_len.checked_mul(open.numrecs);
            len = len.max(records.and_then(|n| end(begin, n)));
        }
        let len =
            len.ok_or_else(|| refused("the quantized file would have 2^63 bytes or more".to_owned()))?;
        let layout = Layout::new(header, header_len, len)?;
        let same = layout.variables.iter().zip(&original.layout().variables);
        if !layout.variables.iter().all(|v| (v.owned || v.present == 0) && v.elements == Some(v.present))
            || same.into_iter().any(|(new, old)| new.shape != old.shape)
        {
            return Err(refused("the rewritten header does not fit the data; please report this".to_owned()));
        }
        let mut fixed: Vec<VarId> = header.variables().map(|(id, _)| id).collect();
        fixed.retain(|id| {
            let v = &layout.variables[id.index()];
            !v.is_record && v.slot_len > 0
        });
        fixed.sort_by_key(|id| layout.variables[id.index()].begin);
        let mut chosen = vec![None; original.header().variables.len()];
        for (i, c) in variables.iter().enumerate() {
            chosen[c.variable.index()] = Some(i);
        }
        let quantizers = variables.iter().map(|c| c.quantizer.clone()).collect();
        Ok(QuantizedSource { original, header_bytes, layout, len, chosen, quantizers, fixed })
    }

    /// The layout of the quantized file.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of quantized variables.
    pub(super) fn quantized(&self) -> usize {
        self.quantizers.len()
    }

    /// Position of a variable in the list of quantized ones.
    pub(super) fn position(&self, variable: VarId) -> Option<usize> {
        self.chosen.get(variable.index()).copied().flatten()
    }

    /// True if records are read and measured in windows.
    pub(super) fn reads_whole_records(&self) -> bool {
        self.layout.records.as_ref().is_some_and(|r| r.stride <= RECORD_LEN)
            && self.original.layout().records.as_ref().is_some_and(|r| r.stride <= RECORD_LEN)
    }

    /// The number of records in one window.
    pub(super) fn window(&self) -> u64 {
        let strides = [self.layout.record_len, self.original.layout().record_len];
        (WINDOW_LEN / strides[0].max(strides[1]).max(1)).max(1)
    }

    /// Reads bytes of a variable's flattened array, rounded.
    fn read_variable(&self, variable: VarId, first: u64, out: &mut [u8]) -> nc3z_reader::Result<()> {
        if variable.index() >= self.chosen.len() {
            // A container variable: one character, NUL.
            out.fill(0);
            return Ok(());
        }
        let array = ArrayId::variable(variable.0);
        let Some(q) = self.position(variable) else {
            return self.original.read_array_bytes(array, first, out);
        };
        let size = self.quantizers[q].element_size() as u64;
        let (lead, tail) = (first % size, (first + out.len() as u64).next_multiple_of(size));
        let whole = tail - (first - lead);
        if whole == out.len() as u64 {
            self.original.read_array_bytes(array, first, out)?;
            self.quantizers[q].apply(first / size, out);
            return Ok(());
        }
        let narrow = |n: u64| usize::try_from(n).expect("a few bytes more than the buffer");
        let mut elements = vec![0; narrow(whole)];
        self.original.read_array_bytes(array, first - lead, &mut elements)?;
        self.quantizers[q].apply(first / size, &mut elements);
        out.copy_from_slice(&elements[narrow(lead)..][..out.len()]);
        Ok(())
    }

    /// Checks and measures elements of a quantized variable; the byte range has whole elements.
    pub(super) fn measure_variable(&self, variable: VarId, first: u64, len: usize) -> Result<Loss> {
        let Some(q) = self.position(variable) else { return Ok(Loss::default()) };
        let mut bytes = vec![0; len];
        self.original.read_array_bytes(ArrayId::variable(variable.0), first, &mut bytes)?;
        Ok(self.quantizers[q].apply_proven(first / self.quantizers[q].element_size() as u64, &mut bytes)?)
    }

    /// Whole records of the original.
    fn original_records(&self, records: &Records, first: u64, count: u64) -> nc3z_reader::Result<Vec<u8>> {
        let begin = records.begin + first * records.stride;
        let end = begin + count * records.stride;
        let narrow = |n: u64| usize::try_from(n).expect("a window of records");
        let mut bytes = vec![0; narrow(end - begin)];
        // Padding of the last record may be beyond the end of the file.
        let present = end.min(records.end.max(begin)) - begin;
        self.original.source().read_into(begin, &mut bytes[..narrow(present)])?;
        Ok(bytes)
    }

    /// Checks and measures the slots of quantized variables in records of the original.
    pub(super) fn measure_records(&self, first: u64, count: u64) -> Result<Vec<Loss>> {
        let mut losses = vec![Loss::default(); self.quantized()];
        let Some(records) = &self.original.layout().records else { return Ok(losses) };
        let mut bytes = self.original_records(records, first, count)?;
        let narrow = |n: u64| usize::try_from(n).expect("inside a record");
        for (record, number) in bytes.chunks_mut(narrow(records.stride)).zip(first..) {
            for slot in &records.slots {
                let Some(q) = self.position(slot.variable) else { continue };
                let values = &mut record[narrow(slot.offset_in_record)..][..narrow(slot.slot_len)];
                let index = number * (slot.slot_len / self.quantizers[q].element_size() as u64);
                losses[q] = losses[q].merge(self.quantizers[q].apply_proven(index, values)?);
            }
        }
        Ok(losses)
    }

    /// Returns records of the quantized file, with zeros as padding.
    fn records(&self, first: u64, count: u64) -> nc3z_reader::Result<Vec<u8>> {
        let (Some(old), Some(new)) = (&self.original.layout().records, &self.layout.records) else {
            return Ok(Vec::new());
        };
        let source = self.original_records(old, first, count)?;
        let narrow = |n: u64| usize::try_from(n).expect("a window of records");
        let (from, to) = (narrow(old.stride), narrow(new.stride));
        let mut out = vec![0; to * narrow(count)];
        let mut places = vec![0; self.layout.variables.len()];
        old.slots.iter().for_each(|s| places[s.variable.index()] = narrow(s.offset_in_record));
        for slot in &new.slots {
            let (at, len) = (narrow(slot.offset_in_record), narrow(slot.slot_len));
            let was = places[slot.variable.index()];
            let quantizer = self.position(slot.variable).map(|q| &self.quantizers[q]);
            for ((old, new), number) in source.chunks(from).zip(out.chunks_mut(to)).zip(first..) {
                let values = &mut new[at..at + len];
                values.copy_from_slice(&old[was..was + len]);
                if let Some(quantizer) = quantizer {
                    quantizer.apply(number * (len / quantizer.element_size()) as u64, values);
                }
            }
        }
        Ok(out)
    }

    /// Fills the beginning of `out` from a position in the records. Returns the number of bytes.
    fn read_records(&self, at: u64, out: &mut [u8]) -> nc3z_reader::Result<usize> {
        let records = self.layout.records.as_ref().expect("the caller saw that there are records");
        let narrow = |n: u64| usize::try_from(n).expect("inside a window of records");
        let (first, lead) = ((at - records.begin) / records.stride, (at - records.begin) % records.stride);
        if self.reads_whole_records() {
            let needed = (lead + out.len() as u64).div_ceil(records.stride);
            let count = needed.min(self.window()).min(records.count - first);
            let window = self.records(first, count)?;
            let rest = &window[narrow(lead)..];
            let n = rest.len().min(out.len());
            out[..n].copy_from_slice(&rest[..n]);
            return Ok(n);
        }
        let place = records.locate(at).expect("inside the records, which are all present");
        let slot = &records.slots[place.slot];
        if place.within >= slot.slot_len {
            let n = usize::try_from(slot.padded_len - place.within).map_or(out.len(), |n| n.min(out.len()));
            out[..n].fill(0);
            return Ok(n);
        }
        let n = usize::try_from(slot.slot_len - place.within).map_or(out.len(), |n| n.min(out.len()));
        self.read_variable(slot.variable, place.record * slot.slot_len + place.within, &mut out[..n])?;
        Ok(n)
    }

    /// Fills the beginning of `out` from a position outside the records. Returns the number of bytes.
    fn read_fixed(&self, at: u64, out: &mut [u8]) -> nc3z_reader::Result<usize> {
        let up_to = |end: u64, out: &[u8]| usize::try_from(end - at).map_or(out.len(), |n| n.min(out.len()));
        let header_len = self.header_bytes.len() as u64;
        if at < header_len {
            let n = up_to(header_len, out);
            let from = usize::try_from(at).expect("inside the header");
            out[..n].copy_from_slice(&self.header_bytes[from..from + n]);
            return Ok(n);
        }
        let begin = |id: &VarId| self.layout.variables[id.index()].begin;
        let next = self.fixed.partition_point(|id| begin(id) <= at);
        if let Some(id) = next.checked_sub(1).map(|i| self.fixed[i]) {
            let v = &self.layout.variables[id.index()];
            if at < v.begin + v.slot_len {
                let n = up_to(v.begin + v.slot_len, out);
                self.read_variable(id, at - v.begin, &mut out[..n])?;
                return Ok(n);
            }
        }
        // Padding up to the next variable or the records.
        let records = self.layout.records.as_ref().map(|r| r.begin).filter(|b| *b > at);
        let end = self.fixed.get(next).map(begin).or(records).unwrap_or(self.len);
        let n = up_to(end, out);
        out[..n].fill(0);
        Ok(n)
    }
}

impl ByteSource for QuantizedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> nc3z_reader::Result<()> {
        let available = self.len.saturating_sub(offset);
        if buf.len() as u64 > available {
            let needed = buf.len() as u64 - available;
            return Err(
                nc3z_format::Error::truncated("quantized file", offset, "read", needed, available).into()
            );
        }
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let in_records =
                self.layout.records.as_ref().is_some_and(|r| at >= r.begin && at < r.present_end);
            let n = if in_records { self.read_records(at, rest)? } else { self.read_fixed(at, rest)? };
            at += n as u64;
            rest = &mut rest[n..];
        }
        Ok(())
    }
}
