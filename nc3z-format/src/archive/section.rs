//! The section table, and sections' stored form.

use super::constants::{ALIGN, HEAD_OFFSET, PAGE_LEN, SECTION_ENTRY_LEN};
use super::salt::Salt;
use super::trailer::Trailer;
use crate::bytes::{Cursor, reserve};
use crate::error::{Error, Result};
use crate::limits::Limits;

const SECTION: &str = "section table";
/// Readers that do not know it skip it.
const HEAD_PARITY: u16 = 0x8001;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// The head copy again.
    Head,
    /// The variable table.
    VariableTable,
    /// The metadata.
    Metadata,
    /// Index pages.
    IndexPages,
    /// Redundancy.
    Parity,
    /// Parity of the head copy alone.
    HeadParity,
    /// A later version's; skipped.
    Optional(u16),
}

impl SectionKind {
    fn code(self) -> u16 {
        match self {
            SectionKind::Head => 1,
            SectionKind::VariableTable => 2,
            SectionKind::Metadata => 3,
            SectionKind::IndexPages => 4,
            SectionKind::Parity => 5,
            SectionKind::HeadParity => HEAD_PARITY,
            SectionKind::Optional(code) => code,
        }
    }

    fn from_code(code: u16, at: u64) -> Result<Self> {
        Ok(match code {
            1 => SectionKind::Head,
            2 => SectionKind::VariableTable,
            3 => SectionKind::Metadata,
            4 => SectionKind::IndexPages,
            5 => SectionKind::Parity,
            HEAD_PARITY => SectionKind::HeadParity,
            0x8000.. => SectionKind::Optional(code),
            _ => {
                let what = format!("section of kind {code}; a newer nc3z may read it");
                return Err(Error::unsupported(SECTION, at, what));
            }
        })
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            SectionKind::Head => "head copy",
            SectionKind::VariableTable => "variable table",
            SectionKind::Metadata => "metadata",
            SectionKind::IndexPages => "index pages",
            SectionKind::Parity => "parity",
            SectionKind::HeadParity => "parity of the head copy",
            SectionKind::Optional(_) => "unknown optional section",
        }
    }
}

/// How a section is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum SectionEncoding {
    /// As it is.
    Raw = 0,
    /// One zstd frame with its content size, with the format's dictionary or without one.
    Zstd = 1,
    /// As it is, with checksums of its own inside. Just for index pages, and for kinds with parity or checksums of their own.
    SelfChecked = 2,
}

/// Where a section is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionEntry {
    /// What it holds.
    pub kind: SectionKind,
    /// How it is stored.
    pub encoding: SectionEncoding,
    /// CRC-32 of the stored bytes; 0 for self-checked ones.
    pub crc: u32,
    /// Where.
    pub offset: u64,
    /// Stored bytes.
    pub len: u64,
}

impl SectionEntry {
    /// Checks the stored bytes and decodes them.
    ///
    /// # Errors
    /// Damage; more than `limit` bytes.
    pub fn decode(&self, stored: &[u8], limit: u64) -> Result<Vec<u8>> {
        let name = self.kind.name();
        if stored.len() as u64 != self.len {
            return Err(Error::corrupt(name, self.offset, "stored length", self.len, stored.len()));
        }
        self.check_encoding(self.offset)?;
        if self.encoding != SectionEncoding::SelfChecked {
            let crc = crc32fast::hash(stored);
            if crc != self.crc {
                let (expected, found) = (format!("{:08x}", self.crc), format!("{crc:08x}"));
                return Err(Error::corrupt(name, self.offset, "CRC", expected, found));
            }
        }
        if self.encoding == SectionEncoding::Zstd {
            return super::section_codec::unpack(stored, limit).map_err(|e| e.within(name, self.offset));
        }
        if self.len > limit {
            return Err(Error::limit(name, self.offset, "length", limit, self.len));
        }
        let mut out = Vec::new();
        reserve(&mut out, name, "length", stored.len())?;
        out.extend_from_slice(stored);
        Ok(out)
    }

    /// Index pages have checksums of their own, head, variable table and metadata have none: the encoding must say so.
    /// Other kinds are free.
    fn check_encoding(&self, at: u64) -> Result<()> {
        let inside = self.encoding == SectionEncoding::SelfChecked;
        let expected = match self.kind {
            SectionKind::IndexPages if !inside => "2, as for index pages",
            SectionKind::Head | SectionKind::VariableTable | SectionKind::Metadata if inside => "0 or 1",
            _ => return Ok(()),
        };
        let what = format!("{} with encoding {}", self.kind.name(), self.encoding as u16);
        Err(Error::corrupt(SECTION, at, "encoding", expected, what))
    }
}

/// A section's stored form.
///
/// # Errors
/// zstd's refusal, which would be a lack of memory.
pub fn encode_section(decoded: &[u8]) -> Result<(SectionEncoding, Vec<u8>)> {
    Ok(match super::section_codec::pack(decoded)? {
        Some(stored) => (SectionEncoding::Zstd, stored),
        None => (SectionEncoding::Raw, decoded.to_vec()),
    })
}

