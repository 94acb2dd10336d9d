//! The list of a group's members: their arrays and headers. For its bytes see `spec/catalogue.md`, "The list of
//! members".

use std::collections::HashMap;

const VERSION: u8 = 1;
/// The maximal number of members of a group.
pub(super) const MAX_MEMBERS: usize = 65_536;
/// Bytes of a SHA-256.
const DIGEST_LEN: usize = 32;

/// A zstd frame of headers in the column of headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Bytes as stored.
    pub(super) stored: u64,
    /// Bytes of the headers.
    pub(super) decoded: u64,
}

/// The place of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the column's variable in the group.
    pub(super) column: u32,
    /// Its first element there.
    pub(super) first: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    /// Bytes of the file.
    pub(super) len: u64,
    pub(super) frame: usize,
    /// Bytes of its header.
    pub(super) header_len: u64,
    pub(super) sha256: [u8; DIGEST_LEN],
    /// One for each array of its own, in their order.
    pub(super) places: Vec<Place>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) frames: Vec<Frame>,
    pub(super) members: Vec<Listed>,
}

/// Returns the bytes of the list, before compression. Fields of one kind are stored together, and places are
/// differences to the previous one of the same column. For consecutive files of one kind these are equal.
pub(super) fn encode(list: &Listing) -> Vec<u8> {
    let mut out = vec![VERSION];
    put(&mut out, list.frames.len() as u64);
    for frame in &list.frames {
        put(&mut out, frame.stored);
        put(&mut out, frame.decoded);
    }
    put(&mut out, list.members.len() as u64);
    for m in &list.members {
        put(&mut out, m.name.len() as u64);
        out.extend_from_slice(m.name.as_bytes());
    }
    let mut frame = 0;
    for m in &list.members {
        put(&mut out, m.len);
        put(&mut out, m.header_len);
        put(&mut out, (m.frame - frame) as u64);
        frame = m.frame;
        put(&mut out, m.places.len() as u64);
    }
    let mut last = Last::default();
    for m in &list.members {
        let mut column = 0;
        for place in &m.places {
            put_signed(&mut out, i64::from(place.column) - column - 1);
            column = place.column.into();
            put_signed(&mut out, last.step(place.column, place.first));
        }
    }
    list.members.iter().for_each(|m| out.extend_from_slice(&m.sha256));
    out
}

/// The last place of each column.
#[derive(Default)]
struct Last(HashMap<u32, u64>);

impl Last {
    /// Returns the difference from the last place to `first`, which becomes the last. Both are below 2^62.
    fn step(&mut self, column: u32, first: u64) -> i64 {
        let last = self.0.insert(column, first).unwrap_or(0);
        first.wrapping_sub(last).cast_signed()
    }

    /// Returns the place after this difference.
    fn after(&mut self, column: u32, step: i64) -> Option<u64> {
        let last = self.0.entry(column).or_insert(0);
        *last = last.checked_add_signed(step)?;
        Some(*last)
    }
}

/// Parses a list, whose members have at most `most` arrays together. The error describes the defect.
pub(super) fn decode(bytes: &[u8], most: u64) -> Result<Listing, String> {
    let mut c = ListingCursor(bytes);
    match c.take(1, "the version")?[0] {
        VERSION => {}
        other => return Err(format!("its version is {other}; this build knows {VERSION}")),
    }
    let frames = c.count(2, "frames")?;
    if frames > MAX_MEMBERS {
        return Err(format!("it has {frames} frames, more than {MAX_MEMBERS} members can have"));
    }
    let mut list = Listing::default();
    for _ in 0..frames {
        let (stored, decoded) = (c.number("the length of a frame")?, c.number("the length of a frame")?);
        list.frames.push(Frame { stored, decoded });
    }
    let members = c.count(DIGEST_LEN, "members")?;
    if members > MAX_MEMBERS {
        return Err(format!("it has {members} members, more than {MAX_MEMBERS}"));
    }
    for _ in 0..members {
        let len = c.count(1, "bytes of a name")?;
        let name = std::str::from_utf8(c.take(len, "a name")?).map_err(|e| format!("a name: {e}"))?;
        let (name, places) = (name.to_owned(), Vec::new());
        list.members.push(Listed { name, len: 0, frame: 0, header_len: 0, sha256: [0; DIGEST_LEN], places });
    }
    let mut counts = Vec::with_capacity(members);
    let mut frame = 0_usize;
    for m in &mut list.members {
        m.len = c.number("the length of a member")?;
        m.header_len = c.number("the length of a header")?;
        let step = c.number("the frame of a header")?;
        frame = usize::try_from(step).ok().and_then(|n| frame.checked_add(n)).unwrap_or(usize::MAX);
        if frame >= frames {
            return Err(format!("the header of `{}` is in frame {frame} of {frames}", m.name));
        }
        m.frame = frame;
        counts.push(c.count(2, "arrays")?);
    }
    let all = counts.iter().fold(0_u64, |sum, n| sum.saturating_add(*n as u64));
    if all > most {
        return Err(format!(
            "its members have {all} arrays, and those of a group of this length at most {most}"
        ));
    }
    let mut last = Last::default();
    for (m, &count) in list.members.iter_mut().zip(&counts) {
        // Each takes at least two bytes: the list cannot have more than its length allows.
        c.holds(count.saturating_mul(2), "arrays")?;
        m.places.reserve_exact(count);
        let mut column = 0_i64;
        for _ in 0..count {
            let step = c.signed("a column")?;
            column = step.checked_add(1).and_then(|n| column.checked_add(n)).unwrap_or(-1);
            let number = u32::try_from(column).map_err(|_| format!("`{}` names column {column}", m.name))?;
            let step = c.signed("a place")?;
            let first = last.after(number, step);
            let first = first.ok_or_else(|| format!("an array of `{}` begins before its column", m.name))?;
            m.places.push(Place { column: number, first });
        }
    }
    for m in &mut list.members {
        m.sha256.copy_from_slice(c.take(DIGEST_LEN, "a digest")?);
    }
    if c.0.is_empty() { Ok(list) } else { Err(format!("{} bytes follow it", c.0.len())) }
}

