//! Finds files by their paths, for protocols that have no file numbers. Only this module follows links, and
//! never out of the source.

use super::attr::{Attr, NodeKind};
use super::handle::Handle;
use super::names::{VERSIONS, is_dot_name};
use super::nodes::ROOT;
use super::{Entry, View};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximal depth of directories whose sizes are added up.
const DEPTH: usize = 64;
/// The maximal number of links in a path, as on Linux.
const LINKS: usize = 40;

/// The size of a file or directory of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSize {
    /// The name in the source: an archive has its own name.
    pub name: OsString,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The length of the file, or of all files below the directory.
    pub bytes: u64,
    /// The number of these files.
    pub files: u64,
}

/// A file found by its path.
pub enum Found {
    /// A directory and the names in it.
    Directory(Vec<Entry>),
    /// An open file.
    File(Attr, Handle),
}

impl View {
    /// Opens a file, or lists a directory, at the path of these names.
    ///
    /// # Errors
    /// The file does not exist, a link leads out of the source, or an error of the system.
    pub fn find(&self, names: &[OsString]) -> io::Result<Found> {
        match self.find_once(names) {
            // The archive was replaced between two steps.
            Err(e) if e.kind() == io::ErrorKind::StaleNetworkFileHandle => self.find_once(names),
            found => found,
        }
    }

    fn find_once(&self, names: &[OsString]) -> io::Result<Found> {
        // Of requested names only: a shown link may lead to a hidden file.
        if !self.dot_names && names.iter().any(|name| is_dot_name(name) && name != VERSIONS) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut numbers = Vec::new();
        let found = self.walk(names, &mut numbers).and_then(|attr| match attr.kind {
            NodeKind::Directory => Ok(Found::Directory(self.list(attr.ino)?)),
            _ => Ok(Found::File(attr, self.open(attr.ino)?)),
        });
        numbers.into_iter().for_each(|number| self.forget(number, 1));
        found
    }

    /// Returns the lengths of the files in a directory of the source, and below it, for at most `limit`
    /// names, the first ones found. Links are omitted.
    ///
    /// # Errors
    /// The directory does not exist or does not belong to the source, or an error of the system.
    pub fn sizes(&self, names: &[OsString], limit: usize) -> io::Result<Vec<StoredSize>> {
        let mut left = limit;
        let directory: PathBuf = names.iter().collect();
        let mut found = Vec::new();
        for item in self.items(&directory)? {
            let path = directory.join(&item.name);
            let (bytes, files) = self.sum(&path, item.kind, &mut left, 0);
            found.push(StoredSize { name: item.name, kind: item.kind, bytes, files });
        }
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Returns the total length and number of the files at and below a path. Files that cannot be read are
    /// not counted.
    fn sum(&self, path: &Path, kind: NodeKind, left: &mut usize, depth: usize) -> (u64, u64) {
        let Some(rest) = left.checked_sub(1) else { return (0, 0) };
        *left = rest;
        match kind {
            NodeKind::Link => (0, 0),
            NodeKind::File => self.tree.stat(path).map_or((0, 0), |stat| (stat.len, 1)),
            NodeKind::Directory if depth > DEPTH => (0, 0),
            NodeKind::Directory => {
                self.items(path).unwrap_or_default().iter().fold((0, 0), |(bytes, files), item| {
                    let (more, count) = self.sum(&path.join(&item.name), item.kind, left, depth + 1);
                    (bytes + more, files + count)
                })
            }
        }
    }

    /// Returns the attributes of the file at these names. `numbers` must be forgotten afterwards.
    fn walk(&self, names: &[OsString], numbers: &mut Vec<u64>) -> io::Result<Attr> {
        let mut way = vec![self.attr(ROOT)?];
        let mut names: VecDeque<OsString> = names.iter().cloned().collect();
        let mut links = 0;
        while let Some(name) = names.pop_front() {
            if name == ".." {
                // Reached only through a link: a name that is requested directly is an error.
                if way.len() == 1 {
                    return Err(leads_out());
                }
                way.pop();
                continue;
            }
            let attr = self.lookup(way[way.len() - 1].ino, &name)?;
            numbers.push(attr.ino);
            if attr.kind != NodeKind::Link {
                way.push(attr);
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(io::Error::new(io::ErrorKind::NotFound, "too many links"));
            }
            let target = self.link(attr.ino)?;
            let relative = if target.is_absolute() {
                way.truncate(1);
                target.strip_prefix(self.source()).map_err(|_| leads_out())?
            } else {
                Path::new(&target)
            };
            for part in relative.components().rev() {
                match part {
                    Component::Normal(part) => names.push_front(part.to_owned()),
                    Component::ParentDir => names.push_front("..".into()),
                    Component::CurDir => {}
                    Component::RootDir | Component::Prefix(_) => return Err(leads_out()),
                }
            }
        }
        Ok(way[way.len() - 1])
    }
}

fn leads_out() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "a link leads out of the directory")
}
