//! Compares the files of a tree with its manifest.

use super::changed::{Change, explain};
use super::{Entry, bag, fixity, inside, read, sha256sums, unlisted};
use crate::tree::refusal::NotThere;
use crate::tree::{Error, Result, sha256_of_file};
use nc3z_format::bytes::hex;
use nc3z_reader::{Monitor, OpenOptions};
use serde_json::{Value, json};
use sha2::Digest as _;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The maximal number of differences in a line of the fixity log. The count includes all.
const LOGGED: usize = 1000;

/// A manifest or a bag, and the directory with its files.
#[derive(Debug)]
pub struct Listing {
    /// The path of the manifest.
    pub manifest: PathBuf,
    /// The path of the directory.
    pub root: PathBuf,
    /// True if it is a bag.
    pub is_bag: bool,
    /// The files that are listed.
    pub entries: Vec<Entry>,
    sha256: [u8; 32],
}

/// A difference from the manifest. The text says what was found; the caller says in which file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Difference {
    /// The monitor ended the work.
    Interrupted,
    /// The file is missing, or its name leads out of the directory: the reason.
    NotThere(NotThere),
    /// The file has other bytes, and these are damaged, or no archive.
    Changed {
        /// The SHA-256 that was found.
        found: [u8; 32],
        /// The listed SHA-256.
        listed: [u8; 32],
    },
    /// The file has other bytes, which are a sound archive.
    Sound {
        /// The reason for the other bytes; without it, it is another archive.
        why: Option<&'static str>,
        /// The SHA-256 that was found.
        found: [u8; 32],
        /// The listed SHA-256.
        listed: [u8; 32],
    },
    /// The file cannot be read.
    Unreadable(Error),
    /// The manifest does not list the file.
    Unlisted,
    /// The bag breaks a rule.
    Bag(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digests = |found: &[u8; 32], listed: &[u8; 32]| {
            format!("SHA-256 is {}, listed is {}", hex(found), hex(listed))
        };
        match self {
            Difference::Interrupted => f.write_str("interrupted"),
            Difference::NotThere(why) => why.fmt(f),
            Difference::Bag(what) => f.write_str(what),
            Difference::Changed { found, listed } => write!(f, "changed: {}", digests(found, listed)),
            Difference::Sound { why: Some(why), found, listed } => {
                write!(f, "changed but sound: {why}; {}", digests(found, listed))
            }
            Difference::Sound { why: None, found, listed } => {
                write!(f, "changed: a sound archive, but not the listed one; {}", digests(found, listed))
            }
            Difference::Unreadable(e) => f.write_str(&e.with_causes()),
            Difference::Unlisted => f.write_str("is not listed"),
        }
    }
}

impl Difference {
    /// Returns the difference of a file whose SHA-256 is not the listed one.
    pub(super) fn from_path(
        path: &Path,
        found: [u8; 32],
        listed: [u8; 32],
        open: &OpenOptions,
        monitor: &dyn Monitor,
    ) -> Self {
        match explain(path, &listed, open, monitor) {
            Ok(Change::Explained(why)) => Difference::Sound { why: Some(why), found, listed },
            Ok(Change::Another) => Difference::Sound { why: None, found, listed },
            Err(e) if e.is_interrupted() || monitor.is_cancelled() => Difference::Interrupted,
            Ok(Change::Damaged) | Err(_) => Difference::Changed { found, listed },
        }
    }
}

