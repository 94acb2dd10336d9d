//! The input of a packed bundle: a classic file, or the file that an archive restores.

use crate::bundle::{input, is_archive};
use crate::error::Result;
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, Result as ReadResult};
use std::path::Path;
use std::sync::Arc;

/// A file to put into a packed bundle.
pub(super) struct Input {
    /// The open file, which is checked for changes after it is read.
    pub(super) file: input::Input,
    /// The bytes of the member if it is packed: those of the file, or of the file that it restores.
    pub(super) original: SharedSource,
    /// True for an archive of one version that restores its original. The member is that original.
    pub(super) is_archive: bool,
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = input::Input::open(path)?;
        let source = file.source.clone();
        let plain = |file, original| Ok(Input { file, original, is_archive: false });
        if !is_archive(&*source)? {
            return plain(file, source);
        }
        match Archive::from_source(Arc::clone(&source), &OpenOptions::default()) {
            // With rounded or lost values, older versions, or an unknown digest of the original, the archive
            // contains more than its original.
            Ok(a) if a.trailer().required == 0 && a.trailer().generation == 1 => {
                Ok(Input { file, original: Arc::new(Original(a)), is_archive: true })
            }
            _ => plain(file, source),
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
