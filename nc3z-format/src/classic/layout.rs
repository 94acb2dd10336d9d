//! The place of each byte of a classic file: a pure function of header, header length and file length.
//!
//! The rules (`spec/archive.md`, "The classic file as arrays and residue"):
//! 1. A variable whose first dimension has length 0 is a *record variable*. `s` is its bytes per record, `p` is `s`
//!    rounded up to 4, but `p = s` for a lone record variable. `R` is the sum of `p`, `B0` the smallest `begin` of
//!    a record variable; the record count `n` is the field or, streaming, `floor((file_len - B0) / R)`. A dimension
//!    of length 0 that is not the first counts as `n`, but as 0 while a streaming `n` is computed.
//! 2. The header owns `[0, header_len)`. Each fixed variable, in the order of ids, owns its extent, clipped to the file, if
//!    the extent overlaps neither the header nor an extent that is already owned. Otherwise it is *aliased* and owns nothing.
//! 3. Records are *regular* iff `R > 0` and `n > 0`, the slots sorted by `begin` tile `[B0, B0 + R)`, and
//!    `[B0, min(file_len, B0 + n R))` overlaps neither the header nor an owned extent. Regular records are owned, with
//!    their padding; otherwise all record variables are aliased.
//! 4. The remaining bytes are the gap residue.
//!
//! Sizes that do not fit 64 bits saturate. The result is exact, since no file has bytes at such offsets. Only
//! records of 2^64 bytes or more count as irregular.

use std::collections::BTreeMap;

use super::header::{DimId, Header, NumRecs, VarId, Variable, Version, round_up_4};
use super::regions::{Gaps, Segment, SegmentKind, partition};
use super::warning::Warning;
use crate::error::{Error, Result};
use crate::types::NcType;

/// The layout of one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VarLayout {
    /// External type.
    pub ty: NcType,
    /// Lengths, slowest first; the record count in place of every length 0.
    pub shape: Vec<u64>,
    /// File offset of the first element.
    pub begin: u64,
    /// Elements the header claims; `None` beyond 64 bits.
    pub elements: Option<u64>,
    /// Leading elements, row-major, that are completely inside the file.
    pub present: u64,
    /// Leading padding bytes inside the file: owned record variables only, else 0.
    pub padding_present: u64,
    /// True for a record variable.
    pub is_record: bool,
    /// True if the variable owns its bytes; otherwise it is read through the byte view.
    pub owned: bool,
    /// Bytes of the variable, of one record of it for a record variable (saturated).
    pub slot_len: u64,
    /// `slot_len` with the padding that follows it in a record; `slot_len` for fixed variables.
    pub padded_len: u64,
    /// Bytes from one record to the next (saturated); 0 for fixed variables.
    pub stride: u64,
}

/// A contiguous run of bytes that begins at some element or padding byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// File offset of its first byte.
    pub offset: u64,
    /// Elements (or padding bytes) in the run, from the requested one on.
    pub count: u64,
}

/// One record variable's place in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The number of the variable.
    pub variable: VarId,
    /// Bytes from the start of the record.
    pub offset_in_record: u64,
    /// Bytes of values.
    pub slot_len: u64,
    /// Bytes of values and padding.
    pub padded_len: u64,
}

/// Regular records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// `B0`, the first byte of record 0.
    pub begin: u64,
    /// `R`, bytes of a record; at least 1.
    pub stride: u64,
    /// Records the header claims (or the file's length implies); at least 1.
    pub count: u64,
    /// `min(file_len, B0 + n R)`, and not less than `begin`.
    pub end: u64,
    /// `end` without a partial element at the end of the file. The bytes `[begin, present_end)` are owned.
    pub present_end: u64,
    /// The slots, by `offset_in_record`; they tile the record.
    pub slots: Vec<Slot>,
}

/// The place of a byte in the records: record, slot, and offset in the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace {
    /// Record number.
    pub record: u64,
    /// Index into [`Records::slots`].
    pub slot: usize,
    /// Bytes from the start of the slot; padding from `slot_len` on.
    pub within: u64,
}

impl Records {
    /// The place of the file's byte `offset`, if it is in `[begin, present_end)`.
    pub fn locate(&self, offset: u64) -> Option<RecordPlace> {
        if offset < self.begin || offset >= self.present_end {
            return None;
        }
        let (record, at) = ((offset - self.begin) / self.stride, (offset - self.begin) % self.stride);
        let slot = self.slot_at(at)?;
        Some(RecordPlace { record, slot, within: at - self.slots[slot].offset_in_record })
    }