/// The bytes that are left.
struct ListingCursor<'b>(&'b [u8]);

impl<'b> ListingCursor<'b> {
    fn take(&mut self, len: usize, what: &str) -> Result<&'b [u8], String> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| format!("it ends in {what}"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Seven bits a byte, lowest first.
    fn number(&mut self, what: &str) -> Result<u64, String> {
        let mut n = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1, what)?[0];
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(format!("{what} has more than 63 bits"))
    }

    fn signed(&mut self, what: &str) -> Result<i64, String> {
        let n = self.number(what)?;
        Ok((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    /// A number of things that take `each` bytes at least.
    fn count(&mut self, each: usize, what: &str) -> Result<usize, String> {
        let n = usize::try_from(self.number(what)?).unwrap_or(usize::MAX);
        self.holds(n.saturating_mul(each), what)?;
        Ok(n)
    }

    fn holds(&self, bytes: usize, what: &str) -> Result<(), String> {
        let left = self.0.len();
        if bytes <= left {
            Ok(())
        } else {
            Err(format!("it says that it has more {what} than {left} bytes hold"))
        }
    }
}

fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(u8::try_from(n & 0x7f).unwrap_or(0) | 0x80);
        n >>= 7;
    }
    out.push(u8::try_from(n).unwrap_or(0));
}

fn put_signed(out: &mut Vec<u8>, n: i64) {
    put(out, ((n << 1) ^ (n >> 63)).cast_unsigned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed() -> impl Strategy<Value = Listed> {
        let places = prop::collection::vec((0_u32..5000, 0_u64..1 << 40), 0..9);
        ("[a-z/.]{1,12}", 0_u64..1 << 40, 0_u64..1 << 20, any::<[u8; 32]>(), places).prop_map(
            |(name, len, header_len, sha256, places)| Listed {
                name,
                len,
                frame: 0,
                header_len,
                sha256,
                places: places.into_iter().map(|(column, first)| Place { column, first }).collect(),
            },
        )
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(
            mut members in prop::collection::vec(listed(), 0..20),
            frames in prop::collection::vec((0_u64..1 << 30, 0_u64..1 << 30), 1..4),
        ) {
            let count = members.len();
            for (n, m) in members.iter_mut().enumerate() {
                m.frame = n * frames.len() / count;
            }
            let frames = frames.into_iter().map(|(stored, decoded)| Frame { stored, decoded }).collect();
            let list = Listing { frames, members };
            let bytes = encode(&list);
            prop_assert_eq!(decode(&bytes, u64::MAX), Ok(list));
            for end in 0..bytes.len() {
                prop_assert!(decode(&bytes[..end], u64::MAX).is_err());
            }
        }

        #[test]
        fn any_bytes_are_a_list_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
            let _ = decode(&bytes, u64::MAX);
        }
    }

    #[test]
    fn counts_do_not_allocate_what_the_list_cannot_hold() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert!(decode(&[&[VERSION][..], &huge].concat(), u64::MAX).unwrap_err().contains("frames"));
        assert!(decode(&[&[VERSION, 0][..], &huge].concat(), u64::MAX).unwrap_err().contains("members"));
    }
}
