//! The section table, and sections' stored form.

use super::constants::{ALIGN, HEAD_OFFSET, PAGE_LEN, SECTION_ENTRY_LEN};
use super::salt::Salt;
use super::section_codec::{PackEffort, pack, unpack};
use super::trailer::Trailer;
use crate::bytes::{ByteCursor, reserve};
use crate::codec::{decode_zstd_frame_after_within, encode_zstd_frame_after};
use crate::error::{Error, Result};
use crate::limits::Limits;

const SECTION: &str = "section table";
/// Readers that do not know this kind skip it.
const HEAD_PARITY: u16 = 0x8001;

/// The kinds of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// The head copy again.
    Head,
    /// The table of the arrays that have tiles.
    VariableTable,
    /// The metadata, as JSON.
    Metadata,
    /// Index pages.
    IndexPages,
    /// Redundancy.
    Parity,
    /// Parity of the head copy only.
    HeadParity,
    /// A kind of a later version, which is skipped.
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

    /// The name of the kind in messages.
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

/// The encodings of stored sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum SectionEncoding {
    /// Unencoded.
    Raw = 0,
    /// One zstd frame with its content size, with or without the format's dictionary.
    Zstd = 1,
    /// Unencoded, with checksums in the content. Only for index pages, and for kinds whose content has parity or
    /// checksums.
    SelfChecked = 2,
    /// The entry of an older section of the same kind, then one zstd frame that continues that section's
    /// content. Only for variable table and metadata.
    After = 3,
}

/// The place of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionEntry {
    /// The kind of the section.
    pub kind: SectionKind,
    /// The encoding of the section.
    pub encoding: SectionEncoding,
    /// CRC-32 of the stored bytes; 0 for self-checked ones.
    pub crc: u32,
    /// Offset in the archive.
    pub offset: u64,
    /// Stored bytes.
    pub len: u64,
}

impl SectionEntry {
    /// Checks the stored bytes and decodes them. If this section continues an older section, `read` is called for the
    /// stored bytes of the older one.
    ///
    /// # Errors
    /// Damage; more than `limit` bytes; errors of `read`.
    pub fn decode_with<B: AsRef<[u8]>, E: From<Error>>(
        &self,
        stored: &[u8],
        limit: u64,
        read: impl FnOnce(&SectionEntry) -> Result<B, E>,
    ) -> Result<Vec<u8>, E> {
        let Some(older) = self.older(stored)? else { return Ok(self.decode(stored, limit)?) };
        let before = older.decode(read(&older)?.as_ref(), limit)?;
        let frame = &stored[SECTION_ENTRY_LEN..];
        let decoded = decode_zstd_frame_after_within(&before, frame, limit);
        Ok(decoded.map_err(|e| e.within(self.kind.name(), self.offset))?)
    }

    /// Returns the older section that this section continues, if any.
    ///
    /// # Errors
    /// Damage; the older section is of another kind, does not precede this one, or continues another section.
    pub fn older(&self, stored: &[u8]) -> Result<Option<SectionEntry>> {
        if self.encoding != SectionEncoding::After {
            return Ok(None);
        }
        self.check_stored(stored)?;
        let name = self.kind.name();
        let wrong = |what, expected: &str, found: String| {
            Err(Error::corrupt(name, self.offset, what, expected, found))
        };
        let Some((row, _)) = stored.split_first_chunk() else {
            return wrong("length", "an entry and a frame", stored.len().to_string());
        };
        let older = decode_entry(row, self.offset)?;
        if older.kind != self.kind {
            return wrong("section that it continues", name, older.kind.name().to_owned());
        }
        if !matches!(older.encoding, SectionEncoding::Raw | SectionEncoding::Zstd) {
            return wrong(
                "encoding of the section that it continues",
                "0 or 1",
                (older.encoding as u16).to_string(),
            );
        }
        if older.offset < HEAD_OFFSET
            || older.offset.checked_add(older.len).is_none_or(|end| end > self.offset)
        {
            let found = format!("{} bytes at {}", older.len, older.offset);
            return wrong("place of the section that it continues", "before it", found);
        }
        Ok(Some(older))
    }

    /// The stored form of a section that continues this one, whose content is `before`.
    ///
    /// # Errors
    /// An error of zstd, which means a lack of memory.
    pub fn encode_after(&self, before: &[u8], decoded: &[u8]) -> Result<Vec<u8>> {
        Ok([&self.encode()[..], &encode_zstd_frame_after(before, decoded)?].concat())
    }

    /// Checks the stored bytes and decodes them.
    ///
    /// # Errors
    /// Damage; more than `limit` bytes; a section that continues another ([`Self::decode_with`] reads those).
    pub fn decode(&self, stored: &[u8], limit: u64) -> Result<Vec<u8>> {
        self.check_stored(stored)?;
        let name = self.kind.name();
        match self.encoding {
            SectionEncoding::Zstd => {
                return unpack(stored, limit).map_err(|e| e.within(name, self.offset));
            }
            SectionEncoding::After => {
                return Err(Error::corrupt(name, self.offset, "encoding", "0, 1 or 2", 3));
            }
            SectionEncoding::Raw | SectionEncoding::SelfChecked => {}
        }
        if self.len > limit {
            return Err(Error::limit(name, self.offset, "length", limit, self.len));
        }
        let mut out = Vec::new();
        reserve(&mut out, name, "length", stored.len())?;
        out.extend_from_slice(stored);
        Ok(out)
    }

