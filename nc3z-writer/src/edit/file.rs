//! Provides the edited file as a byte source, so that the planner works on it as on any classic file.

use super::Edited;
use crate::error::{Error, ErrorKind, Result};
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::classic::{Arrangement, Layout, SegmentKind, VarId};
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Archive, FlatArrays};
use std::sync::Arc;

/// An edited file; its bytes are not written anywhere.
pub(super) struct EditedFile {
    archive: Archive,
    arrangement: Arrangement,
    variables: Vec<Arc<Edited>>,
    gap: Vec<u8>,
}

impl EditedFile {
    pub(super) fn new(
        archive: Archive,
        arrangement: Arrangement,
        variables: Vec<Arc<Edited>>,
    ) -> Result<Self> {
        let gap = paddings_of_fixed(&archive, &arrangement, &variables)?;
        Ok(EditedFile { archive, arrangement, variables, gap })
    }

    fn layout(&self) -> &Layout {
        &self.arrangement.layout
    }

    /// Returns the bytes of the gap, which is the padding of fixed variables.
    pub(super) fn gap(&self) -> &[u8] {
        &self.gap
    }

    /// Returns the bytes of a record variable's padding in the archive.
    pub(super) fn padding_before(&self, place: u32) -> Option<(ArrayId, u64)> {
        let old = self.variables[place as usize].kept()?;
        self.archive.arrays().padding(old).map(|info| (info.id, info.total_bytes()))
    }

    /// Reads bytes of an array's flattened form. Arrays are numbered by the variable's position in the new
    /// header.
    pub(super) fn read(&self, array: ArrayId, first: u64, out: &mut [u8]) -> Result<()> {
        match array.role() {
            Role::Variable(place) => self.variables[place as usize].read_flat(&self.archive, first, out),
            Role::Padding(place) => self.read_padding(place, first, out),
            Role::Gap => {
                let first = usize::try_from(first).expect("a few bytes for each variable");
                out.copy_from_slice(&self.gap[first..first + out.len()]);
                Ok(())
            }
            _ => unreachable!("classic files have no other arrays"),
        }
    }

    /// Padding of existing records stays unchanged; padding of new records is the fill value.
    fn read_padding(&self, place: u32, first: u64, out: &mut [u8]) -> Result<()> {
        let variable = &self.layout().variables[place as usize];
        let unit = variable.padded_len - variable.slot_len;
        let (array, before) = self.padding_before(place).unwrap_or((ArrayId::padding(place), 0));
        let old = usize::try_from(before.saturating_sub(first)).map_or(out.len(), |n| n.min(out.len()));
        let (there, new) = out.split_at_mut(old);
        if !there.is_empty() {
            self.archive.read_array_bytes(array, first, there)?;
        }
        let fill = self.arrangement.header.variables[place as usize].fill_value();
        for (byte, at) in new.iter_mut().zip(first + old as u64..) {
            let within = usize::try_from(at % unit).expect("at most 3");
            *byte = fill[within % fill.len()];
        }
        Ok(())
    }
}

/// Returns the padding after the fixed variables: the archive's bytes, otherwise the fill value.
fn paddings_of_fixed(
    archive: &Archive,
    arrangement: &Arrangement,
    variables: &[Arc<Edited>],
) -> Result<Vec<u8>> {
    let (header, layout) = (&arrangement.header, &arrangement.layout);
    let mut gap = vec![0; usize::try_from(layout.gaps.len()).expect("3 bytes for each variable")];
    for ((id, variable), edited) in header.variables().zip(variables) {
        let place = &layout.variables[id.index()];
        if place.is_record {
            continue;
        }
        let end = place.begin + place.slot_len;
        let Some((position, _)) = layout.gaps.position(end).filter(|_| end % 4 != 0) else { continue };
        let len = 4 - end % 4;
        let mut bytes: Vec<u8> = variable.fill_value().repeat(4);
        bytes.truncate(usize::try_from(len).expect("at most 3"));
        if let Some(old) = edited.kept().map(|v| &archive.layout().variables[v.index()]) {
            let end = old.begin + old.slot_len;
            let there = archive.layout().gaps.position(end).is_some_and(|(_, left)| left >= len);
            if there && end.next_multiple_of(4) == end + len {
                archive.read_original(end, &mut bytes)?;
            }
        }
        let at = usize::try_from(position).expect("in the gap");
        gap[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(gap)
}

impl ByteSource for EditedFile {
    fn len(&self) -> u64 {
        self.layout().file_len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> nc3z_reader::Result<()> {
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let segment = self.layout().segment_at(at).ok_or_else(|| {
                nc3z_format::Error::truncated("edited file", at, "read", rest.len() as u64, 0)
            })?;
            let mut take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (array, first) = match segment.kind {
                SegmentKind::Header => {
                    let from = usize::try_from(at).expect("the header is in memory");
                    rest[..take].copy_from_slice(&self.arrangement.header_bytes[from..from + take]);
                    (at, rest) = (at + take as u64, &mut rest[take..]);
                    continue;
                }
                SegmentKind::Fixed(VarId(v)) => (ArrayId::variable(v), at - segment.offset),
                SegmentKind::Gap => {
                    let position = self.layout().gaps.position(at).map_or(0, |(position, _)| position);
                    (ArrayId::GAP, position)
                }
                SegmentKind::Records => {
                    let records = self.layout().records.as_ref().expect("there is a segment of them");
                    let place = records.locate(at).expect("the segment ends with the records");
                    let slot = &records.slots[place.slot];
                    let VarId(v) = slot.variable;
                    let (array, len, within) = if place.within < slot.slot_len {
                        (ArrayId::variable(v), slot.slot_len, place.within)
                    } else {
                        let unit = slot.padded_len - slot.slot_len;
                        (ArrayId::padding(v), unit, place.within - slot.slot_len)
                    };
                    take = usize::try_from(len - within).map_or(take, |n| n.min(take));
                    (array, place.record * len + within)
                }
            };
            let (here, after) = rest.split_at_mut(take);
            self.read(array, first, here).map_err(for_reader)?;
            (at, rest) = (at + take as u64, after);
        }
        Ok(())
    }
}

impl FlatArrays for EditedFile {
    fn read_flat(&self, array: ArrayId, first: u64, out: &mut [u8]) -> nc3z_reader::Result<()> {
        self.read(array, first, out).map_err(for_reader)
    }
}

/// Converts an error of the writer to one of the reader.
fn for_reader(e: Error) -> nc3z_reader::Error {
    match e.into_kind() {
        ErrorKind::Read(e) => e,
        other => {
            nc3z_reader::Error::io("read staged values of", None, std::io::Error::other(Error::from(other)))
        }
    }
}
