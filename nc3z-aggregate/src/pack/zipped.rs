//! Writes a ZIP without compression whose old end is kept: new members are appended after it, followed by a
//! directory of all members.

use crate::error::{Error, Result};
use nc3z_reader::source::SharedSource;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use zip::ZipArchive;

/// Lengths and offsets from this value on are stored in the long form.
const LARGE: u64 = u32::MAX as u64 - (1 << 20);
/// Members from this number on need the long form of the end.
const MANY: usize = 0xffff;
/// 1980-01-01, 00:00, so that the same files give the same bytes.
const DATE: u16 = 0x21;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// Made on Unix, version 4.5; a regular file that all users may read.
const MADE_BY: u16 = 3 * 256 + 45;
const MODE: u32 = 0o10_0644 << 16;
/// The field that pads an extra field.
const FILLER: u16 = 0xa11e;

/// A member of the ZIP.
#[derive(Debug, Clone)]
pub(super) struct Filed {
    pub(super) name: String,
    header: u64,
    /// The offset of its bytes.
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) crc32: u32,
}

/// A ZIP that is being written.
pub(super) struct Zip<'f> {
    out: &'f mut File,
    path: &'f Path,
    at: u64,
    pub(super) filed: Vec<Filed>,
}

impl<'f> Zip<'f> {
    /// Continues at byte `at`, after the existing bytes; `filed` are the existing members.
    pub(super) fn new(out: &'f mut File, path: &'f Path, at: u64, filed: Vec<Filed>) -> Result<Self> {
        out.seek(SeekFrom::Start(at)).map_err(|e| Error::io(path, e))?;
        Ok(Zip { out, path, at, filed })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io(self.path, e))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Adds a member of `len` bytes, which `content` returns piece by piece, with `room` free bytes before
    /// them.
    pub(super) fn add(
        &mut self,
        name: &str,
        len: u64,
        room: usize,
        content: &mut dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let header = self.at;
        let size = local(name, len, 0, room).len() as u64;
        // The checksum is known last: the header is then overwritten.
        let placeholder = local(name, len, 0, room);
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
        self.out.write_all(&local(name, len, crc32, room)).map_err(io)?;
        self.out.seek(SeekFrom::Start(end)).map_err(io)?;
        self.filed.push(Filed { name: name.to_owned(), header, offset: header + size, len, crc32 });
        Ok(())
    }

    /// Writes the directory and the end with a comment. Returns the file and its length.
    pub(super) fn finish(mut self, comment: &str) -> Result<(&'f mut File, u64)> {
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
    pub(super) fn sync(&self) -> Result<()> {
        sync(self.out, self.path)
    }
}

/// Returns all ones if the number does not fit.
fn short(n: u64) -> u32 {
    if n >= LARGE { u32::MAX } else { u32::try_from(n).unwrap_or(u32::MAX) }
}

/// Returns the local header before a member's bytes.
fn local(name: &str, len: u64, crc32: u32, room: usize) -> Vec<u8> {
    let mut extra = Vec::new();
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
    for n in [needed, UTF8, 0, 0, DATE] {
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
    for n in [MADE_BY, needed, UTF8, 0, 0, DATE] {
        out.extend(n.to_le_bytes());
    }
    for n in [f.crc32, short(f.len), short(f.len)] {
        out.extend(n.to_le_bytes());
    }
    let extra = if long.is_empty() { 0 } else { long.len() + 4 };
    for n in [f.name.len(), extra, 0, 0, 0] {
        out.extend(u16::try_from(n).unwrap_or(0).to_le_bytes());
    }
    out.extend(MODE.to_le_bytes());
    out.extend(short(f.header).to_le_bytes());
    out.extend(f.name.as_bytes());
    if extra > 0 {
        out.extend(1_u16.to_le_bytes());
        out.extend(u16::try_from(long.len()).unwrap_or(0).to_le_bytes());
        out.extend(long);
    }
}

/// Returns the members of a ZIP by its directory, without the one called `but`.
pub(super) fn members(source: &SharedSource, but: &str) -> Result<Vec<Filed>> {
    let wrong = |e: zip::result::ZipError| Error::refused(format!("the directory of the bundle: {e}"));
    let mut archive: ZipArchive<_> = crate::bundle::zip_of(source).map_err(wrong)?;
    let mut out = Vec::with_capacity(archive.len());
    for n in 0..archive.len() {
        let file = archive.by_index_raw(n).map_err(wrong)?;
        let name = file.name().map_err(wrong)?.into_owned();
        if name == but {
            continue;
        }
        let offset = file.data_start().ok_or_else(|| Error::fragment(&name, "the member has no place"))?;
        let (header, len, crc32) = (file.header_start(), file.size(), file.crc32());
        if file.compression() != zip::CompressionMethod::Stored {
            return Err(Error::fragment(
                &name,
                "the member is compressed; nothing can be added to such a bundle",
            ));
        }
        out.push(Filed { name, header, offset, len, crc32 });
    }
    Ok(out)
}

/// Makes sure that the content of the file is on disk.
pub(super) fn sync(file: &File, path: &Path) -> Result<()> {
    file.sync_all().map_err(|e| Error::io(path, e))
}
