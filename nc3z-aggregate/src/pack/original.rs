//! The input of a packed bundle: a classic file, or the file that an archive restores.

use crate::error::Result;
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::source::{ByteSource, FileSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, Result as ReadResult};
use std::path::Path;
use std::sync::Arc;

/// A file to put into a packed bundle.
pub(super) enum Input {
    /// The member has the bytes of this file.
    Plain(SharedSource),
    /// An archive of one version that restores its original. The member is that original, and this is its
    /// archive.
    Archive { original: SharedSource, archive: SharedSource },
}

impl Input {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let source: SharedSource = Arc::new(FileSource::open(path)?);
        let mut magic = [0; MAGIC.len()];
        if source.len() < MAGIC.len() as u64 {
            return Ok(Input::Plain(source));
        }
        source.read_into(0, &mut magic)?;
        if magic != MAGIC {
            return Ok(Input::Plain(source));
        }
        let archive = Archive::from_source(Arc::clone(&source), &OpenOptions::default());
        Ok(match archive {
            // With rounded or lost values, older versions, or an unknown digest of the original, the archive
            // contains more than its original.
            Ok(a) if a.trailer().required == 0 && a.trailer().generation == 1 => {
                Input::Archive { original: Arc::new(Original(a)), archive: source }
            }
            _ => Input::Plain(source),
        })
    }

    /// Returns the bytes of the member if it is packed.
    pub(super) fn original(&self) -> &SharedSource {
        match self {
            Input::Plain(source) => source,
            Input::Archive { original, .. } => original,
        }
    }
}

/// The original file of an archive.
struct Original(Archive);

impl ByteSource for Original {
    fn len(&self) -> u64 {
        self.0.original_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> ReadResult<()> {
        self.0.read_original(offset, buf)
    }
}
