//! What a run through a tree has to say at its end: how many files became what, and what it passed over.

use super::links;
use super::targets::first_bytes;
use crate::args::OthersArg;
use crate::exit::Exit;
use crate::output::{tells_more, text};
use nc3z_format::archive::constants::MAGIC;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How files of gzip, bzip2, xz, Zstandard and ZIP begin.
const PACKED: [&[u8]; 5] = [b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];

/// What a file is that a command has no use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Classic,
    Archive,
    Hdf5,
    Packed,
    Empty,
    /// A named pipe, a socket or a device, by its name.
    Special(&'static str),
    /// A temporary file of a run that was killed or goes on.
    Temporary,
    /// A link that leads out of the tree.
    Link,
    /// A link to a file or directory of the tree, which is found by its own name.
    InsideLink,
    Unknown,
}

impl Kind {
    /// Tells a regular file by its first bytes.
    pub(crate) fn of(path: &Path) -> Self {
        match first_bytes(path).as_deref() {
            Ok([]) => Kind::Empty,
            Ok([b'C', b'D', b'F', 1 | 2 | 5, ..]) => Kind::Classic,
            Ok(bytes) if *bytes == MAGIC => Kind::Archive,
            Ok([0x89, b'H', b'D', b'F', ..]) => Kind::Hdf5,
            Ok(bytes) if PACKED.iter().any(|magic| bytes.starts_with(magic)) => Kind::Packed,
            Ok(_) | Err(_) => Kind::Unknown,
        }
    }

    /// What several of the kind are called.
    fn plural(self) -> String {
        match self {
            Kind::Classic | Kind::Hdf5 => self.to_string(),
            Kind::Temporary => "temporary files of other runs".to_owned(),
            Kind::Link => "links out of the tree".to_owned(),
            Kind::InsideLink => "links inside the tree".to_owned(),
            Kind::Archive | Kind::Packed | Kind::Empty | Kind::Special(_) | Kind::Unknown => {
                format!("{self}s")
            }
        }
    }

    /// True for files with content of their own, which a copy of the tree would have.
    pub(crate) fn is_content(self) -> bool {
        !matches!(self, Kind::Special(_) | Kind::Temporary | Kind::Link | Kind::InsideLink)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Classic => "classic netCDF",
            Kind::Archive => "nc3z archive",
            Kind::Hdf5 => "netCDF-4 or HDF5",
            Kind::Packed => "compressed file",
            Kind::Empty => "empty file",
            Kind::Special(name) => name.trim_start_matches("a ").trim_start_matches("no "),
            Kind::Temporary => "temporary file of another run",
            Kind::Link => "link out of the tree",
            Kind::InsideLink => "link inside the tree",
            Kind::Unknown => "other file",
        })
    }
}

/// A file that a walk passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) path: PathBuf,
    /// Its name in the tree.
    pub(crate) name: PathBuf,
    pub(crate) kind: Kind,
}

/// Names the files that were passed over, where that was asked for; failures where they count as such.
pub(crate) fn judge(others: &[Other], arg: Option<OthersArg>) -> Exit {
    if arg.is_none() && !tells_more() {
        return Exit::Done;
    }
    for other in others {
        note!("{}: passed over, {}", crate::cmd::shown(&other.path), links::words(other));
    }
    // The target of a link inside the tree is not lost.
    let is_lost = others.iter().any(|other| other.kind != Kind::InsideLink);
    if arg == Some(OthersArg::Fail) && is_lost { Exit::Failed } else { Exit::Done }
}

fn count(others: &[Other]) -> BTreeMap<Kind, u64> {
    let mut kinds = BTreeMap::new();
    others.iter().for_each(|o| *kinds.entry(o.kind).or_default() += 1);
    kinds
}

fn words_of(kinds: &BTreeMap<Kind, u64>) -> Option<String> {
    let all: u64 = kinds.values().sum();
    let name = |kind: &Kind, n: u64| if n == 1 { kind.to_string() } else { kind.plural() };
    let each = kinds.iter().map(|(kind, n)| format!("{n} {}", name(kind, *n))).collect::<Vec<_>>();
    (all > 0).then(|| format!("{all} passed over ({})", each.join(", ")))
}

