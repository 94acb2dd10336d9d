//! Records which file was locked, by which process, and its length. This is checked again before anything is
//! written and before success is reported, because a lock alone does not guarantee it:
//!
//! * a forked child shares the lock of an open file, and could append at the same offset;
//! * another file may be moved over the name; appended bytes would then go to a file without a name.

use crate::atomic::is_same_file;
use crate::error::{Error, ErrorKind, Result};
use nc3z_format::archive::TRAILER_LEN;
use nc3z_reader::platform;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The archive's state when its lock was taken.
pub(crate) struct LockedArchive {
    /// The name in messages.
    name: PathBuf,
    /// The absolute path, which does not depend on the working directory.
    path: PathBuf,
    process: u32,
    /// Bytes of the file.
    len: AtomicU64,
}

impl LockedArchive {
    /// Records the state of `file`, which has just been locked.
    ///
    /// # Errors
    /// The system refuses the lock.
    pub(crate) fn new(file: &File, name: &Path) -> Result<Self> {
        let path = std::path::absolute(name).map_err(|e| Error::io("find", name, e))?;
        let len = file.metadata().map_err(|e| Error::io("look at", name, e))?.len();
        Ok(LockedArchive {
            name: name.to_owned(),
            path,
            process: std::process::id(),
            len: AtomicU64::new(len),
        })
    }

    /// Checks that this process took the lock, that the name still belongs to `file`, and that no other process
    /// changed its length.
    ///
    /// # Errors
    /// A check fails: nothing may be written, and nothing counts as written.
    pub(crate) fn check(&self, file: &File) -> Result<()> {
        if std::process::id() != self.process {
            return self.lost(format!(
                "process {} opened it for changes, and this one was forked from it; open it again in this process",
                self.process
            ));
        }
        let found = file.metadata().map_err(|e| Error::io("look at", &self.name, e))?;
        if !is_same_file(&found, &self.path) {
            return self.lost("the name leads to another file, or to none, since it was opened".to_owned());
        }
        let (len, expected) = (found.len(), self.len.load(Ordering::Relaxed));
        if len != expected {
            return self.lost(format!(
                "another process wrote to it: it has {len} bytes, and had {expected} when it was opened"
            ));
        }
        Ok(())
    }

    /// Checks that the file ends with the trailer that was written.
    ///
    /// # Errors
    /// Another process wrote over it, although the file was locked.
    pub(crate) fn check_trailer(&self, file: &File, trailer: &[u8; TRAILER_LEN]) -> Result<()> {
        let mut found = [0; TRAILER_LEN];
        let at = self.len.load(Ordering::Relaxed) - TRAILER_LEN as u64;
        platform::read_exact_at(file, &mut found, at).map_err(|e| Error::io("read", &self.name, e))?;
        if found == *trailer {
            return Ok(());
        }
        // The file belongs to another process now, so nothing is reverted.
        self.len.store(u64::MAX, Ordering::Relaxed);
        self.lost("another process wrote over the new version; does the file system keep locks?".to_owned())
    }

    /// True if the file has the length that this process gave it. Then an append may be reverted.
    pub(crate) fn is_ours(&self, file: &File) -> bool {
        let expected = self.len.load(Ordering::Relaxed);
        std::process::id() == self.process && file.metadata().is_ok_and(|found| found.len() == expected)
    }

    /// Records the file's length after this process's work.
    pub(crate) fn set_len(&self, len: u64) {
        self.len.store(len, Ordering::Relaxed);
    }

    fn lost(&self, why: String) -> Result<()> {
        Err(ErrorKind::LockLost { path: self.name.clone(), why }.into())
    }
}
