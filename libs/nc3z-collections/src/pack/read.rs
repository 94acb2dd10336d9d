//! Reads a group: its members, and the bytes of each.

use super::arrays::{self, Own};
use super::listing::{Listing, MAX_MEMBERS, Place, Stored};
use super::lost;
use super::{LIST, MARK};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{Layout, Parse, SegmentKind, VarId, parse_prefix};
use nc3z_format::{Limits, NcType};
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, Result as ReadResult};
use std::fmt::Display;
use std::ops::Range;

/// The number of arrays of all members: those of files of 64 MiB together have fewer, since a header takes 32 bytes for each.
const FREE_PLACES: u64 = 4 << 20;
/// Further arrays for each byte of the group, so that a short one cannot ask for much memory.
const PLACES_SHARE: u64 = 16;

/// An open group.
pub struct Group {
    archive: Archive,
    /// Lost tiles of columns are read as fill values.
    fills: bool,
    list: Listing,
}

/// The row of a packed member in the table of the bundle.
pub(crate) struct PackedRow {
    /// The name of the member.
    pub(crate) name: String,
    /// The number of the member in its group.
    pub(crate) number: usize,
    /// The length of its file in bytes.
    pub(crate) len: u64,
    /// The header of its file.
    pub(crate) header: Bytes,
}

fn corrupt(
    place: impl Into<String>,
    what: &'static str,
    expected: impl Display,
    found: impl Display,
) -> Error {
    FormatError::corrupt(place, None, what, expected, found).into()
}

impl Group {
    /// Opens a group, which is an archive, and reads its list.
    ///
    /// # Errors
    /// It is not an archive, or not that of a group, or its list is damaged or forged.
    pub fn open(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        Self::new(Archive::from_source(source, options)?, false)
    }

    /// Opens a group that may be damaged. Members are read with fill values in the place of lost tiles of their arrays.
    ///
    /// # Errors
    /// As [`Group::open`]: without its list, no member can be read.
    pub fn open_filled(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let (archive, _) = Archive::open_filled(source, options, &())?;
        Self::new(archive, true)
    }

    fn new(archive: Archive, fills: bool) -> Result<Self> {
        let mark = archive.header().attribute(MARK.0.as_bytes()).map(|a| a.values.clone());
        if mark.as_deref() != Some(MARK.1.as_bytes()) {
            let found = mark.map_or("nothing".to_owned(), |m| String::from_utf8_lossy(&m).into_owned());
            return Err(corrupt(format!("attribute `{}` of a group", MARK.0), "value", MARK.1, found));
        }
        let arrays = archive.stored_len().saturating_mul(PLACES_SHARE).saturating_add(FREE_PLACES);
        let stored = Stored {
            counts: list_values(&archive, 0, MAX_MEMBERS as u64)?,
            columns: list_values(&archive, 1, arrays)?,
            steps: list_values(&archive, 2, arrays)?,
        };
        if stored.columns.len() != stored.steps.len() {
            return Err(corrupt(LIST[2], "length", stored.columns.len(), stored.steps.len()));
        }
        let list = Listing::decode(&stored);
        let list = list.map_err(|what| corrupt(LIST.join(", "), "content", "a list of arrays", what))?;
        Ok(Group { archive, fills, list })
    }

    /// The approximate number of bytes that the open group takes in memory.
    pub(crate) fn weight(&self) -> u64 {
        let lists = self.list.arrays() * size_of::<Place>() + self.list.len() * size_of::<usize>();
        let header = self.archive.header_bytes().len() as u64;
        header.saturating_mul(16) + lists as u64
    }

