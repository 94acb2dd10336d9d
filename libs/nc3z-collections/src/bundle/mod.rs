//! Bundles: many files in one, each readable in place. A bundle is an uncompressed ZIP or a tar. nc3z writes
//! a ZIP with its own index as last member. The index has the members' heads, so that a bundle and an
//! aggregation in it are open after two requests.

mod ahead;
pub(crate) mod check;
mod extract;
pub(crate) mod heads;
pub(crate) mod index;
pub(crate) mod input;
mod list;
pub(crate) mod local;
mod member;
mod open_groups;
pub(crate) mod packed;
mod repair;
mod same;
pub(crate) mod stamp;
pub(crate) mod write;

pub use ahead::Ahead;
pub use check::MemberCheck;
pub use extract::{MemberFile, MemberForm, extract};
pub use member::Member;
pub use repair::RepairedBundle;
pub use stamp::Stamp;
pub use write::{Bundled, write_bundle};

use crate::error::{Error, Result};
use crate::fragments::{Gathering, OpenFragment};
use crate::pack::PackedMember;
use ahead::AheadSource;
use heads::Head;
use index::{Entries, Entry, Lookup};
use nc3z_format::Error as FormatError;
use nc3z_reader::source::SharedSource;
use nc3z_writer::Advice;
use open_groups::Groups;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zip::{CompressionMethod, ZipArchive};

/// The number of bytes at the end that contain the end record of a ZIP, with its comment.
const TAIL: u64 = 22 + (64 << 10);
/// The number of members that an error lists.
const LISTED: usize = 20;
/// The maximal number of members of a bundle.
const MAX_MEMBERS: usize = 20_000_000;
/// The length in bytes of a header of a tar.
const TAR_HEADER: usize = 512;
/// The maximal length in bytes of the name of a member of a tar.
const MAX_NAME: usize = 1 << 20;

enum Directory {
    /// The ranges of all members are known.
    Index(HashMap<String, Entry>),
    /// The ZIP's own directory, which does not give the offset of a member's data.
    Zip(Mutex<ZipArchive<Reader>>),
}

/// An open bundle.
pub struct Bundle {
    source: SharedSource,
    directory: Directory,
    /// The ZIP's own directory, read after a member turned out to differ from its entry in the index.
    changed: Mutex<Option<ZipArchive<Reader>>>,
    /// Names in the order of the file, of members that are not packed.
    plain: Vec<String>,
    groups: Groups,
    /// Written as a packed bundle.
    packed: bool,
    /// The damage in spite of which it was opened.
    damage: Option<Error>,
    names: OnceLock<Vec<String>>,
    kind: &'static str,
}

/// The object that a name refers to.
enum Found {
    /// Bytes of the bundle.
    Plain(Member),
    /// A member of a group.
    Packed(Box<PackedMember>),
}

impl Found {
    fn source(self) -> SharedSource {
        match self {
            Found::Plain(member) => Arc::new(member),
            Found::Packed(member) => Arc::new(*member),
        }
    }
}

