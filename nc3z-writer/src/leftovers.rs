//! Temporary files of runs that were killed: how they are told from those of runs that go on, and how they are removed.
//!
//! A run holds a lock on each of its temporary files; the system drops it with the process, however that ended. A temporary file that
//! can be locked is nobody's. Where the file system has no locks, nothing is removed.

use crate::platform;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How the names of temporary files end; they begin with a dot.
pub const TEMPORARY_SUFFIX: &str = ".nc3z-tmp";

/// True for names that only temporary files have.
pub fn is_temporary_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.first() == Some(&b'.') && name.ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Removes temporary files of `directory` that no run holds any more, and gives their names. What cannot be read, locked or removed stays.
pub fn remove_leftovers(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).filter(|e| is_temporary_name(&e.file_name()));
    let is_file = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_file());
    let mut removed: Vec<PathBuf> =
        names.filter(is_file).map(|e| e.path()).filter(|path| remove_unheld(path).is_ok()).collect();
    removed.sort_unstable();
    removed
}

/// The lock is held while the name goes, so that a run which has just made the file notices ([`create_locked`]).
fn remove_unheld(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    if !platform::try_lock(&file)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    fs::remove_file(path)
}

/// Makes a temporary file and locks it; makes another one where a run that cleans up was in between.
pub(crate) fn create_locked(create: impl Fn() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    loop {
        let temp = create()?;
        match platform::try_lock(temp.as_file()) {
            // Its name is gone, or about to go.
            Ok(false) => {}
            Ok(true) if platform::is_nameless(temp.as_file())? => {}
            // Without locks nobody removes it either.
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
