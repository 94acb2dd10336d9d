//! Members of a ZIP or a tar, by its own list.

use super::member::Member;
use super::stamp::Stamp;
use crate::error::{Error, Result};
use nc3z_format::Error as FormatError;
use nc3z_reader::source::SharedSource;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use zip::{CompressionMethod, ZipArchive};

/// The maximal number of members of a bundle.
const MAX_MEMBERS: usize = 20_000_000;
/// The length in bytes of a header of a tar.
const TAR_HEADER: usize = 512;
/// The maximal length in bytes of the name of a member of a tar.
const MAX_NAME: usize = 1 << 20;

/// The place of a member of a tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) stamp: Stamp,
}

/// Returns `zip` or `tar`, if a source is one by its first bytes.
pub(super) fn kind(source: &SharedSource) -> Result<Option<&'static str>> {
    let mut head = [0; 512];
    let len = usize::try_from(source.len().min(512)).unwrap_or(512);
    source.read_into(0, &mut head[..len])?;
    Ok(match &head[..] {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some("zip"),
        head if &head[257..262] == b"ustar" => Some("tar"),
        _ => None,
    })
}

/// Finds a member in the ZIP's own directory.
pub(super) fn in_directory(
    archive: &mut ZipArchive<Reader>,
    name: &str,
    source: &SharedSource,
) -> Result<Option<Member>> {
    let wrong = |what: String| Error::fragment(name, what);
    let Some(n) = archive.index_for_name(name) else { return Ok(None) };
    let file = archive.by_index_raw(n).map_err(|e| wrong(e.to_string()))?;
    if file.encrypted() {
        return Err(wrong("the member is encrypted".into()));
    }
    if file.compression() != CompressionMethod::Stored {
        return Err(wrong("the member is compressed; a ZIP made by `zip -0` is read in place".into()));
    }
    let offset = file.data_start().ok_or_else(|| wrong("the offset of the member is unknown".into()))?;
    let member = Member::new(source.clone(), offset, file.size()).map_err(wrong)?;
    let fields = file.extra_data_fields().filter_map(|field| match field {
        zip::extra_fields::ExtraField::ExtendedTimestamp(time) => time.mod_time(),
        _ => None,
    });
    // The field has a signed number.
    let seconds = fields.last().map(|seconds| i64::from(seconds.cast_signed()));
    Ok(Some(member.with_record(Some(file.crc32()), Stamp::of_seconds(seconds, file.unix_mode()))))
}

/// A ZIP by its own directory: the one at its end.
fn zip_of(source: &SharedSource) -> Result<ZipArchive<Reader>> {
    let archive = ZipArchive::new(Reader::new(source.clone(), usize::MAX)).map_err(of_zip)?;
    // The end of a ZIP that is a member has an offset.
    if archive.offset() != 0 {
        let found = archive.central_directory_start();
        let expected = "that of all members";
        return Err(FormatError::corrupt("bundle", found, "list of members", expected, "another").into());
    }
    Ok(archive)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn of_zip(e: zip::result::ZipError) -> Error {
    Error::refused(format!("the bundle cannot be opened: {e}"))
}

/// Lists the members of a ZIP from its own directory.
pub(super) fn zip_entries(source: &SharedSource) -> Result<(Vec<String>, ZipArchive<Reader>)> {
    let wrong = |what: &str| Error::refused(format!("the bundle cannot be opened: {what}"));
    let mut archive = zip_of(source)?;
    if archive.len() > MAX_MEMBERS {
        return Err(wrong(&format!("it has {} members, more than {MAX_MEMBERS}", archive.len())));
    }
    if archive.has_overlapping_entries().map_err(of_zip)? {
        return Err(wrong("its members overlap"));
    }
    if archive.has_duplicate_names() {
        return Err(wrong("two of its members have the same name"));
    }
    let names = archive.file_names().map(|name| Ok(name.map_err(of_zip)?.into_owned()));
    let names = names.collect::<Result<Vec<String>>>()?;
    Ok((names.into_iter().filter(|name| !name.ends_with('/')).collect(), archive))
}

/// Lists the members of a tar by reading all its headers once.
pub(super) fn tar_entries(source: &SharedSource) -> io::Result<(Vec<String>, HashMap<String, Entry>)> {
    let mut archive = tar::Archive::new(Reader::new(source.clone(), MAX_NAME));
    let mut last = None;
    let listed = list_tar(&mut archive, &mut last);
    let is_cut = listed.is_err() && archive.into_inner().is_past_end;
    if is_cut { Err(cut_tar(source.len(), last)) } else { listed }
}

/// The error for a tar that ends before its last member does. `last` is the last member of which the header is there, with its end.
fn cut_tar(len: u64, last: Option<(String, u64)>) -> io::Error {
    let inside = last.filter(|(_, end)| *end > len);
    let inside = inside.map(|(name, end)| format!(", inside `{name}`, which needs the bytes up to {end}"));
    let words =
        format!("the tar is cut short: it ends at byte {len}{}; copy it again", inside.unwrap_or_default());
    io::Error::new(io::ErrorKind::UnexpectedEof, words)
}

/// Lists the members of a tar. `last` becomes the last file that was found, with the offset of its end.
fn list_tar(
    archive: &mut tar::Archive<Reader>,
    last: &mut Option<(String, u64)>,
) -> io::Result<(Vec<String>, HashMap<String, Entry>)> {
    let (mut names, mut entries) = (Vec::new(), HashMap::new());
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let place = Entry {
            offset: entry.raw_file_position(),
            length: entry.size(),
            stamp: Stamp::of_seconds(
                entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok()),
                entry.header().mode().ok(),
            ),
        };
        if names.len() >= MAX_MEMBERS {
            return Err(io::Error::other("it has too many members"));
        }
        *last = Some((name.clone(), place.offset.saturating_add(place.length)));
        // Of two members with the same name the last one counts, as when the tar is unpacked.
        if entries.insert(name.clone(), place).is_none() {
            names.push(name);
        }
    }
    Ok((names, entries))
}

/// A byte source with the traits of the standard library.
pub(super) struct Reader {
    source: SharedSource,
    at: u64,
    /// The maximal length of a single read into a buffer longer than a header of a tar. Such reads are names,
    /// whose length is given by the file.
    most: usize,
    stretch: usize,
    /// True after a read at or beyond the end.
    is_past_end: bool,
}

impl Reader {
    fn new(source: SharedSource, most: usize) -> Self {
        Reader { source, at: 0, most, stretch: 0, is_past_end: false }
    }
}

impl Read for Reader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.source.len().saturating_sub(self.at)).unwrap_or(usize::MAX);
        let len = buf.len().min(left);
        self.is_past_end = left == 0 && !buf.is_empty();
        if self.at > self.source.len() {
            let (end, at) = (self.source.len(), self.at);
            let words = format!("it ends at byte {end}, before byte {at}, where more of it should be");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words));
        }
        self.stretch = if buf.len() > TAR_HEADER { self.stretch.saturating_add(len) } else { 0 };
        if self.stretch > self.most {
            return Err(io::Error::other(format!("the name of a member has more than {} bytes", self.most)));
        }
        self.source.read_into(self.at, &mut buf[..len]).map_err(|e| io::Error::other(e.with_causes()))?;
        self.at += len as u64;
        Ok(len)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.source.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.stretch = 0;
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before the beginning"))?;
        Ok(self.at)
    }
}