impl Bundle {
    /// Returns whether the bytes are those of a ZIP or a tar.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn is_bundle(source: &SharedSource) -> Result<bool> {
        Ok(kind(source)?.is_some())
    }

    /// Opens a bundle.
    ///
    /// # Errors
    /// It is not a bundle, it is shorter than its first bytes say, its index or directory is damaged, or two members have the same name.
    pub fn open(source: SharedSource) -> Result<Self> {
        Self::open_any(source, false)
    }

    /// Opens a bundle, also one whose end is lost or whose index is damaged: its members are then those of a ZIP directory that is still
    /// there, which may be an older one. [`Bundle::damage`] returns what is wrong.
    ///
    /// # Errors
    /// It is not a bundle, or has no directory at all.
    pub fn open_damaged(source: SharedSource) -> Result<Self> {
        Self::open_any(source, true)
    }

    /// Returns the damage of the bundle in spite of which it was opened.
    pub fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    fn open_any(source: SharedSource, damaged: bool) -> Result<Self> {
        let wrong = |what: String| Error::refused(format!("the bundle cannot be opened: {what}"));
        let kind = kind(&source)?.ok_or_else(|| wrong("it is neither a ZIP nor a tar".into()))?;
        let mut damage = None;
        let (source, found) = match kind {
            "zip" => match look_up(&source) {
                Err(e) if damaged && e.is_corrupt() => {
                    damage = Some(e);
                    (source, None)
                }
                found => found?,
            },
            _ => (source, None),
        };
        let (found, directory) = if kind == "tar" {
            let (names, entries) = tar_entries(&source).map_err(|e| wrong(e.to_string()))?;
            (Entries { names, ..Entries::default() }, Directory::Index(entries))
        } else if let Some(mut found) = found {
            let entries = std::mem::take(&mut found.members);
            (found, Directory::Index(entries))
        } else {
            let (names, archive) = zip_entries(&source, damage.is_some())?;
            (Entries { names, ..Entries::default() }, Directory::Zip(Mutex::new(archive)))
        };
        let groups = Groups::new(found.packed);
        let (changed, names) = (Mutex::default(), OnceLock::new());
        let (plain, packed) = (found.names, false);
        let mut bundle = Bundle { source, directory, changed, plain, groups, packed, damage, names, kind };
        bundle.set_groups_apart()?;
        Ok(bundle)
    }

    /// The bundle's bytes, without what an interrupted run left behind its end.
    pub(crate) fn source(&self) -> &SharedSource {
        &self.source
    }

    /// The members and the packed members that its index lists.
    pub(crate) fn into_parts(self) -> (HashMap<String, Entry>, packed::Packed) {
        let entries = match self.directory {
            Directory::Index(entries) => entries,
            Directory::Zip(_) => HashMap::new(),
        };
        (entries, self.groups.packed)
    }

    /// The number of members of the ZIP or tar, with groups.
    fn parts(&self) -> usize {
        match &self.directory {
            Directory::Index(entries) => entries.len(),
            Directory::Zip(_) => self.plain.len() + self.groups.packed.lines.len(),
        }
    }

    /// `zip` or `tar`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns whether members were found without the ZIP's own directory.
    pub fn is_indexed(&self) -> bool {
        matches!(self.directory, Directory::Index(_))
    }

    /// Names of all members, in the order of the file.
    pub fn names(&self) -> &[String] {
        self.names.get_or_init(|| {
            let packed = self.groups.packed.all().map(str::to_owned);
            packed.chain(self.plain.iter().cloned()).collect()
        })
    }

    /// Returns the bytes of a member. None where no member has that name.
    ///
    /// # Errors
    /// The member is compressed or encrypted, or is not inside the bundle.
    pub fn member(&self, name: &str) -> Result<Option<SharedSource>> {
        Ok(self.any(name, &self.source)?.map(Found::source))
    }

    /// Returns the bytes of a member, as [`Bundle::member`]. A member that does not exist is an error that names the first members and
    /// the bundle, as `shown`.
    ///
    /// # Errors
    /// The member does not exist; as [`Bundle::member`].
    pub fn require(&self, name: &str, shown: &str) -> Result<SharedSource> {
        if let Some(source) = self.member(name)? {
            return Ok(source);
        }
        let mut known = self.names().iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        if self.names().len() > LISTED {
            known.push_str(", …");
        }
        Err(Error::NoMember { bundle: shown.to_owned(), name: name.to_owned(), known })
    }

    /// Returns modification time and permissions of a member's file, as far as the bundle has them.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn stamp(&self, name: &str) -> Result<Stamp> {
        if let Some(stamp) = self.groups.packed.stamp(name) {
            return Ok(stamp);
        }
        if let Directory::Index(entries) = &self.directory
            && let Some(entry) = entries.get(name)
        {
            return Ok(entry.stamp);
        }
        let mut found = self.find(name, &self.source)?;
        if found.is_none() && self.packed {
            found = self.find(&format!("{name}.nc3z"), &self.source)?;
        }
        Ok(found.map(|member| member.stamp()).unwrap_or_default())
    }

    /// Returns the offset of a member's bytes in the bundle. None where no member has that name.
    ///
    /// # Errors
    /// As [`Bundle::member`]; the member is packed.
    pub fn offset(&self, name: &str) -> Result<Option<u64>> {
        if self.groups.packed.find(name).is_some() {
            let what = "it is packed: its bytes are not in the bundle as they are";
            return Err(Error::fragment(name, what).advised(Advice::Extract));
        }
        Ok(self.find(name, &self.source)?.map(|member| member.offset()))
    }

    /// A member of either kind. In a packed bundle the name of an original stands for its archive too.
    fn any(&self, name: &str, source: &SharedSource) -> Result<Option<Found>> {
        if let Some(member) = self.packed_member(name)? {
            return Ok(Some(Found::Packed(Box::new(member))));
        }
        let found = self.find(name, source)?;
        if found.is_some() || !self.packed {
            return Ok(found.map(Found::Plain));
        }
        Ok(self.find(&format!("{name}.nc3z"), source)?.map(Found::Plain))
    }

    /// A member that is not packed, which is read through `source`.
    fn find(&self, name: &str, source: &SharedSource) -> Result<Option<Member>> {
        let wrong = |what: String| Error::fragment(name, what);
        let entries = match &self.directory {
            Directory::Index(entries) => entries,
            Directory::Zip(archive) => {
                let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                return in_directory(&mut archive, name, source);
            }
        };
        let Some(entry) = entries.get(name) else { return Ok(None) };
        let &Entry { offset, length, crc32, .. } = entry;
        let recorded = (self.kind != "tar").then_some(crc32);
        let member = |head| {
            let member = Member::new(source.clone(), offset, length, head).map_err(wrong)?;
            Ok(Some(member.with_record(recorded, entry.stamp)))
        };
        // On a server, a changed object has another tag, so the index is up to date, and using it saves
        // requests.
        if self.kind == "tar" || source.reach().fetches_ahead() {
            return member(entry.head.clone());
        }
        // A local bundle may have been changed in place since the index was written. Reading the header is
        // cheap, so it is checked.
        if local::find(source, offset, name)?.is_some_and(|local| local.is_of(length, crc32)) {
            return member(Head::default());
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut archive = match changed.take() {
            Some(archive) => archive,
            None => zip_entries(&self.source, false)?.1,
        };
        let found = in_directory(&mut archive, name, source);
        *changed = Some(archive);
        found
    }
}

