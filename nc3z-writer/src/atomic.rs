//! Output that appears whole or not at all: temporary file in the target's directory, sync, rename, sync of the directory.

use crate::error::{Error, ErrorKind, Result};
use crate::generation::Medium;
use crate::leftovers::{self, TEMPORARY_SUFFIX};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that will be called `target` once it is complete; until then, and if dropped, there is none of that name.
#[derive(Debug)]
pub struct AtomicFile {
    temp: NamedTempFile,
    target: PathBuf,
    force: bool,
}

impl AtomicFile {
    /// Creates the temporary file beside `target`.
    ///
    /// # Errors
    /// An existing target (unless `force`), and whatever the system refuses.
    pub fn create(target: &Path, force: bool) -> Result<Self> {
        // Private until it is complete: what is archived may be.
        Self::create_with_mode(target, force, 0o600)
    }

    /// The same for an output without a source whose mode it takes over: `mode`, less the process's umask.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub fn create_with_mode(target: &Path, force: bool, mode: u32) -> Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        match fs::symlink_metadata(target) {
            Ok(meta) if meta.is_dir() => {
                let e = io::Error::new(io::ErrorKind::IsADirectory, "is a directory");
                return Err(Error::io("create", target, e));
            }
            Ok(_) if !force => return Err(ErrorKind::Exists(target.to_owned()).into()),
            // A link is replaced, not followed; a device, a pipe or a socket is nobody's old archive.
            Ok(meta) if !(meta.is_file() || meta.is_symlink()) => {
                let what = nc3z_reader::source::special_name(meta.file_type()).unwrap_or("no file");
                let e = io::Error::new(io::ErrorKind::AlreadyExists, format!("there is {what} of that name"));
                return Err(Error::io("create", target, e));
            }
            _ => {}
        }
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        // Names may be up to 255 bytes; leave room for the random part.
        if prefix.len() > 200 {
            prefix = ".nc3z".into();
        }
        prefix.push(".");
        let create = || {
            tempfile::Builder::new()
                .prefix(&prefix)
                .suffix(TEMPORARY_SUFFIX)
                .permissions(fs::Permissions::from_mode(mode))
                .tempfile_in(directory_of(target))
        };
        let temp = leftovers::create_locked(create)
            .map_err(|e| Error::io("create a temporary file beside", target, e))?;
        Ok(AtomicFile { temp, target: target.to_owned(), force })
    }

    /// The file to write into.
    pub fn file(&self) -> &File {
        self.temp.as_file()
    }

    /// The same, to be read and written at any place.
    pub(crate) fn medium(&self) -> Medium<'_> {
        Medium::File { file: self.temp.as_file(), name: &self.target, path: Some(self.temp.path()) }
    }

    /// Where it is until it is complete.
    pub fn temporary_path(&self) -> &Path {
        self.temp.path()
    }

    /// Where it will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the file its mode and modification time, syncs it, renames it, syncs the directory.
    ///
    /// # Errors
    /// Whatever the system refuses; then there is no file of the target's name that was not there before.
    pub fn commit(self, like: Option<&fs::Metadata>) -> Result<()> {
        let AtomicFile { temp, target, force } = self;
        let file = temp.as_file();
        copy_attributes(file, like, &target)?;
        file.sync_all().map_err(|e| Error::io("sync", &target, e))?;
        let persisted = if force { temp.persist(&target) } else { temp.persist_noclobber(&target) };
        persisted.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => ErrorKind::Exists(target.clone()).into(),
            _ => Error::io("rename the finished file to", &target, e.error),
        })?;
        sync_directory(&directory_of(&target)).map_err(|e| Error::io("sync the directory of", &target, e))
    }
}

/// Mode and modification time of the source go onto the target, as gzip does; without a source, it keeps the mode it was made with.
fn copy_attributes(file: &File, like: Option<&fs::Metadata>, target: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let wrap = |e| Error::io("set mode and time of", target, e);
    match like {
        Some(meta) => {
            file.set_permissions(fs::Permissions::from_mode(meta.permissions().mode() & 0o777))
                .map_err(wrap)?;
            if let Ok(modified) = meta.modified() {
                file.set_modified(modified).map_err(wrap)?;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// True where both paths name one file (by device and inode, through links).
pub fn is_same_file(a: &fs::Metadata, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(b).is_ok_and(|b| a.dev() == b.dev() && a.ino() == b.ino())
}

/// As far as the system lets us: root keeps files their owners', others own what they replace.
pub(crate) fn keep_owner(file: &File, like: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if fchown(file, Some(like.uid()), Some(like.gid())).is_err() {
        // Not ours to give away; the group may still be.
        let _ = fchown(file, None, Some(like.gid()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn dropped_output_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let out = AtomicFile::create(&dir.path().join("x"), false).unwrap();
        out.file().write_all(b"half").unwrap();
        drop(out);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn existing_target_is_kept_without_force_and_replaced_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        fs::write(&target, b"old").unwrap();
        assert!(matches!(AtomicFile::create(&target, false).unwrap_err().kind(), ErrorKind::Exists(_)));
        let out = AtomicFile::create(&target, true).unwrap();
        out.file().write_all(b"new").unwrap();
        out.commit(None).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[test]
    fn target_that_appears_meanwhile_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let out = AtomicFile::create(&target, false).unwrap();
        fs::write(&target, b"other").unwrap();
        assert!(matches!(out.commit(None).unwrap_err().kind(), ErrorKind::Exists(_)));
        assert_eq!(fs::read(&target).unwrap(), b"other");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
