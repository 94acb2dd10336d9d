//! Positioned reads of a file: no map, so that a file that shrinks gives an error and not a signal.

use super::{ByteSource, check_range};
use crate::error::{Error, Result};
use crate::platform;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file read by position.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    path: PathBuf,
    len: u64,
}

impl FileSource {
    /// Opens `path` for reading; the length is taken now.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn open(path: &Path) -> Result<Self> {
        let file = super::open_regular(path).map_err(|e| Error::io("open", Some(path), e))?;
        Self::from_file(file, path)
    }

    /// Takes an open file; `path` is for messages.
    ///
    /// # Errors
    /// Where its length cannot be told.
    pub fn from_file(file: File, path: &Path) -> Result<Self> {
        let meta = file.metadata().map_err(|e| Error::io("read the length of", Some(path), e))?;
        if meta.is_dir() {
            let e = std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a directory");
            return Err(Error::io("read", Some(path), e));
        }
        Ok(FileSource { file, path: path.to_owned(), len: meta.len() })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl ByteSource for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.len, offset, buf.len())?;
        platform::read_exact_at(&self.file, buf, offset).map_err(|e| {
            let e = if e.kind() == std::io::ErrorKind::UnexpectedEof {
                std::io::Error::new(
                    e.kind(),
                    format!("the file became shorter while it was read (at byte {offset})"),
                )
            } else {
                e
            };
            Error::io("read", Some(&self.path), e)
        })
    }
}
