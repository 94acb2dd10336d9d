//! The target of an archive while it is written: a file, or memory. Both are read and written at any position.

use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_reader::platform;
use nc3z_reader::source::{ByteSource, FileSource, MemorySource, SharedSource};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of the output buffer.
const OUT_BUFFER: usize = 1 << 20;

/// The place where an archive is written.
pub(crate) enum Medium<'a> {
    File {
        /// Open for reading and writing.
        file: &'a File,
        /// The name in messages.
        name: &'a Path,
        /// The path for opening the file again, to map it; without it, the file is read by position through
        /// `file`.
        path: Option<&'a Path>,
    },
    /// A file that is only read, and another file for the bytes appended to it.
    Over {
        /// The file that stays unchanged.
        file: &'a File,
        /// The appended bytes, from the beginning of this file.
        over: &'a File,
        /// The used length of the first file.
        end: u64,
        /// The name in messages.
        name: &'a Path,
    },
    Memory(&'a Memory),
}

/// An archive in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Bytes>);

impl Medium<'_> {
    /// Returns the name in messages.
    pub(crate) fn name(&self) -> &Path {
        match self {
            Medium::File { name, .. } | Medium::Over { name, .. } => name,
            Medium::Memory(_) => Path::new("memory"),
        }
    }

    /// Returns a writer with a buffer that starts at `offset`.
    pub(crate) fn buffered_at(&self, offset: u64) -> Result<BufWriter<Box<dyn Write + '_>>> {
        Ok(BufWriter::with_capacity(OUT_BUFFER, self.writer_at(offset)?))
    }

    /// Returns a writer that starts at `offset`.
    pub(crate) fn writer_at(&self, offset: u64) -> Result<Box<dyn Write + '_>> {
        match self {
            Medium::File { file, name, .. } => {
                let mut file = *file;
                file.seek(SeekFrom::Start(offset)).map_err(|e| Error::io("seek in", name, e))?;
                Ok(Box::new(file))
            }
            Medium::Over { over, end, name, .. } => {
                let mut over = *over;
                let at = offset_after(*end, offset).map_err(|e| Error::io("write", name, e))?;
                over.seek(SeekFrom::Start(at)).map_err(|e| Error::io("seek in", name, e))?;
                Ok(Box::new(over))
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
            Medium::Over { over, end, .. } => {
                offset_after(*end, offset).and_then(|at| platform::write_all_at(over, bytes, at))
            }
            Medium::Memory(memory) => memory.write_at(offset, bytes),
        };
        written.map_err(|e| Error::io("write", self.name(), e))
    }

    pub(crate) fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let read = match self {
            Medium::File { file, .. } => platform::read_exact_at(file, out, offset),
            Medium::Over { file, over, end, .. } => {
                let (below, above) = split(out, offset, *end);
                platform::read_exact_at(file, below, offset)
                    .and_then(|()| platform::read_exact_at(over, above, offset.max(*end) - end))
            }
            Medium::Memory(memory) => memory.read_exact_at(out, offset),
        };
        read.map_err(|e| Error::io("read", self.name(), e))
    }

    pub(crate) fn set_len(&self, len: u64) -> Result<()> {
        match self {
            Medium::File { file, name, .. } => file.set_len(len).map_err(|e| Error::io("cut", name, e)),
            Medium::Over { over, end, name, .. } => {
                over.set_len(len.saturating_sub(*end)).map_err(|e| Error::io("cut", name, e))
            }
            Medium::Memory(memory) => {
                let len = usize::try_from(len).map_err(|_| Error::io("cut", self.name(), too_long()))?;
                memory.change(|bytes| bytes.resize(len, 0));
                Ok(())
            }
        }
    }

    /// Makes sure that everything written is on disk.
    pub(crate) fn sync(&self) -> Result<()> {
        match self {
            Medium::File { file, name, .. } => file.sync_all().map_err(|e| Error::io("sync", name, e)),
            Medium::Over { .. } | Medium::Memory(_) => Ok(()),
        }
    }

    /// Returns the present bytes for reading.
    pub(crate) fn source(&self) -> Result<SharedSource> {
        match self {
            Medium::File { path: Some(path), .. } => Ok(nc3z_reader::source::open(path, true)?),
            Medium::File { file, name, path: None } => {
                let file = file.try_clone().map_err(|e| Error::io("open", name, e))?;
                Ok(Arc::new(FileSource::from_file(file, name)?))
            }
            Medium::Over { file, over, end, name } => {
                let open = |file: &File| {
                    let file = file.try_clone().map_err(|e| Error::io("open", name, e))?;
                    Ok::<_, Error>(FileSource::from_file(file, name)?)
                };
                Ok(Arc::new(OverSource { file: open(file)?, over: open(over)?, end: *end }))
            }
            Medium::Memory(memory) => Ok(Arc::new(MemorySource::new(memory.bytes()))),
        }
    }
}

impl Memory {
    /// Returns the present bytes, shared until they change.
    pub(crate) fn bytes(&self) -> Bytes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the bytes, without a copy if they are not shared.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Does not copy the bytes if no reader shares them.
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

/// The bytes of one file up to `end`, followed by the bytes of another file.
struct OverSource {
    file: FileSource,
    over: FileSource,
    end: u64,
}

impl ByteSource for OverSource {
    fn len(&self) -> u64 {
        self.end + self.over.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> nc3z_reader::Result<()> {
        let (below, above) = split(buf, offset, self.end);
        if !below.is_empty() {
            self.file.read_into(offset, below)?;
        }
        if above.is_empty() { Ok(()) } else { self.over.read_into(offset.max(self.end) - self.end, above) }
    }
}

/// Splits a buffer for a read at `offset` into the parts before and after `end`.
fn split(buf: &mut [u8], offset: u64, end: u64) -> (&mut [u8], &mut [u8]) {
    let below = usize::try_from(end.saturating_sub(offset)).map_or(buf.len(), |n| n.min(buf.len()));
    buf.split_at_mut(below)
}

/// Returns the position in the other file of a byte after `end`.
fn offset_after(end: u64, offset: u64) -> io::Result<u64> {
    let refused = || io::Error::other("a rehearsal changes nothing that is there");
    offset.checked_sub(end).ok_or_else(refused)
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "more than this machine can address")
}