    /// Checks length and CRC of the stored bytes.
    fn check_stored(&self, stored: &[u8]) -> Result<()> {
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
        Ok(())
    }

    /// Returns the 24 bytes.
    fn encode(&self) -> [u8; SECTION_ENTRY_LEN] {
        let mut out = [0; SECTION_ENTRY_LEN];
        out[0..2].copy_from_slice(&self.kind.code().to_le_bytes());
        out[2..4].copy_from_slice(&(self.encoding as u16).to_le_bytes());
        out[4..8].copy_from_slice(&self.crc.to_le_bytes());
        out[8..16].copy_from_slice(&self.offset.to_le_bytes());
        out[16..24].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    /// Checks the encoding. Index pages must have checksums in their content; head, variable table and metadata must not.
    /// Only variable table and metadata may continue older sections. Other kinds may have any encoding.
    fn check_encoding(&self, at: u64) -> Result<()> {
        let inside = self.encoding == SectionEncoding::SelfChecked;
        let expected = match self.kind {
            SectionKind::IndexPages if !inside => "2, as for index pages",
            SectionKind::Head if self.encoding as u16 > 1 => "0 or 1",
            SectionKind::VariableTable | SectionKind::Metadata if inside => "0, 1 or 3",
            SectionKind::VariableTable | SectionKind::Metadata => return Ok(()),
            _ if self.encoding == SectionEncoding::After => "0, 1 or 2",
            _ => return Ok(()),
        };
        let what = format!("{} with encoding {}", self.kind.name(), self.encoding as u16);
        Err(Error::corrupt(SECTION, at, "encoding", expected, what))
    }
}

/// A section's stored form.
///
/// # Errors
/// An error of zstd, which means a lack of memory.
pub fn encode_section(decoded: &[u8], effort: PackEffort) -> Result<(SectionEncoding, Vec<u8>)> {
    Ok(match pack(decoded, effort)? {
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

    /// Returns the sections.
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

    /// Returns the stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(SectionEntry::encode).collect()
    }

    /// Reads the table that a trailer at `trailer_offset` names.
    ///
    /// # Errors
    /// Damage; sections that overlap, leave the archive or are misaligned; unknown required kinds; a kind
    /// twice; no head, variable table or metadata.
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
    let mut c = ByteCursor::new(SECTION, at, row);
    let kind = SectionKind::from_code(c.u16("kind")?, at)?;
    let encoding = match c.u16("encoding")? {
        0 => SectionEncoding::Raw,
        1 => SectionEncoding::Zstd,
        2 => SectionEncoding::SelfChecked,
        3 => SectionEncoding::After,
        n => return Err(Error::corrupt(SECTION, at + 2, "encoding", "0 to 3", n)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: SectionKind, encoding: SectionEncoding, offset: u64, stored: &[u8]) -> SectionEntry {
        SectionEntry { kind, encoding, crc: crc32fast::hash(stored), offset, len: stored.len() as u64 }
    }

    #[test]
    fn a_section_continues_an_older_one_and_nothing_else() {
        let before: Vec<u8> =
            (0..3000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        let mut decoded = before.clone();
        decoded[700] ^= 1;
        decoded.extend(b"more");
        let (encoding, whole) = encode_section(&before, PackEffort::Full).unwrap();
        let older = entry(SectionKind::VariableTable, encoding, 160, &whole);
        let stored = older.encode_after(&before, &decoded).unwrap();
        assert!(stored.len() < 100, "{}", stored.len());
        let at = 160 + whole.len() as u64;
        let section = entry(SectionKind::VariableTable, SectionEncoding::After, at, &stored);
        let decode = |section: &SectionEntry, stored: &[u8], limit| {
            section.decode_with(stored, limit, |found| {
                assert_eq!(*found, older);
                Ok::<_, Error>(&whole[..])
            })
        };
        assert_eq!(section.older(&stored).unwrap(), Some(older.clone()));
        assert_eq!(decode(&section, &stored, 13_000).unwrap(), decoded);
        // The limit holds for both.
        assert!(decode(&section, &stored, 12_003).unwrap_err().is_limit());
        assert!(decode(&section, &stored, 11_999).unwrap_err().is_limit());
        assert!(section.decode(&stored, 13_000).unwrap_err().is_corrupt());
        let early = SectionEntry { offset: at - 1, ..section.clone() };
        assert!(decode(&early, &stored, 13_000).unwrap_err().is_corrupt());
        for kind in [SectionKind::Metadata, SectionKind::Head, SectionKind::IndexPages] {
            assert!(SectionEntry { kind, ..section.clone() }.older(&stored).is_err());
        }
        // One step.
        let third = section.encode_after(&decoded, &before).unwrap();
        let third = (entry(SectionKind::VariableTable, SectionEncoding::After, at + 4000, &third), third);
        assert!(third.0.older(&third.1).unwrap_err().is_corrupt());
        for n in 0..stored.len() {
            let cut = entry(SectionKind::VariableTable, SectionEncoding::After, at, &stored[..n]);
            assert!(decode(&cut, &stored[..n], 13_000).is_err(), "{n}");
            assert!(decode(&section, &stored[..n], 13_000).is_err(), "{n}");
        }
    }
}
