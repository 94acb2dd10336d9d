//! The index of a bundle is its last member: the offset of each member, and its head. The comment of the
//! ZIP's end record points to the index: `nc3z-index OFFSET LENGTH CRC32`. The same pointer, followed by the
//! length of the bundle, is in the padding before the first member's data: a reader that has the first bytes
//! of a bundle can read the index next, and needs nothing else.
//!
//! ```text
//! 0   8  "nc3zidx2"
//! 8   8  bytes when decompressed, little-endian
//! 16     a zstd frame:  8  bytes of the list, little-endian
//!                          {"version": 2, "members": [[name, offset, length, crc32, [[at, bytes], …]], …],
//!                           "packed": [[group, members, bytes of names], …], "modified": [time, …], "modes": [[count, mode], …]}
//!                          the parts of the heads one after another, in the order of the list
//!                          the names of packed members in the order of their groups, a zero byte behind each
//! ```
//! `modified` has a difference in nanoseconds for each member and then for each packed one, or null; `modes` has runs of permissions.
//! Only packed bundles have `packed`. Members are in the order of the file. Offsets are those of their bytes.
//! The offset of a part of a head counts from the start of the member.

use super::heads::Head;
use super::packed::Packed;
use super::stamp::Stamp;
use super::{TAIL, list};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_reader::source::SharedSource;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::HashMap;
use std::io::Read;

/// The name of the member.
pub(crate) const NAME: &str = ".nc3z/index";
/// The first word of the comment.
const WORD: &str = "nc3z-index";
/// The version of the list.
const VERSION: u64 = 2;
/// The first bytes of the index.
const MAGIC: &[u8; 8] = b"nc3zidx2";
/// The maximal length of an index, both stored and decompressed.
const MAX_LEN: u64 = 2 << 30;
/// The length in bytes of the hint before the first member's data.
pub(crate) const HINT_LEN: usize = 96;
/// A number of a ZIP that is in the long form of its end record.
const LONG: u64 = u32::MAX as u64;
/// The compression level. It is high because heads are similar, and are written only once.
const LEVEL: i32 = 15;

/// The range of a member, its checksum and its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) crc32: u32,
    pub(crate) head: Head,
    pub(crate) stamp: Stamp,
}

/// The content of an index.
#[derive(Default)]
pub(crate) struct Entries {
    /// Names in the order of the file.
    pub(crate) names: Vec<String>,
    pub(crate) members: HashMap<String, Entry>,
    pub(crate) packed: Packed,
}

pub(crate) fn encode(members: &[(String, Entry)], packed: &Packed) -> Result<Vec<u8>> {
    // Written member by member: a tree of its JSON would take a multiple of its bytes.
    let mut list = Vec::new();
    let written = serde_json::to_writer(&mut list, &Listed { members, packed });
    written.map_err(|e| Error::refused(format!("the index of the bundle cannot be written: {e}")))?;
    let mut plain = (list.len() as u64).to_le_bytes().to_vec();
    plain.append(&mut list);
    for (_, bytes) in members.iter().flat_map(|(_, e)| e.head.parts()) {
        plain.extend_from_slice(bytes);
    }
    plain.extend_from_slice(&packed.names);
    let packed = zstd::bulk::compress(&plain, LEVEL)
        .map_err(|e| Error::refused(format!("the index of the bundle cannot be compressed: {e}")))?;
    Ok([MAGIC, &(plain.len() as u64).to_le_bytes()[..], &packed].concat())
}

/// The list as JSON.
struct Listed<'l> {
    members: &'l [(String, Entry)],
    packed: &'l Packed,
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        let stamps = || self.members.iter().map(|(_, e)| e.stamp).chain(self.packed.stamps.iter().copied());
        map.serialize_entry("modes", &modes(stamps()))?;
        map.serialize_entry(
            "modified",
            &Rows(|| {
                let mut last = 0_i64;
                stamps().map(move |stamp| {
                    let nanos = stamp.nanos()?;
                    Some(nanos.wrapping_sub(std::mem::replace(&mut last, nanos)))
                })
            }),
        )?;
        map.serialize_entry(
            "members",
            &Rows(|| {
                self.members.iter().map(|(name, e)| {
                    let parts: Vec<(u64, usize)> =
                        e.head.parts().iter().map(|(at, b)| (*at, b.len())).collect();
                    (name, e.offset, e.length, e.crc32, parts)
                })
            }),
        )?;
        if !self.packed.is_empty() {
            map.serialize_entry(
                "packed",
                &Rows(|| self.packed.lines.iter().map(|l| (&l.group, l.members, l.len))),
            )?;
        }
        map.serialize_entry("version", &VERSION)?;
        map.end()
    }
}

