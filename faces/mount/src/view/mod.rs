//! The file tree that programs see: every `x.nc.nc3z` of the source appears as `x.nc`, with the bytes of the
//! original. Other files are unchanged.
//!
//! * **Names.** Archives lose their `.nc3z`. If `x.nc` exists too, the file is shown. Older versions are
//!   `.versions/x.nc/1`, `2`, …, next to links with the names of tags. `.versions` is in every directory, but
//!   is never listed.
//! * **Numbers.** A file's number depends on the device and inode of the underlying file, so that it is the
//!   same in the next mount. If an archive changes while one of its numbers is in use, the new content gets a
//!   new number. A program that has the old one open continues to read the old content, and no cache that is
//!   keyed by numbers can mix the two.
//! * **Bytes.** [`Handle::read`] reads any range, through the cache of decoded tiles, and decodes ahead when
//!   a program reads forward. Reading damaged bytes is an error, which is logged once. Other bytes of the file
//!   are still readable.
//! * **Time.** Nothing is cached of directories and plain files. Cached data of an archive are read again
//!   when its file's length, times or inode change.

mod aggregation;
mod ahead;
mod attr;
mod event;
mod facts;
mod handle;
mod names;
mod nodes;
mod open_archives;
mod options;
mod original;
mod platform;
mod tree;
mod walk;

pub use aggregation::{FragmentsState, Presented, fragment_of};
pub use attr::{Attr, BLOCK_LEN, NodeKind};
pub use event::Event;
pub use handle::{Handle, State};
pub use nodes::ROOT;
pub use options::ViewOptions;
pub use walk::{Found, StoredSize};

use aggregation::Aggregations;
use ahead::Ahead;
use attr::{Stat, number};
use event::Log;
use facts::Facts;
use names::{VERSIONS, archive_of, is_dot_name, is_name, link_target, original_of};
use nc3z::Name;
use nc3z::opener::{Found as Input, Kind, Opener, WrongKind};
use nc3z_reader::{Error, Result};
use nodes::{NodeTarget, Nodes};
use open_archives::Originals;
use original::Original;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tree::{BundleTree, Content, DirectoryTree, Item, SingleTree, Tree};

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name of the entry.
    pub name: OsString,
    /// The kind of the entry.
    pub kind: NodeKind,
    /// The number of the entry.
    pub ino: u64,
}

/// The files that programs see. All methods may be called from any number of threads.
pub struct View {
    tree: Box<dyn Tree>,
    nodes: Nodes,
    originals: Originals,
    aggregations: Aggregations,
    /// Opens the fragments of an aggregation on a server.
    opener: Opener,
    ahead: Ahead,
    log: Log,
    /// The original that is the root, if the view is a single file.
    pinned: Option<Arc<Original>>,
    /// The version that a single archive's name requests.
    version: Option<u64>,
    /// True if archives also appear with their own names.
    archives: bool,
    /// True if names that begin with a dot are shown.
    dot_names: bool,
    /// Hidden archives that were reported: a plain file has the name of their original.
    hidden: Mutex<HashSet<PathBuf>>,
}

impl View {
    /// Makes a view of a directory, an archive, or a bundle, by any name that nc3z has. Of an archive, the name may have a version.
    ///
    /// # Errors
    /// The source is something else, or cannot be opened.
    pub fn new(source: &Path, options: ViewOptions) -> Result<Self> {
        let ViewOptions { open, log, is_file, archives, confined, dot_names } = options;
        let name = Name::from_path(source)?;
        let opener = Opener::new(open.clone().with_mmap(false)).with_fragments(None);
        let (tree, is_archive) = tree_of(&name, &opener, confined)?;
        let version = match name.requested() {
            Some(_) => Some(opener.archive(&name)?.version()?.number),
            None => None,
        };
        if is_file && !is_archive {
            let why = "only an archive can be shown as a file; a directory or a bundle needs a directory";
            return Err(nc3z_format::Error::invalid(why).into());
        }
        let failed = |e| Error::io("open", Some(source), e);
        let mut view = View {
            tree,
            nodes: Nodes::default(),
            originals: Originals::new(open),
            aggregations: Aggregations::default(),
            opener,
            ahead: Ahead::new().map_err(failed)?,
            log,
            pinned: None,
            version,
            archives,
            // A single archive was named by the caller.
            dot_names: dot_names || is_archive,
            hidden: Mutex::default(),
        };
        view.nodes.set_root(NodeTarget::Directory(PathBuf::new()), None);
        if is_file {
            view.pin().map_err(failed)?;
        }
        Ok(view)
    }

