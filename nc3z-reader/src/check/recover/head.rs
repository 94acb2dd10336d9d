//! Finds an intact head copy, after the superblock or after the blocks.

use super::entry_points::EntryPoints;
use crate::error::Result;
use crate::source::ByteSource;
use crate::source::lenient::Lenient;
use nc3z_format::archive::constants::HEAD_OFFSET;
use nc3z_format::archive::{
    HeadParts, SectionEncoding, SectionEntry, SectionKind, SectionTable, repair_head,
};
use nc3z_format::{Error as FormatError, Limits};

/// Bytes searched in one step.
const WINDOW_LEN: usize = 1 << 20;
/// The first bytes of packed heads (`spec/archive.md`, "Head copy"): a zstd frame, or one with separate
/// numbers.
const MAGICS: [[u8; 4]; 2] = [[0x28, 0xB5, 0x2F, 0xFD], [0xB1, 0x4E, 0x43, 0x68]];

/// Finds a head copy with a valid checksum whose header bytes give the salt. Also returns its decoded bytes.
///
/// # Errors
/// Corrupt: there is none, and without it no block can be interpreted.
pub(crate) fn find_head(
    points: &EntryPoints,
    sections: Option<&SectionTable>,
    limits: &Limits,
) -> Result<(HeadParts, Vec<u8>)> {
    let mut last = None;
    let mut facts = Vec::new();
    let second = sections.and_then(|s| s.find(SectionKind::Head).ok().cloned());
    // If the superblock is damaged, the facts about the first head come from the section table.
    let one = second.clone().filter(|second| second.offset == HEAD_OFFSET);
    let first = one.or(points.head.map(|f| f.entry(HEAD_OFFSET)));
    for candidate in first.clone().into_iter().chain(second) {
        match read(points, &candidate, limits) {
            Ok(head) => return Ok(head),
            Err(e) => last = Some(e),
        }
        facts.push(candidate);
    }
    for fact in &facts {
        // Both copies have the same bytes, so the other one can be found by length and checksum of this one.
        if fact.encoding == SectionEncoding::Zstd
            && let Some(offset) = search(points, fact)
            && let Ok(head) = read(points, &SectionEntry { offset, ..fact.clone() }, limits)
        {
            return Ok(head);
        }
    }
    if let Some(first) = first
        && let Some(head) = repaired(points, &first, sections, limits)
    {
        return Ok(head);
    }
    Err(last.unwrap_or_else(|| {
        let found = "neither copy is whole";
        FormatError::corrupt("head copy", None, "classic header", "one whole copy", found).into()
    }))
}

/// The head copy after the superblock, with its damaged parts computed from its parity.
fn repaired(
    points: &EntryPoints,
    entry: &SectionEntry,
    sections: Option<&SectionTable>,
    limits: &Limits,
) -> Option<(HeadParts, Vec<u8>)> {
    let lenient = Lenient::new(&*points.source);
    let parity = sections?.find(SectionKind::HeadParity).ok()?;
    let room =
        |entry: &SectionEntry| entry.offset.checked_add(entry.len).is_some_and(|end| end <= lenient.len());
    if !room(entry) || !room(parity) || entry.len > limits.head_len() {
        return None;
    }
    let bytes = |entry: &SectionEntry| {
        let mut out = vec![0; usize::try_from(entry.len).ok()?];
        lenient.read(entry.offset, &mut out);
        Some(out)
    };
    let mut head = bytes(entry)?;
    let parity = parity.decode(&bytes(parity)?, limits.head_len()).ok()?;
    if !repair_head(&mut head, &parity) {
        return None;
    }
    check(points, entry, &head, limits).ok()
}

fn read(points: &EntryPoints, entry: &SectionEntry, limits: &Limits) -> Result<(HeadParts, Vec<u8>)> {
    let room = points.source.len().saturating_sub(entry.offset);
    if entry.len > room {
        return Err(
            FormatError::truncated("head copy", entry.offset, "length", entry.len - room, room).into()
        );
    }
    let limit = limits.head_len();
    if entry.len > limit {
        return Err(FormatError::limit("head copy", entry.offset, "length", limit, entry.len).into());
    }
    let stored = points.source.read_at(entry.offset, usize::try_from(entry.len).expect("within limits"))?;
    check(points, entry, &stored, limits)
}

/// The decoded head copy of stored bytes, which must be whole and make the salt.
fn check(
    points: &EntryPoints,
    entry: &SectionEntry,
    stored: &[u8],
    limits: &Limits,
) -> Result<(HeadParts, Vec<u8>)> {
    let decoded = entry.decode(stored, limits.head_len())?;
    let head = HeadParts::split(&decoded, limits)?;
    if !points.salt.fits(&head.header, points.original_len) {
        return Err(FormatError::corrupt(
            "head copy",
            entry.offset,
            "salt of the header bytes",
            "the archive's",
            "another",
        )
        .into());
    }
    Ok((head, decoded))
}

/// Another place with the same bytes. At most twice the length of the file is hashed in total.
fn search(points: &EntryPoints, fact: &SectionEntry) -> Option<u64> {
    let lenient = Lenient::new(&*points.source);
    let len = usize::try_from(fact.len).ok().filter(|&n| n >= 8)?;
    let mut budget = lenient.len().saturating_mul(2);
    let (mut begin, end) = (HEAD_OFFSET, lenient.len());
    let mut window = vec![0; WINDOW_LEN];
    while begin < end {
        let size = usize::try_from(end - begin).map_or(WINDOW_LEN, |n| n.min(WINDOW_LEN));
        lenient.read(begin, &mut window[..size]);
        for at in (0..size.saturating_sub(3)).step_by(8) {
            let offset = begin + at as u64;
            if !MAGICS.iter().any(|magic| window[at..].starts_with(magic))
                || offset == fact.offset
                || fact.len > end - offset
            {
                continue;
            }
            budget = budget.checked_sub(fact.len)?;
            let mut bytes = vec![0; len];
            lenient.read(offset, &mut bytes);
            if crc32fast::hash(&bytes) == fact.crc {
                return Some(offset);
            }
        }
        begin += size as u64;
    }
    None
}
