//! The index of a bundle: the last member of the ZIP, found by the comment of its end record, `nc3z-index OFFSET LENGTH CRC32`. With
//! it a bundle opens by its last bytes, and the ZIP's own directory is not needed.
//!
//! The member is JSON: `{"version": 1, "members": [[name, offset, length, crc32], …]}` in the order of the file; offsets are those of
//! the members' bytes.

use super::{MAX_MEMBERS, TAIL};
use crate::error::{Error, Result};
use nc3z_reader::source::SharedSource;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Name of the member.
pub(super) const NAME: &str = ".nc3z/index";
/// First word of the comment.
const WORD: &str = "nc3z-index";
/// Longest index that is read.
const MAX_LEN: u64 = 4 << 30;

/// Where a member lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) crc32: u32,
}

/// The member's bytes.
pub(super) fn encode(members: &[(String, Entry)]) -> Vec<u8> {
    let list: Vec<Value> =
        members.iter().map(|(name, e)| json!([name, e.offset, e.length, e.crc32])).collect();
    json!({"version": 1, "members": list}).to_string().into_bytes()
}

/// The comment that points to it.
pub(super) fn comment(offset: u64, bytes: &[u8]) -> String {
    format!("{WORD} {offset} {} {:08x}", bytes.len(), crc32fast::hash(bytes))
}

/// The members by the index; nothing where there is none, or it is damaged: then the ZIP's directory tells.
pub(super) fn find(source: &SharedSource) -> Result<Option<(Vec<String>, HashMap<String, Entry>)>> {
    let len = source.len();
    let first = len.saturating_sub(TAIL);
    let tail = source.read_at(first, usize::try_from(len - first).unwrap_or(0))?;
    let Some((offset, index_len, crc)) = parse_comment(&tail) else { return Ok(None) };
    if index_len > MAX_LEN || offset.checked_add(index_len).is_none_or(|end| end > len) {
        return Ok(None);
    }
    let size = usize::try_from(index_len).unwrap_or(0);
    let bytes = match offset.checked_sub(first).and_then(|at| usize::try_from(at).ok()) {
        Some(at) => tail.slice(at..at + size),
        None => source.read_at(offset, size)?,
    };
    if crc32fast::hash(&bytes) != crc {
        return Ok(None);
    }
    decode(&bytes, len)
        .map(Some)
        .map_err(|what| Error::refused(format!("the index of the bundle is wrong: {what}")))
}

/// Offset, length and checksum from the end of a ZIP.
fn parse_comment(tail: &[u8]) -> Option<(u64, u64, u32)> {
    // The end record: its signature, 18 bytes, the length of the comment, the comment, and nothing behind it.
    let end = (0..=tail.len().checked_sub(22)?).rev().find(|at| {
        tail[*at..].starts_with(b"PK\x05\x06")
            && usize::from(u16::from_le_bytes([tail[at + 20], tail[at + 21]])) == tail.len() - at - 22
    })?;
    let text = std::str::from_utf8(&tail[end + 22..]).ok()?;
    let mut words = text.split_ascii_whitespace();
    let (word, offset, len, crc) = (words.next()?, words.next()?, words.next()?, words.next()?);
    (word == WORD).then_some(())?;
    Some((offset.parse().ok()?, len.parse().ok()?, u32::from_str_radix(crc, 16).ok()?))
}

fn decode(bytes: &[u8], len: u64) -> std::result::Result<(Vec<String>, HashMap<String, Entry>), String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    if value["version"] != 1 {
        return Err(format!("its version is {}", value["version"]));
    }
    let list =
        value["members"].as_array().filter(|l| l.len() <= MAX_MEMBERS).ok_or("it has no list of members")?;
    let (mut names, mut entries) = (Vec::with_capacity(list.len()), HashMap::with_capacity(list.len()));
    for item in list {
        let entry = (|| {
            let crc32 = u32::try_from(item[3].as_u64()?).ok()?;
            let entry = Entry { offset: item[1].as_u64()?, length: item[2].as_u64()?, crc32 };
            entry.offset.checked_add(entry.length).filter(|end| *end <= len)?;
            Some((item[0].as_str()?.to_owned(), entry))
        })();
        let (name, entry) = entry.ok_or_else(|| format!("the entry {item} is no member"))?;
        if entries.insert(name.clone(), entry).is_some() {
            return Err(format!("two members are called `{name}`"));
        }
        names.push(name);
    }
    Ok((names, entries))
}