/// Runs of equal permissions: their lengths, and the permissions.
fn modes(stamps: impl Iterator<Item = Stamp>) -> Vec<(u64, Option<u32>)> {
    let mut runs: Vec<(u64, Option<u32>)> = Vec::new();
    for mode in stamps.map(Stamp::mode) {
        match runs.last_mut() {
            Some((count, last)) if *last == mode => *count += 1,
            _ => runs.push((1, mode)),
        }
    }
    runs
}

/// The values of an iterator as an array.
struct Rows<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Rows<F> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

/// The comment that points to the index.
pub(crate) fn comment(offset: u64, bytes: &[u8]) -> String {
    format!("{WORD} {offset} {} {:08x}", bytes.len(), crc32fast::hash(bytes))
}

/// The hint: the comment and the length of the bundle, padded with zeros.
pub(super) fn hint(comment: &str, bundle_len: u64) -> Vec<u8> {
    let mut hint = format!("{comment} {bundle_len}").into_bytes();
    hint.resize(HINT_LEN, 0);
    hint
}

/// True for bytes that begin like a hint.
pub(super) fn is_hint(bytes: &[u8]) -> bool {
    bytes.strip_prefix(WORD.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' '))
}

/// Returns the comment at the end of a bundle whose hint names another end, because a program was interrupted before
/// it wrote the hint. None if the hint is right.
pub(crate) fn comment_to_hint(source: &SharedSource) -> Result<Option<String>> {
    let len = source.len();
    let tail = Tail::new(source)?;
    let end = tail.end();
    let Some((end, pointer)) = end.and_then(|end| Some((end, end.pointer()?))) else { return Ok(None) };
    if hinted(source).is_some_and(|hint| hint.told == len && hint.pointer == pointer) {
        return Ok(None);
    }
    Ok(std::str::from_utf8(end.comment).ok().map(str::to_owned))
}

/// Returns the packed members that an index lists, also if its bundle was rewritten by another program. None if it
/// cannot be read.
pub(super) fn packed_of(bytes: &[u8], bundle_len: u64) -> Option<Packed> {
    let plain = Bytes::from(unpack(bytes, earned(bundle_len)).ok()?);
    let (list_len, rest) = plain.split_first_chunk::<8>()?;
    let list_len = usize::try_from(u64::from_le_bytes(*list_len)).ok().filter(|len| *len <= rest.len())?;
    // Members are elsewhere now.
    list::read(&rest[..list_len], plain.slice(8 + list_len..), u64::MAX).ok().map(|entries| entries.packed)
}

/// The range of the index, and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pointer {
    offset: u64,
    len: u64,
    crc32: u32,
}

/// The hint: it is the bundle's commit slot, since it is written after everything else is on disk.
struct Hint {
    pointer: Pointer,
    /// The length of the bundle.
    told: u64,
}

/// The result of a search for the index.
pub(super) enum Lookup {
    /// The members from the index.
    Found(Entries),
    /// An appending program was interrupted: the bundle is the first bytes, as many as this.
    Torn(u64),
    /// No index, or another program has changed the ZIP. Then the ZIP's own directory lists the members.
    Nothing,
}

