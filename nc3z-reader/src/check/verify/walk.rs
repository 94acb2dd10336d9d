//! The walk over the file: superblock, head copy, then generation by generation blocks, sections, section table, trailer; and
//! the bytes between them, which are zero.

use super::blocks::Expected;
use super::report::{Findings, Report, Structure};
use crate::check::recover::EntryPoints;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::newest::SLOTS;
use crate::options::OpenOptions;
use crate::sections::read_sections;
use crate::source::lenient::Lenient;
use crate::source::{ByteSource, SharedSource};
use crate::tail::TailState;
use nc3z_format::archive::constants::{HEAD_OFFSET, REQUIRED_LOSSY};
use nc3z_format::archive::{
    BLOCK_HEADER_LEN, SUPERBLOCK_LEN, SectionEntry, SectionKind, TRAILER_LEN, Trailer, align8,
};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of later copies of the head that are decoded to be compared with the first, for each byte of the file, and in any case.
const COMPARED_OF_FILE: u64 = 64;
const COMPARED_FLOOR: u64 = 1 << 30;

/// A part of the file with known content.
pub(super) struct Region {
    pub(super) bytes: Range<u64>,
    pub(super) kind: RegionKind,
}

pub(super) enum RegionKind {
    /// Checked when it was found.
    Done,
    Head {
        crc: u32,
    },
    Blocks {
        expected: Option<Expected>,
    },
    Section(SectionEntry),
}

/// The section entry of a region that is a copy of the head.
fn head_section(region: &Region) -> Option<&SectionEntry> {
    match &region.kind {
        RegionKind::Section(entry) if entry.kind == SectionKind::Head => Some(entry),
        _ => None,
    }
}

