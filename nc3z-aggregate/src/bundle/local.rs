//! The header that a ZIP has before each member's bytes. It shows whether the member still has the length
//! that the index of the bundle has: a program that changes a member in place changes its length there.

/// The maximal length of the extra field between the name and the bytes: padding, and the long form of
/// lengths.
const EXTRA: usize = 4096 + 64;
/// Bytes before the name.
const FIXED: usize = 30;

/// The number of bytes before a member's data that contain its header, for any padding.
pub(super) fn window_len(name: &str) -> u64 {
    (FIXED + name.len() + EXTRA) as u64
}

/// Returns the length of the member `name`, whose bytes follow the window. None where the window has no
/// header of it.
pub(super) fn length(window: &[u8], name: &str) -> Option<u64> {
    let last = window.len().checked_sub(FIXED + name.len())?;
    (0..=last).rev().find_map(|at| parse(&window[at..], name))
}

/// Parses a header that fills all of these bytes.
fn parse(bytes: &[u8], name: &str) -> Option<u64> {
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
    Some(length)
}