    /// The archive that contains all members.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Returns the bytes of the member that the table describes.
    ///
    /// # Errors
    /// The group has no such member; its header is not one; its arrays are missing or have another type.
    pub(crate) fn member(&self, row: PackedRow) -> Result<PackedMember> {
        let PackedRow { name, number, len, header } = row;
        let places = self.list.places(number).ok_or_else(|| {
            corrupt(format!("`{name}`"), "number in its group", format!("below {}", self.list.len()), number)
        })?;
        // A wrong header is a defect of the bundle, not of a classic file of the user.
        let of_header = || format!("`{name}`, header");
        let wrong = |e: FormatError| {
            if !e.is_corrupt() {
                return e.into();
            }
            corrupt(of_header(), "content", "the header of a classic file", e)
        };
        let header_len = header.len() as u64;
        let parsed = match parse_prefix(&header, len, &Limits::default()).map_err(wrong)? {
            Parse::Done(parsed, end) if end == header_len => *parsed,
            Parse::Done(_, end) => return Err(corrupt(of_header(), "length", end, header_len)),
            Parse::Incomplete { at_least } => {
                return Err(corrupt(of_header(), "length", format!("at least {at_least}"), header_len));
            }
        };
        let layout = Layout::new(&parsed, header_len, len).map_err(wrong)?;
        let own = arrays::of(&layout);
        if own.len() != places.len() {
            return Err(corrupt(format!("`{name}`"), "number of arrays", own.len(), places.len()));
        }
        for (own, place) in own.iter().zip(places) {
            self.check(&name, own, *place)?;
        }
        let fills = self.fills.then(|| lost::fill_values(&parsed, &own));
        let (archive, places) = (self.archive.clone(), places.to_vec());
        Ok(PackedMember { archive, name, len, places, header, layout, own, fills })
    }

    /// Checks that an array is inside a column of its type.
    fn check(&self, name: &str, own: &Own, place: Place) -> Result<()> {
        let what = || format!("{} of `{name}`", own.id);
        let columns = self.archive.header().variables.len();
        let var = VarId(place.column);
        if var.index() < LIST.len() || var.index() >= columns {
            let expected = format!("from {} to {}", LIST.len(), columns.saturating_sub(1));
            return Err(corrupt(what(), "column", expected, place.column));
        }
        let column = self.archive.arrays().variable(var);
        if column.ty != own.ty {
            return Err(corrupt(what(), "type of its column", own.ty.name(), column.ty.name()));
        }
        let end = place.begin(own.ty).checked_add(own.len);
        let len = column.total_bytes();
        if end.is_none_or(|end| end > len) {
            return Err(corrupt(
                what(),
                "place",
                format!("an end within {len} bytes"),
                format!("element {}", place.first),
            ));
        }
        Ok(())
    }
}

impl Place {
    /// The first byte in the column.
    pub(super) fn begin(self, ty: NcType) -> u64 {
        u64::from(self.first) * ty.size() as u64
    }
}

/// Returns the values of one of the variables of the list, at most `most`. If any of them is lost, that is an error.
fn list_values(archive: &Archive, number: u32, most: u64) -> Result<Vec<i32>> {
    let name = LIST[number as usize];
    let of = || format!("variable {number} of a group");
    let variable = archive.header().variables.get(number as usize).filter(|v| v.name == name.as_bytes());
    let variable = variable.ok_or_else(|| corrupt(of(), "name", name, "another one"))?;
    if variable.ty != NcType::Int {
        return Err(corrupt(of(), "type", NcType::Int.name(), variable.ty.name()));
    }
    let id = ArrayId::variable(number);
    let len = archive.arrays().variable(VarId(number)).total_bytes();
    if len / 4 > most {
        return Err(FormatError::limit(name, None, "elements", most, len / 4).into());
    }
    let mut stored = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    archive.read_array_bytes(id, 0, &mut stored).map_err(|e| lost::of_error(name, e))?;
    if let Some((_, why)) = lost::lost_tiles(archive, id).first() {
        return Err(lost::error(name, why));
    }
    Ok(stored.as_chunks::<4>().0.iter().map(|bytes| i32::from_be_bytes(*bytes)).collect())
}

