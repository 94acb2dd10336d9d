//! An open file of the view.

use super::View;
use super::ahead::Stride;
use super::attr::{Signature, digest};
use super::original::Original;
use super::platform::{read_at, stat_of};
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Dataset, OpenOptions};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The state of an open file: another one if its bytes change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Length in bytes.
    pub len: u64,
    /// A number of the content. For a file that is shown as it is, it follows from inode, length and times.
    pub id: [u8; 32],
}

/// An open file. It goes on reading the bytes it was opened with, whatever becomes of its name.
pub struct Handle(What);

enum What {
    Original(Arc<Original>, Mutex<Stride>),
    /// A file on disk, shown as it is.
    File(File),
    /// A member of a bundle, shown as it is.
    Member(SharedSource, Signature),
}

impl Handle {
    pub(super) fn original(original: Arc<Original>) -> Self {
        Handle(What::Original(original, Mutex::default()))
    }

    pub(super) fn file(file: File) -> Self {
        Handle(What::File(file))
    }

    pub(super) fn member(source: SharedSource, signature: Signature) -> Self {
        Handle(What::Member(source, signature))
    }

    /// Which bytes the file has, as far as this can be told without reading them.
    ///
    /// # Errors
    /// What the system says.
    pub fn state(&self) -> io::Result<State> {
        match &self.0 {
            What::Original(original, _) => {
                let id = digest(&[b"original", original.facts.content.bytes()]);
                Ok(State { len: original.facts.len, id })
            }
            What::File(file) => {
                let stat = stat_of(&file.metadata()?).ok_or(io::ErrorKind::NotFound)?;
                Ok(State { len: stat.len, id: stat.signature().digest() })
            }
            What::Member(source, signature) => Ok(State { len: source.len(), id: signature.digest() }),
        }
    }

    /// Opens the file as a data set: an original, or a classic file that is shown as it is. `path` is its name in messages.
    ///
    /// # Errors
    /// It is no classic netCDF file.
    pub fn dataset(&self, path: &Path, options: &OpenOptions) -> nc3z_reader::Result<Dataset> {
        let source: SharedSource = match &self.0 {
            What::Original(original, _) => return Ok(original.archive.clone().into()),
            What::File(file) => {
                let file = file.try_clone().map_err(|e| nc3z_reader::Error::io("open", Some(path), e))?;
                Arc::new(FileSource::from_file(file, path)?)
            }
            What::Member(source, _) => Arc::clone(source),
        };
        Dataset::from_source(source, options)
    }

    /// The archive, of an original.
    pub fn archive(&self) -> Option<&Archive> {
        match &self.0 {
            What::Original(original, _) => Some(&original.archive),
            What::File(_) | What::Member(..) => None,
        }
    }

    /// Reads from `offset` on: all that fits in `out`, less only at the end of the file.
    ///
    /// # Errors
    /// Damaged bytes, which the log names; what the system says.
    pub fn read(&self, view: &View, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            What::Original(original, stride) => {
                let (ahead, len) = (&view.ahead, view.ahead.len(original));
                let range =
                    stride.lock().unwrap_or_else(PoisonError::into_inner).note(offset, out.len() as u64, len);
                if let Some(range) = range {
                    ahead.decode(original, range);
                }
                original.read(offset, out, &view.log)
            }
            What::File(file) => read_at(file, offset, out),
            What::Member(source, _) => {
                let left = source.len().saturating_sub(offset);
                let n = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
                source.read_into(offset, &mut out[..n]).map_err(io::Error::other)?;
                Ok(n)
            }
        }
    }
}
