//! Writes a ZIP without compression whose old end is kept: new members are appended after it, followed by a
//! directory of all members.

use crate::bundle::index::Entry;
use crate::bundle::local;
use crate::bundle::stamp::Stamp;
use crate::error::{Error, Result};
use nc3z_reader::source::SharedSource;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Lengths and offsets from this value on are stored in the long form.
const LARGE: u64 = u32::MAX as u64 - (1 << 20);
/// Members from this number on need the long form of the end.
const MANY: usize = 0xffff;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// Made on Unix, version 4.5; a regular file, which all users may read unless its permissions are known.
const MADE_BY: u16 = 3 * 256 + 45;
const REGULAR: u32 = 0o10_0000;
const MODE: u32 = 0o644;
/// The field with an extended timestamp, whose first byte says that it has the time of modification.
const TIMES: u16 = 0x5455;
const MODIFIED: u8 = 1;
/// The field that pads an extra field.
const FILLER: u16 = 0xa11e;

/// A member of the ZIP.
#[derive(Debug, Clone)]
pub(crate) struct Filed {
    pub(crate) name: String,
    header: u64,
    /// The offset of its bytes.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) crc32: u32,
    pub(crate) stamp: Stamp,
}

/// Fields of a member that are known before its bytes are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming<'n> {
    pub(crate) name: &'n str,
    pub(crate) len: u64,
    pub(crate) stamp: Stamp,
    /// Free bytes before its bytes, in the extra field.
    pub(crate) room: usize,
}

/// A ZIP that is being written.
pub(crate) struct Zip<'f> {
    out: &'f mut File,
    path: &'f Path,
    at: u64,
    pub(crate) filed: Vec<Filed>,
}

impl<'f> Zip<'f> {
    /// Continues at byte `at`, after the existing bytes; `filed` are the existing members.
    pub(crate) fn new(out: &'f mut File, path: &'f Path, at: u64, filed: Vec<Filed>) -> Result<Self> {
        out.seek(SeekFrom::Start(at)).map_err(|e| Error::io(path, e))?;
        Ok(Zip { out, path, at, filed })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io(self.path, e))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Returns the number of free bytes with which the next member begins at a multiple of `alignment`, at least `least`.
    pub(crate) fn room(&self, coming: Coming<'_>, alignment: u64, least: usize) -> usize {
        let begin = self.at + local(coming, 0).len() as u64;
        if least == 0 && begin.is_multiple_of(alignment) {
            return 0;
        }
        // The field has four bytes of its own.
        let least = least.max(1) as u64;
        let end = (begin + 4 + least).next_multiple_of(alignment);
        usize::try_from(end - begin - 4).unwrap_or(0)
    }

    /// Adds a member, whose bytes `content` returns piece by piece.
    pub(crate) fn add(
        &mut self,
        coming: Coming<'_>,
        content: &mut dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let Coming { name, len, stamp, .. } = coming;
        let header = self.at;
        // The checksum is known last: the header is then overwritten.
        let placeholder = local(coming, 0);
        let size = placeholder.len() as u64;
        self.write(&placeholder)?;
        let mut crc = crc32fast::Hasher::new();
        content(&mut |bytes| {
            crc.update(bytes);
            self.write(bytes)
        })?;
        if self.at != header + size + len {
            return Err(Error::fragment(name, "it changed while it was read"));
        }
        let crc32 = crc.finalize();
        let end = self.at;
        let io = |e| Error::io(self.path, e);
        self.out.seek(SeekFrom::Start(header)).map_err(io)?;
        self.out.write_all(&local(coming, crc32)).map_err(io)?;
        self.out.seek(SeekFrom::Start(end)).map_err(io)?;
        self.filed.push(Filed { name: name.to_owned(), header, offset: header + size, len, crc32, stamp });
        Ok(())
    }

    /// Writes the directory and the end with a comment. Returns the file and its length.
    pub(crate) fn finish(mut self, comment: &str) -> Result<(&'f mut File, u64)> {
        let directory = self.at;
        let mut bytes = Vec::new();
        self.filed.iter().for_each(|f| central(f, &mut bytes));
        let size = bytes.len() as u64;
        let many = self.filed.len() >= MANY || directory + size >= LARGE;
        if many {
            let at = directory + size;
            let count = self.filed.len() as u64;
            bytes.extend(b"PK\x06\x06");
            bytes.extend(44_u64.to_le_bytes());
            bytes.extend([MADE_BY.to_le_bytes(), 45_u16.to_le_bytes()].concat());
            bytes.extend([0; 8]);
            for n in [count, count, size, directory] {
                bytes.extend(n.to_le_bytes());
            }
            bytes.extend(b"PK\x06\x07");
            bytes.extend([0; 4]);
            bytes.extend(at.to_le_bytes());
            bytes.extend(1_u32.to_le_bytes());
        }
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 4]);
        let count = if many { u16::MAX } else { u16::try_from(self.filed.len()).unwrap_or(u16::MAX) };
        bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        for n in [size, directory] {
            bytes.extend(if many { u32::MAX } else { short(n) }.to_le_bytes());
        }
        bytes.extend(u16::try_from(comment.len()).unwrap_or(0).to_le_bytes());
        bytes.extend(comment.as_bytes());
        self.write(&bytes)?;
        let at = self.at;
        self.out.set_len(at).map_err(|e| Error::io(self.path, e))?;
        sync(self.out, self.path)?;
        Ok((self.out, at))
    }

    /// Makes sure that everything written so far is on disk.
    pub(crate) fn sync(&self) -> Result<()> {
        sync(self.out, self.path)
    }
}

