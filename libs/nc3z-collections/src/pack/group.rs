//! Reads a group: its members, and the bytes of each.

use super::arrays::{self, Own};
use super::listing::{self, Frame, Listed, Place};
use super::lost;
use super::{HEADS, MARK, MEMBERS, OWN_COLUMNS};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::Limits;
use nc3z_format::archive::{ArrayId, Role, unpack};
use nc3z_format::classic::{Layout, Parse, SegmentKind, VarId, parse_prefix};
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, Result as ReadResult};
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximal length of a list of members in bytes, both stored and decompressed.
const MAX_LIST: u64 = 64 << 20;
/// The maximal length of a frame of headers in bytes, both stored and decompressed: a header of a mebibyte, and others.
pub(super) const MAX_FRAME: u64 = 4 << 20;
/// The number of frames of headers of a group that stay decompressed.
const FRAMES_HELD: usize = 4;
/// The number of arrays of all members: those of files of 64 MiB together have fewer, since a header takes 32 bytes for each.
const FREE_PLACES: u64 = 4 << 20;
/// Further arrays for each byte of the group, so that a short one cannot ask for much memory.
const PLACES_SHARE: u64 = 16;

/// An open group.
pub struct Group {
    pub(super) archive: Archive,
    /// Lost tiles of columns are read as fill values.
    pub(super) fills: bool,
    /// Frames of headers, with their offsets in the column of headers.
    frames: Vec<(Frame, u64)>,
    /// The frames that were used last, by number, the newest last.
    decoded: Mutex<Vec<(usize, Bytes)>>,
    members: Vec<Listed>,
    /// The offset of each member's header in its frame.
    headers: Vec<u64>,
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
        let list = own_column(&archive, 0, MEMBERS)?;
        let heads = own_column(&archive, 1, HEADS)?;
        if list > MAX_LIST {
            return Err(FormatError::limit(MEMBERS, None, "length", MAX_LIST, list).into());
        }
        let stored = own_bytes(&archive, ArrayId::variable(0), 0..list, "list of the members of a group")?;
        let decoded = unpack(&stored, MAX_LIST)?;
        let most = archive.stored_len().saturating_mul(PLACES_SHARE).saturating_add(FREE_PLACES);
        let list = listing::decode(&decoded, most)
            .map_err(|what| corrupt(MEMBERS, "content", "a list of members", what))?;
        let mut at = 0_u64;
        let mut frames = Vec::with_capacity(list.frames.len());
        for frame in list.frames {
            let end = at.checked_add(frame.stored).filter(|end| *end <= heads);
            let end = end.ok_or_else(|| corrupt(HEADS, "end of a frame", format!("at most {heads}"), at))?;
            // The column may be of any length without bytes that are stored: both lengths are those of buffers.
            let len = frame.stored.max(frame.decoded);
            if len > MAX_FRAME {
                return Err(FormatError::limit(HEADS, None, "length of a frame", MAX_FRAME, len).into());
            }
            frames.push((frame, at));
            at = end;
        }
        let mut used = vec![0_u64; frames.len()];
        let mut headers = Vec::with_capacity(list.members.len());
        for member in &list.members {
            let used = &mut used[member.frame];
            headers.push(*used);
            let len = frames[member.frame].0.decoded;
            *used = used
                .checked_add(member.header_len)
                .filter(|end| *end <= len)
                .ok_or_else(|| corrupt(of_header(&member.name), "end", format!("at most {len}"), &used))?;
        }
        Ok(Group { archive, fills, frames, decoded: Mutex::default(), members: list.members, headers })
    }

    /// The approximate number of bytes that the open group takes in memory.
    pub(crate) fn weight(&self) -> u64 {
        let places: usize = self.members.iter().map(|m| m.places.len()).sum();
        let lists = places * size_of::<Place>() + self.members.len() * 2 * size_of::<Listed>();
        let header = self.archive.header_bytes().len() as u64;
        header.saturating_mul(16) + lists as u64 + FRAMES_HELD as u64 * MAX_FRAME
    }

    /// Names of the members, in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.members.iter().map(|m| m.name.as_str())
    }

    /// The lengths of the members' files in bytes, in their order.
    pub fn member_lens(&self) -> impl ExactSizeIterator<Item = u64> {
        self.members.iter().map(|m| m.len)
    }

    /// The archive that contains all members.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Returns the bytes of the member with this number. None where there is no such member.
    ///
    /// # Errors
    /// Its header cannot be read, or its arrays are missing or have another type.
    pub fn member(self: &Arc<Self>, number: usize) -> Result<Option<PackedMember>> {
        let Some(listed) = self.members.get(number) else { return Ok(None) };
        let header = self.header(number)?;
        let name = &listed.name;
        // A wrong header is a defect of the bundle, not of a classic file of the user.
        let wrong = |e: FormatError| {
            if !e.is_corrupt() {
                return e.into();
            }
            corrupt(of_header(name), "content", "the header of a classic file", e)
        };
        let parsed = match parse_prefix(&header, listed.len, &Limits::default()).map_err(wrong)? {
            Parse::Done(parsed, len) if len == listed.header_len => *parsed,
            Parse::Done(_, len) => {
                return Err(corrupt(of_header(name), "length", listed.header_len, len));
            }
            Parse::Incomplete { at_least } => {
                return Err(corrupt(of_header(name), "length", listed.header_len, at_least));
            }
        };
        let layout = Layout::new(&parsed, listed.header_len, listed.len).map_err(wrong)?;
        let own = arrays::of(&layout);
        if own.len() != listed.places.len() {
            return Err(corrupt(format!("`{name}`"), "number of arrays", own.len(), listed.places.len()));
        }
        for (own, place) in own.iter().zip(&listed.places) {
            self.check(name, own, *place)?;
        }
        let fills = if self.fills { lost::fill_values(&parsed, &own) } else { Vec::new() };
        let (archive, listed) = (self.archive.clone(), listed.clone());
        Ok(Some(PackedMember { archive, listed, header, layout, own, fills: self.fills.then_some(fills) }))
    }

    /// Checks that an array is inside a column of its type.
    fn check(&self, name: &str, own: &Own, place: Place) -> Result<()> {
        let what = || format!("{} of `{name}`", own.id);
        let columns = self.archive.header().variables.len();
        let var = VarId(place.column);
        if place.column < OWN_COLUMNS || var.index() >= columns {
            return Err(corrupt(
                what(),
                "column",
                format!("one of {OWN_COLUMNS} to {columns}"),
                place.column,
            ));
        }
        let column = self.archive.arrays().variable(var);
        if column.ty != own.ty {
            return Err(corrupt(what(), "type of its column", own.ty.name(), column.ty.name()));
        }
        let end = place.first.checked_mul(own.ty.size() as u64).and_then(|at| at.checked_add(own.len));
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

    /// Returns a frame that is still decompressed.
    fn held_frame(&self, number: usize) -> Option<Bytes> {
        let mut held = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        let at = held.iter().position(|(known, _)| *known == number)?;
        let found = held.remove(at);
        let bytes = found.1.clone();
        held.push(found);
        Some(bytes)
    }

    fn hold_frame(&self, number: usize, bytes: Bytes) -> Bytes {
        let mut held = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= FRAMES_HELD {
            held.remove(0);
        }
        held.push((number, bytes.clone()));
        bytes
    }

    /// Reads the frame with the header of a member. No lock is held meanwhile: reading uses other threads.
    fn read_frame(&self, listed: &Listed) -> Result<Bytes> {
        let (frame, at) = self.frames[listed.frame];
        // Group::open compared the end with the column.
        let stored =
            own_bytes(&self.archive, ArrayId::variable(1), at..at + frame.stored, &of_header(&listed.name))?;
        let decoded = unpack(&stored, frame.decoded)?;
        if decoded.len() as u64 != frame.decoded {
            return Err(corrupt(HEADS, "length of a frame", frame.decoded, decoded.len()));
        }
        Ok(decoded.into())
    }

    /// Returns the header of a member.
    fn header(&self, number: usize) -> Result<Bytes> {
        let listed = &self.members[number];
        let decoded = match self.held_frame(listed.frame) {
            Some(decoded) => decoded,
            None => self.hold_frame(listed.frame, self.read_frame(listed)?),
        };
        let at = usize::try_from(self.headers[number]).unwrap_or(usize::MAX);
        let len = usize::try_from(listed.header_len).unwrap_or(usize::MAX);
        // Group::open compared both with the frame. A copy does not keep the whole frame in memory.
        Ok(Bytes::copy_from_slice(&decoded[at..at + len]))
    }
}

