//! Files of a tree that a command has no use for.

use crate::tree::offline::is_offline;
use crate::tree::walk::first_bytes;
use nc3z_format::archive::constants::MAGIC;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The first bytes of files of gzip, bzip2, xz, Zstandard and ZIP.
const PACKED: [&[u8]; 5] = [b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];

/// The kind of a file that a command does not process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileKind {
    /// A classic netCDF file.
    Classic,
    /// An archive.
    Archive,
    /// A netCDF-4 or another HDF5 file.
    Hdf5,
    /// A compressed file.
    Packed,
    /// A file without bytes.
    Empty,
    /// A named pipe, a socket or a device, by its name.
    Special(&'static str),
    /// A temporary file of a run that was killed or is still running.
    Temporary,
    /// A link that leads out of the tree.
    Link,
    /// A link to a file or directory of the tree, which is found by its own name.
    InsideLink,
    /// Any other file.
    Unknown,
}

impl FileKind {
    /// Returns the kind of a regular file by its first bytes.
    pub fn from_path(path: &Path) -> Self {
        match first_bytes(path).as_deref() {
            // Of an offline file nothing is read.
            Ok([]) if is_offline(path) => FileKind::Unknown,
            Ok([]) => FileKind::Empty,
            Ok([b'C', b'D', b'F', 1 | 2 | 5, ..]) => FileKind::Classic,
            Ok(bytes) if *bytes == MAGIC => FileKind::Archive,
            Ok([0x89, b'H', b'D', b'F', ..]) => FileKind::Hdf5,
            Ok(bytes) if PACKED.iter().any(|magic| bytes.starts_with(magic)) => FileKind::Packed,
            Ok(_) | Err(_) => FileKind::Unknown,
        }
    }

    /// Returns the plural name of the kind.
    fn plural(self) -> String {
        match self {
            FileKind::Classic | FileKind::Hdf5 => self.to_string(),
            FileKind::Temporary => "temporary files of other runs".to_owned(),
            FileKind::Link => "links out of the tree".to_owned(),
            FileKind::InsideLink => "links inside the tree".to_owned(),
            FileKind::Archive
            | FileKind::Packed
            | FileKind::Empty
            | FileKind::Special(_)
            | FileKind::Unknown => {
                format!("{self}s")
            }
        }
    }

    /// Returns true for files with content of their own, which a copy of the tree would contain.
    pub fn is_content(self) -> bool {
        !matches!(self, FileKind::Special(_) | FileKind::Temporary | FileKind::Link | FileKind::InsideLink)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Classic => "classic netCDF",
            FileKind::Archive => "nc3z archive",
            FileKind::Hdf5 => "netCDF-4 or HDF5",
            FileKind::Packed => "compressed file",
            FileKind::Empty => "empty file",
            FileKind::Special(name) => name.trim_start_matches("a ").trim_start_matches("no "),
            FileKind::Temporary => "temporary file of another run",
            FileKind::Link => "link out of the tree",
            FileKind::InsideLink => "link inside the tree",
            FileKind::Unknown => "other file",
        })
    }
}

/// A file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The path of the file.
    pub path: PathBuf,
    /// Its name in the tree.
    pub name: PathBuf,
    /// The kind of the file.
    pub kind: FileKind,
}

impl Other {
    /// Counts the files of each kind.
    pub fn count(others: &[Other]) -> BTreeMap<FileKind, u64> {
        let mut kinds = BTreeMap::new();
        others.iter().for_each(|o| *kinds.entry(o.kind).or_default() += 1);
        kinds
    }

    /// Returns the number of files of each kind, for programs.
    pub fn to_json(others: &[Other]) -> serde_json::Value {
        Self::count(others).iter().map(|(kind, n)| (kind.to_string(), *n)).collect()
    }

    /// Returns the number of skipped files and their kinds in words; nothing if there are none.
    pub fn words(others: &[Other]) -> Option<String> {
        words_of(&Self::count(others))
    }
}

pub(crate) fn words_of(kinds: &BTreeMap<FileKind, u64>) -> Option<String> {
    let all: u64 = kinds.values().sum();
    let name = |kind: &FileKind, n: u64| if n == 1 { kind.to_string() } else { kind.plural() };
    let each = kinds.iter().map(|(kind, n)| format!("{n} {}", name(kind, *n))).collect::<Vec<_>>();
    (all > 0).then(|| format!("{all} passed over ({})", each.join(", ")))
}
