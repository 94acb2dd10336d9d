//! The files from which a view is made: a directory on disk, one archive, or a bundle's members.

use super::attr::{BLOCK_LEN, NodeKind, Stat, kind_of, number};
use super::names::{archive_of, original_of};
use super::platform::{Listed, stat_of};
use nc3z::Name;
use nc3z::opener::Opener;
use nc3z_collections::FragmentBase;
use nc3z_collections::bundle::Bundle;
use nc3z_reader::source::{SharedSource, open_regular};
use nc3z_reader::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The bytes of a file of the source.
pub(crate) enum Content {
    File(File),
    Source(SharedSource),
}

/// A name in a directory of the source.
pub(crate) struct Item {
    pub(crate) name: OsString,
    pub(crate) kind: NodeKind,
    /// The identity of the file, as far as a listing returns it.
    pub(crate) file: u64,
}

/// Files below a root, by paths relative to it. The root itself is the empty path.
pub(crate) trait Tree: Send + Sync {
    /// Returns attributes of a file; of a link, those of the link itself.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Returns attributes of a file; of a link, those of its target.
    fn stat_target(&self, path: &Path) -> io::Result<Stat>;

    /// Lists the names in a directory, in any order.
    fn list(&self, path: &Path) -> io::Result<Vec<Item>>;

    /// Returns the target of a link.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Opens a regular file.
    fn open(&self, path: &Path) -> io::Result<Content>;

    /// Returns the name of a file in messages; of a file on disk, its path.
    fn place(&self, path: &Path) -> PathBuf;

    /// Returns the place in which the fragments of an aggregation are searched.
    fn base(&self, path: &Path) -> io::Result<FragmentBase>;
}

fn special() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it is neither a file, a directory nor a link")
}

pub(crate) struct DirectoryTree {
    root: PathBuf,
    /// True if links that lead out of the root are not followed.
    confined: bool,
}

impl DirectoryTree {
    pub(crate) fn new(root: &Path, confined: bool) -> io::Result<Self> {
        // The path is absolute, since a mount may outlive its working directory.
        Ok(DirectoryTree { root: root.canonicalize()?, confined })
    }

    /// Returns the path of a file after following links.
    fn followed(&self, path: &Path) -> io::Result<PathBuf> {
        let place = self.place(path);
        if !self.confined {
            return Ok(place);
        }
        let real = place.canonicalize()?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(outside()) }
    }

    /// Returns the path of a file without following it if it is a link itself.
    fn unfollowed(&self, path: &Path) -> io::Result<PathBuf> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if self.confined => Ok(self.followed(parent)?.join(name)),
            _ => Ok(self.place(path)),
        }
    }

    /// Checks the location of an open file: a link may have been replaced after its path was checked.
    fn check_open(&self, file: &File) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.confined {
            let number = std::os::fd::AsRawFd::as_raw_fd(file);
            let place = fs::read_link(format!("/proc/self/fd/{number}"));
            // Without /proc only the path is checked.
            if place.is_ok_and(|place| !place.starts_with(&self.root)) {
                return Err(outside());
            }
        }
        let _ = file;
        Ok(())
    }
}

fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "a link leads out of the directory")
}

impl Tree for DirectoryTree {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        stat_of(&self.unfollowed(path)?.symlink_metadata()?).ok_or_else(special)
    }

    fn stat_target(&self, path: &Path) -> io::Result<Stat> {
        stat_of(&self.followed(path)?.metadata()?).ok_or_else(special)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Item>> {
        let directory = self.followed(path)?;
        let listed = Listed::new(&directory)?;
        let mut items = Vec::new();
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if let Some(kind) = kind_of(entry.file_type()?) {
                items.push(Item { name: entry.file_name(), kind, file: listed.file(&entry) });
            }
        }
        Ok(items)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(self.unfollowed(path)?)
    }

    fn open(&self, path: &Path) -> io::Result<Content> {
        let file = open_regular(&self.followed(path)?)?;
        self.check_open(&file)?;
        Ok(Content::File(file))
    }

    fn place(&self, path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    fn base(&self, path: &Path) -> io::Result<FragmentBase> {
        Ok(FragmentBase::Disk(self.followed(path)?))
    }
}

