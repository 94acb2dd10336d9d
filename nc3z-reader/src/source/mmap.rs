//! A mapped file: the only `unsafe` of the workspace.
//!
//! A mapped file must not be cut short while it is open: touching a page that is gone kills the process (SIGBUS),
//! as does an I/O error of the disk. Archives are replaced by rename and only ever grow, so this does not happen
//! by nc3z's own doing; where others may cut the file, use [`super::FileSource`].

use super::advice::Advised;
use super::{ByteSource, MemorySource, Stamp};
use crate::error::{Error, Result};
use crate::platform::{self, FileIdentity};
use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file mapped into memory, shared without copies. Of a file that is not in memory yet, what is read is brought in, and little else.
#[derive(Debug, Clone)]
pub struct MmapSource {
    bytes: MemorySource,
    /// `None` of an empty file.
    advised: Option<Arc<Advised>>,
    /// The file, whose length and time are read again later.
    file: Arc<(PathBuf, FileIdentity, Stamp)>,
}

/// The bytes of a map.
struct Mapped(Arc<Mmap>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl MmapSource {
    /// Maps the whole of `path` read-only.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn open(path: &Path) -> Result<Self> {
        let file = super::open_regular(path).map_err(|e| Error::io("open", Some(path), e))?;
        let meta = file.metadata().map_err(|e| Error::io("read the length of", Some(path), e))?;
        if meta.is_dir() {
            let e = std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a directory");
            return Err(Error::io("read", Some(path), e));
        }
        let file_id = Arc::new((path.to_owned(), platform::identity(&meta), Stamp::new(&meta)));
        if meta.len() == 0 {
            return Ok(MmapSource { bytes: MemorySource::new(Bytes::new()), advised: None, file: file_id });
        }
        let map = Arc::new(map_file(&file, meta.len()).map_err(|e| Error::io("map", Some(path), e))?);
        let bytes = MemorySource::new(Bytes::from_owner(Mapped(Arc::clone(&map))));
        Ok(MmapSource { bytes, advised: Some(Arc::new(Advised::new(map))), file: file_id })
    }
}

impl MmapSource {
    /// The present metadata of the file, if it still has its name.
    fn now(&self) -> Option<Metadata> {
        let (path, identity, _) = &*self.file;
        std::fs::metadata(path).ok().filter(|now| platform::identity(now) == *identity)
    }
}

#[expect(unsafe_code, reason = "mapping a file is what this module is for")]
fn map_file(file: &File, len: u64) -> std::io::Result<Mmap> {
    // With a given length, memmap2 does not read it again.
    let len = usize::try_from(len).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
    // SAFETY: the map is private (copy-on-write) and read-only, so no aliasing write goes through it. That the file is not
    // truncated or rewritten in place while mapped is the documented duty of the caller (module docs); every byte read is
    // checked against checksums before use, so a change in place yields an error and not wrong data.
    unsafe { MmapOptions::new().len(len).map_copy_read_only(file) }
}

impl ByteSource for MmapSource {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn current_len(&self) -> u64 {
        self.now().map_or(self.len(), |now| now.len())
    }

    fn check_unchanged(&self) -> Result<()> {
        let (path, _, stamp) = &*self.file;
        self.now().map_or(Ok(()), |now| stamp.check(&now, path))
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        buf.copy_from_slice(&self.read_at(offset, buf.len())?);
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        if let Some(advised) = &self.advised {
            advised.before_read(offset, len as u64);
        }
        self.bytes.read_at(offset, len)
    }

    fn lends(&self) -> bool {
        true
    }
}
