//! Checks the members of a bundle by their checksums.

use super::{Bundle, is_archive};
use crate::error::Result;
use nc3z_reader::Monitor;
use nc3z_reader::source::{ByteSource, SharedSource};
use rayon::prelude::*;
use serde_json::{Value, json};
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

impl Bundle {
    /// Returns the CRC-32 that the bundle stores for a member. A tar stores none.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn crc32(&self, name: &str) -> Result<Option<u32>> {
        Ok(self.recorded(name)?.and_then(|member| member.crc32()))
    }

    /// Checks a member that is not an archive by its recorded checksum. None where there is no such member.
    ///
    /// # Errors
    /// It cannot be read, or is packed and damaged; a cancelled monitor.
    pub fn check_member(&self, name: &str, monitor: &dyn Monitor) -> Result<Option<MemberCheck>> {
        if let Some(file) = self.packed_file(name)? {
            file.check()?;
            return Ok(Some(MemberCheck::Packed { len: file.packed.len() }));
        }
        let Some(member) = self.recorded(name)? else { return Ok(None) };
        let recorded = member.crc32();
        let source: SharedSource = Arc::new(member);
        if is_archive(&*source)? {
            return Ok(Some(MemberCheck::Archive));
        }
        let tell = |bytes: u64| {
            monitor.advance(bytes);
            !monitor.is_cancelled()
        };
        let found = crc32_of(&source, &tell)?.ok_or_else(nc3z_reader::Error::interrupted)?;
        Ok(Some(MemberCheck::Plain { len: source.len(), recorded, found }))
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
    /// Returns the names of what is checked on its own: the groups of packed members, then the members outside of groups.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn parts_to_check(&self) -> Result<Vec<String>> {
        let mut parts = self.groups()?;
        parts.extend(self.plain_names()?.into_iter().map(str::to_owned));
        Ok(parts)
    }

    /// Returns the number of members of a group, and those that do not come back. None if there is no such group.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn hurt_members(&self, group: &str) -> Result<Option<(usize, Vec<String>)>> {
        let Some(number) = self.groups()?.iter().position(|name| name == group) else { return Ok(None) };
        let names = self.members_of(number)?;
        let is_hurt = |name: &&&str| match self.packed_file(name) {
            Ok(Some(file)) => file.check().is_err(),
            _ => true,
        };
        let hurt = names.par_iter().filter(is_hurt).map(|name| (*name).to_owned()).collect();
        Ok(Some((names.len(), hurt)))
    }
}
