//! A file that is read into a bundle. It must not change meanwhile.
//!
//! A program that writes a file gives it a new time when it begins, and may be interrupted in the middle. So files that were written to
//! shortly before they were read are read once more in the end.

use super::check::crc32_of;
use super::stamp::Stamp;
use crate::error::{Error, Result};
use nc3z_reader::source::{FileSource, SharedSource, open_regular};
use nc3z_writer::{ErrorKind, check_unchanged};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Files that were written to within this time before they were read are read again.
const RECENT: Duration = Duration::from_secs(2);
/// The time after which a file that is written to has another time: the clock of file systems ticks in steps.
const TICK: Duration = Duration::from_millis(20);

/// An open file, with what the system said of it before it was read.
pub(crate) struct Input {
    path: PathBuf,
    file: File,
    before: Metadata,
    opened: SystemTime,
    pub(crate) source: SharedSource,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let io = |e| Error::io(path, e);
        let file = open_regular(path).map_err(io)?;
        let before = file.metadata().map_err(io)?;
        let source = Arc::new(FileSource::from_file(file.try_clone().map_err(io)?, path)?);
        Ok(Input { path: path.to_owned(), file, before, opened: SystemTime::now(), source })
    }

    /// Checks, after all bytes were read, that the file is what it was before. `crc32` is that of the bytes that were read.
    fn check(&self, crc32: u32) -> Result<()> {
        if self.source.len() == self.before.len() && check_unchanged(&self.file, &self.before, &self.path)? {
            return Ok(());
        }
        // It was linked or renamed, or written and dated back: only its bytes show which.
        match crc32_of(&self.source, &|_| true) {
            Ok(Some(again)) if again == crc32 => Ok(()),
            _ => Err(changed(&self.path)),
        }
    }

    /// Returns whether the file was written to shortly before it was opened.
    fn is_recent(&self) -> bool {
        let modified = self.before.modified();
        modified.is_ok_and(|time| self.opened.duration_since(time).map_or(true, |since| since < RECENT))
    }

    /// Returns the reason of an error of reading the file: if it was changed, that.
    pub(crate) fn reason(&self, e: Error) -> Error {
        match check_unchanged(&self.file, &self.before, &self.path) {
            Err(changed) if !e.is_interrupted() => changed.into(),
            _ => e,
        }
    }

    /// Time and permissions of the file before it was read.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::from_metadata(&self.before)
    }
}

/// The error for a file with other bytes than those that were read.
pub(super) fn changed(path: &Path) -> Error {
    let what = "its content is another".to_owned();
    nc3z_writer::Error::from(ErrorKind::SourceChanged { path: path.to_owned(), what }).into()
}

/// The files that were written to shortly before they were read, with the CRC-32 of what was read.
#[derive(Default)]
pub(crate) struct Recent(Vec<(PathBuf, Metadata, u32)>);

impl Recent {
    /// Checks, after all bytes were read, that a file is what it was before. `crc32` is that of the bytes that were read.
    pub(crate) fn check(&mut self, input: Input, crc32: u32) -> Result<()> {
        input.check(crc32)?;
        if input.is_recent() {
            self.0.push((input.path, input.before, crc32));
        }
        Ok(())
    }

    /// Reads all recent files again, and compares them with what was read.
    pub(crate) fn check_again(self) -> Result<()> {
        if !self.0.is_empty() {
            std::thread::sleep(TICK);
        }
        for (path, before, crc32) in self.0 {
            let file = match File::open(&path) {
                // The file was removed after it was read: the bytes that were read are its last state.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                file => file.map_err(|e| Error::io(&path, e))?,
            };
            check_unchanged(&file, &before, &path)?;
            let source: SharedSource = Arc::new(FileSource::from_file(file, &path)?);
            if !matches!(crc32_of(&source, &|_| true), Ok(Some(again)) if again == crc32) {
                return Err(changed(&path));
            }
        }
        Ok(())
    }
}