/// Looks for the index (`spec/bundle.md`, section 1).
///
/// # Errors
/// The file is shorter than its hint says, or the index that the hint names is damaged: the remaining bytes could be an older bundle.
pub(super) fn find(source: &SharedSource) -> Result<Lookup> {
    let len = source.len();
    let hint = hinted(source);
    let mut damaged = None;
    if let Some(hint) = hint.as_ref().filter(|hint| hint.told == len) {
        match read(source, &hint.pointer, None)? {
            Index::Entries(found) => return Ok(Lookup::Found(found)),
            Index::Other => return Ok(Lookup::Nothing),
            Index::Damaged(e) => damaged = Some(e),
        }
    }
    let tail = Tail::new(source)?;
    let end = tail.end();
    let pointer = end.and_then(|end| end.pointer());
    // An end that nc3z wrote counts, unless the hint names a later one.
    let is_newest = |pointer: &Pointer| hint.as_ref().is_none_or(|h| h.told <= len || h.pointer == *pointer);
    if let Some(pointer) = pointer.as_ref().filter(|pointer| is_newest(pointer)) {
        match read(source, pointer, Some(&tail))? {
            Index::Entries(found) => return Ok(Lookup::Found(found)),
            Index::Other => return Ok(Lookup::Nothing),
            Index::Damaged(e) => damaged = damaged.or(Some(e)),
        }
    }
    match hint {
        // Another program has written this end.
        _ if end.is_some() && pointer.is_none() && damaged.is_none() => Ok(Lookup::Nothing),
        Some(hint) if hint.told > len => {
            Err(FormatError::truncated("bundle", len, "last members", hint.told - len, 0).into())
        }
        Some(hint) if hint.told < len => Ok(Lookup::Torn(hint.told)),
        Some(_) => damaged.map_or(Ok(Lookup::Nothing), Err),
        None => Ok(Lookup::Nothing),
    }
}

/// The bytes that a pointer names.
enum Index {
    Entries(Entries),
    /// An index of another version. For those the ZIP's directory is used.
    Other,
    Damaged(Error),
}

fn read(source: &SharedSource, pointer: &Pointer, tail: Option<&Tail>) -> Result<Index> {
    let wrong = |what, expected: String, found: String| -> Error {
        FormatError::corrupt("index of the bundle", pointer.offset, what, expected, found).into()
    };
    let len = source.len();
    if pointer.offset.checked_add(pointer.len).is_none_or(|end| end > len) {
        let (expected, found) = (format!("at most {len}"), format!("{} bytes later", pointer.len));
        return Ok(Index::Damaged(wrong("end", expected, found)));
    }
    let size = usize::try_from(pointer.len).unwrap_or(0);
    let held = tail.and_then(|Tail { first, bytes }| {
        let at = usize::try_from(pointer.offset.checked_sub(*first)?).ok()?;
        Some(bytes.slice(at..at.checked_add(size).filter(|end| *end <= bytes.len())?))
    });
    let bytes = held.map_or_else(|| source.read_at(pointer.offset, size), Ok)?;
    let found = crc32fast::hash(&bytes);
    if found != pointer.crc32 {
        return Ok(Index::Damaged(wrong("CRC-32", format!("{:08x}", pointer.crc32), format!("{found:08x}"))));
    }
    if !bytes.starts_with(MAGIC) {
        return Ok(Index::Other);
    }
    let entries = decode(&bytes, len);
    entries.map(Index::Entries).map_err(|what| wrong("content", "an index".to_owned(), what))
}

/// Parses offset, length and checksum of a pointer, and the length of the bundle that follows in a hint.
fn words(text: &[u8]) -> Option<(Pointer, Option<u64>)> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let (word, offset, len, crc) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let crc32 = u32::from_str_radix(crc, 16).ok()?;
    let pointer = Pointer { offset: offset.parse().ok()?, len: len.parse().ok()?, crc32 };
    (word == WORD && pointer.len <= MAX_LEN).then(|| (pointer, words.next().and_then(|len| len.parse().ok())))
}

/// The hint in the padding of the first member. None if there is none, or if it is damaged.
fn hinted(source: &SharedSource) -> Option<Hint> {
    let local = source.read_at(0, 30).ok().filter(|local| local.starts_with(b"PK\x03\x04"))?;
    let word = |at: usize| u64::from(u16::from_le_bytes([local[at], local[at + 1]]));
    let data = 30 + word(26) + word(28);
    if word(28) < HINT_LEN as u64 {
        return None;
    }
    let hint = source.read_at(data - HINT_LEN as u64, HINT_LEN).ok()?;
    let text = hint.iter().rposition(|byte| *byte != 0).map_or(&hint[..0], |last| &hint[..=last]);
    let (pointer, told) = words(text)?;
    Some(Hint { pointer, told: told? })
}

/// The last bytes of a file.
pub(super) struct Tail {
    /// The offset of the first one.
    first: u64,
    bytes: Bytes,
}

