//! Positioned reads of a file, without a map: a file that shrinks gives an error instead of a signal.

use super::{ByteSource, check_range};
use crate::error::{Error, ErrorKind, Result};
use crate::platform;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that is read by position.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    path: PathBuf,
    stamp: Stamp,
}

/// Length and times of a file, which show that it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// Shows also that the file was written and dated back.
    inode: Option<(i64, i64)>,
}

impl Stamp {
    /// Returns the stamp of a file.
    pub fn new(meta: &Metadata) -> Self {
        let inode = platform::inode_changed(meta);
        Stamp { len: meta.len(), modified: meta.modified().ok(), inode }
    }

    /// Returns the evidence that the file was written to since, if there is any. A change of the inode alone is none: it may be a link
    /// or another name.
    pub fn change(self, now: &Metadata) -> Option<String> {
        let now = Stamp::new(now);
        if now.len != self.len {
            return Some(format!("its length was {}, is {}", self.len, now.len));
        }
        (now.modified != self.modified).then(|| "its modification time changed".to_owned())
    }

    /// Returns the error for a file at `path` that was written to since.
    pub(super) fn check(self, now: &Metadata, path: &Path) -> Result<()> {
        let inode = || {
            let is_other = Stamp::new(now).inode != self.inode;
            is_other.then(|| {
                "its inode changed: it was dated back, linked, renamed, or got another mode".to_owned()
            })
        };
        match self.change(now).or_else(inode) {
            Some(what) => Err(ErrorKind::Changed { path: path.to_owned(), what }.into()),
            None => Ok(()),
        }
    }
}

impl FileSource {
    /// Opens `path` for reading; the length is taken now.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn open(path: &Path) -> Result<Self> {
        let file = super::open_regular(path).map_err(|e| Error::io("open", Some(path), e))?;
        Self::from_file(file, path)
    }

    /// Takes an open file; `path` is for messages.
    ///
    /// # Errors
    /// The length of the file cannot be read.
    pub fn from_file(file: File, path: &Path) -> Result<Self> {
        let meta = file.metadata().map_err(|e| Error::io("read the length of", Some(path), e))?;
        if meta.is_dir() {
            let e = io::Error::new(io::ErrorKind::IsADirectory, "is a directory");
            return Err(Error::io("read", Some(path), e));
        }
        Ok(FileSource { file, path: path.to_owned(), stamp: Stamp::new(&meta) })
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn became_shorter(&self, offset: u64) -> Error {
        let what = format!("the file became shorter while it was read (at byte {offset})");
        Error::io("read", Some(&self.path), io::Error::new(io::ErrorKind::UnexpectedEof, what))
    }
}

impl ByteSource for FileSource {
    fn len(&self) -> u64 {
        self.stamp.len
    }

    fn current_len(&self) -> u64 {
        self.file.metadata().map_or(self.stamp.len, |now| now.len())
    }

    fn check_unchanged(&self) -> Result<()> {
        let now = self.file.metadata().map_err(|e| Error::io("look at", Some(&self.path), e))?;
        self.stamp.check(&now, &self.path)
    }

    /// The length is read once more after the bytes. A system that truncates the file meanwhile may return
    /// zeros for the missing bytes, and no error.
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.stamp.len, offset, buf.len())?;
        platform::read_exact_at(&self.file, buf, offset).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.became_shorter(offset),
            _ => Error::io("read", Some(&self.path), e),
        })?;
        let now = self.file.metadata().map_err(|e| Error::io("read the length of", Some(&self.path), e))?;
        if now.len() < offset + buf.len() as u64 { Err(self.became_shorter(offset)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// The last bytes are cut while they are read in a loop, so that the cut usually happens during a read.
    #[test]
    fn a_file_cut_during_a_read_gives_an_error_and_never_zeros() {
        const LEN: usize = 1 << 20;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for _ in 0..200 {
            std::fs::write(&path, vec![1; LEN]).unwrap();
            let source = FileSource::open(&path).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let begun = Barrier::new(2);
            let refused = std::thread::scope(|scope| {
                scope.spawn(|| {
                    begun.wait();
                    file.set_len(LEN as u64 - 2000).unwrap();
                });
                let mut bytes = vec![0; LEN];
                begun.wait();
                loop {
                    match source.read_into(0, &mut bytes) {
                        Ok(()) => assert_eq!(bytes[LEN - 1], 1),
                        Err(e) => break e,
                    }
                }
            });
            let cause = std::error::Error::source(&refused).unwrap().to_string();
            assert!(cause.contains("became shorter while it was read"), "{cause}");
        }
    }
}
