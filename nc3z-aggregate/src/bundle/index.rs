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
//!                           "packed": [[group, members, bytes of names], …]}
//!                          the parts of the heads one after another, in the order of the list
//!                          the names of packed members in the order of their groups, a zero byte behind each
//! ```
//! Only packed bundles have `packed`. Members are in the order of the file. Offsets are those of their bytes.
//! The offset of a part of a head counts from the start of the member.

use super::heads::Head;
use super::packed::Packed;
use super::{TAIL, list};
use crate::error::{Error, Result};
use bytes::Bytes;
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
/// The compression level. It is high because heads are similar, and are written only once.
const LEVEL: i32 = 15;

/// The range of a member, its checksum and its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) crc32: u32,
    pub(crate) head: Head,
}

/// The content of an index.
#[derive(Default)]
pub(crate) struct Entries {
    /// Names in the order of the file.
    pub(crate) names: Vec<String>,
    /// Members by name.
    pub(crate) members: HashMap<String, Entry>,
    /// Members of members.
    pub(crate) packed: Packed,
}

/// Encodes the index.
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
    if hinted(source).is_some_and(|(_, told)| told == Some(len)) {
        return Ok(None);
    }
    let first = len.saturating_sub(TAIL);
    let tail = source.read_at(first, usize::try_from(len - first).unwrap_or(0))?;
    let comment = end_record(&tail).and_then(|end| std::str::from_utf8(&tail[end + 22..]).ok());
    Ok(comment.filter(|_| by_comment(&tail, len).is_some()).map(str::to_owned))
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
struct Pointer {
    offset: u64,
    len: u64,
    crc32: u32,
}

/// The result of a search for the index.
pub(super) enum Lookup {
    /// The members from the index.
    Found(Entries),
    /// An appending program was interrupted: the bundle is the first bytes, as many as this.
    Torn(u64),
    /// No index, a damaged one, or members were added since. Then the ZIP's own directory lists the members.
    Nothing,
}

/// Looks for the index.
pub(super) fn find(source: &SharedSource) -> Result<Lookup> {
    let len = source.len();
    let hint = hinted(source);
    if let Some((pointer, Some(told))) = &hint
        && *told == len
        && let Some(found) = read(source, pointer, None)?
    {
        return Ok(Lookup::Found(found));
    }
    let first = len.saturating_sub(TAIL);
    let tail = source.read_at(first, usize::try_from(len - first).unwrap_or(0))?;
    if let Some((_, Some(told))) = hint
        && told < len
        && end_record(&tail).is_none()
    {
        return Ok(Lookup::Torn(told));
    }
    let Some(pointer) = by_comment(&tail, len) else { return Ok(Lookup::Nothing) };
    Ok(read(source, &pointer, Some((first, &tail)))?.map_or(Lookup::Nothing, Lookup::Found))
}

/// Reads the index. None where its checksum differs.
fn read(source: &SharedSource, pointer: &Pointer, tail: Option<(u64, &Bytes)>) -> Result<Option<Entries>> {
    let size = usize::try_from(pointer.len).unwrap_or(0);
    let held = tail.and_then(|(first, tail)| {
        let at = usize::try_from(pointer.offset.checked_sub(first)?).ok()?;
        Some(tail.slice(at..at.checked_add(size).filter(|end| *end <= tail.len())?))
    });
    let bytes = held.map_or_else(|| source.read_at(pointer.offset, size), Ok)?;
    // Earlier builds wrote another index. For those the ZIP's directory is used.
    if crc32fast::hash(&bytes) != pointer.crc32 || !bytes.starts_with(MAGIC) {
        return Ok(None);
    }
    decode(&bytes, source.len()).map(Some).map_err(|what| {
        nc3z_format::Error::corrupt("index of the bundle", pointer.offset, "content", "an index", what).into()
    })
}

/// Parses offset, length and checksum of a pointer, and the length of the bundle that may follow.
fn words(text: &str, bundle_len: u64) -> Option<(Pointer, Option<u64>)> {
    let mut words = text.split_ascii_whitespace();
    let (word, offset, len, crc) = (words.next()?, words.next()?, words.next()?, words.next()?);
    (word == WORD).then_some(())?;
    let pointer = Pointer {
        offset: offset.parse().ok()?,
        len: len.parse().ok()?,
        crc32: u32::from_str_radix(crc, 16).ok()?,
    };
    let end = pointer.offset.checked_add(pointer.len).filter(|end| *end <= bundle_len);
    (pointer.len <= MAX_LEN && end.is_some()).then_some(())?;
    Some((pointer, words.next().and_then(|len| len.parse().ok())))
}

/// The pointer in the padding of the first member, and the length of the bundle that it was written for. It counts for a bundle of that
/// length.
fn hinted(source: &SharedSource) -> Option<(Pointer, Option<u64>)> {
    let local = source.read_at(0, 30).ok().filter(|local| local.starts_with(b"PK\x03\x04"))?;
    let word = |at: usize| u64::from(u16::from_le_bytes([local[at], local[at + 1]]));
    let data = 30 + word(26) + word(28);
    if word(28) < HINT_LEN as u64 {
        return None;
    }
    let hint = source.read_at(data - HINT_LEN as u64, HINT_LEN).ok()?;
    let text = std::str::from_utf8(&hint).ok()?.trim_end_matches('\0');
    words(text, source.len())
}

/// Where the end record of a ZIP begins in its last bytes: its signature, 18 bytes, the length of the comment, the comment, and nothing
/// behind it.
fn end_record(tail: &[u8]) -> Option<usize> {
    (0..=tail.len().checked_sub(22)?).rev().find(|at| {
        tail[*at..].starts_with(b"PK\x05\x06")
            && usize::from(u16::from_le_bytes([tail[at + 20], tail[at + 21]])) == tail.len() - at - 22
    })
}

/// Returns the pointer at the end of a ZIP. The directory must follow the index: members that another program
/// added are not in the index.
fn by_comment(tail: &[u8], bundle_len: u64) -> Option<Pointer> {
    let end = end_record(tail)?;
    let (pointer, _) = words(std::str::from_utf8(&tail[end + 22..]).ok()?, bundle_len)?;
    let four = |at: usize| tail.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let directory = match four(end + 16)? {
        // The long form: 56 bytes, and 20 that point to them, precede the end record.
        u32::MAX => {
            let long = end.checked_sub(76).filter(|at| tail[*at..].starts_with(b"PK\x06\x06"))?;
            u64::from(four(long + 48)?) | u64::from(four(long + 52)?) << 32
        }
        offset => offset.into(),
    };
    (pointer.offset + pointer.len == directory).then_some(pointer)
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