/// The place in errors about the header of a member. It does not begin with `header`, as those of classic files do.
fn of_header(name: &str) -> String {
    format!("`{name}`, header")
}

/// Returns bytes of a column of the group itself. `what` names them in errors. If any of them is lost, that is an error.
fn own_bytes(archive: &Archive, id: ArrayId, place: Range<u64>, what: &str) -> Result<Vec<u8>> {
    let mut stored = vec![0; usize::try_from(place.end - place.start).unwrap_or(0)];
    archive.read_array_bytes(id, place.start, &mut stored).map_err(|e| lost::of_error(what, e))?;
    let tiles = lost::lost_tiles(archive, id);
    match tiles.iter().find(|(tile, _)| tile.start < place.end && place.start < tile.end) {
        Some((_, why)) => Err(lost::error(what, why)),
        None => Ok(stored),
    }
}

/// Returns the length of a column of the group itself in bytes.
fn own_column(archive: &Archive, number: u32, name: &str) -> Result<u64> {
    let variable = archive.header().variables.get(number as usize);
    let found = variable.filter(|v| v.name == name.as_bytes());
    found.ok_or_else(|| {
        let found = variable.map_or("nothing".into(), |v| v.name_lossy().into_owned());
        corrupt(format!("variable {number} of a group"), "name", name, found)
    })?;
    Ok(archive.arrays().variable(VarId(number)).total_bytes())
}