/// Finds a member in the ZIP's own directory.
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
        return Err(wrong("the member is compressed; a ZIP made by `zip -0` is read in place".into()));
    }
    let offset = file.data_start().ok_or_else(|| wrong("the offset of the member is unknown".into()))?;
    let member = Member::new(source.clone(), offset, file.size(), Head::default()).map_err(wrong)?;
    let fields = file.extra_data_fields().filter_map(|field| match field {
        zip::extra_fields::ExtraField::ExtendedTimestamp(time) => time.mod_time(),
        _ => None,
    });
    // The field has a signed number.
    let seconds = fields.last().map(|seconds| i64::from(seconds.cast_signed()));
    Ok(Some(member.with_record(Some(file.crc32()), Stamp::of_seconds(seconds, file.unix_mode()))))
}

/// The bytes of a ZIP without those that an interrupted run left behind its end, and what its index says.
fn look_up(source: &SharedSource) -> Result<(SharedSource, Option<Entries>)> {
    match index::find(source)? {
        Lookup::Found(found) => Ok((source.clone(), Some(found))),
        Lookup::Nothing => Ok((source.clone(), None)),
        Lookup::Torn(len) => {
            let whole = Member::new(source.clone(), 0, len, Head::default()).map_err(Error::refused)?;
            let source: SharedSource = Arc::new(whole);
            match index::find(&source)? {
                Lookup::Found(found) => Ok((source, Some(found))),
                Lookup::Nothing | Lookup::Torn(_) => Ok((source, None)),
            }
        }
    }
}