/// The section table of one generation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionTable(Vec<SectionEntry>);

impl SectionTable {
    /// A table of these sections.
    pub fn new(entries: Vec<SectionEntry>) -> Self {
        SectionTable(entries)
    }

    /// The sections.
    pub fn entries(&self) -> &[SectionEntry] {
        &self.0
    }

    /// The first section of a kind.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, kind: SectionKind) -> Result<&SectionEntry> {
        self.0
            .iter()
            .find(|e| e.kind == kind)
            .ok_or_else(|| Error::corrupt(SECTION, None, "sections", kind.name(), "none of that kind"))
    }

    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() * SECTION_ENTRY_LEN);
        for e in &self.0 {
            out.extend(e.kind.code().to_le_bytes());
            out.extend((e.encoding as u16).to_le_bytes());
            out.extend(e.crc.to_le_bytes());
            out.extend(e.offset.to_le_bytes());
            out.extend(e.len.to_le_bytes());
        }
        out
    }

    /// Reads the table that a trailer at `trailer_offset` names.
    ///
    /// # Errors
    /// Damage; sections that overlap, leave the archive or stand askew; unknown required kinds; a kind twice; no head,
    /// variable table or metadata.
    pub fn decode(
        bytes: &[u8],
        trailer: &Trailer,
        trailer_offset: u64,
        salt: &Salt,
        limits: &Limits,
    ) -> Result<Self> {
        let at = trailer.sections_offset;
        let crc = salt.crc(at, bytes);
        if crc != trailer.sections_crc {
            let (expected, found) = (format!("{:08x}", trailer.sections_crc), format!("{crc:08x}"));
            return Err(Error::corrupt(SECTION, at, "CRC", expected, found));
        }
        let (rows, rest) = bytes.as_chunks::<SECTION_ENTRY_LEN>();
        if !rest.is_empty() {
            return Err(Error::corrupt(SECTION, at, "length", "a multiple of 24", bytes.len()));
        }
        if rows.len() as u64 > limits.sections {
            return Err(Error::limit(SECTION, at, "number of sections", limits.sections, rows.len() as u64));
        }
        let mut entries = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            entries.push(decode_entry(row, at + (i * SECTION_ENTRY_LEN) as u64)?);
        }
        check_places(&entries, at, trailer_offset.min(at))?;
        let table = SectionTable(entries);
        for kind in [SectionKind::Head, SectionKind::VariableTable, SectionKind::Metadata] {
            table.find(kind)?;
        }
        Ok(table)
    }
}

fn decode_entry(row: &[u8; SECTION_ENTRY_LEN], at: u64) -> Result<SectionEntry> {
    let mut c = Cursor::new(SECTION, at, row);
    let kind = SectionKind::from_code(c.u16("kind")?, at)?;
    let encoding = match c.u16("encoding")? {
        0 => SectionEncoding::Raw,
        1 => SectionEncoding::Zstd,
        2 => SectionEncoding::SelfChecked,
        n => return Err(Error::corrupt(SECTION, at + 2, "encoding", "0, 1 or 2", n)),
    };
    let crc = c.u32("CRC")?;
    let (offset, len) = (c.u64("offset")?, c.u64("length")?);
    if encoding == SectionEncoding::SelfChecked && crc != 0 {
        return Err(Error::corrupt(SECTION, at + 4, "CRC of a self-checked section", 0, crc));
    }
    if !offset.is_multiple_of(ALIGN) {
        return Err(Error::corrupt(SECTION, at + 8, "offset", "a multiple of 8", offset));
    }
    if kind == SectionKind::IndexPages && !len.is_multiple_of(PAGE_LEN as u64) {
        return Err(Error::corrupt(SECTION, at + 16, "length of index pages", "a multiple of 4096", len));
    }
    let entry = SectionEntry { kind, encoding, crc, offset, len };
    entry.check_encoding(at + 2)?;
    Ok(entry)
}

fn check_places(entries: &[SectionEntry], at: u64, end: u64) -> Result<()> {
    let mut places: Vec<&SectionEntry> = entries.iter().collect();
    places.sort_by_key(|e| (e.offset, e.len));
    let mut free = HEAD_OFFSET;
    for e in places {
        let stop = e.offset.checked_add(e.len);
        if e.offset < free || stop.is_none_or(|s| s > end) {
            let expected = format!("{free} to {end}, apart from the others");
            return Err(Error::corrupt(
                SECTION,
                at,
                "place of a section",
                expected,
                format!("{} bytes at {}", e.len, e.offset),
            ));
        }
        free = stop.unwrap_or(end);
    }
    for (i, e) in entries.iter().enumerate() {
        let repeatable =
            matches!(e.kind, SectionKind::IndexPages | SectionKind::HeadParity | SectionKind::Optional(_));
        if !repeatable && entries[..i].iter().any(|o| o.kind == e.kind) {
            return Err(Error::corrupt(SECTION, at, "sections of one kind", 1, e.kind.name()));
        }
    }
    Ok(())
}
