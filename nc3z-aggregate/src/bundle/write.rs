//! Writes a bundle: a ZIP without compression, members aligned, the index last. The same files give the same bytes.

use super::heads::{self, Head};
use super::index::{self, Entry, HINT_LEN};
use super::packed::Packed;
use crate::error::{Error, Result};
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::source::{FileSource, SharedSource};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Members begin at multiples of this.
const ALIGNMENT: u16 = 4096;
/// All members but the first that are shorter than ALIGNED_FROM begin at multiples of SMALL_ALIGNMENT: paddings of 4 KiB would take as much as they do.
const ALIGNED_FROM: u64 = 64 << 10;
const SMALL_ALIGNMENT: u16 = 64;
/// The index takes at most one part in INDEX_SHARE of the members' bytes, and what its list needs.
const INDEX_SHARE: u64 = 10;
/// Bytes copied at once.
const COPY_LEN: usize = 1 << 20;
/// Archives in the short form are opened by reading all their bytes. The index contains copies of the first
/// ones, up to this total length: a request to a server takes as long as transferring a mebibyte.
const SHORT_LEN: u64 = 1 << 20;
/// Members of at least this length need the long form of their entries.
const LARGE: u64 = u32::MAX as u64 - (1 << 20);

/// A file to put into a bundle.
#[derive(Debug, Clone)]
pub struct Bundled {
    /// Its name in the bundle.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Writes a bundle of files, in their order. `tell` is called with the number of bytes copied. If it returns
/// false, writing stops.
///
/// # Errors
/// Names that are absolute, lead outside or occur twice; errors of the system.
pub fn write_bundle(files: &[Bundled], out: &mut File, tell: &dyn Fn(u64) -> bool) -> Result<()> {
    write_aligned(files, ALIGNMENT, out, tell)
}

/// Writes a bundle with members at multiples of `alignment`.
pub(super) fn write_aligned(
    files: &[Bundled],
    alignment: u16,
    out: &mut File,
    tell: &dyn Fn(u64) -> bool,
) -> Result<()> {
    let failed = |e: zip::result::ZipError| Error::refused(format!("write the bundle: {e}"));
    let mut seen = std::collections::HashSet::new();
    for file in files {
        if super::inside("", &file.name).as_deref() != Some(&file.name) || file.name == index::NAME {
            return Err(Error::refused(format!("`{}` is no name for a member of a bundle", file.name)));
        }
        if !seen.insert(&file.name) {
            return Err(Error::refused(format!("two members would be called `{}`", file.name)));
        }
    }
    let at = Arc::new(AtomicU64::new(0));
    let mut zip = ZipWriter::new(Counting { inner: out, at: at.clone() });
    let mut members = Vec::with_capacity(files.len());
    let mut buffer = vec![0; COPY_LEN];
    let mut short = Short::default();
    for file in files {
        let mut input = File::open(&file.path).map_err(|e| Error::io(&file.path, e))?;
        let len = input.metadata().map_err(|e| Error::io(&file.path, e))?.len();
        let source: SharedSource = Arc::new(FileSource::open(&file.path)?);
        let head = heads::head_of(&source);
        // The padding of the first member has the hint.
        let is_small = len < ALIGNED_FROM && !members.is_empty();
        let own = if is_small { alignment.min(SMALL_ALIGNMENT) } else { alignment };
        zip.start_file(file.name.as_str(), options(len, own)).map_err(failed)?;
        let offset = at.load(Ordering::Relaxed);
        short.begin(&head, len);
        let (mut crc, mut done) = (crc32fast::Hasher::new(), 0);
        loop {
            let n = input.read(&mut buffer).map_err(|e| Error::io(&file.path, e))?;
            if n == 0 {
                break;
            }
            crc.update(&buffer[..n]);
            short.add(&buffer[..n]);
            zip.write_all(&buffer[..n]).map_err(|e| failed(e.into()))?;
            done += n as u64;
            if !tell(n as u64) {
                return Err(nc3z_reader::Error::interrupted().into());
            }
        }
        if done != len {
            return Err(Error::fragment(&file.path.to_string_lossy(), "it changed while it was read"));
        }
        short.end(members.len());
        members.push((file.name.clone(), Entry { offset, length: len, crc32: crc.finalize(), head }));
    }
    let bytes = limited_index(&mut members, short.members)?;
    zip.start_file(index::NAME, options(bytes.len() as u64, alignment)).map_err(failed)?;
    let offset = at.load(Ordering::Relaxed);
    zip.write_all(&bytes).map_err(|e| failed(e.into()))?;
    let comment = index::comment(offset, &bytes);
    zip.set_comment(comment.clone()).map_err(failed)?;
    drop(zip.finish().map_err(failed)?);
    members
        .first()
        .map_or(Ok(()), |(_, first)| write_hint(out, first.offset, &comment).map_err(|e| failed(e.into())))
}

/// Encodes the index. Where copies would take much of the bundle, they are left out: first those of archives in the short form, then
/// all but aggregations. A reader then requests them.
fn limited_index(members: &mut [(String, Entry)], short: Vec<(usize, Vec<u8>)>) -> Result<Vec<u8>> {
    let encode = |members: &[(String, Entry)]| index::encode(members, &Packed::default());
    let most = members.iter().map(|(_, e)| e.length).sum::<u64>() / INDEX_SHARE;
    let numbers: Vec<usize> = short.iter().map(|(n, _)| *n).collect();
    for (n, bytes) in short {
        members[n].1.head = Head::new(vec![(0, bytes.into())]);
    }
    let mut bytes = encode(members)?;
    if bytes.len() as u64 > most {
        numbers.iter().for_each(|n| members[*n].1.head = Head::default());
        bytes = encode(members)?;
    }
    if bytes.len() as u64 > most {
        let copied = |e: &Entry| e.head.parts().iter().map(|(_, part)| part.len() as u64).sum::<u64>();
        for (_, entry) in members.iter_mut().filter(|(_, e)| copied(e) < e.length) {
            entry.head = Head::default();
        }
        bytes = encode(members)?;
    }
    Ok(bytes)
}

/// Archives in the short form, collected while members are copied.
#[derive(Default)]
struct Short {
    /// Their numbers and bytes.
    members: Vec<(usize, Vec<u8>)>,
    total: u64,
    /// The bytes of the member that is being copied, if it may be one of them.
    now: Option<Vec<u8>>,
}

impl Short {
    fn begin(&mut self, head: &Head, len: u64) {
        self.now = (head.is_empty() && self.total.saturating_add(len) <= SHORT_LEN).then(Vec::new);
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(now) = &mut self.now {
            now.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, number: usize) {
        let Some(now) = self.now.take().filter(|bytes| bytes.starts_with(&MAGIC)) else { return };
        self.total += now.len() as u64;
        self.members.push((number, now));
    }
}

/// Copies the comment into the padding before the first member's data, if there is room, or over the hint of an
/// earlier end.
pub(crate) fn write_hint(out: &mut File, data: u64, comment: &str) -> io::Result<()> {
    let hint = index::hint(comment, out.metadata()?.len());
    let Some(at) = data.checked_sub(HINT_LEN as u64) else { return Ok(()) };
    let mut padding = [1; HINT_LEN];
    out.seek(SeekFrom::Start(at))?;
    out.read_exact(&mut padding)?;
    if hint.len() == HINT_LEN && (padding == [0; HINT_LEN] || index::is_hint(&padding)) {
        out.seek(SeekFrom::Start(at))?;
        out.write_all(&hint)?;
    }
    Ok(())
}

fn options(len: u64, alignment: u16) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .with_alignment(alignment)
        .large_file(len >= LARGE)
}

/// A file, and the current offset in it.
struct Counting<'f> {
    inner: &'f mut File,
    at: Arc<AtomicU64>,
}

impl Write for Counting<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(buf)?;
        self.at.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Seek for Counting<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.inner.seek(to)?;
        self.at.store(at, Ordering::Relaxed);
        Ok(at)
    }
}