/// A ZIP by its own directory: the one at its end. An older one in front of it counts only for a bundle that is known to be `damaged`.
pub(crate) fn zip_of(source: &SharedSource, damaged: bool) -> Result<ZipArchive<Reader>> {
    let archive = ZipArchive::new(Reader::new(source.clone(), usize::MAX)).map_err(of_zip)?;
    let tail = index::Tail::new(source)?;
    let (expected, found) = (tail.end().map(|end| end.directory), archive.central_directory_start());
    // The end of a ZIP that is a member has an offset.
    let is_other = archive.offset() != 0 || expected.is_some_and(|expected| expected != found);
    if is_other && !damaged {
        let expected = expected.map_or("that of the last member".to_owned(), |at| format!("at byte {at}"));
        return Err(FormatError::corrupt("bundle", found, "list of members", expected, "another").into());
    }
    Ok(archive)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn of_zip(e: zip::result::ZipError) -> Error {
    Error::refused(format!("the bundle cannot be opened: {e}"))
}

/// Lists the members of a ZIP from its own directory.
fn zip_entries(source: &SharedSource, damaged: bool) -> Result<(Vec<String>, ZipArchive<Reader>)> {
    let wrong = |what: &str| Error::refused(format!("the bundle cannot be opened: {what}"));
    let mut archive = zip_of(source, damaged)?;
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
    Ok((names.into_iter().filter(|n| !n.ends_with('/') && n != index::NAME).collect(), archive))
}

/// Opens fragments of an aggregation that is a member: other members of the bundle.
pub struct Members {
    bundle: Arc<Bundle>,
    directory: String,
    /// The source that members are read from.
    source: SharedSource,
}

impl Members {
    /// Opens members by names relative to the directory of the member `aggregation`.
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
                if let Some(found) = self.bundle.any(name, &self.source)? {
                    return Ok(Some(found.source()));
                }
            }
        }
        Err(Error::Absent { file: uri.to_owned(), what: "the bundle has no such member".to_owned() })
    }

    fn gathering(&self) -> Option<Gathering> {
        // An opener that is already gathering returns None.
        let own = Arc::ptr_eq(&self.source, &self.bundle.source);
        (own && self.source.reach().fetches_ahead()).then(|| {
            let ahead = Arc::new(Ahead::new(Arc::clone(&self.source)));
            let source: SharedSource = Arc::new(AheadSource(Arc::clone(&ahead)));
            let (bundle, directory) = (Arc::clone(&self.bundle), self.directory.clone());
            Gathering { opener: Arc::new(Members { bundle, directory, source }), ahead }
        })
    }
}

/// Resolves a relative name against a directory of the bundle. None where it leads outside the bundle.
///
/// ```
/// use nc3z_collections::bundle::inside;
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

/// Lists the members of a tar by reading all its headers once.
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
            stamp: Stamp::of_seconds(
                entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok()),
                entry.header().mode().ok(),
            ),
        };
        if names.len() >= MAX_MEMBERS {
            return Err(io::Error::other("it has too many members"));
        }
        // Of two members with the same name the last one counts, as when the tar is unpacked.
        if entries.insert(name.clone(), place).is_none() {
            names.push(name);
        }
    }
    Ok((names, entries))
}

/// A byte source with the traits of the standard library.
pub(crate) struct Reader {
    source: SharedSource,
    at: u64,
    /// The maximal length of a single read into a buffer longer than a header of a tar. Such reads are names,
    /// whose length is given by the file.
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