/// Returns all ones if the number does not fit.
fn short(n: u64) -> u32 {
    if n >= LARGE { u32::MAX } else { u32::try_from(n).unwrap_or(u32::MAX) }
}

/// Returns the local header before a member's bytes.
fn local(coming: Coming<'_>, crc32: u32) -> Vec<u8> {
    let Coming { name, len, stamp, room } = coming;
    let mut extra = times(stamp);
    if len >= LARGE {
        extra.extend([1_u16.to_le_bytes(), 16_u16.to_le_bytes()].concat());
        extra.extend([len.to_le_bytes(), len.to_le_bytes()].concat());
    }
    if room > 0 {
        extra.extend(FILLER.to_le_bytes());
        extra.extend(u16::try_from(room).unwrap_or(0).to_le_bytes());
        extra.resize(extra.len() + room, 0);
    }
    let mut out = b"PK\x03\x04".to_vec();
    let needed: u16 = if len >= LARGE { 45 } else { 10 };
    let [time, date] = stamp.dos();
    for n in [needed, UTF8, 0, time, date] {
        out.extend(n.to_le_bytes());
    }
    for n in [crc32, short(len), short(len)] {
        out.extend(n.to_le_bytes());
    }
    out.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
    out.extend(u16::try_from(extra.len()).unwrap_or(0).to_le_bytes());
    out.extend(name.as_bytes());
    out.extend(extra);
    out
}

/// Returns the field with the time of modification.
fn times(stamp: Stamp) -> Vec<u8> {
    let Some(seconds) = stamp.seconds() else { return Vec::new() };
    let head = [TIMES.to_le_bytes(), 5_u16.to_le_bytes()].concat();
    [&head[..], &[MODIFIED], &seconds.to_le_bytes()].concat()
}

/// Writes the directory entry of a member.
fn central(f: &Filed, out: &mut Vec<u8>) {
    let mut long = Vec::new();
    if f.len >= LARGE {
        long.extend([f.len.to_le_bytes(), f.len.to_le_bytes()].concat());
    }
    if f.header >= LARGE {
        long.extend(f.header.to_le_bytes());
    }
    out.extend(b"PK\x01\x02");
    let needed: u16 = if long.is_empty() { 10 } else { 45 };
    let [time, date] = f.stamp.dos();
    for n in [MADE_BY, needed, UTF8, 0, time, date] {
        out.extend(n.to_le_bytes());
    }
    for n in [f.crc32, short(f.len), short(f.len)] {
        out.extend(n.to_le_bytes());
    }
    let mut extra = times(f.stamp);
    if !long.is_empty() {
        extra.extend(1_u16.to_le_bytes());
        extra.extend(u16::try_from(long.len()).unwrap_or(0).to_le_bytes());
        extra.extend(long);
    }
    for n in [f.name.len(), extra.len(), 0, 0, 0] {
        out.extend(u16::try_from(n).unwrap_or(0).to_le_bytes());
    }
    out.extend(((REGULAR | f.stamp.mode().unwrap_or(MODE)) << 16).to_le_bytes());
    out.extend(short(f.header).to_le_bytes());
    out.extend(f.name.as_bytes());
    out.extend(extra);
}

/// Returns a member as the index of a bundle has it, with the place of its header.
///
/// # Errors
/// Its header is damaged, or was changed by another program; errors of the source.
pub(crate) fn filed(source: &SharedSource, name: &str, entry: &Entry) -> Result<Filed> {
    let &Entry { offset, length: len, crc32, stamp, .. } = entry;
    let local = local::find(source, offset, name)?.filter(|local| local.is_of(len, crc32));
    let header = local.map(|local| local.offset).ok_or_else(|| {
        Error::corrupt(
            name,
            offset,
            "header in the ZIP",
            "the header of the member in the index",
            "another header",
        )
    })?;
    Ok(Filed { name: name.to_owned(), header, offset, len, crc32, stamp })
}

/// Makes sure that the content of the file is on disk.
pub(crate) fn sync(file: &File, path: &Path) -> Result<()> {
    file.sync_all().map_err(|e| Error::io(path, e))
}