    /// The slot that holds byte `at` of a record. No slot is empty: lengths of 0 count as `n`, and
    /// `n > 0`.
    fn slot_at(&self, at: u64) -> Option<usize> {
        self.slots.partition_point(|s| s.offset_in_record <= at).checked_sub(1)
    }
}

impl VarLayout {
    /// Bytes of one element.
    pub const fn element_size(&self) -> u64 {
        self.ty.size() as u64
    }

    /// Elements of one record; of the whole for a fixed variable (saturated).
    pub const fn slot_elements(&self) -> u64 {
        self.slot_len / self.element_size()
    }

    /// The place of element `index`, and the number of elements that follow it without a gap: to the end of
    /// the slot or, if records of this variable touch, to the last present element. `None` from `present` on.
    pub fn element_run(&self, index: u64) -> Option<Run> {
        let left = self.present.checked_sub(index).filter(|&n| n > 0)?;
        let size = self.element_size();
        // No overflow below: element `index` is inside the file.
        if !self.is_record || self.stride == self.slot_len {
            return Some(Run { offset: self.begin + index * size, count: left });
        }
        let (record, within) = (index / self.slot_elements(), index % self.slot_elements());
        let offset = self.begin + record * self.stride + within * size;
        Some(Run { offset, count: left.min(self.slot_elements() - within) })
    }

    /// The place of padding byte `index`, and the number of bytes that follow it without a gap. `None` from
    /// `padding_present` on.
    pub fn padding_run(&self, index: u64) -> Option<Run> {
        let left = self.padding_present.checked_sub(index).filter(|&n| n > 0)?;
        let unit = self.padded_len - self.slot_len;
        let (record, within) = (index / unit, index % unit);
        let offset = self.begin + record * self.stride + self.slot_len + within;
        Some(Run { offset, count: left.min(unit - within) })
    }

    /// The number of bytes inside the file, for `unit` bytes at `skip` in each of `count` slots.
    fn bytes_present(&self, file_len: u64, count: u64, skip: u64, unit: u64) -> u64 {
        let Some(left) = file_len.checked_sub(self.begin).filter(|_| self.stride > 0) else { return 0 };
        let (whole, rest) = (left / self.stride, left % self.stride);
        if whole >= count { count * unit } else { whole * unit + rest.saturating_sub(skip).min(unit) }
    }
}

/// The layout of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the header.
    pub header_len: u64,
    /// Bytes of the file.
    pub file_len: u64,
    /// The record count in force: the field, or what the file's length implies if streaming.
    pub numrecs: u64,
    /// `R`, regular or not (saturated); 0 without record variables.
    pub record_len: u64,
    /// The variables, by [`VarId`].
    pub variables: Vec<VarLayout>,
    /// The records, if they are regular.
    pub records: Option<Records>,
    /// The gap residue of the layout.
    pub gaps: Gaps,
    /// Unusual properties of the file.
    pub warnings: Vec<Warning>,
    segments: Vec<Segment>,
}

impl Layout {
    /// Computes the layout, in O(V log V) for V variables.
    ///
    /// # Errors
    /// *InvalidArgument* for a header longer than the file or with a dimension id that does not exist; parsed
    /// headers have neither.
    pub fn new(header: &Header, header_len: u64, file_len: u64) -> Result<Self> {
        if header_len > file_len {
            return Err(Error::invalid(format!("a header of {header_len} bytes in a file of {file_len}")));
        }
        let dims = header.dimensions.len();
        if header.variables.iter().any(|v| v.dimensions.iter().any(|d| d.index() >= dims)) {
            return Err(Error::invalid("a variable names a dimension that does not exist"));
        }
        let frame = Frame::new(header, file_len);
        let mut variables: Vec<VarLayout> =
            header.variables.iter().map(|v| frame.variable(header, v, file_len)).collect();
        let extents = claim_fixed(&mut variables, header_len, file_len);
        let records = frame.regular(&variables, &extents, file_len);
        if records.is_some() {
            for v in variables.iter_mut().filter(|v| v.is_record) {
                v.owned = true;
                let padding = v.padded_len - v.slot_len;
                v.padding_present = v.bytes_present(file_len, frame.numrecs, v.slot_len, padding);
            }
        }
        let (segments, gaps) = partition(pieces(&variables, records.as_ref(), header_len), file_len);
        let mut layout = Layout {
            header_len,
            file_len,
            numrecs: frame.numrecs,
            record_len: saturate(frame.record_len),
            variables,
            records,
            gaps,
            warnings: Vec::new(),
            segments,
        };
        layout.warnings = layout.find_warnings(header);
        Ok(layout)
    }

    /// The layout of one variable.
    pub fn variable(&self, id: VarId) -> Option<&VarLayout> {
        self.variables.get(id.index())
    }

