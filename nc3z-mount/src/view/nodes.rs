//! Which number stands for what. A number that the kernel may still know never comes to mean other bytes: its page cache is by numbers.

use super::attr::Attr;
use super::originals::ContentId;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The root's number.
pub const ROOT: u64 = 1;
/// Numbers tried for a place; each is free but for one chance in 2^40 or less.
const TRIES: u32 = 64;

/// What a number stands for. Paths are those of the source, relative to its root.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// A directory of the source.
    Directory(PathBuf),
    /// A file that is shown as it is.
    Plain(PathBuf),
    /// A link of the source.
    Link(PathBuf),
    /// The original in an archive: the newest version, or one by its number.
    Original { archive: PathBuf, version: Option<u64>, content: ContentId },
    /// `.versions` in a directory.
    AllVersions(PathBuf),
    /// `.versions/x.nc`, by the archive.
    Versions(PathBuf),
    /// A tag of an archive, which leads to a version.
    Tag { archive: PathBuf, tag: String, version: u64 },
}

struct Node {
    place: Arc<Place>,
    /// Attributes of an original, which its archive need not be asked for again.
    attr: Option<Attr>,
    /// Lookups that the kernel has not forgotten yet.
    told: u64,
}

#[derive(Default)]
struct Known {
    nodes: HashMap<u64, Node>,
    numbers: HashMap<Arc<Place>, u64>,
}

/// The numbers given out.
#[derive(Default)]
pub(crate) struct Nodes(Mutex<Known>);

impl Nodes {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a place: the one that it has; else the first free one of `wanted`, and the place then has it. `told` is added to
    /// the times that it must be forgotten; `attr` is kept with the number in it.
    pub(crate) fn enter(
        &self,
        place: Place,
        wanted: impl Fn(u32) -> u64,
        told: u64,
        attr: Option<Attr>,
    ) -> io::Result<u64> {
        let mut known = self.known();
        let found = known.numbers.get(&place).copied();
        let free = |number: &u64| {
            // 0 and all ones mean "no number" to the kernel.
            *number > ROOT && *number != u64::MAX && !known.nodes.contains_key(number)
        };
        let number = match found {
            Some(number) => number,
            None => (0..TRIES)
                .map(wanted)
                .find(free)
                .ok_or_else(|| io::Error::other("no number is free for the file"))?,
        };
        let attr = attr.map(|attr| Attr { ino: number, ..attr });
        let node =
            known.nodes.entry(number).or_insert_with(|| Node { place: Arc::new(place), attr: None, told: 0 });
        node.told += told;
        node.attr = attr.or(node.attr);
        let place = Arc::clone(&node.place);
        known.numbers.entry(place).or_insert(number);
        Ok(number)
    }

    /// Gives the root its place.
    pub(crate) fn set_root(&self, place: Place, attr: Option<Attr>) {
        let mut known = self.known();
        let place = Arc::new(place);
        known.numbers.insert(Arc::clone(&place), ROOT);
        known.nodes.insert(ROOT, Node { place, attr: attr.map(|attr| Attr { ino: ROOT, ..attr }), told: 1 });
    }

    /// The number of a place, if it has one; else what it would be given first.
    pub(crate) fn number_of(&self, place: &Place, wanted: u64) -> u64 {
        self.known().numbers.get(place).copied().unwrap_or(wanted)
    }

    /// Returns the place of a number, and the attributes that are kept with it.
    pub(crate) fn find(&self, number: u64) -> io::Result<(Arc<Place>, Option<Attr>)> {
        let known = self.known();
        let node = known.nodes.get(&number);
        let node = node.ok_or_else(|| io::Error::from(io::ErrorKind::StaleNetworkFileHandle))?;
        Ok((Arc::clone(&node.place), node.attr))
    }

    /// Takes `times` lookups of a number back.
    pub(crate) fn forget(&self, number: u64, times: u64) {
        let mut known = self.known();
        if number == ROOT {
            return;
        }
        if let Some(node) = known.nodes.get_mut(&number) {
            node.told = node.told.saturating_sub(times);
            if node.told == 0 {
                let place = Arc::clone(&node.place);
                known.nodes.remove(&number);
                known.numbers.remove(&place);
            }
        }
    }

    /// The count of numbers in use.
    pub(crate) fn len(&self) -> usize {
        self.known().nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &str) -> Place {
        Place::Plain(name.into())
    }

    #[test]
    fn a_number_stands_for_one_place_until_it_is_forgotten() {
        let nodes = Nodes::default();
        let enter = |name: &str| nodes.enter(plain(name), |n| 10 + u64::from(n), 1, None).unwrap();
        assert_eq!((enter("a"), enter("b"), enter("a")), (10, 11, 10));
        nodes.forget(10, 1);
        assert_eq!(*nodes.find(10).unwrap().0, plain("a"));
        nodes.forget(10, 1);
        assert_eq!(nodes.find(10).unwrap_err().kind(), io::ErrorKind::StaleNetworkFileHandle);
        assert_eq!(enter("c"), 10);
        assert_eq!(nodes.len(), 2);
    }

    #[test]
    fn the_root_and_what_the_kernel_reserves_are_never_given() {
        let nodes = Nodes::default();
        nodes.set_root(Place::Directory("".into()), None);
        let wanted = |n| [0, ROOT, u64::MAX, 7][n as usize];
        assert_eq!(nodes.enter(plain("a"), wanted, 1, None).unwrap(), 7);
        nodes.forget(ROOT, 5);
        assert_eq!(*nodes.find(ROOT).unwrap().0, Place::Directory("".into()));
    }
}
