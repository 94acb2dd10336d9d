//! Bundles: many files in one, each read where it lies. An uncompressed ZIP or a tar; nc3z writes the former, with an index of its own
//! as last member. With the members' heads in it, a bundle and an aggregation in it are open after two requests.

mod ahead;
mod check;
mod heads;
mod index;
mod list;
mod local;
mod member;
mod write;

pub use ahead::Ahead;
pub use check::crc32_of;
pub use member::Member;
pub use write::{Bundled, write_bundle};

use crate::error::{Error, Result};
use crate::fragments::{Gathering, OpenFragment};
use ahead::AheadSource;
use heads::Head;
use index::Entry;
use nc3z_reader::source::SharedSource;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};
use zip::{CompressionMethod, ZipArchive};

/// Bytes at the end in which the end record of a ZIP lies.
const TAIL: u64 = 64 << 10;
/// Members of a bundle.
const MAX_MEMBERS: usize = 20_000_000;
/// Bytes of a header of a tar.
const TAR_HEADER: usize = 512;
/// Bytes of the name of a member of a tar.
const MAX_NAME: usize = 1 << 20;

/// How the members are found.
enum Directory {
    /// All places are known.
    Index(HashMap<String, Entry>),
    /// The ZIP's own directory, which does not tell where data begins.
    Zip(Mutex<ZipArchive<Reader>>),
}

/// An open bundle.
pub struct Bundle {
    source: SharedSource,
    directory: Directory,
    /// The ZIP's own directory, once a member is not as the index knows it.
    changed: Mutex<Option<ZipArchive<Reader>>>,
    /// Names in the order of the file.
    names: Vec<String>,
    kind: &'static str,
}

impl Bundle {
    /// Whether the bytes are those of a ZIP or a tar.
    ///
    /// # Errors
    /// What the system says.
    pub fn is_bundle(source: &SharedSource) -> Result<bool> {
        Ok(kind(source)?.is_some())
    }

    /// Opens a bundle.
    ///
    /// # Errors
    /// It is none; its directory is damaged, or names two members alike.
    pub fn open(source: SharedSource) -> Result<Self> {
        let wrong = |what: String| Error::refused(format!("the bundle cannot be opened: {what}"));
        match kind(&source)? {
            Some("zip") => {
                let (names, directory) = if let Some((names, entries)) = index::find(&source)? {
                    (names, Directory::Index(entries))
                } else {
                    let (names, archive) = zip_entries(&source).map_err(wrong)?;
                    (names, Directory::Zip(Mutex::new(archive)))
                };
                Ok(Bundle { source, directory, changed: Mutex::default(), names, kind: "zip" })
            }
            Some(_) => {
                let (names, entries) = tar_entries(&source).map_err(|e| wrong(e.to_string()))?;
                let (directory, changed) = (Directory::Index(entries), Mutex::default());
                Ok(Bundle { source, directory, changed, names, kind: "tar" })
            }
            None => Err(wrong("it is neither a ZIP nor a tar".into())),
        }
    }

    /// `zip` or `tar`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Whether places of members were found without the ZIP's own directory.
    pub fn is_indexed(&self) -> bool {
        matches!(self.directory, Directory::Index(_))
    }

    /// Names of all members, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The bytes of a member; nothing where there is none of that name.
    ///
    /// # Errors
    /// It is compressed or encrypted, or does not lie in the bundle.
    pub fn member(&self, name: &str) -> Result<Option<SharedSource>> {
        Ok(self.find(name, &self.source)?.map(|member| Arc::new(member) as SharedSource))
    }

    /// Where the bytes of a member begin in the bundle; nothing where there is none of that name.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn offset(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.find(name, &self.source)?.map(|member| member.offset()))
    }

    /// A member, which is read through `source`.
    fn find(&self, name: &str, source: &SharedSource) -> Result<Option<Member>> {
        let wrong = |what: String| Error::fragment(name, what);
        let entries = match &self.directory {
            Directory::Index(entries) => entries,
            Directory::Zip(archive) => {
                let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                return in_directory(&mut archive, name, source);
            }
        };
        let Some(Entry { offset, length, head, .. }) = entries.get(name) else { return Ok(None) };
        let member = |head| Member::new(source.clone(), *offset, *length, head).map_err(wrong);
        // An object on a server is another one when it changes, with another tag; and there the index saves requests.
        if self.kind == "tar" || source.reach().fetches_ahead() {
            return Ok(Some(member(head.clone())?));
        }
        // Here the bytes themselves are as near as the index, which does not know what was changed in place since.
        let begin = offset.saturating_sub(local::window_len(name));
        let window = source.read_at(begin, usize::try_from(offset - begin).unwrap_or(usize::MAX))?;
        if local::length(&window, name) == Some(*length) {
            return Ok(Some(member(Head::default())?));
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut archive = match changed.take() {
            Some(archive) => archive,
            None => zip_entries(&self.source).map_err(wrong)?.1,
        };
        let found = in_directory(&mut archive, name, source);
        *changed = Some(archive);
        found
    }
}

