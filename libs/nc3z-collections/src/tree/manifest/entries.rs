//! New entries of a manifest that has some already: an entry stays until its file is written anew, so that a hash of damaged bytes
//! never takes the place of the listed one.

use super::Entry;
use super::compare::Difference;
use crate::tree::{Error, Result};
use nc3z_reader::{Monitor, OpenOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The rules for files whose bytes are not the listed ones.
pub struct Listed<'a> {
    /// The directory of the manifest.
    pub root: &'a Path,
    /// Returns whether this run has written the file.
    pub is_new: &'a dyn Fn(&Path) -> bool,
    /// Lists files with other bytes anew if they are sound.
    pub force: bool,
    /// The options for opening archives.
    pub open: &'a OpenOptions,
    /// Receives the progress of checks.
    pub monitor: &'a dyn Monitor,
}

impl Listed<'_> {
    /// Adds entries to the listed ones. An entry with another SHA-256 than the listed one replaces it if the run has written the file,
    /// or with `force` if the file is sound. The others stay, and are returned with the difference.
    ///
    /// # Errors
    /// The monitor ended the work.
    pub fn add(
        &self,
        listed: &mut BTreeMap<PathBuf, [u8; 32]>,
        found: Vec<Entry>,
    ) -> Result<Vec<(PathBuf, Difference)>> {
        let mut kept = Vec::new();
        for entry in found {
            let before = listed.get(&entry.path).copied().filter(|before| *before != entry.sha256);
            let path = self.root.join(&entry.path);
            let Some(before) = before.filter(|_| !(self.is_new)(&path)) else {
                listed.insert(entry.path, entry.sha256);
                continue;
            };
            match Difference::from_path(&path, entry.sha256, before, self.open, self.monitor) {
                Difference::Interrupted => return Err(Error::from(nc3z_reader::Error::interrupted())),
                Difference::Sound { .. } if self.force => {
                    listed.insert(entry.path, entry.sha256);
                }
                difference => kept.push((entry.path, difference)),
            }
        }
        Ok(kept)
    }
}