    /// The ordered partition of the file: the segments cover each byte of `[0, file_len)` exactly once.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The segment that holds the file's byte `offset`.
    pub fn segment_at(&self, offset: u64) -> Option<&Segment> {
        let index = self.segments.partition_point(|s| s.offset <= offset).checked_sub(1)?;
        self.segments.get(index).filter(|s| offset < s.end())
    }

    fn find_warnings(&self, header: &Header) -> Vec<Warning> {
        let mut out = Vec::new();
        if header.version != Version::Cdf5 {
            let long = (0_u32..).zip(&header.dimensions).filter(|(_, d)| d.len > i32::MAX as u64);
            out.extend(long.map(|(n, d)| Warning::LongDimension { dimension: DimId(n), len: d.len }));
        }
        let mut leading = header.variables.iter().filter(|v| header.is_record(v)).map(|v| v.dimensions[0]);
        if leading.next().is_some_and(|first| leading.any(|d| d != first)) {
            out.push(Warning::SeveralRecordDimensions);
        }
        for ((variable, head), v) in header.variables().zip(&self.variables) {
            if head.dimensions.iter().skip(1).any(|&d| header.dim_len(d) == 0) {
                out.push(Warning::InnerRecordDimension { variable });
            }
            let canonical = header.canonical_vsize(head);
            if head.vsize != canonical {
                out.push(Warning::Vsize { variable, found: head.vsize, canonical });
            }
            if !v.owned && !v.is_record {
                out.push(Warning::Overlap { variable });
            }
            if v.elements != Some(0) && v.begin >= self.file_len {
                out.push(Warning::BeginsPastEnd { variable, begin: v.begin });
            } else if v.elements != Some(v.present) {
                out.push(Warning::Short { variable, present: v.present, claimed: v.elements });
            }
        }
        let any_record = |v: &VarLayout| v.is_record && v.elements != Some(0);
        if self.records.is_none() && self.variables.iter().any(any_record) {
            out.push(Warning::IrregularRecords);
        }
        out.extend(self.end_warning(header.numrecs));
        out
    }

    /// A warning about the file's end, if bytes are missing there or surplus.
    fn end_warning(&self, numrecs: NumRecs) -> Option<Warning> {
        let claimed_end = |v: &VarLayout| match (v.elements, &self.records) {
            (Some(0), _) => 0,
            (_, Some(records)) if v.is_record => {
                let records = u128::from(records.stride) * u128::from(records.count);
                u128::from(self.records.as_ref().map_or(0, |r| r.begin)) + records
            }
            _ if v.is_record => {
                let before = u128::from(v.stride) * u128::from(self.numrecs.saturating_sub(1));
                (u128::from(v.begin) + before).saturating_add(v.slot_len.into())
            }
            // Fixed variables that begin on multiples of 4 usually have padding after them.
            _ => u128::from(v.begin) + round_up_4(v.slot_len.into()),
        };
        let end = self.variables.iter().map(claimed_end).max().unwrap_or(0).max(self.header_len.into());
        let file_len = u128::from(self.file_len);
        let whole = self.variables.iter().all(|v| v.elements == Some(v.present));
        if end < file_len {
            let offset = saturate(end);
            let len = self.file_len - offset;
            let partial = numrecs == NumRecs::Streaming && self.record_len > 0;
            return Some(if partial {
                Warning::PartialRecord { len }
            } else {
                Warning::TrailingBytes { offset, len }
            });
        }
        (whole && end > file_len).then(|| Warning::NoFinalPadding { missing: saturate(end - file_len) })
    }
}