/// One archive, alone in its directory.
pub(crate) struct SingleTree {
    archive: Single,
    base: FragmentBase,
    /// Its name in messages.
    place: PathBuf,
    /// Its name in the tree, which has the suffix of an archive.
    name: PathBuf,
}

/// The bytes of a single archive.
enum Single {
    /// A file on disk, which may change.
    File,
    /// An object at a URL, a member of a bundle, or standard input.
    Opened(SharedSource, Stat),
}

impl SingleTree {
    pub(crate) fn new(opener: &Opener, name: &Name) -> Result<Self> {
        let mut place = name.without_version();
        let (archive, base) = if name.is_on_disk() {
            place = place.canonicalize().map_err(|e| Error::io("open", Some(&place), e))?;
            (Single::File, FragmentBase::Disk(place.clone()))
        } else {
            let (source, base) = opener.located(name)?;
            let stat = Stat { len: source.len(), ..stat_of_input(name, &source)? };
            let stat = match &base {
                FragmentBase::Bundle(bundle, member) => {
                    let file = number(&[b"member", &stat.file.to_le_bytes(), member.as_bytes()]);
                    Stat {
                        file,
                        ..stamped(bundle, member, &stat).map_err(|e| Error::io("open", Some(&place), e))?
                    }
                }
                _ => stat,
            };
            place = PathBuf::from(name.clone().with_requested(None).to_string());
            // A copy of standard input has no directory.
            let base = if name.is_standard_input() { FragmentBase::Memory } else { base };
            (Single::Opened(source, stat), base)
        };
        let own = if name.is_standard_input() {
            OsStr::new("input")
        } else {
            place.file_name().unwrap_or_default()
        };
        let own = if original_of(own).is_some() { own.to_owned() } else { archive_of(own) };
        Ok(SingleTree { archive, base, place, name: own.into() })
    }
}

