//! Files whose data are on tape: reading them recalls them, which takes minutes, a drive and a place on the disk. Runs do so
//! only on request.

use crate::tree::refusal::Refusal;
use crate::tree::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// Shorter files may be stored without a block of their own on disk, and are never taken for offline.
const SHORTEST: u64 = 4096;
/// Endings of the names of classic files.
const CLASSIC: [&str; 4] = ["nc", "cdf", "nc3", "netcdf"];
/// The ending of the names of archives.
const ARCHIVE: &str = "nc3z";

/// The treatment of files that have no data on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offline {
    /// The run fails before anything is read.
    #[default]
    Refuse,
    /// They are left out.
    Skip,
    /// They are read after all others, in their order.
    Last,
}

/// The offline files of a run that were left out or put last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfflineFiles {
    /// Their number; at least 1.
    pub count: usize,
    /// The first of them.
    pub first: PathBuf,
    /// The files that were left out.
    pub skipped: Vec<PathBuf>,
    /// True if they were left out, false if they are read last.
    pub left_out: bool,
}

impl fmt::Display for OfflineFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, s) = (self.count, if self.count == 1 { "" } else { "s" });
        let what = match (self.left_out, n) {
            (true, _) => "left out",
            (false, 1) => "is read last",
            (false, _) => "are read last, in their order",
        };
        write!(f, "{n} file{s} without data on disk {what}, such as {}", self.first.display())
    }
}

/// Returns whether a file has a length and no block on disk: its data are on tape, and reading it recalls them.
#[cfg(unix)]
pub fn is_offline(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.len() > SHORTEST && m.blocks() == 0)
}

/// Returns false: the system does not tell.
#[cfg(not(unix))]
pub fn is_offline(_: &Path) -> bool {
    false
}

/// Returns whether the name of a file is that of a classic file.
pub(crate) fn is_classic_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| CLASSIC.iter().any(|known| e == *known))
}

/// Returns whether the name of a file is that of a classic file or an archive.
pub(crate) fn is_netcdf_name(path: &Path) -> bool {
    is_classic_name(path) || path.extension().is_some_and(|e| e == ARCHIVE)
}

/// Refuses offline files, leaves them out, or puts them last. `path_of` returns the path of a file. No file is opened.
///
/// # Errors
/// Some are offline, and are to be refused.
pub fn sorted<T>(
    files: Vec<T>,
    path_of: impl Fn(&T) -> &Path,
    treatment: Offline,
) -> Result<(Vec<T>, Option<OfflineFiles>)> {
    let (offline, mut online): (Vec<T>, Vec<T>) =
        files.into_iter().partition(|file| is_offline(path_of(file)));
    let Some(first) = offline.first() else { return Ok((online, None)) };
    let first = path_of(first).to_owned();
    let count = offline.len();
    let mut skipped = Vec::new();
    match treatment {
        Offline::Refuse => return Err(Error::from(Refusal::Offline { count, first })),
        Offline::Skip => skipped.extend(offline.iter().map(|file| path_of(file).to_owned())),
        Offline::Last => online.extend(offline),
    }
    Ok((online, Some(OfflineFiles { count, first, skipped, left_out: treatment == Offline::Skip })))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_on_tape_are_refused_left_out_or_read_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::File::create(path("hole.nc")).unwrap().set_len(1 << 20).unwrap();
        std::fs::write(path("a.nc"), "here").unwrap();
        let all = || vec![path("hole.nc"), path("a.nc")];
        let refused = sorted(all(), |p| p, Offline::Refuse).unwrap_err().to_string();
        assert!(refused.contains("hole.nc") && refused.contains("--on-tape skip"), "{refused}");
        let (files, note) = sorted(all(), |p| p, Offline::Skip).unwrap();
        assert_eq!(files, [path("a.nc")]);
        assert!(note.unwrap().to_string().contains("1 file without data on disk left out"));
        let (files, note) = sorted(all(), |p| p, Offline::Last).unwrap();
        assert_eq!(files, [path("a.nc"), path("hole.nc")]);
        assert!(!note.unwrap().left_out);
        assert_eq!(sorted(vec![path("a.nc")], |p| p, Offline::Refuse).unwrap().1, None);
    }
}