pub(super) struct Walk<'a> {
    pub(super) source: SharedSource,
    pub(super) points: EntryPoints,
    options: &'a OpenOptions,
    pub(super) report: &'a mut Report,
    pub(super) findings: &'a mut Findings,
    pub(super) monitor: &'a dyn Monitor,
    regions: Vec<Region>,
    /// Ranges of sections, which tables of several generations may name.
    named: HashSet<(u64, u64)>,
    /// The parity that the last generation has.
    pub(super) parity: Option<u64>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        source: &SharedSource,
        options: &'a OpenOptions,
        report: &'a mut Report,
        findings: &'a mut Findings,
        monitor: &'a dyn Monitor,
    ) -> Result<Self> {
        let points = EntryPoints::find(source, options)?;
        let source = Arc::clone(&points.source);
        let (regions, named) = (Vec::new(), HashSet::new());
        Ok(Walk { source, points, options, report, findings, monitor, regions, named, parity: None })
    }

    /// Walks the file. Returns the source with the offsets that the archive had.
    pub(super) fn run(mut self) -> Result<SharedSource> {
        let len = self.source.len();
        self.short_form();
        self.ends();
        self.generations()?;
        self.head();
        self.regions.sort_by_key(|r| (r.bytes.start, r.bytes.end));
        let mut at = 0;
        for region in std::mem::take(&mut self.regions) {
            if region.bytes.start > at {
                self.zeros(at..region.bytes.start)?;
            } else if region.bytes.start < at && !region.bytes.is_empty() {
                // Not checked: otherwise a file could make the reader read the same bytes repeatedly.
                let words = format!("two structures claim bytes from {}", region.bytes.start);
                self.findings.push(Structure::Index, region.bytes.clone(), words);
                at = at.max(region.bytes.end);
                continue;
            }
            self.region(&region)?;
            at = at.max(region.bytes.end);
        }
        self.zeros(at.min(len)..len)?;
        Ok(self.source)
    }

    /// Reports the bytes that are missing or surplus in an archive in the short form. All else is checked in
    /// the long form.
    fn short_form(&mut self) {
        let Some(short) = self.points.short.clone() else { return };
        let end = short.stored_len + short.missing - short.extra;
        if short.missing > 0 {
            let words = format!("the last {} bytes of the archive are missing", short.missing);
            self.findings.push(Structure::ShortForm, short.stored_len..end, words);
        }
        if short.extra > 0 {
            let words = format!(
                "{} bytes after the end of the archive do not belong to it: the archive is whole, and a repair leaves them out",
                short.extra
            );
            self.findings.push(Structure::ShortForm, end..short.stored_len, words);
        }
    }

    /// Superblock, last trailer, and the bytes outside of them.
    fn ends(&mut self) {
        let len = self.source.len();
        let start = 0..(SUPERBLOCK_LEN as u64).min(len);
        if self.points.missing > 0 {
            let words = format!("the first {} bytes of the archive are missing", self.points.missing);
            self.findings.push(Structure::Superblock, 0..self.points.missing, words);
            self.done(0..self.points.missing);
        } else {
            if let Err(e) = &self.points.superblock {
                self.findings.push(Structure::Superblock, start.clone(), e.with_causes());
            }
            self.done(start);
            if self.points.slots.has_damage() {
                let words = "a commit slot is damaged; the next commit writes it anew";
                self.findings.push(Structure::CommitSlots, SLOTS, words);
            }
        }
        if let Some(e) = &self.points.lost {
            let end = self.points.trailer.as_ref().map_or(len, |(_, trailer)| trailer.archive_len);
            self.findings.push(Structure::Tail, end..len.max(end), e.with_causes());
            self.done(end..len.max(end));
            return;
        }
        let Some(e) = &self.points.trailer_error else { return };
        let words = e.with_causes();
        match &self.points.trailer {
            None => {
                let from = len.saturating_sub(TRAILER_LEN as u64);
                self.findings.push(Structure::Trailer, from..len, words);
            }
            Some((_, trailer)) => {
                let tail = trailer.archive_len..len;
                let (count, generation) = (tail.end - tail.start, trailer.generation);
                let words = if TailState::new(&*self.source, trailer, &self.points.slots) == TailState::Torn {
                    format!(
                        "{count} bytes after the end of commit {generation} do not belong to it: a commit that did not finish, or foreign bytes. The archive is whole, and a repair leaves them out"
                    )
                } else {
                    format!(
                        "{count} bytes after the last whole trailer, that of commit {generation}: a commit whose end was damaged ({words})"
                    )
                };
                self.findings.push(Structure::Tail, tail.clone(), words);
                self.done(tail);
            }
        }
    }

    fn done(&mut self, bytes: Range<u64>) {
        self.regions.push(Region { bytes, kind: RegionKind::Done });
    }

    /// All generations from the last back to the first.
    fn generations(&mut self) -> Result<()> {
        let mut next = self.points.trailer.clone();
        if next.is_none() {
            // Blocks follow the head, up to an unknown end.
            let begin = self
                .points
                .head
                .map_or(HEAD_OFFSET, |h| align8(HEAD_OFFSET.saturating_add(h.stored_len.into())));
            // Of a cut archive the last block may reach to the very end.
            let end = self.source.len();
            let begin = if begin < end { begin } else { HEAD_OFFSET.min(end) };
            self.regions.push(Region { bytes: begin..end, kind: RegionKind::Blocks { expected: None } });
        }
        while let Some((at, trailer)) = next {
            if u64::from(self.report.generations) >= self.options.limits.generations {
                let (limit, n) = (self.options.limits.generations, self.report.generations.into());
                return Err(nc3z_format::Error::limit("archive", at, "generations", limit, n).into());
            }
            self.report.generations += 1;
            self.generation(at, &trailer);
            next = self.previous(&trailer);
        }
        Ok(())
    }

    fn generation(&mut self, at: u64, trailer: &Trailer) {
        self.done(at..at + TRAILER_LEN as u64);
        // The remaining part of a file that lost its beginning.
        let begin = trailer.blocks_begin.max(align8(self.points.missing)).min(trailer.blocks_end);
        let blocks = begin..trailer.blocks_end;
        let lossy = trailer.required & REQUIRED_LOSSY != 0;
        let expected = Some(Expected { generation: trailer.generation, lossy });
        self.regions.push(Region { bytes: blocks, kind: RegionKind::Blocks { expected } });
        let table = trailer.sections_offset..trailer.sections_offset + u64::from(trailer.sections_len);
        let tail = Lenient::new(&*self.source);
        match read_sections(&tail, trailer, at, &self.options.limits) {
            Ok(sections) => {
                if self.report.generations == 1 {
                    self.parity = sections.find(SectionKind::Parity).ok().map(|e| e.offset);
                }
                for entry in sections.entries() {
                    let bytes = entry.offset..entry.offset + entry.len;
                    if !self.named.insert((bytes.start, bytes.end)) {
                        continue;
                    }
                    let first_head = entry.kind == SectionKind::Head && entry.offset == HEAD_OFFSET;
                    if !first_head {
                        self.regions.push(Region { bytes, kind: RegionKind::Section(entry.clone()) });
                    } else if self.points.superblock.is_err() {
                        self.regions.push(Region { bytes, kind: RegionKind::Head { crc: entry.crc } });
                    }
                }
            }
            Err(e) => {
                self.findings.push(Structure::SectionTable, table.clone(), e.with_causes());
                // The sections in the table are unknown and cannot be checked.
                let unknown = trailer.blocks_end..trailer.sections_offset;
                self.report.unchecked += unknown.end - unknown.start;
                self.done(unknown);
            }
        }
        self.done(table);
    }

    fn previous(&mut self, trailer: &Trailer) -> Option<(u64, Trailer)> {
        let at = trailer.previous;
        if at == 0 {
            return None;
        }
        let bytes = at..at + TRAILER_LEN as u64;
        let mut record = [0; TRAILER_LEN];
        let read = self.source.read_into(at, &mut record);
        let read = read.and_then(|()| Ok(Trailer::decode(&record, at, &self.points.salt)?));
        match read {
            Ok(previous) if previous.generation < trailer.generation => Some((at, previous)),
            Ok(previous) => {
                let words = format!("commit {} before {}", previous.generation, trailer.generation);
                self.findings.push(Structure::Trailer, bytes.clone(), words);
                self.done(bytes);
                None
            }
            Err(e) => {
                self.findings.push(Structure::Trailer, bytes.clone(), e.with_causes());
                self.done(bytes.clone());
                // The content before it is unknown, but blocks can be found.
                let begin = self
                    .points
                    .head
                    .map_or(HEAD_OFFSET, |h| align8(HEAD_OFFSET.saturating_add(h.stored_len.into())));
                self.unknown(begin..at);
                None
            }
        }
    }

    /// Searches for blocks in the parts of a range that no known structure claims.
    fn unknown(&mut self, bytes: Range<u64>) {
        let inside = |r: &Region| bytes.start < r.bytes.end && r.bytes.start < bytes.end;
        let mut known: Vec<Range<u64>> =
            self.regions.iter().filter(|r| inside(r)).map(|r| r.bytes.clone()).collect();
        known.sort_by_key(|r| r.start);
        known.push(bytes.end..bytes.end);
        let mut from = bytes.start;
        for range in known {
            // Less than a block between two structures is padding.
            if range.start >= from.saturating_add(BLOCK_HEADER_LEN as u64) {
                let bytes = from..range.start;
                self.regions.push(Region { bytes, kind: RegionKind::Blocks { expected: None } });
            }
            from = from.max(range.end);
        }
    }

    /// Checks the head copy, as the superblock or a second copy describes it, and compares all copies.
    fn head(&mut self) {
        let copies: Vec<SectionEntry> = self.regions.iter().filter_map(head_section).cloned().collect();
        let stated = self.points.head.map(|facts| facts.entry(HEAD_OFFSET));
        let second = copies.first().map(|copy| SectionEntry { offset: HEAD_OFFSET, ..copy.clone() });
        let whole = self.points.superblock.is_ok();
        let Some(first) = (if whole { stated } else { second.or(stated) }) else { return };
        if self.points.missing == 0 && !self.regions.iter().any(|r| matches!(r.kind, RegionKind::Head { .. }))
        {
            let end = HEAD_OFFSET.saturating_add(first.len).min(self.source.len());
            let bytes = HEAD_OFFSET.min(end)..end;
            self.regions.push(Region { bytes, kind: RegionKind::Head { crc: first.crc } });
        }
        self.compare_heads(&first, &copies);
    }

    /// Compares each generation's copy of the head with the first one, whatever its encoding. (Damage of a
    /// copy is reported with the copy.)
    fn compare_heads(&mut self, first: &SectionEntry, copies: &[SectionEntry]) {
        let differs = |copy: &&SectionEntry| (copy.len, copy.crc) != (first.len, first.crc);
        let mut copies = copies.iter().filter(differs).peekable();
        if copies.peek().is_none() {
            return;
        }
        let source = Arc::clone(&self.source);
        let limit = self.options.limits.within(source.len()).head_len();
        let Some(Ok(first)) = read_head(&*source, first, limit) else { return };
        // A decoded head may be a hundred thousand times longer than the stored one, and each generation has
        // one.
        let mut budget = source.len().saturating_mul(COMPARED_OF_FILE).saturating_add(COMPARED_FLOOR);
        for copy in copies {
            let Some(left) = budget.checked_sub(first.len() as u64) else {
                self.report.unchecked += copy.len;
                continue;
            };
            budget = left;
            // A longer one is known by its frame's content size, and never decoded.
            let found = read_head(&*source, copy, first.len() as u64);
            let other = match found {
                None => false,
                Some(Ok(bytes)) => bytes != first,
                Some(Err(e)) => e.is_limit(),
            };
            if !other {
                continue;
            }
            let words = "it differs from the head copy after the superblock";
            let bytes = copy.offset..copy.offset + copy.len;
            self.findings.push(Structure::Section(SectionKind::Head), bytes, words);
        }
    }
}

/// A copy of the head, decoded. `None` if it cannot be read, or cannot be one of at most `limit` bytes.
fn read_head(
    source: &dyn ByteSource,
    entry: &SectionEntry,
    limit: u64,
) -> Option<nc3z_format::Result<Vec<u8>>> {
    // Raw or compressed, a copy is never longer than its content and a frame's header.
    let len = usize::try_from(entry.len).ok().filter(|&n| n as u64 <= limit.saturating_add(1 << 20))?;
    Some(entry.decode(&source.read_at(entry.offset, len).ok()?, limit))
}
