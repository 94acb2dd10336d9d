//! The archives that the logs of runs list.

use crate::tree::error::{Context as _, Result};
use crate::tree::journal::{self, Log, Logged, Outcome};
use crate::tree::refusal::ManifestFault;
use nc3z_reader::platform::path_of;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The reason why a file of a log is not in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotListed {
    /// It was not archived.
    #[error("the log lists it as failed; it is not in the manifest")]
    Failed,
    /// It was left out, because its data are on tape.
    #[error("the log lists it as left out, because it has no data on disk; it is not in the manifest")]
    Offline,
    /// The archive does not exist.
    #[error("the log lists it, but it is gone (names in logs are relative to where `nc3z archive` ran)")]
    Gone,
    /// The archive is elsewhere.
    #[error("it is outside the directory of the manifest")]
    Outside,
    /// The archive is in no log.
    #[error("an archive that no log lists; it is not in the manifest")]
    Unlogged,
}

/// Returns the archives below a directory that logs list as done, sorted, and the files without an archive, and the archives
/// that are in no log. If several logs have an entry for a file, one with the state done is used. In a single log, a later line replaces
/// earlier ones.
///
/// # Errors
/// A log cannot be read, or does not account for all files of its run; the log of a shard is missing; the directory does not exist.
pub fn from_logs(logs: &[PathBuf], directory: &Path) -> Result<(Vec<PathBuf>, Vec<(PathBuf, NotListed)>)> {
    let read = |path: &PathBuf| Ok((path.clone(), journal::read(path)?));
    let logs: Vec<(PathBuf, Log)> = logs.iter().map(read).collect::<Result<_>>()?;
    let gaps = journal::gaps(&logs);
    if !gaps.is_empty() {
        return Err(ManifestFault::Gaps(gaps).into());
    }
    let mut files: BTreeMap<Vec<u8>, Logged> = BTreeMap::new();
    for (file, logged) in logs.into_iter().flat_map(|(_, log)| log.files) {
        if !files.get(&file).is_some_and(Logged::is_done) {
            files.insert(file, logged);
        }
    }
    let root = directory.canonicalize().with_context(|| format!("`{}`", directory.display()))?;
    let (mut archives, mut others) = (Vec::new(), Vec::new());
    for (file, logged) in files {
        match logged.result {
            Outcome::Done => {}
            Outcome::Other => continue,
            Outcome::Offline => {
                others.push((path_of(&file), NotListed::Offline));
                continue;
            }
            Outcome::Failed => {
                others.push((path_of(&file), NotListed::Failed));
                continue;
            }
        }
        let Ok(found) = logged.archive.canonicalize() else {
            others.push((logged.archive, NotListed::Gone));
            continue;
        };
        match found.strip_prefix(&root) {
            Ok(inside) => archives.push(inside.to_owned()),
            Err(_) => others.push((logged.archive, NotListed::Outside)),
        }
    }
    archives.sort_unstable();
    archives.dedup();
    let logged: HashSet<&Path> = archives.iter().map(PathBuf::as_path).collect();
    let unlogged = super::unlisted(&root, &logged)?;
    others.extend(unlogged.into_iter().map(|path| (directory.join(path), NotListed::Unlogged)));
    Ok((archives.into_iter().map(|inside| directory.join(inside)).collect(), others))
}
