//! The files behind the numbers. A number that the kernel may still know never gets other bytes: its page
//! cache is keyed by numbers.

use super::attr::Attr;
use super::facts::ContentId;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of the root.
pub const ROOT: u64 = 1;
/// The maximal number of candidates for the number of a file. Each is in use with a probability of at most
/// 2^-40.
const TRIES: u32 = 64;

/// The file of an inode number. Paths are relative to the root of the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum NodeTarget {
    /// A directory of the source.
    Directory(PathBuf),
    /// A file that is shown unchanged.
    Plain(PathBuf),
    /// A link of the source.
    Link(PathBuf),
    /// The original of an archive: the newest version, or a given one.
    Original { archive: PathBuf, version: Option<u64>, content: ContentId },
    /// `.versions` in a directory.
    AllVersions(PathBuf),
    /// `.versions/x.nc`, by its archive.
    Versions(PathBuf),
    /// A tag of an archive, which is a link to a version.
    Tag { archive: PathBuf, tag: String, version: u64 },
}

struct Node {
    place: Arc<NodeTarget>,
    /// Attributes of an original, kept so that its archive need not be opened again.
    attr: Option<Attr>,
    /// The number of lookups that the kernel has not forgotten yet.
    told: u64,
}

#[derive(Default)]
struct NodeTable {
    nodes: HashMap<u64, Node>,
    numbers: HashMap<Arc<NodeTarget>, u64>,
}

/// The numbers in use.
#[derive(Default)]
pub(crate) struct Nodes(Mutex<NodeTable>);

impl Nodes {
    fn known(&self) -> std::sync::MutexGuard<'_, NodeTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of a place. A new place gets the first free number of `wanted`. `told` is added to
    /// its number of lookups. `attr` is stored with the number.
    pub(crate) fn enter(
        &self,
        place: NodeTarget,
        wanted: impl Fn(u32) -> u64,
        told: u64,
        attr: Option<Attr>,
    ) -> io::Result<u64> {
        let mut known = self.known();
        let found = known.numbers.get(&place).copied();
        let free = |number: &u64| {
            // The kernel reserves 0 and all ones for "no number".
            *number > ROOT && *number != u64::MAX && !known.nodes.contains_key(number)
        };
        // Hard links are many places with one file.
        let of_place = |n: u32| {
            let mut hasher = DefaultHasher::new();
            (&place, n).hash(&mut hasher);
            hasher.finish()
        };
        let number = match found {
            Some(number) => number,
            None => (0..TRIES)
                .map(wanted)
                .chain((0..TRIES).map(of_place))
                .find(free)
                .ok_or_else(|| io::Error::other("no inode number is free for the file"))?,
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

    pub(crate) fn set_root(&self, place: NodeTarget, attr: Option<Attr>) {
        let mut known = self.known();
        let place = Arc::new(place);
        known.numbers.insert(Arc::clone(&place), ROOT);
        known.nodes.insert(ROOT, Node { place, attr: attr.map(|attr| Attr { ino: ROOT, ..attr }), told: 1 });
    }

    /// Returns the number of a place, or the number that it would get first.
    pub(crate) fn number_of(&self, place: &NodeTarget, wanted: u64) -> u64 {
        self.known().numbers.get(place).copied().unwrap_or(wanted)
    }

    /// Returns the place of a number, and its stored attributes.
    pub(crate) fn find(&self, number: u64) -> io::Result<(Arc<NodeTarget>, Option<Attr>)> {
        let known = self.known();
        let node = known.nodes.get(&number);
        let node = node.ok_or_else(|| io::Error::from(io::ErrorKind::StaleNetworkFileHandle))?;
        Ok((Arc::clone(&node.place), node.attr))
    }

    /// Subtracts `times` lookups of a number.
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

    fn plain(name: &str) -> NodeTarget {
        NodeTarget::Plain(name.into())
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
    fn any_number_of_hard_links_have_numbers() {
        let nodes = Nodes::default();
        let enter = |name: &str| nodes.enter(plain(name), |n| 10 + u64::from(n), 1, None).unwrap();
        let numbers: std::collections::HashSet<u64> = (0..1000).map(|n| enter(&format!("{n}"))).collect();
        assert_eq!(numbers.len(), 1000);
    }

    #[test]
    fn the_root_and_what_the_kernel_reserves_are_never_given() {
        let nodes = Nodes::default();
        nodes.set_root(NodeTarget::Directory("".into()), None);
        let wanted = |n| [0, ROOT, u64::MAX, 7][n as usize];
        assert_eq!(nodes.enter(plain("a"), wanted, 1, None).unwrap(), 7);
        nodes.forget(ROOT, 5);
        assert_eq!(*nodes.find(ROOT).unwrap().0, NodeTarget::Directory("".into()));
    }
}