impl Listing {
    /// Reads a manifest: that file, or the one in that directory or bag. Its files are in `root`, or else in the directory of the
    /// manifest.
    ///
    /// # Errors
    /// The manifest is missing or damaged.
    pub fn open(path: &Path, root: Option<PathBuf>) -> Result<Self> {
        let manifest = match path {
            p if p.join(bag::DECLARATION).is_file() => p.join(bag::MANIFEST),
            p if p.is_dir() => p.join(sha256sums::NAME),
            p => p.to_owned(),
        };
        let own =
            manifest.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let is_bag =
            own.join(bag::DECLARATION).is_file() && manifest.file_name().is_some_and(|n| n == bag::MANIFEST);
        let bytes = read(&manifest)?;
        let entries =
            if is_bag { bag::decode(&bytes, &manifest)? } else { sha256sums::decode(&bytes, &manifest)? };
        let sha256 = sha2::Sha256::digest(&bytes).into();
        Ok(Listing { root: root.unwrap_or(own), manifest, is_bag, entries, sha256 })
    }

    /// Checks a file against its entry. Returns its length, or the difference.
    ///
    /// # Errors
    /// The difference that was found.
    pub fn check(&self, entry: &Entry, open: &OpenOptions, monitor: &dyn Monitor) -> Result<u64, Difference> {
        if monitor.is_cancelled() {
            return Err(Difference::Interrupted);
        }
        let path = inside(&self.root, &entry.path).map_err(Difference::NotThere)?;
        let len = path.metadata().map_or(0, |m| m.len());
        let found = sha256_of_file(&path, monitor).map_err(Difference::Unreadable)?;
        let listed = entry.sha256;
        if found == listed {
            return Ok(len);
        }
        Err(Difference::from_path(&path, found, listed, open, monitor))
    }

    /// Checks for files that are not listed, and for the other rules of a bag. Returns each difference with its file. Files that
    /// are not listed count: a list that lacks archives does not describe the tree.
    ///
    /// # Errors
    /// The directory or the tag manifest cannot be read.
    pub fn check_rest(
        &self,
        open: &OpenOptions,
        monitor: &dyn Monitor,
    ) -> Result<Vec<(PathBuf, Difference)>> {
        if monitor.is_cancelled() {
            return Ok(Vec::new());
        }
        let listed: HashSet<&Path> = self.entries.iter().map(|e| e.path.as_path()).collect();
        if !self.is_bag {
            let extra = unlisted(&self.root, &listed)?;
            return Ok(extra.into_iter().map(|path| (path, Difference::Unlisted)).collect());
        }
        let payload = bag::payload(&self.root)?;
        let bytes = payload.iter().map(|p| self.root.join(p).metadata().map_or(0, |m| m.len())).sum();
        let files = payload.len() as u64;
        let extra = payload.into_iter().filter(|p| !listed.contains(p.as_path()));
        let mut found: Vec<_> = extra.map(|path| (path, Difference::Unlisted)).collect();
        for wrong in bag::check_tags(&self.root, (bytes, files))? {
            found.push((self.root.clone(), Difference::Bag(wrong)));
        }
        let tags = self.root.join(bag::TAG_MANIFEST);
        if tags.exists() {
            for entry in bag::decode(&read(&tags)?, &tags)? {
                if let Err(difference) = self.check(&entry, open, monitor) {
                    found.push((entry.path, difference));
                }
            }
        }
        Ok(found)
    }

    /// Returns the line of the fixity log: the files with differences and their texts are `failures`.
    pub fn report(&self, bytes: u64, failures: &[(String, String)], unlisted: usize, stopped: bool) -> Value {
        let rows = failures.iter().take(LOGGED).map(|(file, what)| json!({"file": file, "what": what}));
        let result = match failures {
            _ if stopped => "interrupted",
            [] => "ok",
            _ => "failed",
        };
        json!({
            "date": fixity::date(SystemTime::now()),
            "tool": nc3z_format::SOFTWARE,
            "kind": if self.is_bag { "bagit" } else { "sha256sums" },
            "manifest": self.manifest.file_name().map(|n| crate::tree::shown(n.as_ref())),
            "manifest_sha256": hex(&self.sha256),
            "files": self.entries.len(),
            "bytes": bytes,
            "failed": failures.len(),
            "unlisted": unlisted,
            "result": result,
            "failures": rows.collect::<Vec<_>>(),
        })
    }
}
