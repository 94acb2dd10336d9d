//! An open file of the view.

use super::View;
use super::ahead::Stride;
use super::original::Original;
use super::platform::read_at;
use nc3z_reader::Archive;
use nc3z_reader::source::SharedSource;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// An open file. It goes on reading the bytes it was opened with, whatever becomes of its name.
pub struct Handle(What);

enum What {
    Original(Arc<Original>, Mutex<Stride>),
    /// A file on disk, shown as it is.
    File(File),
    /// A member of a bundle, shown as it is.
    Member(SharedSource),
}

impl Handle {
    pub(super) fn original(original: Arc<Original>) -> Self {
        Handle(What::Original(original, Mutex::default()))
    }

    pub(super) fn file(file: File) -> Self {
        Handle(What::File(file))
    }

    pub(super) fn member(source: SharedSource) -> Self {
        Handle(What::Member(source))
    }

    /// The archive, of an original.
    pub fn archive(&self) -> Option<&Archive> {
        match &self.0 {
            What::Original(original, _) => Some(&original.archive),
            What::File(_) | What::Member(_) => None,
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
            What::Member(source) => {
                let left = source.len().saturating_sub(offset);
                let n = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
                source.read_into(offset, &mut out[..n]).map_err(io::Error::other)?;
                Ok(n)
            }
        }
    }
}