/// A member of a group: the bytes of its original file.
pub struct PackedMember {
    pub(super) archive: Archive,
    listed: Listed,
    pub(super) header: Bytes,
    pub(super) layout: Layout,
    pub(super) own: Vec<Own>,
    /// The fill value of each array, if lost tiles are filled.
    pub(super) fills: Option<Vec<Vec<u8>>>,
}

impl PackedMember {
    pub(super) fn listed(&self) -> &Listed {
        &self.listed
    }

    /// Its name in the bundle.
    pub fn name(&self) -> &str {
        &self.listed().name
    }

    /// SHA-256 of the file when it was packed.
    pub fn sha256(&self) -> [u8; 32] {
        self.listed().sha256
    }

    /// Reads bytes of one of its own arrays.
    fn read_array(&self, id: ArrayId, first: u64, out: &mut [u8]) -> ReadResult<()> {
        let n = self.own.iter().position(|own| own.id == id);
        let n = n.ok_or_else(|| FormatError::invalid(format!("`{}` has no {id}", self.name())))?;
        let Place { column, first: element } = self.listed().places[n];
        // Group::check: the array ends within the column.
        let at = element * self.own[n].ty.size() as u64 + first;
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

    /// Returns whether an array of the member shares a byte with this range of a column.
    fn touches(&self, column: u32, bytes: &Range<u64>) -> bool {
        touches(&self.own, self.listed(), column, bytes)
    }
}

fn touches(own: &[Own], listed: &Listed, column: u32, bytes: &Range<u64>) -> bool {
    own.iter().zip(&listed.places).any(|(own, place)| {
        let first = place.first.saturating_mul(own.ty.size() as u64);
        place.column == column && first < bytes.end && bytes.start < first.saturating_add(own.len)
    })
}

impl Group {
    /// Returns the names of the members that a lost tile of the group affects: those with an array in the
    /// tile. For the list and the headers, these are all members.
    ///
    /// # Errors
    /// Headers that cannot be read.
    pub fn hurt_by(self: &Arc<Self>, array: ArrayId, tile: u64) -> Result<Vec<String>> {
        let Role::Variable(column) = array.role() else {
            return Ok(self.names().map(str::to_owned).collect());
        };
        let info = self.archive.arrays().get(array).filter(|_| column >= OWN_COLUMNS);
        let Some(info) = info else { return Ok(self.names().map(str::to_owned).collect()) };
        let (first, len) = info.tile_bytes(tile)?;
        let bytes = first..first + len as u64;
        let mut hurt = Vec::new();
        for number in 0..self.members.len() {
            if let Some(member) = self.member(number)?
                && member.touches(column, &bytes)
            {
                hurt.push(member.name().to_owned());
            }
        }
        Ok(hurt)
    }
}

impl ByteSource for PackedMember {
    fn len(&self) -> u64 {
        self.listed().len
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