/// The end record of a ZIP, which ends with the file, and whose list of members ends where it begins. So it is not the end of a ZIP that
/// is a member.
#[derive(Debug, Clone, Copy)]
pub(super) struct End<'t> {
    comment: &'t [u8],
    /// The offset of the list of members.
    pub(super) directory: u64,
}

impl Tail {
    pub(super) fn new(source: &SharedSource) -> Result<Self> {
        let len = source.len();
        let first = len.saturating_sub(TAIL);
        Ok(Tail { first, bytes: source.read_at(first, usize::try_from(len - first).unwrap_or(0))? })
    }

    pub(super) fn end(&self) -> Option<End<'_>> {
        let last = self.bytes.len().checked_sub(22)?;
        (0..=last).rev().find_map(|at| self.end_at(at))
    }

    /// Parses an end record: its signature, 18 bytes, the length of the comment, the comment, and nothing behind it.
    fn end_at(&self, at: usize) -> Option<End<'_>> {
        let four =
            |at: usize| self.bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let eight = |at: usize| Some(u64::from(four(at)?) | u64::from(four(at + 4)?) << 32);
        let record = &self.bytes[at..];
        let comment = usize::from(u16::from_le_bytes([record[20], record[21]]));
        if !record.starts_with(b"PK\x05\x06") || comment != record.len() - 22 {
            return None;
        }
        let (mut size, mut directory) = (u64::from(four(at + 12)?), u64::from(four(at + 16)?));
        let mut end = self.first + at as u64;
        let is_long = record[10..12] == [0xff; 2] || size == LONG || directory == LONG;
        let locator = at.checked_sub(20).filter(|at| is_long && self.bytes[*at..].starts_with(b"PK\x06\x07"));
        if let Some(locator) = locator {
            // The long form is in front of the record.
            end = eight(locator + 8)?;
            let long = usize::try_from(end.checked_sub(self.first)?).ok()?;
            self.bytes.get(long..)?.starts_with(b"PK\x06\x06").then_some(())?;
            (size, directory) = (eight(long + 40)?, eight(long + 48)?);
        }
        let fits = directory.checked_add(size) == Some(end);
        fits.then(|| End { comment: &record[22..], directory })
    }
}

impl End<'_> {
    /// Returns the pointer to the index. The directory must follow the index: members that another program
    /// added are not in the index.
    fn pointer(&self) -> Option<Pointer> {
        let (pointer, _) = words(self.comment)?;
        (pointer.offset.checked_add(pointer.len) == Some(self.directory)).then_some(pointer)
    }
}

/// The maximal decompressed length of the index of a bundle of this length. Its heads are copies of bytes of
/// the bundle, and an entry of the list is shorter than the two headers that a ZIP has for each member.
fn earned(bundle_len: u64) -> u64 {
    (1 << 20_u64).max(bundle_len.saturating_mul(4)).min(MAX_LEN)
}

/// Decompresses bytes that start with their decompressed length.
fn unpack(bytes: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let (len, packed) = bytes
        .strip_prefix(&MAGIC[..])
        .and_then(<[u8]>::split_first_chunk::<8>)
        .ok_or("it does not begin as one")?;
    let len = u64::from_le_bytes(*len);
    if len > most {
        return Err(format!(
            "it says that it has {len} bytes, and a bundle of this length has at most {most}"
        ));
    }
    let mut plain = Vec::new();
    let frame = zstd::stream::read::Decoder::new(packed).map_err(|e| e.to_string())?;
    frame.take(len + 1).read_to_end(&mut plain).map_err(|e| e.to_string())?;
    if plain.len() as u64 != len {
        return Err(format!("it has another length than {len} bytes"));
    }
    Ok(plain)
}

fn decode(bytes: &[u8], bundle_len: u64) -> std::result::Result<Entries, String> {
    let plain = Bytes::from(unpack(bytes, earned(bundle_len))?);
    let (list_len, rest) = plain.split_first_chunk::<8>().ok_or("it has no list")?;
    let list_len = usize::try_from(u64::from_le_bytes(*list_len)).ok().filter(|len| *len <= rest.len());
    let list_len = list_len.ok_or("its list is longer than itself")?;
    list::read(&rest[..list_len], plain.slice(8 + list_len..), bundle_len)
}
