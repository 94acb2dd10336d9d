//! Reads and decodes the superblock, the section table and the sections, each separately.

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::foreign::or_foreign;
use crate::source::{ByteSource, Nearby};
use bytes::Bytes;
use nc3z_format::archive::{
    LaterHeadParts, LaterHeadPlace, SUPERBLOCK_LEN, SectionEntry, SectionKind, SectionTable, Superblock,
    TRAILER_LEN, Trailer, VariableTable,
};
use nc3z_format::{Error as FormatError, Limits};
use std::ops::Range;

impl Archive {
    /// The section of this generation, or the older one that it continues, with its content. Only for kinds
    /// of sections that a later one may continue.
    ///
    /// # Errors
    /// Damage; more than `limit` bytes.
    pub fn whole_section(&self, kind: SectionKind, limit: u64) -> Result<(SectionEntry, Vec<u8>)> {
        let source = &*self.inner.store.source;
        let read = |entry: &SectionEntry| read_part(source, entry.offset, entry.len, kind.name());
        let entry = self.inner.sections.find(kind)?;
        let stored = read(entry)?;
        match entry.older(&stored)? {
            Some(older) => {
                let decoded = older.decode(&read(&older)?, limit)?;
                Ok((older, decoded))
            }
            None => Ok((entry.clone(), entry.decode(&stored, limit)?)),
        }
    }
}

/// Reads bytes that should be inside the source.
pub(crate) fn read_part(source: &dyn ByteSource, offset: u64, len: u64, what: &'static str) -> Result<Bytes> {
    let outside = || {
        let room = source.len().saturating_sub(offset);
        Error::from(FormatError::truncated(what, offset, "section", len.saturating_sub(room), room))
    };
    if offset.checked_add(len).is_none_or(|end| end > source.len()) {
        return Err(outside());
    }
    source.read_at(offset, usize::try_from(len).map_err(|_| outside())?)
}

/// Reads the section table that a trailer names.
pub(crate) fn read_sections(
    source: &dyn ByteSource,
    trailer: &Trailer,
    trailer_offset: u64,
    limits: &Limits,
) -> Result<SectionTable> {
    let bytes = read_part(source, trailer.sections_offset, trailer.sections_len.into(), "section table")?;
    Ok(SectionTable::decode(&bytes, trailer, trailer_offset, &trailer.salt, limits)?)
}

/// The sections that opening needs, fetched together if requests cost time. Empty if they cannot be read.
pub(crate) fn fetch_sections(source: &dyn ByteSource, sections: &SectionTable, limits: &Limits) -> Nearby {
    if !source.reach().fetches_ahead() {
        return Nearby::default();
    }
    let needed = [
        (SectionKind::Head, limits.head_len()),
        (SectionKind::VariableTable, limits.table_len),
        (SectionKind::Metadata, limits.metadata_len),
    ];
    // The table has compared the places with the length of the file.
    let ranges = needed.into_iter().filter_map(|(kind, limit)| {
        let entry = sections.find(kind).ok().filter(|entry| entry.len <= limit)?;
        Some(entry.offset..entry.offset + entry.len)
    });
    let ranges: Vec<Range<u64>> = ranges.collect();
    let nearby = Nearby::fetch(source, &ranges).unwrap_or_default();
    // The older sections that these continue, also fetched together.
    let continued = needed.into_iter().filter_map(|(kind, limit)| {
        let entry = sections.find(kind).ok()?;
        let len = usize::try_from(entry.len).ok()?;
        let stored = nearby.get(entry.offset, len).or_else(|| {
            let is_loaded = source.holds(&(entry.offset..entry.offset + entry.len));
            is_loaded.then(|| source.read_at(entry.offset, len).ok()).flatten()
        })?;
        let older = entry.older(&stored).ok().flatten().filter(|older| older.len <= limit)?;
        let range = older.offset..older.offset.checked_add(older.len)?;
        nearby.get(range.start, usize::try_from(older.len).ok()?).is_none().then_some(range)
    });
    let continued: Vec<Range<u64>> = continued.collect();
    // Without the bytes between them: pieces must not overlap.
    nearby.and(&Nearby::fetch_apart(source, &continued).unwrap_or_default())
}

/// Reads the head of a generation that has its own head.
pub(crate) fn read_later_head(
    source: &dyn ByteSource,
    table: &VariableTable,
    trailer: &Trailer,
    head_copy: &[u8],
    limits: &Limits,
) -> Result<Option<LaterHeadParts>> {
    let Some(place) = LaterHeadPlace::find(table, trailer)? else { return Ok(None) };
    let block = read_part(source, place.offset, place.block_len(), "later head")?;
    Ok(Some(place.read(&block, &trailer.salt, head_copy, limits)?))
}

/// The decoded section of a kind.
pub(crate) fn read_section(
    source: &dyn ByteSource,
    sections: &SectionTable,
    kind: SectionKind,
    limit: u64,
) -> Result<Vec<u8>> {
    let entry = sections.find(kind)?;
    let stored = read_part(source, entry.offset, entry.len, kind.name())?;
    decode_section(source, entry, &stored, &Nearby::default(), limit)
}

/// Decodes a section from its stored bytes and, if it continues an older section, from that one.
pub(crate) fn decode_section(
    source: &dyn ByteSource,
    entry: &SectionEntry,
    stored: &[u8],
    nearby: &Nearby,
    limit: u64,
) -> Result<Vec<u8>> {
    entry.decode_with(stored, limit, |older| {
        let held = usize::try_from(older.len).ok().and_then(|len| nearby.get(older.offset, len));
        let read = || read_part(source, older.offset, older.len, older.kind.name());
        held.map_or_else(read, Ok)
    })
}

pub(crate) fn read_superblock(source: &dyn ByteSource) -> Result<Superblock> {
    read_superblock_of(source).map_err(|e| or_foreign(source, e))
}

fn read_superblock_of(source: &dyn ByteSource) -> Result<Superblock> {
    let len = source.len();
    if len < (SUPERBLOCK_LEN + TRAILER_LEN) as u64 {
        // If it is another kind of file, names the kind: the magic decides.
        let start = read_part(source, 0, len.min(10), "superblock")?;
        Superblock::check_magic(&start)?;
        // A short form of another version may be this short.
        Superblock::check_version(&start)?;
        return Err(FormatError::truncated(
            "archive",
            len,
            "superblock and trailer",
            (SUPERBLOCK_LEN + TRAILER_LEN) as u64 - len,
            len,
        )
        .into());
    }
    let bytes = read_part(source, 0, SUPERBLOCK_LEN as u64, "superblock")?;
    let bytes: &[u8; SUPERBLOCK_LEN] = (&*bytes).try_into().expect("the range has this length");
    Ok(Superblock::decode(bytes)?)
}

/// The error for two structures that contradict each other.
pub(crate) fn disagree(
    section: &str,
    what: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Error {
    FormatError::corrupt(section, None, what, expected, found).into()
}
