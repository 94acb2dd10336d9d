//! Checks a bundle: the checksums of members, and the index against the ZIP's directory.

use super::extract::check_packed;
use super::heads::Head;
use super::index::Entry;
use super::{Bundle, Directory, Member, index, zip_of};
use crate::error::{Error, Result};
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::Monitor;
use nc3z_reader::source::{ByteSource, SharedSource};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The result of the check of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberCheck {
    /// It is an archive, which has its own checksums: [`nc3z_reader::verify`] checks it.
    Archive,
    /// It is packed, and its bytes have the recorded SHA-256.
    Packed {
        /// Its length in bytes.
        len: u64,
    },
    /// It is another file.
    Plain {
        /// Its length in bytes.
        len: u64,
        /// The CRC-32 that the bundle records; a tar records none.
        recorded: Option<u32>,
        /// The CRC-32 of its bytes.
        found: u32,
    },
}

impl MemberCheck {
    /// True if the bytes have the recorded checksum, or if there is none.
    pub fn is_sound(&self) -> bool {
        !matches!(self, MemberCheck::Plain { recorded: Some(recorded), found, .. } if recorded != found)
    }

    /// Returns the result as JSON, for the member with this name. None for an archive.
    pub fn to_json(&self, name: &str) -> Option<Value> {
        match self {
            MemberCheck::Archive => None,
            MemberCheck::Packed { .. } => {
                Some(json!({"archive": name, "kind": "packed member", "sound": true}))
            }
            MemberCheck::Plain { len, recorded, found } => Some(json!({
                "archive": name, "kind": "member", "sound": self.is_sound(), "stored_bytes": len, "crc32": format!("{found:08x}"),
                "crc32_matches": recorded.map(|recorded| recorded == *found),
            })),
        }
    }
}

/// Bytes of one read.
const STEP: usize = 4 << 20;
/// The maximal number of differences in the list.
const MOST: usize = 100;

impl Bundle {
    /// Returns the CRC-32 that the bundle stores for a member. A tar stores none.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn crc32(&self, name: &str) -> Result<Option<u32>> {
        Ok(self.find(name, &self.source)?.and_then(|member| member.crc32()))
    }

    /// Returns the bytes of a member as they are in the bundle, without the copies in the index. None where
    /// there is no such member.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn member_as_stored(&self, name: &str) -> Result<Option<SharedSource>> {
        if let Some(member) = self.packed_member(name)? {
            return Ok(Some(Arc::new(member)));
        }
        let Some(member) = self.find(name, &self.source)? else { return Ok(None) };
        let (offset, len) = (member.offset(), member.len());
        let bare = Member::new(self.source.clone(), offset, len, Head::default());
        Ok(Some(Arc::new(bare.map_err(|what| Error::fragment(name, what))?)))
    }

    /// Checks a member that is not an archive by its recorded checksum. None where there is no such member.
    ///
    /// # Errors
    /// It cannot be read, or is packed and damaged; a cancelled monitor.
    pub fn check_member(&self, name: &str, monitor: &dyn Monitor) -> Result<Option<MemberCheck>> {
        if let Some(packed) = self.packed_member(name)? {
            check_packed(&packed)?;
            return Ok(Some(MemberCheck::Packed { len: packed.len() }));
        }
        let Some(source) = self.member_as_stored(name)? else { return Ok(None) };
        let magic = source.read_at(0, usize::try_from(source.len().min(8)).unwrap_or(8))?;
        if magic[..] == MAGIC {
            return Ok(Some(MemberCheck::Archive));
        }
        let recorded = self.crc32(name)?;
        let tell = |bytes: u64| {
            monitor.advance(bytes);
            !monitor.is_cancelled()
        };
        let found = crc32_of(&source, &tell)?.ok_or_else(nc3z_reader::Error::interrupted)?;
        Ok(Some(MemberCheck::Plain { len: source.len(), recorded, found }))
    }

    /// Compares the index of a bundle with the ZIP's own directory and with the members. Returns a list of
    /// the differences.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut found: Vec<String> = self.damage.iter().map(|e| format!("it is damaged: {e}")).collect();
        found.extend(self.check_directory()?);
        for (number, group) in self.groups().enumerate() {
            if self.has_group(group)? {
                continue;
            }
            let lost = self
                .members_of(number)
                .map(|name| format!("`{name}` is lost: its group `{group}` is missing"));
            found.extend(lost);
        }
        found.truncate(MOST);
        Ok(found)
    }

    /// Compares the index with the ZIP's own directory and with the members.
    fn check_directory(&self) -> Result<Vec<String>> {
        match &self.directory {
            Directory::Index(_) if self.kind == "tar" => Ok(Vec::new()),
            Directory::Index(entries) => {
                let mut found = match self.against_directory(entries) {
                    Err(e) if !e.is_interrupted() => vec![format!("its directory is damaged: {e}")],
                    found => found?,
                };
                for name in entries.keys().collect::<BTreeSet<_>>() {
                    if found.len() >= MOST {
                        break;
                    }
                    if let Some(entry) = entries.get(name).filter(|entry| !self.has_head(entry)) {
                        let at = entry.offset;
                        found.push(format!(
                            "member `{name}` at byte {at}: the index repeats other bytes of it"
                        ));
                    }
                }
                Ok(found)
            }
            // Members that another program added are not in the index, and a damaged index is not used
            // either.
            Directory::Zip(_) => Ok(match (self.crc32(index::NAME)?, self.member_as_stored(index::NAME)?) {
                (Some(expected), Some(index)) if crc32_of(&index, &|_| true)? != Some(expected) => {
                    vec!["its index is damaged: members are found by the directory of the ZIP".to_owned()]
                }
                _ => Vec::new(),
            }),
        }
    }

    /// Returns true where a member has the bytes that are copied in the index.
    fn has_head(&self, entry: &Entry) -> bool {
        let parts = entry.head.parts();
        let ranges: Vec<_> = parts
            .iter()
            .map(|(at, bytes)| entry.offset + at..entry.offset + at + bytes.len() as u64)
            .collect();
        let read = self.source.read_ranges(&ranges);
        read.is_ok_and(|read| read.iter().zip(parts).all(|(found, (_, bytes))| found == bytes))
    }

    /// Lists the differences between the index and the directory.
    fn against_directory(&self, entries: &HashMap<String, Entry>) -> Result<Vec<String>> {
        let wrong = |e: zip::result::ZipError| Error::refused(format!("the directory of the bundle: {e}"));
        let mut archive = zip_of(&self.source, false)?;
        let mut found = Vec::new();
        let mut names = BTreeSet::new();
        for n in 0..archive.len() {
            if found.len() >= MOST {
                break;
            }
            let file = archive.by_index_raw(n).map_err(wrong)?;
            let name = file.name().map_err(wrong)?.into_owned();
            if name == index::NAME || name.ends_with('/') {
                continue;
            }
            let Some(entry) = entries.get(&name) else {
                found.push(format!("the directory has the member `{name}`, the index has not"));
                continue;
            };
            let in_directory = (file.data_start(), file.size(), file.crc32());
            let in_index = (Some(entry.offset), entry.length, entry.crc32);
            if in_directory != in_index {
                found.push(format!(
                    "member `{name}`: the directory says offset, length and CRC-32 are {in_directory:x?}, the index says {in_index:x?}"
                ));
            }
            names.insert(name);
        }
        let more = entries.keys().filter(|name| !names.contains(*name)).take(MOST - found.len().min(MOST));
        let missing: BTreeSet<&String> = more.collect();
        found.extend(
            missing
                .into_iter()
                .map(|name| format!("the index has the member `{name}`, the directory has not")),
        );
        Ok(found)
    }
}