impl Tree for SingleTree {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let is_root = path.as_os_str().is_empty();
        if !is_root && path != self.name {
            return Err(io::ErrorKind::NotFound.into());
        }
        match &self.archive {
            Single::File => {
                let found = if is_root { self.place.parent().unwrap_or(&self.place) } else { &self.place };
                stat_of(&found.metadata()?).ok_or_else(special)
            }
            Single::Opened(_, stat) if is_root => Ok(stat.as_directory()),
            Single::Opened(_, stat) => Ok(*stat),
        }
    }

    fn stat_target(&self, path: &Path) -> io::Result<Stat> {
        self.stat(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Item>> {
        if !path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let stat = self.stat(&self.name)?;
        Ok(vec![Item { name: self.name.clone().into(), kind: stat.kind, file: stat.file }])
    }

    fn link(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn open(&self, _: &Path) -> io::Result<Content> {
        match &self.archive {
            Single::File => Ok(Content::File(open_regular(&self.place)?)),
            Single::Opened(source, _) => Ok(Content::Source(Arc::clone(source))),
        }
    }

    fn place(&self, _: &Path) -> PathBuf {
        self.place.clone()
    }

    fn base(&self, _: &Path) -> io::Result<FragmentBase> {
        Ok(self.base.clone())
    }
}

/// Returns attributes of the file that an input is in. An object at a URL is a file that all users may read, as old as this view.
fn stat_of_input(name: &Name, source: &SharedSource) -> Result<Stat> {
    if name.url().is_none() && !name.is_standard_input() {
        let found = name.file().metadata().and_then(|found| stat_of(&found).ok_or_else(special));
        return found.map_err(|e| Error::io("open", Some(name.file()), e));
    }
    let now = SystemTime::now();
    let identity = source.identity().map_or_else(String::new, |identity| identity.to_string());
    Ok(Stat {
        kind: NodeKind::File,
        len: source.len(),
        blocks: source.len().div_ceil(BLOCK_LEN),
        mode: 0o444,
        uid: 0,
        gid: 0,
        accessed: now,
        modified: now,
        changed: now,
        file: number(&[b"object", name.to_string().as_bytes(), identity.as_bytes()]),
    })
}

/// Returns the attributes of a bundle's file with the permissions and the time of a member's file, without permissions that a data file
/// does not have.
fn stamped(bundle: &Bundle, member: &str, stat: &Stat) -> io::Result<Stat> {
    let stamp = bundle.stamp(member).map_err(io::Error::other)?;
    let mode = stamp.mode().and_then(|mode| u16::try_from(mode).ok()).unwrap_or(stat.mode) & 0o666;
    let blocks = stat.len.div_ceil(BLOCK_LEN);
    Ok(Stat {
        kind: NodeKind::File,
        blocks,
        mode,
        modified: stamp.modified().unwrap_or(stat.modified),
        ..*stat
    })
}

/// A member of a bundle.
enum Member {
    Directory(BTreeMap<OsString, NodeKind>),
    /// By its name in the bundle.
    File(String),
}

/// The members of a bundle, whose names are paths.
pub(crate) struct BundleTree {
    /// Its name in messages.
    place: PathBuf,
    bundle: Arc<Bundle>,
    members: HashMap<PathBuf, Member>,
    /// Attributes of the bundle when it was opened.
    stat: Stat,
}

impl BundleTree {
    pub(crate) fn new(name: &Name, source: &SharedSource, bundle: Arc<Bundle>) -> Result<Self> {
        let stat = stat_of_input(name, source)?;
        let place = if name.is_on_disk() {
            name.file().canonicalize().map_err(|e| Error::io("open", Some(name.file()), e))?
        } else {
            PathBuf::from(name.to_string())
        };
        let mut tree = BundleTree { place, bundle, members: HashMap::new(), stat };
        tree.members.insert(PathBuf::new(), Member::Directory(BTreeMap::new()));
        for name in tree.bundle.names()?.to_vec() {
            // Names that lead out of the bundle, and those below a file, are omitted.
            let parts: Option<Vec<&OsStr>> = Path::new(&name)
                .components()
                .filter(|part| *part != Component::CurDir)
                .map(|part| if let Component::Normal(part) = part { Some(part) } else { None })
                .collect();
            if let Some((last, directories)) = parts.as_deref().and_then(<[_]>::split_last) {
                tree.add(directories, last, &name);
            }
        }
        Ok(tree)
    }

    fn add(&mut self, directories: &[&OsStr], last: &OsStr, name: &str) {
        let mut at = PathBuf::new();
        for part in directories {
            let Some(Member::Directory(items)) = self.members.get_mut(&at) else { return };
            items.entry((*part).to_owned()).or_insert(NodeKind::Directory);
            at.push(part);
            self.members.entry(at.clone()).or_insert_with(|| Member::Directory(BTreeMap::new()));
        }
        let path = at.join(last);
        if self.members.contains_key(&path) {
            return;
        }
        if let Some(Member::Directory(items)) = self.members.get_mut(&at) {
            items.insert(last.to_owned(), NodeKind::File);
            self.members.insert(path, Member::File(name.to_owned()));
        }
    }

    fn find(&self, path: &Path) -> io::Result<&Member> {
        self.members.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn member(&self, name: &str) -> io::Result<SharedSource> {
        let found = self.bundle.member(name).map_err(io::Error::other)?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn number(&self, path: &Path) -> u64 {
        number(&[b"member", &self.stat.file.to_le_bytes(), path.as_os_str().as_encoded_bytes()])
    }
}

impl Tree for BundleTree {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let file = self.number(path);
        match self.find(path)? {
            Member::Directory(_) => Ok(Stat { file, ..self.stat.as_directory() }),
            Member::File(name) => {
                let stat = Stat { len: self.member(name)?.len(), ..self.stat };
                Ok(Stat { file, ..stamped(&self.bundle, name, &stat)? })
            }
        }
    }

    fn stat_target(&self, path: &Path) -> io::Result<Stat> {
        self.stat(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Item>> {
        let Member::Directory(items) = self.find(path)? else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        let item = |(name, kind): (&OsString, &NodeKind)| Item {
            name: name.clone(),
            kind: *kind,
            file: self.number(&path.join(name)),
        };
        Ok(items.iter().map(item).collect())
    }

    fn link(&self, _: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn open(&self, path: &Path) -> io::Result<Content> {
        match self.find(path)? {
            Member::File(name) => Ok(Content::Source(self.member(name)?)),
            Member::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn place(&self, path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() {
            return self.place.clone();
        }
        let mut name = self.place.clone().into_os_string();
        name.push("!/");
        name.push(path);
        name.into()
    }

    fn base(&self, path: &Path) -> io::Result<FragmentBase> {
        match self.find(path)? {
            Member::File(name) => Ok(FragmentBase::Bundle(Arc::clone(&self.bundle), name.clone())),
            Member::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }
}
