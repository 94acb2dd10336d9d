//! Files by their paths, for faces that have no numbers of files. Only this module follows links, and never out of the source.

use super::attr::{Attr, Kind};
use super::handle::Handle;
use super::nodes::ROOT;
use super::{Entry, View};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path};

/// Links that one path may go through, as on Linux.
const LINKS: usize = 40;

/// A file that was found by its path.
pub enum Found {
    /// A directory and the names in it.
    Directory(Vec<Entry>),
    /// An open file.
    File(Attr, Handle),
}

impl View {
    /// Opens a file, or lists a directory, by the names that lead to it.
    ///
    /// # Errors
    /// There is none; a link leads out of the source; what the system says.
    pub fn find(&self, names: &[OsString]) -> io::Result<Found> {
        match self.find_once(names) {
            // Its archive was exchanged between two steps.
            Err(e) if e.kind() == io::ErrorKind::StaleNetworkFileHandle => self.find_once(names),
            found => found,
        }
    }

    fn find_once(&self, names: &[OsString]) -> io::Result<Found> {
        let mut numbers = Vec::new();
        let found = self.walk(names, &mut numbers).and_then(|attr| match attr.kind {
            Kind::Directory => Ok(Found::Directory(self.list(attr.ino)?)),
            _ => Ok(Found::File(attr, self.open(attr.ino)?)),
        });
        numbers.into_iter().for_each(|number| self.forget(number, 1));
        found
    }

    /// Returns what the names lead to. `numbers` are to be forgotten.
    fn walk(&self, names: &[OsString], numbers: &mut Vec<u64>) -> io::Result<Attr> {
        let mut way = vec![self.attr(ROOT)?];
        let mut names: VecDeque<OsString> = names.iter().cloned().collect();
        let mut links = 0;
        while let Some(name) = names.pop_front() {
            if name == ".." {
                // Of a link only: a name that is asked for is none.
                if way.len() == 1 {
                    return Err(leads_out());
                }
                way.pop();
                continue;
            }
            let attr = self.lookup(way[way.len() - 1].ino, &name)?;
            numbers.push(attr.ino);
            if attr.kind != Kind::Link {
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