/// Returns the CRC-32 of all bytes of a source. `tell` is called with the number of bytes read. If it returns
/// false, the result is None.
///
/// # Errors
/// Errors of the source.
pub(crate) fn crc32_of(source: &SharedSource, tell: &dyn Fn(u64) -> bool) -> Result<Option<u32>> {
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; STEP];
    let mut at = 0;
    while at < source.len() {
        let len = usize::try_from(source.len() - at).unwrap_or(STEP).min(STEP);
        source.read_into(at, &mut buffer[..len])?;
        crc.update(&buffer[..len]);
        at += len as u64;
        if !tell(len as u64) {
            return Ok(None);
        }
    }
    Ok(Some(crc.finalize()))
}

impl Bundle {
    /// Returns the names of what is checked on its own: the groups of packed members that are there, then the members outside of
    /// groups.
    pub fn parts_to_check(&self) -> Vec<String> {
        let groups: Vec<String> = self.groups().map(str::to_owned).collect();
        let packed: HashSet<&str> = (0..groups.len()).flat_map(|n| self.members_of(n)).collect();
        let plain = self.names().iter().filter(|name| !packed.contains(name.as_str()));
        // [`Bundle::check`] reports missing groups.
        let there = groups.iter().filter(|group| self.has_group(group).unwrap_or(true));
        there.chain(plain).cloned().collect()
    }

    /// Returns the number of members of a group, and those that do not come back. None if there is no such group.
    pub fn hurt_members(&self, group: &str) -> Option<(usize, Vec<String>)> {
        let number = self.groups().position(|name| name == group)?;
        let names: Vec<&str> = self.members_of(number).collect();
        let is_hurt = |name: &&&str| match self.packed_member(name) {
            Ok(Some(packed)) => check_packed(&packed).is_err(),
            _ => true,
        };
        let hurt = names.par_iter().filter(is_hurt).map(|name| (*name).to_owned()).collect();
        Some((names.len(), hurt))
    }
}
