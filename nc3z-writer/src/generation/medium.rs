//! What holds an archive while it is written: a file, or memory. Both are read and written at any place.

use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_reader::platform;
use nc3z_reader::source::{FileSource, MemorySource, SharedSource};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What holds an archive.
pub(crate) enum Medium<'a> {
    /// A file.
    File {
        /// Open for reading and writing.
        file: &'a File,
        /// What it is called in messages.
        name: &'a Path,
        /// Where it may be opened again, to map it; else it is read by position through `file`.
        path: Option<&'a Path>,
    },
    /// Memory.
    Memory(&'a Memory),
}

/// An archive in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Bytes>);

impl Medium<'_> {
    /// What it is called in messages.
    pub(crate) fn name(&self) -> &Path {
        match self {
            Medium::File { name, .. } => name,
            Medium::Memory(_) => Path::new("memory"),
        }
    }

    /// Writes from `offset` on.
    pub(crate) fn writer_at(&self, offset: u64) -> Result<Box<dyn Write + '_>> {
        match self {
            Medium::File { file, name, .. } => {
                let mut file = *file;
                file.seek(SeekFrom::Start(offset)).map_err(|e| Error::io("seek in", name, e))?;
                Ok(Box::new(file))
            }
            Medium::Memory(memory) => {
                memory.change(|bytes| bytes.truncate(usize::try_from(offset).unwrap_or(usize::MAX)));
                Ok(Box::new(*memory))
            }
        }
    }

    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let written = match self {
            Medium::File { file, .. } => platform::write_all_at(file, bytes, offset),
            Medium::Memory(memory) => memory.write_at(offset, bytes),
        };
        written.map_err(|e| Error::io("write", self.name(), e))
    }

    pub(crate) fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let read = match self {
            Medium::File { file, .. } => platform::read_exact_at(file, out, offset),
            Medium::Memory(memory) => memory.read_exact_at(out, offset),
        };
        read.map_err(|e| Error::io("read", self.name(), e))
    }

    pub(crate) fn set_len(&self, len: u64) -> Result<()> {
        match self {
            Medium::File { file, name, .. } => file.set_len(len).map_err(|e| Error::io("cut", name, e)),
            Medium::Memory(memory) => {
                let len = usize::try_from(len).map_err(|_| Error::io("cut", self.name(), too_long()))?;
                memory.change(|bytes| bytes.resize(len, 0));
                Ok(())
            }
        }
    }

    /// Everything written is on disk afterwards.
    pub(crate) fn sync(&self) -> Result<()> {
        match self {
            Medium::File { file, name, .. } => file.sync_all().map_err(|e| Error::io("sync", name, e)),
            Medium::Memory(_) => Ok(()),
        }
    }

    /// The bytes as they are now, to be read.
    pub(crate) fn source(&self) -> Result<SharedSource> {
        match self {
            Medium::File { path: Some(path), .. } => Ok(nc3z_reader::source::open(path, true)?),
            Medium::File { file, name, path: None } => {
                let file = file.try_clone().map_err(|e| Error::io("open", name, e))?;
                Ok(Arc::new(FileSource::from_file(file, name)?))
            }
            Medium::Memory(memory) => Ok(Arc::new(MemorySource::new(memory.bytes()))),
        }
    }
}

impl Memory {
    /// The bytes as they are now, shared until they change.
    pub(crate) fn bytes(&self) -> Bytes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bytes, which nobody shares any more.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a copy where nobody else reads them.
        let mut bytes = Vec::from(std::mem::take(&mut *shared));
        change(&mut bytes);
        *shared = Bytes::from(bytes);
    }

    fn write_at(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let at = usize::try_from(offset).map_err(|_| too_long())?;
        let end = at.checked_add(new.len()).ok_or_else(too_long)?;
        self.change(|bytes| {
            bytes.resize(bytes.len().max(end), 0);
            bytes[at..end].copy_from_slice(new);
        });
        Ok(())
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.bytes();
        let at = usize::try_from(offset).map_err(|_| too_long())?;
        let from = at.checked_add(out.len()).and_then(|end| bytes.get(at..end));
        out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Write for &Memory {
    fn write(&mut self, new: &[u8]) -> io::Result<usize> {
        self.change(|bytes| bytes.extend_from_slice(new));
        Ok(new.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "more than this machine can address")
}