/// How many files of each kind were passed over, for programs.
pub(crate) fn to_json(others: &[Other]) -> serde_json::Value {
    count(others).iter().map(|(kind, n)| (kind.to_string(), *n)).collect()
}

/// How many files were passed over, and what they are; nothing where there were none.
pub(crate) fn words(others: &[Other]) -> Option<String> {
    words_of(&count(others))
}

/// What became of the files of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    /// What is done to a file: "archived".
    verb: &'static str,
    started: Instant,
    pub(crate) done: u64,
    /// Files that were left as they were, and in which words.
    pub(crate) kept: (u64, &'static str),
    pub(crate) failed: u64,
    /// Files that a stop came before.
    pub(crate) not_tried: u64,
    pub(crate) copied: u64,
    /// Files that a stop came upon while they were worked on.
    pub(crate) interrupted: u64,
    /// Links that were made again.
    linked: u64,
    before: u64,
    after: u64,
    others: BTreeMap<Kind, u64>,
}

impl Summary {
    pub(crate) fn new(verb: &'static str, others: &[Other]) -> Self {
        let kinds = count(others);
        let kept = (0, "already there");
        let started = Instant::now();
        Summary {
            verb,
            started,
            done: 0,
            kept,
            failed: 0,
            not_tried: 0,
            copied: 0,
            interrupted: 0,
            linked: 0,
            before: 0,
            after: 0,
            others: kinds,
        }
    }

    /// Counts a file that is done, with its length before and after.
    pub(crate) fn add(&mut self, before: u64, after: u64) {
        self.done += 1;
        self.before += before;
        self.after += after;
    }

    /// Counts a link that was passed over and is made again.
    pub(crate) fn link_made(&mut self) {
        self.linked += 1;
        self.forget_link();
    }

    /// Counts a link that is there already.
    pub(crate) fn link_present(&mut self) {
        self.kept.0 += 1;
        self.forget_link();
    }

    fn forget_link(&mut self) {
        if let Some(n) = self.others.get_mut(&Kind::InsideLink) {
            *n = n.saturating_sub(1);
        }
        self.others.retain(|_, n| *n > 0);
    }

    /// Says it all in one line.
    pub(crate) fn tell(&self) {
        tell!("nc3z: {self}");
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.done, self.verb)?;
        let rest = [
            (self.kept.0, self.kept.1),
            (self.copied, "copied"),
            (self.linked, "linked"),
            (self.failed, "failed"),
            (self.interrupted, "interrupted"),
            (self.not_tried, "not tried"),
        ];
        for (n, words) in rest.into_iter().filter(|(n, _)| *n > 0) {
            write!(f, ", {n} {words}")?;
        }
        if let Some(words) = words_of(&self.others) {
            write!(f, ", {words}")?;
        }
        if self.before > 0 {
            write!(f, "; {} -> {}", text::size(self.before), text::size(self.after))?;
        }
        if self.after < self.before {
            write!(f, " ({}x)", text::ratio(self.before, self.after))?;
        }
        write!(f, " in {:.1} s", self.started.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_names_what_there_was_and_nothing_else() {
        let other = |kind| Other { path: PathBuf::new(), name: PathBuf::new(), kind };
        let others = [Kind::Hdf5, Kind::Special("a named pipe"), Kind::Hdf5].map(other);
        let mut summary = Summary::new("archived", &others);
        summary.add(2048, 1024);
        summary.failed = 1;
        summary.interrupted = 2;
        let words = summary.to_string();
        let expected = "1 archived, 1 failed, 2 interrupted, 3 passed over (2 netCDF-4 or HDF5, 1 named pipe); 2.0 KiB -> 1.0 KiB (2.00x) in ";
        assert!(words.starts_with(expected), "{words}");
        assert!(Summary::new("restored", &[]).to_string().starts_with("0 restored in "));
    }
}