/// A member of a group: the bytes of its original file.
pub struct PackedMember {
    pub(super) archive: Archive,
    name: String,
    len: u64,
    /// The place of each array.
    pub(super) places: Vec<Place>,
    pub(super) header: Bytes,
    layout: Layout,
    pub(super) own: Vec<Own>,
    /// The fill value of each array, if lost tiles are filled.
    pub(super) fills: Option<Vec<Vec<u8>>>,
}

impl PackedMember {
    /// Its name in the bundle.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads bytes of one of its own arrays.
    fn read_array(&self, id: ArrayId, first: u64, out: &mut [u8]) -> ReadResult<()> {
        let n = self.own.iter().position(|own| own.id == id);
        let n = n.ok_or_else(|| FormatError::invalid(format!("`{}` has no {id}", self.name())))?;
        let place = self.places[n];
        // Group::check: the array ends within the column.
        let (column, at) = (place.column, place.begin(self.own[n].ty) + first);
        self.archive.read_array_bytes(ArrayId::variable(column), at, out)?;
        if let Some(fill) = self.fills.as_ref().and_then(|fills| fills.get(n)) {
            lost::fill(&self.archive, column, at, fill, out);
        }
        Ok(())
    }

    /// Returns the array, the offset in it, and the number of its bytes that follow in the file from `offset`
    /// on. None inside the header.
    fn run(&self, offset: u64) -> Option<(ArrayId, u64, u64)> {
        let segment = self.layout.segment_at(offset)?;
        let left = segment.end() - offset;
        match segment.kind {
            SegmentKind::Header => None,
            SegmentKind::Fixed(var) => Some((ArrayId::variable(var.0), offset - segment.offset, left)),
            SegmentKind::Gap => {
                let (first, run) = self.layout.gaps.position(offset)?;
                Some((ArrayId::GAP, first, run.min(left)))
            }
            SegmentKind::Records => {
                let records = self.layout.records.as_ref()?;
                let place = records.locate(offset)?;
                let slot = records.slots[place.slot];
                let (id, unit, within) = match place.within.checked_sub(slot.slot_len) {
                    None => (ArrayId::variable(slot.variable.0), slot.slot_len, place.within),
                    Some(within) => {
                        (ArrayId::padding(slot.variable.0), slot.padded_len - slot.slot_len, within)
                    }
                };
                // The records of a single record variable have no padding.
                let touch = records.slots.len() == 1 && slot.padded_len == slot.slot_len;
                let run = if touch { left } else { (unit - within).min(left) };
                Some((id, place.record * unit + within, run))
            }
        }
    }
}

impl ByteSource for PackedMember {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> ReadResult<()> {
        let left = self.len().saturating_sub(offset);
        if buf.len() as u64 > left {
            let missing = buf.len() as u64 - left;
            return Err(FormatError::truncated("member of a bundle", offset, "read", missing, left).into());
        }
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let take = |run: u64| usize::try_from(run).map_or(rest.len(), |n| n.min(rest.len()));
            let len = if let Some((id, first, run)) = self.run(at) {
                let len = take(run);
                self.read_array(id, first, &mut rest[..len])?;
                len
            } else {
                // The header is the first segment; all other bytes belong to a run.
                let from = usize::try_from(at).unwrap_or(usize::MAX).min(self.header.len());
                let len = take((self.header.len() - from) as u64).max(1);
                let bytes = self.header.get(from..from + len);
                let bytes = bytes.ok_or_else(|| FormatError::invalid("a byte that belongs to nothing"))?;
                rest[..len].copy_from_slice(bytes);
                len
            };
            at += len as u64;
            rest = &mut rest[len..];
        }
        Ok(())
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        range.end <= self.header.len() as u64
    }

    /// Returns only the header, which suffices for opening: further bytes would have to be decoded.
    fn ends(&self, _: u64, _: u64) -> ReadResult<(Bytes, Bytes)> {
        Ok((self.header.clone(), Bytes::new()))
    }
}