fn saturate(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Values that all record variables share.
struct Frame {
    /// `B0`.
    begin: u64,
    /// `R`, exact (or `u128::MAX`).
    record_len: u128,
    numrecs: u64,
    /// Exactly one record variable: no padding.
    lone: bool,
}

impl Frame {
    fn new(header: &Header, file_len: u64) -> Self {
        let records = || header.variables.iter().filter(|v| header.is_record(v));
        let lone = records().count() == 1;
        let record_len = |numrecs: u64| {
            let slots = records().map(|v| header.slot_len(v, numrecs));
            slots.map(|s| if lone { s } else { round_up_4(s) }).fold(0, u128::saturating_add)
        };
        let begin = records().map(|v| v.begin).min().unwrap_or(0);
        let numrecs = match header.numrecs {
            NumRecs::Count(n) => n,
            NumRecs::Streaming => {
                u128::from(file_len.saturating_sub(begin)).checked_div(record_len(0)).map_or(0, saturate)
            }
        };
        let record_len = record_len(numrecs);
        Frame { begin, record_len, numrecs, lone }
    }

    fn variable(&self, header: &Header, v: &Variable, file_len: u64) -> VarLayout {
        let is_record = header.is_record(v);
        let slot = header.slot_len(v, self.numrecs);
        let padded = if is_record && !self.lone { round_up_4(slot) } else { slot };
        let length = |&d: &DimId| Some(header.dim_len(d)).filter(|&n| n > 0).unwrap_or(self.numrecs);
        let shape = v.dimensions.iter().map(length).collect();
        let slots = if is_record { self.numrecs } else { 1 };
        // A saturated slot still has more elements than 64 bits count: 2^128 / 8.
        let elements = if slots == 0 || slot == 0 {
            Some(0)
        } else {
            u64::try_from((slot / v.ty.size() as u128).saturating_mul(slots.into())).ok()
        };
        let mut layout = VarLayout {
            ty: v.ty,
            shape,
            begin: v.begin,
            elements,
            present: 0,
            padding_present: 0,
            is_record,
            owned: false,
            slot_len: saturate(slot),
            padded_len: saturate(padded),
            stride: if is_record { saturate(self.record_len) } else { 0 },
        };
        let bytes = if is_record {
            layout.bytes_present(file_len, self.numrecs, 0, layout.slot_len)
        } else {
            file_len.saturating_sub(v.begin).min(layout.slot_len)
        };
        layout.present = bytes / layout.element_size();
        layout
    }

    /// Rule 3.
    fn regular(
        &self,
        variables: &[VarLayout],
        extents: &BTreeMap<u64, u64>,
        file_len: u64,
    ) -> Option<Records> {
        let stride = u64::try_from(self.record_len).ok().filter(|&r| r > 0 && self.numrecs > 0)?;
        let mut order: Vec<(VarId, &VarLayout)> =
            (0_u32..).map(VarId).zip(variables).filter(|(_, v)| v.is_record).collect();
        order.sort_unstable_by_key(|&(id, v)| (v.begin, id));
        let mut slots = Vec::with_capacity(order.len());
        let mut at = 0_u64;
        for (variable, v) in order {
            if v.begin - self.begin != at {
                return None;
            }
            let (slot_len, padded_len) = (v.slot_len, v.padded_len);
            slots.push(Slot { variable, offset_in_record: at, slot_len, padded_len });
            // Cannot overflow: the sum of all is `stride`.
            at += padded_len;
        }
        let claimed = u128::from(self.begin) + u128::from(stride) * u128::from(self.numrecs);
        let end = saturate(claimed.min(file_len.into())).max(self.begin);
        if meets(extents, self.begin, end) {
            return None;
        }
        let mut records =
            Records { begin: self.begin, stride, count: self.numrecs, end, present_end: end, slots };
        records.present_end -= records.partial_element(variables);
        Some(records)
    }
}

impl Records {
    /// The number of bytes at `end` that are an incomplete element.
    fn partial_element(&self, variables: &[VarLayout]) -> u64 {
        let at = (self.end - self.begin) % self.stride;
        let Some(slot) = self.slot_at(at).map(|n| self.slots[n]) else { return 0 };
        let within = at - slot.offset_in_record;
        if within >= slot.slot_len { 0 } else { within % variables[slot.variable.index()].element_size() }
    }
}

/// Returns true if `[begin, end)` overlaps one of the disjoint extents (begin -> end).
fn meets(extents: &BTreeMap<u64, u64>, begin: u64, end: u64) -> bool {
    begin < end && extents.range(..end).next_back().is_some_and(|(_, &last)| last > begin)
}

/// Rule 2: marks the fixed variables that own their extent. Returns all owned extents, including the
/// header's.
fn claim_fixed(variables: &mut [VarLayout], header_len: u64, file_len: u64) -> BTreeMap<u64, u64> {
    let mut extents = BTreeMap::from([(0, header_len)]);
    for v in variables.iter_mut().filter(|v| !v.is_record) {
        let end = v.begin.saturating_add(v.slot_len).min(file_len);
        v.owned = !meets(&extents, v.begin, end);
        if v.owned && v.begin < end {
            extents.insert(v.begin, end);
        }
    }
    extents
}

fn pieces(variables: &[VarLayout], records: Option<&Records>, header_len: u64) -> Vec<Segment> {
    let mut pieces = vec![Segment { kind: SegmentKind::Header, offset: 0, len: header_len }];
    for (id, v) in (0_u32..).map(VarId).zip(variables).filter(|(_, v)| v.owned && !v.is_record) {
        let len = v.present * v.element_size();
        pieces.push(Segment { kind: SegmentKind::Fixed(id), offset: v.begin, len });
    }
    if let Some(r) = records {
        pieces.push(Segment { kind: SegmentKind::Records, offset: r.begin, len: r.present_end - r.begin });
    }
    pieces
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