/// A member by the ZIP's own directory.
fn in_directory(
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
        return Err(wrong("the member is compressed; a ZIP made by `zip -0` is read where it lies".into()));
    }
    let offset = file.data_start().ok_or_else(|| wrong("the member has no place".into()))?;
    Ok(Some(Member::new(source.clone(), offset, file.size(), Head::default()).map_err(wrong)?))
}

/// The members of a ZIP by its own directory.
fn zip_entries(source: &SharedSource) -> Result<(Vec<String>, ZipArchive<Reader>), String> {
    let words = |e: zip::result::ZipError| e.to_string();
    let mut archive = ZipArchive::new(Reader::new(source.clone(), usize::MAX)).map_err(words)?;
    if archive.len() > MAX_MEMBERS {
        return Err(format!("it has {} members, more than {MAX_MEMBERS}", archive.len()));
    }
    if archive.has_overlapping_entries().map_err(words)? {
        return Err("its members overlap".into());
    }
    let names: Vec<String> = archive
        .file_names()
        .map(|name| Ok(name.map_err(words)?.into_owned()))
        .collect::<Result<_, String>>()?;
    let names = names.into_iter().filter(|n| !n.ends_with('/') && n != index::NAME).collect();
    Ok((names, archive))
}

/// Opens fragments of an aggregation that is a member: beside it in the bundle.
pub struct Members {
    bundle: Arc<Bundle>,
    directory: String,
    /// The source that members are read from.
    source: SharedSource,
}

impl Members {
    /// Names count from the directory of the member `aggregation`.
    pub fn beside(bundle: Arc<Bundle>, aggregation: &str) -> Self {
        let directory = aggregation.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
        let source = Arc::clone(&bundle.source);
        Members { bundle, directory, source }
    }
}

impl OpenFragment for Members {
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>> {
        if uri.contains("://") || uri.starts_with('/') {
            return Ok(None);
        }
        let decoded = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
        for name in [uri, &decoded] {
            let Some(name) = inside(&self.directory, name) else {
                return Err(Error::fragment(uri, "it is outside the bundle"));
            };
            for name in [&name, &format!("{name}.nc3z")] {
                if let Some(found) = self.bundle.find(name, &self.source)? {
                    return Ok(Some(Arc::new(found)));
                }
            }
        }
        Err(Error::Absent { file: uri.to_owned(), what: "the bundle has no such member".to_owned() })
    }

    fn gathering(&self) -> Option<Gathering> {
        // Of a gathering opener none: its reads are gathered already.
        let own = Arc::ptr_eq(&self.source, &self.bundle.source);
        (own && self.source.reach().fetches_ahead()).then(|| {
            let ahead = Arc::new(Ahead::new(Arc::clone(&self.source)));
            let source: SharedSource = Arc::new(AheadSource(Arc::clone(&ahead)));
            let (bundle, directory) = (Arc::clone(&self.bundle), self.directory.clone());
            Gathering { opener: Arc::new(Members { bundle, directory, source }), ahead }
        })
    }
}

/// A relative name, as one from the root of what it is in; nothing where it leads outside.
///
/// ```
/// use nc3z_aggregate::bundle::inside;
/// assert_eq!(inside("a/b", "../c.nc").as_deref(), Some("a/c.nc"));
/// assert_eq!(inside("a", "../../c.nc"), None);
/// ```
pub fn inside(directory: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|p| !p.is_empty()).collect();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

fn kind(source: &SharedSource) -> Result<Option<&'static str>> {
    let mut head = [0; 512];
    let len = usize::try_from(source.len().min(512)).unwrap_or(512);
    source.read_into(0, &mut head[..len])?;
    Ok(match &head[..] {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some("zip"),
        head if &head[257..262] == b"ustar" => Some("tar"),
        _ => None,
    })
}

/// Members of a tar: read through its headers once.
fn tar_entries(source: &SharedSource) -> io::Result<(Vec<String>, HashMap<String, Entry>)> {
    let mut archive = tar::Archive::new(Reader::new(source.clone(), MAX_NAME));
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
            crc32: 0,
            head: Head::default(),
        };
        if names.len() >= MAX_MEMBERS {
            return Err(io::Error::other("it has too many members"));
        }
        // Of two with one name the last counts, as when it is unpacked.
        if entries.insert(name.clone(), place).is_none() {
            names.push(name);
        }
    }
    Ok((names, entries))
}

/// A byte source as the standard library reads.
struct Reader {
    source: SharedSource,
    at: u64,
    /// Bytes that may be read at a stretch into buffers longer than a header of a tar: those are names, whose length the file says.
    most: usize,
    stretch: usize,
}

impl Reader {
    fn new(source: SharedSource, most: usize) -> Self {
        Reader { source, at: 0, most, stretch: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.source.len().saturating_sub(self.at)).unwrap_or(usize::MAX);
        let len = buf.len().min(left);
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

#[cfg(test)]
mod tests;
