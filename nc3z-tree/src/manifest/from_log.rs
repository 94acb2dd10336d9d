//! The archives that the logs of runs list.

use crate::error::{Context as _, Result};
use crate::journal::{self, Logged};
use nc3z_reader::platform::path_of;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The reason why a file of a log is not in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotListed {
    /// It was not archived.
    #[error("the log lists it as failed; it is not in the manifest")]
    Failed,
    /// The archive does not exist.
    #[error("the log lists it, but it is gone (names in logs are relative to where `nc3z archive` ran)")]
    Gone,
    /// The archive is elsewhere.
    #[error("it is outside the directory of the manifest")]
    Outside,
}

/// Returns the archives below a directory that logs list as done, sorted, and the files of which there is no archive. If several logs
/// have an entry for a file, one with the state done is used. In a single log, a later line replaces earlier ones.
///
/// # Errors
/// A log cannot be read; the directory does not exist.
pub fn from_logs(logs: &[PathBuf], directory: &Path) -> Result<(Vec<PathBuf>, Vec<(PathBuf, NotListed)>)> {
    let mut files: BTreeMap<Vec<u8>, Logged> = BTreeMap::new();
    for log in logs {
        for (file, logged) in journal::read(log)? {
            if !files.get(&file).is_some_and(|known| known.is_done) {
                files.insert(file, logged);
            }
        }
    }
    let root = directory.canonicalize().with_context(|| format!("`{}`", directory.display()))?;
    let (mut archives, mut others) = (Vec::new(), Vec::new());
    for (file, logged) in files.into_iter().filter(|(_, logged)| !logged.is_other) {
        if !logged.is_done {
            others.push((path_of(&file), NotListed::Failed));
            continue;
        }
        let Ok(found) = logged.archive.canonicalize() else {
            others.push((logged.archive, NotListed::Gone));
            continue;
        };
        match found.strip_prefix(&root) {
            Ok(inside) => archives.push(directory.join(inside)),
            Err(_) => others.push((logged.archive, NotListed::Outside)),
        }
    }
    archives.sort_unstable();
    archives.dedup();
    Ok((archives, others))
}
