//! Writes a bundle: a ZIP without compression, members aligned, the index last. The same files give the same bytes.

use super::Bundle;
use super::heads::{self, Head};
use super::index::{self, Entry, HINT_LEN};
use super::input::{Input, Recent};
use super::packed::Packed;
use super::stamp::Stamp;
use crate::error::{Error, Result};
use crate::pack::zipped::{Coming, Filed, Zip};
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::source::FileSource;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Members begin at multiples of this.
const ALIGNMENT: u64 = 4096;
/// All members but the first that are shorter than ALIGNED_FROM begin at multiples of SMALL_ALIGNMENT: paddings of 4 KiB would take as much as they do.
const ALIGNED_FROM: u64 = 64 << 10;
const SMALL_ALIGNMENT: u64 = 64;
/// The index takes at most one part in INDEX_SHARE of the members' bytes, and what its list needs.
const INDEX_SHARE: u64 = 10;
/// Bytes copied at once.
const COPY_LEN: usize = 1 << 20;
/// Archives in the short form are opened by reading all their bytes. The index contains copies of the first
/// ones, up to this total length: a request to a server takes as long as transferring a mebibyte.
const SHORT_LEN: u64 = 1 << 20;

/// A file to put into a bundle.
#[derive(Debug, Clone)]
pub struct Bundled {
    /// Its name in the bundle.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
}

/// Writes a bundle of files, in their order. `tell` is called with the number of bytes copied. If it returns
/// false, writing stops. Returns the number of classic files, which are stored uncompressed.
///
/// # Errors
/// Names that are absolute, lead outside or occur twice; errors of the system.
pub fn write_bundle(files: &[Bundled], out: &mut File, tell: &dyn Fn(u64) -> bool) -> Result<u64> {
    write_aligned(files, ALIGNMENT, out, tell)
}

/// Writes a bundle with members at multiples of `alignment`.
pub(super) fn write_aligned(
    files: &[Bundled],
    alignment: u64,
    out: &mut File,
    tell: &dyn Fn(u64) -> bool,
) -> Result<u64> {
    let mut seen = std::collections::HashSet::new();
    for file in files {
        if super::inside("", &file.name).as_deref() != Some(&file.name) || file.name == index::NAME {
            return Err(Error::refused(format!(
                "`{}` is not a valid name for a member of a bundle",
                file.name
            )));
        }
        if !seen.insert(&file.name) {
            return Err(Error::refused(format!("two members would be called `{}`", file.name)));
        }
    }
    let path = Path::new("the bundle");
    let mut zip = Zip::new(out, path, 0, Vec::new())?;
    let mut members = Vec::with_capacity(files.len());
    let mut buffer = vec![0; COPY_LEN];
    let mut classic = 0;
    let (mut short, mut recent) = (Short::default(), Recent::default());
    for file in files {
        let input = Input::open(&file.path)?;
        let len = input.source.len();
        let head = heads::head_of(&input.source);
        let begin = input.source.read_at(0, usize::try_from(len.min(4)).unwrap_or(0));
        classic += u64::from(begin.is_ok_and(|b| matches!(b[..], [b'C', b'D', b'F', 1 | 2 | 5])));
        // The padding of the first member has the hint.
        let is_small = len < ALIGNED_FROM && !members.is_empty();
        let own = if is_small { alignment.min(SMALL_ALIGNMENT) } else { alignment };
        let mut coming = Coming { name: &file.name, len, stamp: input.stamp(), room: 0 };
        coming.room = zip.room(coming, own, if members.is_empty() && own > 1 { HINT_LEN } else { 0 });
        short.begin(&head, len);
        zip.add(coming, &mut |put| {
            let mut done = 0;
            while done < len {
                let n = usize::try_from(len - done).unwrap_or(COPY_LEN).min(COPY_LEN);
                input.source.read_into(done, &mut buffer[..n]).map_err(|e| input.reason(e.into()))?;
                short.add(&buffer[..n]);
                put(&buffer[..n])?;
                done += n as u64;
                if !tell(n as u64) {
                    return Err(nc3z_reader::Error::interrupted().into());
                }
            }
            Ok(())
        })?;
        let filed = zip.filed.last().expect("it was added");
        recent.check(input, filed.crc32)?;
        short.end(members.len());
        members.push((file.name.clone(), entry_of(filed, head)));
    }
    recent.check_again()?;
    let bytes = limited_index(&mut members, short.members)?;
    let stamp = Stamp::default();
    let mut coming = Coming { name: index::NAME, len: bytes.len() as u64, stamp, room: 0 };
    coming.room = zip.room(coming, alignment, 0);
    zip.add(coming, &mut |put| put(&bytes))?;
    let offset = zip.filed.last().map_or(0, |f| f.offset);
    let comment = index::comment(offset, &bytes);
    let (out, _) = zip.finish(&comment)?;
    if let Some((_, first)) = members.first() {
        write_hint(out, first.offset, &comment).map_err(|e| Error::io(path, e))?;
    }
    check_written(out, members.len())?;
    Ok(classic)
}

/// The line of the index for a member of the ZIP.
pub(crate) fn entry_of(f: &Filed, head: Head) -> Entry {
    Entry { offset: f.offset, length: f.len, crc32: f.crc32, head, stamp: f.stamp }
}

/// Opens a bundle that was just written, as a reader does, and compares the number of its members and groups.
pub(crate) fn check_written(out: &File, members: usize) -> Result<()> {
    let wrong = |what: String| Error::refused(format!("the bundle that was written cannot be read: {what}"));
    let io = |e: io::Error| wrong(e.to_string());
    let source = Arc::new(FileSource::from_file(out.try_clone().map_err(io)?, Path::new("bundle"))?);
    let bundle = Bundle::open(source).map_err(|e| wrong(e.to_string()))?;
    let found = bundle.parts() + bundle.groups.packed.all().count();
    if found == members { Ok(()) } else { Err(wrong(format!("it has {found} members instead of {members}"))) }
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
