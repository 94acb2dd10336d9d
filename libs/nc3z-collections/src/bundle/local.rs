//! The header that a ZIP has before each member's bytes. It shows whether the member is still the one that the
//! index of the bundle has: a program that changes a member in place changes its length and checksum there.

use nc3z_reader::Result;
use nc3z_reader::source::SharedSource;

/// The maximal length of the extra field between the name and the bytes: padding, and the long form of
/// lengths.
const EXTRA: usize = 4096 + 128;
/// Bytes before the name.
const FIXED: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Local {
    /// The byte of the bundle at which its header begins.
    pub(crate) offset: u64,
    length: u64,
    crc32: u32,
    /// False if the bytes are compressed or encrypted.
    is_stored: bool,
}

impl Local {
    /// Returns whether the header is that of a member with this length and checksum, stored as it is.
    pub(crate) fn is_of(&self, length: u64, crc32: u32) -> bool {
        self.is_stored && (self.length, self.crc32) == (length, crc32)
    }
}

/// Finds the header of the member `name`, whose bytes begin at `data`. None where no header of it is in front of them.
///
/// # Errors
/// Errors of the source.
pub(crate) fn find(source: &SharedSource, data: u64, name: &str) -> Result<Option<Local>> {
    let begin = data.saturating_sub((FIXED + name.len() + EXTRA) as u64);
    let window = source.read_at(begin, usize::try_from(data - begin).unwrap_or(usize::MAX))?;
    let Some(last) = window.len().checked_sub(FIXED + name.len()) else { return Ok(None) };
    Ok((0..=last).rev().find_map(|at| parse(&window[at..], begin + at as u64, name)))
}

/// Parses a header that fills all of these bytes, which begin at `offset`.
fn parse(bytes: &[u8], offset: u64, name: &str) -> Option<Local> {
    let two = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let four = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let begins = bytes.starts_with(b"PK\x03\x04");
    if !begins || two(26) != name.len() || FIXED + name.len() + two(28) != bytes.len() {
        return None;
    }
    let (found, mut extra) = bytes[FIXED..].split_at(name.len());
    if found != name.as_bytes() {
        return None;
    }
    let mut length = u64::from(four(22));
    while length == u64::from(u32::MAX)
        && let [id @ .., l0, l1] = *extra.first_chunk::<4>()?
    {
        let field = extra.get(4..4 + usize::from(u16::from_le_bytes([l0, l1])))?;
        if id == [1, 0] {
            length = u64::from_le_bytes(*field.first_chunk::<8>()?);
        }
        extra = &extra[4 + field.len()..];
    }
    let is_stored = two(6) & 1 == 0 && two(8) == 0;
    Some(Local { offset, length, crc32: four(14), is_stored })
}
