//! Bundles: many files in one, each readable in place. nc3z writes a catalogue that holds its files ([`crate::catalog`]). Uncompressed
//! ZIPs and tars are read, too.

mod ahead;
pub(crate) mod check;
mod extract;
mod groups;
pub(crate) mod input;
mod listed;
mod member;
mod same;
pub(crate) mod stamp;
pub(crate) mod write;
mod zipped;

pub use ahead::Ahead;
pub use check::MemberCheck;
pub(crate) use extract::is_archive;
pub use extract::{MemberFile, MemberForm, extract};
pub use member::Member;
pub use stamp::Stamp;
pub use write::{Append, BundleOptions, Bundled, Written, write_bundle};
pub use zipped::write_zip;

use crate::catalog::{Catalog, Container, HeadKind, Range as Place};
use crate::error::{Error, Result};
use crate::fragments::{Gathering, OpenFragment};
use crate::pack::PackedMember;
use ahead::AheadSource;
use groups::Groups;
use listed::{Entry, Reader, in_directory, kind, tar_entries, zip_entries};
use nc3z_reader::parity::locate;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, Dataset, OpenOptions};
use nc3z_writer::Advice;
use std::collections::HashMap;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zip::ZipArchive;

/// The number of members that an error lists.
const LISTED: usize = 20;
/// The ending of the names of archives.
const SUFFIX: &str = ".nc3z";
/// The ending of the names of bundles.
const ENDING: &str = ".bundle.nc3z";

enum Directory {
    /// The table of a catalogue.
    Table(Box<Container>),
    /// The ranges of all members of a tar, and their names in the order of the file.
    Tar(HashMap<String, Entry>, Vec<String>),
    /// The ZIP's own directory, which does not give the offset of a member's data.
    Zip(Mutex<ZipArchive<Reader>>, Vec<String>),
}

/// An open bundle.
pub struct Bundle {
    /// The source that members are ranges of.
    source: SharedSource,
    directory: Directory,
    groups: Groups,
    names: OnceLock<Vec<String>>,
    /// The damage in spite of which it was opened.
    damage: Option<Error>,
}