    /// Makes the tree's only archive the root.
    fn pin(&mut self) -> io::Result<()> {
        let items = self.tree.list(Path::new(""))?;
        let path = PathBuf::from(&items.first().ok_or(io::ErrorKind::NotFound)?.name);
        let version = self.version;
        let original = self.originals.open(&*self.tree, &path, version, &self.log)?;
        let attr = attr_of(&self.tree.stat_target(&path)?, &original.facts, version);
        let content = original.facts.content;
        self.nodes.set_root(NodeTarget::Original { archive: path, version, content }, Some(attr));
        self.pinned = Some(original);
        Ok(())
    }

    /// The path of the source.
    pub fn source(&self) -> PathBuf {
        self.tree.place(Path::new(""))
    }

    /// Looks a name up in a directory. The number must be forgotten as often as it was looked up
    /// ([`View::forget`]).
    ///
    /// # Errors
    /// There is no such name, its archive cannot be opened, or an error of the system.
    pub fn lookup(&self, parent: u64, name: &OsStr) -> io::Result<Attr> {
        if !is_name(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (place, _) = self.nodes.find(parent)?;
        match &*place {
            NodeTarget::Directory(path) => self.lookup_in_directory(path, name),
            NodeTarget::AllVersions(path) => {
                let archive = path.join(archive_of(name));
                self.virtual_directory(NodeTarget::Versions(archive.clone()), &archive)
            }
            NodeTarget::Versions(archive) => self.lookup_version(archive, name),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn lookup_in_directory(&self, directory: &Path, name: &OsStr) -> io::Result<Attr> {
        if name == VERSIONS && !self.dot_names {
            return self.virtual_directory(NodeTarget::AllVersions(directory.to_owned()), directory);
        }
        let path = directory.join(name);
        let is_archive = original_of(name).is_some() && self.is_archive(&path);
        if is_archive && self.archives {
            return self.enter(NodeTarget::Plain(path.clone()), &self.tree.stat_target(&path)?);
        }
        let found = if is_archive {
            // The archive is visible only by the name of its original.
            Err(io::ErrorKind::NotFound.into())
        } else {
            self.tree.stat(&path)
        };
        match found {
            Ok(stat) => self.enter(place_of(stat.kind, path), &stat),
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            Err(e) => {
                let archive = directory.join(archive_of(name));
                if self.is_archive(&archive) {
                    return self.enter_original(&archive, self.version);
                }
                if name == VERSIONS {
                    return self.virtual_directory(NodeTarget::AllVersions(directory.to_owned()), directory);
                }
                Err(e)
            }
        }
    }

    /// Returns true if the path is that of a file, or of a link to one.
    fn is_archive(&self, path: &Path) -> bool {
        self.tree.stat_target(path).is_ok_and(|stat| stat.kind == NodeKind::File)
    }

    fn lookup_version(&self, archive: &Path, name: &OsStr) -> io::Result<Attr> {
        let absent = || io::Error::from(io::ErrorKind::NotFound);
        let name = name.to_str().ok_or_else(absent)?;
        if let Some(number) = name.parse().ok().filter(|n: &u64| n.to_string() == name) {
            let versions = self.versions(archive)?;
            return if versions.0.contains(&number) {
                self.enter_original(archive, Some(number))
            } else {
                Err(absent())
            };
        }
        let (_, tags) = self.versions(archive)?;
        let (tag, version) = tags.into_iter().find(|(tag, _)| tag == name).ok_or_else(absent)?;
        let stat = self.tree.stat_target(archive)?;
        let attr = tag_attr(&stat, version);
        let wanted = tag_number(&stat, &tag);
        let place = NodeTarget::Tag { archive: archive.to_owned(), tag, version };
        let ino = self.nodes.enter(place, |n| wanted.wrapping_add(u64::from(n)), 1, None)?;
        Ok(Attr { ino, ..attr })
    }

    /// Numbers of the versions of an archive, and its tags.
    fn versions(&self, archive: &Path) -> io::Result<(Vec<u64>, Vec<(String, u64)>)> {
        let original = self.originals.open(&*self.tree, archive, None, &self.log)?;
        let versions = original.archive.versions(u64::MAX).map_err(io::Error::other)?;
        let tags = original.archive.tags().map_err(io::Error::other)?;
        Ok((versions.iter().map(|version| version.record.number).collect(), tags.into_iter().collect()))
    }

    fn enter(&self, place: NodeTarget, stat: &Stat) -> io::Result<Attr> {
        let wanted = |n: u32| stat.file.wrapping_add(u64::from(n));
        Ok(stat.attr(self.nodes.enter(place, wanted, 1, None)?))
    }

    /// Makes a directory that the source does not have, next to one of its files.
    fn virtual_directory(&self, place: NodeTarget, beside: &Path) -> io::Result<Attr> {
        let stat = self.tree.stat_target(beside)?;
        let wanted = virtual_number(&stat);
        let ino = self.nodes.enter(place, |n| wanted.wrapping_add(u64::from(n)), 1, None)?;
        Ok(stat.as_directory().attr(ino))
    }

    fn enter_original(&self, archive: &Path, version: Option<u64>) -> io::Result<Attr> {
        let (stat, facts) = self.originals.facts(&*self.tree, archive, version, &self.log)?;
        let place = NodeTarget::Original { archive: archive.to_owned(), version, content: facts.content };
        let attr = attr_of(&stat, &facts, version);
        let wanted = |n: u32| original_number(stat.file, version, &facts, n);
        let ino = self.nodes.enter(place, wanted, 1, Some(attr))?;
        Ok(Attr { ino, ..attr })
    }

    /// Records that the kernel has forgotten a number `times` times.
    pub fn forget(&self, ino: u64, times: u64) {
        self.nodes.forget(ino, times);
    }

    /// Returns attributes of a file.
    ///
    /// # Errors
    /// The file no longer exists, or an error of the system.
    pub fn attr(&self, ino: u64) -> io::Result<Attr> {
        let (place, attr) = self.nodes.find(ino)?;
        if let Some(attr) = attr {
            return Ok(attr);
        }
        match &*place {
            NodeTarget::Directory(path) | NodeTarget::Plain(path) | NodeTarget::Link(path) => {
                Ok(self.tree.stat(path)?.attr(ino))
            }
            NodeTarget::AllVersions(path) | NodeTarget::Versions(path) => {
                Ok(self.tree.stat_target(path)?.as_directory().attr(ino))
            }
            NodeTarget::Tag { archive, version, .. } => {
                Ok(Attr { ino, ..tag_attr(&self.tree.stat_target(archive)?, *version) })
            }
            NodeTarget::Original { .. } => Err(io::ErrorKind::StaleNetworkFileHandle.into()),
        }
    }

    /// Lists the names in a directory, sorted.
    ///
    /// # Errors
    /// The directory does not exist, or an error of the system.
    pub fn list(&self, ino: u64) -> io::Result<Vec<Entry>> {
        let (place, _) = self.nodes.find(ino)?;
        let mut entries = match &*place {
            NodeTarget::Directory(path) => self.list_directory(path)?,
            NodeTarget::AllVersions(path) => self.list_archives(path)?,
            NodeTarget::Versions(archive) => self.list_versions(archive)?,
            _ => return Err(io::ErrorKind::NotADirectory.into()),
        };
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Returns the shown names in a directory of the source.
    fn items(&self, directory: &Path) -> io::Result<Vec<Item>> {
        let mut items = self.tree.list(directory)?;
        items.retain(|item| self.dot_names || !is_dot_name(&item.name));
        Ok(items)
    }

    fn list_directory(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let items = self.items(directory)?;
        let names: HashSet<&OsStr> = items.iter().map(|item| item.name.as_os_str()).collect();
        let mut entries = Vec::with_capacity(items.len());
        for item in &items {
            let path = directory.join(&item.name);
            if let Some((name, kind)) = self.archive_item(item, &path) {
                if self.archives {
                    entries.push(Entry { ino: item.file, name: item.name.clone(), kind });
                }
                if names.contains(name.as_os_str()) {
                    self.tell_hidden(&path);
                } else {
                    // Listing does not open archives: this is the number that the original gets first.
                    entries.push(Entry { ino: item.file, name, kind });
                }
                continue;
            }
            let ino = self.nodes.number_of(&place_of(item.kind, path), item.file);
            entries.push(Entry { name: item.name.clone(), kind: item.kind, ino });
        }
        Ok(entries)
    }

    /// Returns the original's name, if the item is an archive or a link to one.
    fn archive_item(&self, item: &Item, path: &Path) -> Option<(OsString, NodeKind)> {
        let name = original_of(&item.name)?;
        let is_archive = match item.kind {
            NodeKind::File => true,
            NodeKind::Link => self.is_archive(path),
            NodeKind::Directory => false,
        };
        is_archive.then_some((name, NodeKind::File))
    }

    fn list_archives(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let items = self.items(directory)?;
        let entry = |item: &Item| {
            let (name, _) = self.archive_item(item, &directory.join(&item.name))?;
            let ino = virtual_number_of(item.file);
            Some(Entry { name, kind: NodeKind::Directory, ino })
        };
        Ok(items.iter().filter_map(entry).collect())
    }

    fn list_versions(&self, archive: &Path) -> io::Result<Vec<Entry>> {
        let stat = self.tree.stat_target(archive)?;
        let (versions, tags) = self.versions(archive)?;
        let version = |version: u64| Entry {
            name: version.to_string().into(),
            kind: NodeKind::File,
            ino: version_number(stat.file, version),
        };
        let tag = |(tag, _): (String, u64)| Entry {
            ino: tag_number(&stat, &tag),
            name: tag.into(),
            kind: NodeKind::Link,
        };
        Ok(versions.into_iter().map(version).chain(tags.into_iter().map(tag)).collect())
    }

    fn tell_hidden(&self, path: &Path) {
        let is_new = self.hidden.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        if is_new {
            self.log.tell(&Event::Hidden { path: &self.tree.place(path) });
        }
    }

    /// Returns the target of a link.
    ///
    /// # Errors
    /// It is not a link, does not exist, or an error of the system.
    pub fn link(&self, ino: u64) -> io::Result<PathBuf> {
        let (place, _) = self.nodes.find(ino)?;
        match &*place {
            NodeTarget::Link(path) => Ok(link_target(self.tree.link(path)?)),
            NodeTarget::Tag { version, .. } => Ok(version.to_string().into()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Opens a file. If its archive has changed, the number is stale, and the name must be looked up again.
    ///
    /// # Errors
    /// It is not a file, does not exist, is stale, or an error of the system.
    pub fn open(&self, ino: u64) -> io::Result<Handle> {
        let (place, _) = self.nodes.find(ino)?;
        match &*place {
            NodeTarget::Original { archive, version, content } => {
                let base = self.tree.base(archive)?;
                if let Some(pinned) = self.pinned.as_ref().filter(|_| ino == ROOT) {
                    return Ok(Handle::original(Arc::clone(pinned), base));
                }
                let original = self.originals.open(&*self.tree, archive, *version, &self.log)?;
                if original.facts.content != *content {
                    return Err(io::ErrorKind::StaleNetworkFileHandle.into());
                }
                Ok(Handle::original(original, base))
            }
            NodeTarget::Plain(path) => match self.tree.open(path)? {
                Content::File(file) => Ok(Handle::file(file, self.tree.base(path)?)),
                Content::Source(source) => {
                    Ok(Handle::member(source, self.tree.stat(path)?.signature(), self.tree.base(path)?))
                }
            },
            NodeTarget::Directory(_) | NodeTarget::AllVersions(_) | NodeTarget::Versions(_) => {
                Err(io::ErrorKind::IsADirectory.into())
            }
            NodeTarget::Link(_) | NodeTarget::Tag { .. } => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Returns the archive of an original: its path on disk, or for a member the path of its bundle, `!/` and
    /// its name. None for other files.
    ///
    /// # Errors
    /// The number is unknown.
    pub fn archive_path(&self, ino: u64) -> io::Result<Option<PathBuf>> {
        let (place, _) = self.nodes.find(ino)?;
        match &*place {
            NodeTarget::Original { archive, .. } => Ok(Some(self.tree.place(archive))),
            _ => Ok(None),
        }
    }

    /// Closes archives that had no reader for a minute. Call it every few seconds.
    pub fn close_idle(&self) {
        self.originals.close_idle();
    }

    /// The number of numbers in use.
    pub fn numbers(&self) -> usize {
        self.nodes.len()
    }
}

/// Returns the files of a source, depending on its kind, and whether it is a single archive.
fn tree_of(name: &Name, opener: &Opener, confined: bool) -> Result<(Box<dyn Tree>, bool)> {
    let wrong = |kind| Error::other(WrongKind::new(name.to_string(), kind, Kind::Archive));
    match opener.open(name)? {
        Input::Tree if name.requested().is_none() => {
            let tree = DirectoryTree::new(name.file(), confined);
            Ok((Box::new(tree.map_err(|e| Error::io("open", Some(name.file()), e))?), false))
        }
        Input::Tree => Err(wrong(Kind::Tree)),
        Input::Bundle(bundle) => Ok((Box::new(BundleTree::new(name, &opener.outer(name)?, bundle)?), false)),
        Input::Dataset(_, dataset) if dataset.archive().is_none() => Err(wrong(Kind::Classic)),
        Input::Dataset(..) | Input::Catalog(_) => Ok((Box::new(SingleTree::new(opener, name)?), true)),
        Input::Other(e) => Err(e),
    }
}

fn place_of(kind: NodeKind, path: PathBuf) -> NodeTarget {
    match kind {
        NodeKind::Directory => NodeTarget::Directory(path),
        NodeKind::File => NodeTarget::Plain(path),
        NodeKind::Link => NodeTarget::Link(path),
    }
}

/// Returns the attributes of an original: the size of the original, and all others from the archive. A
/// version that was requested has the blocks that it added.
fn attr_of(stat: &Stat, facts: &Facts, version: Option<u64>) -> Attr {
    let blocks = if version.is_some() { facts.added.div_ceil(BLOCK_LEN) } else { stat.blocks };
    Attr { size: facts.len, blocks, is_fixed: true, ..stat.attr(0) }
}

fn tag_attr(stat: &Stat, version: u64) -> Attr {
    let size = version.to_string().len() as u64;
    let changed = SystemTime::max(stat.modified, stat.changed);
    Attr { kind: NodeKind::Link, size, blocks: 0, mode: 0o777, changed, ..stat.attr(0) }
}

/// Returns the number of an original: at first that of its archive's file; for later contents in the same
/// mount, one that depends on the content.
fn original_number(file: u64, version: Option<u64>, facts: &Facts, attempt: u32) -> u64 {
    if attempt == 0 {
        return version.map_or(file, |version| version_number(file, version));
    }
    let version = version.unwrap_or(0).to_le_bytes();
    number(&[b"content", &file.to_le_bytes(), facts.content.bytes(), &version, &attempt.to_le_bytes()])
}

fn version_number(file: u64, version: u64) -> u64 {
    number(&[b"version", &file.to_le_bytes(), &version.to_le_bytes()])
}

fn tag_number(stat: &Stat, tag: &str) -> u64 {
    number(&[b"tag", &stat.file.to_le_bytes(), tag.as_bytes()])
}

fn virtual_number(stat: &Stat) -> u64 {
    virtual_number_of(stat.file)
}

fn virtual_number_of(file: u64) -> u64 {
    number(&[b"versions", &file.to_le_bytes()])
}
