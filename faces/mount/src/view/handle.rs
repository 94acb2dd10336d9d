//! An open file of the view.

use super::View;
use super::ahead::Stride;
use super::attr::{Signature, digest};
use super::original::Original;
use super::platform::{read_at, stat_of};
use nc3z_collections::FragmentBase;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Dataset, OpenOptions};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The state of an open file. It changes if the bytes change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Length in bytes.
    pub len: u64,
    /// A digest of the content. For a file that is shown unchanged, it depends on inode, length and times.
    pub id: [u8; 32],
}

/// An open file. It always reads the bytes of the file that was opened, even if the name is removed or
/// replaced.
pub struct Handle {
    what: What,
    /// The place in which the fragments of an aggregation are searched.
    pub(super) base: FragmentBase,
}

enum What {
    Original(Arc<Original>, Mutex<Stride>),
    /// A file on disk, shown unchanged.
    File(File),
    /// A member of a bundle, shown unchanged.
    Member(SharedSource, Signature),
}

impl Handle {
    pub(super) fn original(original: Arc<Original>, base: FragmentBase) -> Self {
        Handle { what: What::Original(original, Mutex::default()), base }
    }

    pub(super) fn file(file: File, base: FragmentBase) -> Self {
        Handle { what: What::File(file), base }
    }

    pub(super) fn member(source: SharedSource, signature: Signature, base: FragmentBase) -> Self {
        Handle { what: What::Member(source, signature), base }
    }

    /// Returns the state of the file, as far as it is known without reading its bytes.
    ///
    /// # Errors
    /// An error of the system.
    pub fn state(&self) -> io::Result<State> {
        match &self.what {
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

    /// Opens the file as a data set: an original, or a classic file that is shown unchanged; an aggregation as stored. `path` is its
    /// name in messages.
    ///
    /// # Errors
    /// The file is not a classic netCDF file.
    pub(super) fn stored(&self, path: &Path, options: &OpenOptions) -> nc3z_reader::Result<Dataset> {
        let source: SharedSource = match &self.what {
            What::Original(original, _) => return Ok(original.archive.clone().into()),
            What::File(file) => {
                let file = file.try_clone().map_err(|e| nc3z_reader::Error::io("open", Some(path), e))?;
                Arc::new(FileSource::from_file(file, path)?)
            }
            What::Member(source, _) => Arc::clone(source),
        };
        Dataset::from_source(source, options)
    }

    /// Returns the archive of an original.
    pub fn archive(&self) -> Option<&Archive> {
        match &self.what {
            What::Original(original, _) => Some(&original.archive),
            What::File(_) | What::Member(..) => None,
        }
    }

    /// Reads from `offset` on until `out` is full or the file ends.
    ///
    /// # Errors
    /// Damaged bytes, which are logged; an error of the system.
    pub fn read(&self, view: &View, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match &self.what {
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