/// Where a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberPlace {
    /// The offset of its first byte in the bundle's file; of a packed member, that of its group.
    pub offset: u64,
    /// The number of bytes from there to its end.
    pub len: u64,
    /// True for a packed member.
    pub packed: bool,
    /// Its offset in the content of the bundle.
    content: Option<u64>,
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
    /// Returns whether the bytes are those of a bundle: a catalogue with its files, a ZIP or a tar.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn is_bundle(source: &SharedSource) -> Result<bool> {
        if !Archive::is_one(&**source)? {
            return Ok(kind(source)?.is_some());
        }
        let opened = Dataset::from_source(Arc::clone(source), &OpenOptions::default());
        Ok(opened.is_ok_and(|dataset| Self::is_one(&dataset)))
    }

    /// Returns whether a file on disk is a bundle, whatever its name is. False if it cannot be read.
    pub fn is_file(path: &Path) -> bool {
        let opened = || nc3z_reader::source::open(path, false).ok();
        let is_bundle = |source| Container::may_be(&source) && Self::is_bundle(&source).unwrap_or(false);
        path.is_file() && opened().is_some_and(is_bundle)
    }

    /// Returns whether a dataset is the table of a bundle.
    pub fn is_one(dataset: &Dataset) -> bool {
        Container::is_one(dataset.header())
    }

    /// Returns whether a name is one that bundles have. It is enough for an object on a server.
    pub fn is_name(name: &str) -> bool {
        [ENDING, ".zip", ".tar"].iter().any(|ending| {
            let at = name.len().checked_sub(ending.len());
            at.and_then(|at| name.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
        })
    }

    /// Opens a bundle.
    ///
    /// # Errors
    /// It is not a bundle, or it is damaged.
    pub fn open(source: SharedSource) -> Result<Self> {
        Self::open_with(source, &OpenOptions::default())
    }

    /// Opens a bundle, whose archive is opened with these options: an older version, for example.
    ///
    /// # Errors
    /// As [`Bundle::open`].
    pub fn open_with(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        if Archive::is_one(&*source)? {
            return Self::from_archive(&Archive::from_source(source, options)?);
        }
        Self::listed(source)
    }

    /// Opens a bundle, also a damaged one as far as it can be opened: lost tiles of its table have fill values then, and
    /// [`Bundle::damage`] returns what is wrong.
    ///
    /// # Errors
    /// It is not a bundle, or its table is lost.
    pub fn open_damaged(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        match Self::open_with(Arc::clone(source), options) {
            Err(e) if e.is_corrupt() && Archive::is_one(&**source)? => {
                let mut bundle = Self::from_archive(&Archive::open_filled(source, options, &())?.0)?;
                bundle.damage = Some(e);
                Ok(bundle)
            }
            opened => opened,
        }
    }

    /// Returns the damage of the bundle in spite of which it was opened.
    pub fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    /// Opens the bundle in an archive.
    ///
    /// # Errors
    /// It is not a bundle.
    pub fn from_archive(archive: &Archive) -> Result<Self> {
        if !Container::is_one(archive.header()) {
            return Err(Error::refused(
                "the bundle cannot be opened: it is an archive without a table of files",
            ));
        }
        let container = Container::open(archive)?;
        let source: SharedSource = Arc::clone(container.content()) as SharedSource;
        Ok(Self::new(source, Directory::Table(Box::new(container))))
    }

    fn listed(source: SharedSource) -> Result<Self> {
        let wrong = |what: String| Error::refused(format!("the bundle cannot be opened: {what}"));
        let kind = kind(&source)?
            .ok_or_else(|| wrong("it is neither a bundle of nc3z nor a ZIP nor a tar".into()))?;
        let directory = if kind == "tar" {
            let (names, entries) = tar_entries(&source).map_err(|e| wrong(e.to_string()))?;
            Directory::Tar(entries, names)
        } else {
            let (names, archive) = zip_entries(&source)?;
            Directory::Zip(Mutex::new(archive), names)
        };
        Ok(Self::new(source, directory))
    }

    fn new(source: SharedSource, directory: Directory) -> Self {
        Bundle { source, directory, groups: Groups::default(), names: OnceLock::new(), damage: None }
    }

    fn container(&self) -> Option<&Container> {
        match &self.directory {
            Directory::Table(container) => Some(container),
            _ => None,
        }
    }

    /// `bundle`, `zip` or `tar`.
    pub fn kind(&self) -> &'static str {
        match &self.directory {
            Directory::Table(_) => "bundle",
            Directory::Tar(..) => "tar",
            Directory::Zip(..) => "zip",
        }
    }

    /// The archive of the table and the members. None for a ZIP and a tar.
    pub fn archive(&self) -> Option<&Archive> {
        self.container().map(Container::archive)
    }

    /// Returns whether it has parity, with which it is repaired.
    pub fn has_parity(&self) -> bool {
        self.archive().is_some_and(|archive| locate(archive.source()).is_ok_and(|parity| parity.is_some()))
    }

    /// The catalogue of its members, whose names begin with that of the bundle. None for a ZIP and a tar.
    ///
    /// # Errors
    /// Damage.
    pub fn catalog(&self, name: &str) -> Result<Option<Catalog>> {
        self.container().map(|container| container.catalog(name)).transpose()
    }

    /// Names of all members, in the order of the bundle.
    ///
    /// # Errors
    /// The table is damaged, or a name is not valid.
    pub fn names(&self) -> Result<&[String]> {
        let container = match &self.directory {
            Directory::Tar(_, names) | Directory::Zip(_, names) => return Ok(names),
            Directory::Table(container) => container,
        };
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = (0..container.len()).map(|number| Ok(container.name(number)?.to_owned()));
        let names = names.collect::<Result<Vec<String>>>()?;
        Ok(self.names.get_or_init(|| names))
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        match &self.directory {
            Directory::Tar(_, names) | Directory::Zip(_, names) => names.len(),
            Directory::Table(container) => container.len(),
        }
    }

    /// Returns true if it has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of a member. None where no member has that name.
    ///
    /// # Errors
    /// The member is compressed or encrypted, or is not inside the bundle; damage.
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
        let names = self.names()?;
        let mut known = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        if names.len() > LISTED {
            known.push_str(", …");
        }
        Err(Error::NoMember { bundle: shown.to_owned(), name: name.to_owned(), known })
    }

    /// Returns modification time and permissions of a member's file, as far as the bundle has them.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn stamp(&self, name: &str) -> Result<Stamp> {
        if let Some(container) = self.container() {
            let number = number_of(container, name)?;
            let head = number.map(|number| container.record(number)).transpose()?;
            return Ok(head.map(|head| Stamp::of_head(&head)).unwrap_or_default());
        }
        Ok(self.find(name, &self.source)?.map(|member| member.stamp()).unwrap_or_default())
    }

    /// Returns where a member is. None where no member has that name.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn place(&self, name: &str) -> Result<Option<MemberPlace>> {
        let Some(container) = self.container() else {
            let member = self.find(name, &self.source)?;
            return Ok(member.map(|member| MemberPlace {
                offset: member.offset(),
                len: nc3z_reader::source::ByteSource::len(&member),
                packed: false,
                content: None,
            }));
        };
        let Some(number) = number_of(container, name)? else { return Ok(None) };
        let head = container.head(number)?;
        let places = container.content().places(head.offset..head.offset + head.stored)?;
        let offset = places.iter().map(|place| place.start).min().unwrap_or(0);
        let end = places.iter().map(|place| place.end).max().unwrap_or(0);
        let (packed, content) = (head.kind == HeadKind::Packed, Some(head.offset));
        Ok(Some(MemberPlace { offset, len: end - offset, packed, content }))
    }

    /// Returns the ranges of the bundle's file in which a range of a member is, from `place.offset` on.
    ///
    /// # Errors
    /// The range leaves the member's bundle; damage.
    pub(crate) fn places(&self, place: &MemberPlace, range: Place) -> Result<Vec<Place>> {
        let (Some(container), Some(begin)) = (self.container(), place.content) else {
            return Ok(vec![range]);
        };
        let begin = begin.saturating_add(range.offset);
        let found = container.content().places(begin..begin.saturating_add(range.len))?;
        let of = |found: &std::ops::Range<u64>| Place {
            offset: found.start.wrapping_sub(place.offset),
            len: found.end - found.start,
        };
        Ok(found.iter().map(of).collect())
    }

    /// Returns the offset of a member's bytes in the bundle's file. None where no member has that name.
    ///
    /// # Errors
    /// As [`Bundle::member`]; the member is packed, or its bytes are in several parts of the file.
    pub fn offset(&self, name: &str) -> Result<Option<u64>> {
        let Some(place) = self.place(name)? else { return Ok(None) };
        let len = self.find(name, &self.source)?.map(|member| nc3z_reader::source::ByteSource::len(&member));
        let what = match len {
            None => "it is packed",
            Some(len) if len != place.len => "it is stored in several tiles of the bundle",
            Some(_) => return Ok(Some(place.offset)),
        };
        let what = format!("references need its bytes in one range of the file, and {what}");
        Err(Error::refused(format!("member `{name}`: {what}")).advised(Advice::Extract))
    }

    /// Returns whether a member has this name, not that of its archive.
    fn is_own_name(&self, name: &str) -> Result<bool> {
        match &self.directory {
            Directory::Table(container) => Ok(container.find(name)?.is_some()),
            Directory::Tar(_, names) | Directory::Zip(_, names) => {
                Ok(names.iter().any(|known| known == name))
            }
        }
    }

    /// A member of either kind. The name of an original stands for its archive too.
    fn any(&self, name: &str, source: &SharedSource) -> Result<Option<Found>> {
        if let Some(member) = self.packed_member(name)? {
            return Ok(Some(Found::Packed(Box::new(member))));
        }
        Ok(self.find(name, source)?.map(Found::Plain))
    }

    /// A member that is not packed, or a group, which is read through `source`.
    fn find(&self, name: &str, source: &SharedSource) -> Result<Option<Member>> {
        let wrong = |what: String| Error::fragment(name, what);
        match &self.directory {
            Directory::Table(container) => {
                if let Some(group) = self.group_place(name)? {
                    return Ok(Some(Member::new(source.clone(), group.offset, group.stored).map_err(wrong)?));
                }
                let Some(number) = number_of(container, name)? else { return Ok(None) };
                let head = container.head(number)?;
                if head.kind == HeadKind::Packed {
                    return Ok(None);
                }
                Ok(Some(Member::new(source.clone(), head.offset, head.stored).map_err(wrong)?))
            }
            Directory::Tar(entries, _) => {
                let Some(&Entry { offset, length, stamp }) = entries.get(name) else { return Ok(None) };
                let member = Member::new(source.clone(), offset, length).map_err(wrong)?;
                Ok(Some(member.with_record(None, stamp)))
            }
            Directory::Zip(archive, _) => {
                let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                in_directory(&mut archive, name, source)
            }
        }
    }

    /// A member that is not packed, with its checksum, time and permissions.
    fn recorded(&self, name: &str) -> Result<Option<Member>> {
        let Some(member) = self.find(name, &self.source)? else { return Ok(None) };
        let Some(container) = self.container() else { return Ok(Some(member)) };
        let Some(number) = number_of(container, name)? else { return Ok(Some(member)) };
        let head = container.record(number)?;
        Ok(Some(member.with_record(head.crc32, Stamp::of_head(&head))))
    }
}

/// The number of the member with a name; if there is none, of the archive of that name.
fn number_of(container: &Container, name: &str) -> Result<Option<usize>> {
    match container.find(name)? {
        None => container.find(&format!("{name}{SUFFIX}")),
        found => Ok(found),
    }
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
        for name in crate::fragments::names_of(uri) {
            let Some(name) = inside(&self.directory, &name) else {
                return Err(Error::fragment(uri, "it is outside the bundle"));
            };
            if let Some(found) = self.bundle.any(&name, &self.source)? {
                return Ok(Some(found.source()));
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
    // Empty parts of a URL's directory stay: its server decides what they mean.
    let mut parts: Vec<&str> = if directory.is_empty() { Vec::new() } else { directory.split('/').collect() };
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

#[cfg(test)]
mod tests;
