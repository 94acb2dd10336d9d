//! The head copy, wherever a whole one is: behind the superblock, or behind the blocks.

use super::Soft;
use super::anchors::Anchors;
use crate::error::Result;
use nc3z_format::archive::forever::HEAD_OFFSET;
use nc3z_format::archive::{HeadParts, Salt, SectionEncoding, SectionEntry, SectionKind, SectionTable};
use nc3z_format::{Error as FormatError, Limits};

/// Bytes looked at in one step.
const WINDOW_LEN: usize = 1 << 20;
/// A zstd frame's first bytes.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Finds a head copy whose checksum holds and whose header bytes make the salt.
///
/// # Errors
/// Corrupt: there is none, and without it no block can be made sense of.
pub(crate) fn find_head(
    anchors: &Anchors,
    sections: Option<&SectionTable>,
    limits: &Limits,
) -> Result<HeadParts> {
    let mut last = None;
    let mut facts = Vec::new();
    let first = anchors.head.map(|f| f.entry(HEAD_OFFSET));
    let second = sections.and_then(|s| s.find(SectionKind::Head).ok().cloned());
    for candidate in first.into_iter().chain(second) {
        match read(anchors, &candidate, limits) {
            Ok(head) => return Ok(head),
            Err(e) => last = Some(e),
        }
        facts.push(candidate);
    }
    for fact in &facts {
        // Both copies are the same bytes, so that their length and checksum find the other one.
        if fact.encoding == SectionEncoding::Zstd
            && let Some(offset) = search(anchors, fact)
            && let Ok(head) = read(anchors, &SectionEntry { offset, ..fact.clone() }, limits)
        {
            return Ok(head);
        }
    }
    Err(last.unwrap_or_else(|| {
        let found = "neither copy is whole";
        FormatError::corrupt("head copy", None, "classic header", "one whole copy", found).into()
    }))
}

fn read(anchors: &Anchors, entry: &SectionEntry, limits: &Limits) -> Result<HeadParts> {
    let room = anchors.source.len().saturating_sub(entry.offset);
    if entry.len > room {
        return Err(
            FormatError::truncated("head copy", entry.offset, "length", entry.len - room, room).into()
        );
    }
    let limit = limits.header_len * 2;
    if entry.len > limit {
        return Err(FormatError::limit("head copy", entry.offset, "length", limit, entry.len).into());
    }
    let stored = anchors.source.read_at(entry.offset, usize::try_from(entry.len).expect("within limits"))?;
    let head = HeadParts::split(&entry.decode(&stored, limit)?, limits)?;
    if Salt::new(&head.header, anchors.original_len) != anchors.salt {
        return Err(FormatError::corrupt(
            "head copy",
            entry.offset,
            "salt of the header bytes",
            "the archive's",
            "another",
        )
        .into());
    }
    Ok(head)
}

/// A place where the same bytes stand again. What is hashed in all is at most twice the file.
fn search(anchors: &Anchors, fact: &SectionEntry) -> Option<u64> {
    let soft = Soft::new(&*anchors.source);
    let len = usize::try_from(fact.len).ok().filter(|&n| n >= 8)?;
    let mut budget = soft.len().saturating_mul(2);
    let (mut begin, end) = (HEAD_OFFSET, soft.len());
    let mut window = vec![0; WINDOW_LEN];
    while begin < end {
        let size = usize::try_from(end - begin).map_or(WINDOW_LEN, |n| n.min(WINDOW_LEN));
        soft.read(begin, &mut window[..size]);
        for at in (0..size.saturating_sub(3)).step_by(8) {
            let offset = begin + at as u64;
            if window[at..at + 4] != ZSTD_MAGIC || offset == fact.offset || fact.len > end - offset {
                continue;
            }
            budget = budget.checked_sub(fact.len)?;
            let mut bytes = vec![0; len];
            soft.read(offset, &mut bytes);
            if crc32fast::hash(&bytes) == fact.crc {
                return Some(offset);
            }
        }
        begin += size as u64;
    }
    None
}
