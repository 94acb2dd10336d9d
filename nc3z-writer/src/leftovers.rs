//! Finds and removes temporary files of runs that were killed.
//!
//! A run holds a lock on each of its temporary files. The system releases it when the process ends, however
//! that happens. So a temporary file that can be locked belongs to no running process. On file systems
//! without locks nothing is removed.

use crate::platform;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The end of the names of temporary files; the names begin with a dot.
pub const TEMPORARY_SUFFIX: &str = ".nc3z-tmp";

/// True for names that only temporary files have.
pub fn is_temporary_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.first() == Some(&b'.') && name.ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Removes temporary files of `directory` that belong to no running process, and returns their names. Files
/// that cannot be read, locked or removed stay.
pub fn remove_leftovers(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).filter(|e| is_temporary_name(&e.file_name()));
    let is_file = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_file());
    let mut removed: Vec<PathBuf> =
        names.filter(is_file).map(|e| e.path()).filter(|path| remove_unheld(path).is_ok()).collect();
    removed.sort_unstable();
    removed
}

/// Removes a file that no process has locked. The lock is held while the name is removed, so that a run which
/// has just created the file notices it ([`create_locked`]).
fn remove_unheld(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    if !platform::try_lock(&file)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    fs::remove_file(path)
}

/// Creates and locks a temporary file. If another run has removed the file before it was locked, creates
/// another one.
pub(crate) fn create_locked(create: impl Fn() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    loop {
        let temp = create()?;
        match platform::try_lock(temp.as_file()) {
            // Its name is removed, or about to be removed.
            Ok(false) => {}
            Ok(true) if platform::is_nameless(temp.as_file())? => {}
            // Without locks, no other run removes the file.
            Ok(true) | Err(_) => return Ok(temp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_nobody_holds_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in [".a.nc3z.Xyz.nc3z-tmp", ".nc3z-tmp", "b.nc3z-tmp", ".c", "d.nc3z"] {
            fs::write(path(name), b"x").unwrap();
        }
        fs::create_dir(path(".e.nc3z-tmp")).unwrap();
        let build =
            || tempfile::Builder::new().prefix(".held").suffix(TEMPORARY_SUFFIX).tempfile_in(dir.path());
        let held = create_locked(build).unwrap();
        assert_eq!(remove_leftovers(dir.path()), [path(".a.nc3z.Xyz.nc3z-tmp"), path(".nc3z-tmp")]);
        assert!(held.path().exists());
        let (file, left) = held.keep().unwrap();
        drop(file);
        assert_eq!(remove_leftovers(dir.path()), [left]);
        assert!(remove_leftovers(&path("none")).is_empty());
    }
}
