//! Checks each part of the file that the walk found: checksums of head, blocks, sections and pages, and zeros
//! between them.

use super::blocks;
use super::report::Structure;
use super::walk::{Region, RegionKind, Walk};
use crate::check::parity::{ParityReport, check_region, locate_section};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;
use crate::source::ByteSource;
use nc3z_format::archive::{PAGE_LEN, Page, Salt, SectionEncoding, SectionEntry, SectionKind};
use std::ops::Range;

/// Bytes read at a time.
const PIECE_LEN: usize = 512 << 10;

impl Walk<'_> {
    pub(super) fn region(&mut self, region: &Region) -> Result<()> {
        let bytes = region.bytes.clone();
        match &region.kind {
            RegionKind::Done => {}
            RegionKind::Head { crc } => self.crc_of(&bytes, *crc, Structure::HeadCopy)?,
            RegionKind::Blocks { expected } => {
                let walked = blocks::walk(&self.source, self.points.salt, bytes, *expected, self.monitor)?;
                self.report.blocks += walked.blocks;
                walked.findings.into_iter().for_each(|raw| self.findings.add(raw));
                return Ok(());
            }
            RegionKind::Section(entry) => self.section(entry)?,
        }
        self.monitor.advance(bytes.end - bytes.start);
        Ok(())
    }

    fn section(&mut self, entry: &SectionEntry) -> Result<()> {
        let bytes = entry.offset..entry.offset + entry.len;
        match (entry.encoding, entry.kind) {
            (SectionEncoding::Raw | SectionEncoding::Zstd | SectionEncoding::After, kind) => {
                self.crc_of(&bytes, entry.crc, Structure::Section(kind))
            }
            (SectionEncoding::SelfChecked, SectionKind::IndexPages) => self.pages(bytes),
            (SectionEncoding::SelfChecked, SectionKind::Parity) => self.parity(entry),
            (SectionEncoding::SelfChecked, _) => {
                self.report.unchecked += entry.len;
                Ok(())
            }
        }
    }

    /// Checks packets and parity shards; the newest parity is reported.
    fn parity(&mut self, entry: &SectionEntry) -> Result<()> {
        let bytes = entry.offset..entry.offset + entry.len;
        let quiet = Quiet(self.monitor);
        let checked = locate_section(&*self.source, entry, self.points.salt)
            .and_then(|layout| check_region(&*self.source, &layout, &quiet));
        let report = match checked {
            Ok(report) => report,
            Err(e) if e.is_interrupted() => return Err(e),
            Err(e) => {
                self.findings.push(Structure::Section(SectionKind::Parity), bytes, e.with_causes());
                return Ok(());
            }
        };
        let (begin, end) = (report.layout.params.begin, report.layout.params.end);
        if bytes != (begin..end) {
            let words = format!("its packets say that it is bytes {begin} to {end}");
            self.findings.push(Structure::Section(SectionKind::Parity), bytes, words);
        }
        for range in report.damage() {
            let words = "parity shards or packets that fail their checksums";
            self.findings.push(Structure::Section(SectionKind::Parity), range, words);
        }
        let generation = |r: &ParityReport| r.layout.params.generation;
        // A parity that a later generation no longer has is not reported.
        let counts = self.parity == Some(entry.offset);
        if counts && self.report.parity.as_ref().is_none_or(|known| generation(known) < generation(&report)) {
            self.report.parity = Some(report);
        }
        Ok(())
    }

    /// Compares the CRC-32 of a range.
    pub(super) fn crc_of(&mut self, bytes: &Range<u64>, expected: u32, structure: Structure) -> Result<()> {
        let mut crc = crc32fast::Hasher::new();
        let read = pieces(&*self.source, bytes, self.monitor, &mut |_, piece| {
            crc.update(piece);
            true
        });
        match read {
            Ok(()) => {
                let found = crc.finalize();
                if found != expected {
                    let words = format!("CRC is {found:08x}, expected {expected:08x}");
                    self.findings.push(structure, bytes.clone(), words);
                }
                Ok(())
            }
            Err(e) if e.is_interrupted() => Err(e),
            Err(e) => {
                self.findings.push(structure, bytes.clone(), e.with_causes());
                Ok(())
            }
        }
    }

    /// Checks each page of a section of index pages separately.
    fn pages(&mut self, bytes: Range<u64>) -> Result<()> {
        if self.monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let (source, salt) = (&*self.source, self.points.salt);
        let offsets: Vec<u64> = bytes.step_by(PAGE_LEN).collect();
        let bad = parallel::map(offsets, |at| Some((at, bad_page(source, salt, at)?)));
        for (at, words) in bad.into_iter().flatten() {
            self.findings.push(Structure::IndexPage, at..at + PAGE_LEN as u64, words);
        }
        Ok(())
    }

    /// Checks that bytes outside of all structures are zero.
    pub(super) fn zeros(&mut self, bytes: Range<u64>) -> Result<()> {
        let mut wrong: Option<Range<u64>> = None;
        let read = pieces(&*self.source, &bytes, self.monitor, &mut |at, piece| {
            for (i, _) in piece.iter().enumerate().filter(|(_, b)| **b != 0) {
                let place = at + i as u64;
                let begin = wrong.as_ref().map_or(place, |w| w.start);
                wrong = Some(begin..place + 1);
            }
            true
        });
        match read {
            Ok(()) => {}
            Err(e) if e.is_interrupted() => return Err(e),
            Err(e) => self.findings.push(Structure::Gap, bytes.clone(), e.with_causes()),
        }
        if let Some(wrong) = wrong {
            self.findings.push(Structure::Gap, wrong, "bytes that belong to nothing are not zero");
        }
        self.monitor.advance(bytes.end - bytes.start);
        Ok(())
    }
}

/// Passes cancellation but no progress, since progress is reported for whole regions.
struct Quiet<'a>(&'a dyn Monitor);

impl Monitor for Quiet<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

fn bad_page(source: &dyn ByteSource, salt: Salt, at: u64) -> Option<String> {
    let page = source.read_at(at, PAGE_LEN);
    page.and_then(|page| {
        Page::check(&page, &salt, at)?;
        Page::new(&page, at)?;
        Ok(())
    })
    .err()
    .map(|e| e.with_causes())
}

/// Reads a range piece by piece, until `sink` stops it.
pub(super) fn pieces(
    source: &dyn ByteSource,
    bytes: &Range<u64>,
    monitor: &dyn Monitor,
    sink: &mut dyn FnMut(u64, &[u8]) -> bool,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut at = bytes.start;
    while at < bytes.end {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let n = usize::try_from(bytes.end - at).map_or(PIECE_LEN, |n| n.min(PIECE_LEN));
        buffer.resize(n, 0);
        source.read_into(at, &mut buffer)?;
        if !sink(at, &buffer) {
            break;
        }
        at += n as u64;
    }
    Ok(())
}
