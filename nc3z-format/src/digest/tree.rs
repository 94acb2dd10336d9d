//! The tree over a variable's values: the Merkle tree hash of RFC 9162, section 2.1.1, with SHA-256 and leaves of 4 KiB.

use super::Hash;
use sha2::{Digest, Sha256};

/// Bytes of a leaf; the last one of a tree may be shorter, but never empty (docs/design/0041).
pub const LEAF_LEN: usize = 4 << 10;
/// Leaves of a group, as a power of two. Groups are what threads hash.
const GROUP_LEVEL: u32 = 8;
/// Bytes of a group: its root is a node of the tree over all leaves, because groups begin at multiples of a power of two.
pub const GROUP_LEN: usize = LEAF_LEN << GROUP_LEVEL;
/// The prefix of a leaf's bytes, so that no leaf can be mistaken for a node.
const LEAF: [u8; 1] = [0];
/// The prefix of a node's two children.
const NODE: [u8; 1] = [1];

/// The hash of one leaf.
pub fn leaf_hash(bytes: &[u8]) -> Hash {
    Sha256::new().chain_update(LEAF).chain_update(bytes).finalize().into()
}

/// The hash of a node with these two children.
pub(super) fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update(NODE).chain_update(left).chain_update(right).finalize().into()
}

/// The hash of no leaf.
pub(super) fn empty_hash() -> Hash {
    Sha256::digest([]).into()
}

/// The root of the tree over some values alone: of a whole variable, or of leaves that form a subtree.
pub fn values_root(bytes: &[u8]) -> Hash {
    let mut tree = Tree::default();
    bytes.chunks(LEAF_LEN).for_each(|leaf| tree.push(leaf_hash(leaf)));
    tree.root()
}

/// Combines hashes in order as they are added. It holds the nodes of one path in memory.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Roots of complete subtrees, largest first: one for each bit of `leaves` that is set.
    path: Vec<Hash>,
    leaves: u64,
}

impl Tree {
    /// Adds the next leaf.
    pub fn push(&mut self, leaf: Hash) {
        self.push_subtree(leaf, 0);
    }

    /// Adds the root of the next `2^level` leaves.
    ///
    /// # Panics
    /// The number of leaves so far is no multiple of `2^level`.
    pub fn push_subtree(&mut self, root: Hash, level: u32) {
        assert!(self.leaves.is_multiple_of(1 << level), "a subtree begins at a multiple of its leaves");
        let mut hash = root;
        // As a counter carries: two subtrees of one size become one of twice the size.
        for _ in 0..(self.leaves >> level).trailing_ones() {
            let left = self.path.pop().expect("a subtree for each bit of `leaves`");
            hash = node_hash(&left, &hash);
        }
        self.path.push(hash);
        self.leaves += 1 << level;
    }

    /// The hash of all leaves. Without leaves, the hash of no bytes.
    pub fn root(&self) -> Hash {
        let mut path = self.path.iter().rev();
        let Some(&last) = path.next() else { return empty_hash() };
        path.fold(last, |right, left| node_hash(left, &right))
    }

    /// Leaves so far.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }
}

/// Hashes the values of one variable as they are added.
#[derive(Debug, Clone, Default)]
pub struct ValuesHasher {
    tree: Tree,
    /// The leaf that is not full yet; none at a border of leaves.
    open: Option<Box<Leaf>>,
    len: u64,
    levels: Option<Keep>,
}

/// A leaf as its bytes come.
#[derive(Debug, Clone)]
struct Leaf {
    sha: Sha256,
    len: usize,
}

/// The nodes of one level, kept while the tree is computed.
#[derive(Debug, Clone)]
struct Keep {
    level: u32,
    /// The subtree that is not full yet.
    open: Tree,
    nodes: Vec<Hash>,
}

impl Keep {
    fn push_subtree(&mut self, root: Hash, level: u32) {
        debug_assert!(level <= self.level);
        self.open.push_subtree(root, level);
        if self.open.leaves() == 1 << self.level {
            self.nodes.push(std::mem::take(&mut self.open).root());
        }
    }
}

impl ValuesHasher {
    /// A hasher that keeps the nodes of one level: the roots of each group of `2^level` leaves.
    pub fn with_level(level: u32) -> Self {
        let keep = Keep { level, open: Tree::default(), nodes: Vec::new() };
        ValuesHasher { levels: Some(keep), ..ValuesHasher::default() }
    }

    /// Bytes up to the next border of groups; 0 at one.
    pub fn room(&self) -> usize {
        let into = self.len % GROUP_LEN as u64;
        if into == 0 { 0 } else { GROUP_LEN - usize::try_from(into).expect("less than a group") }
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.open.is_none() && bytes.len() >= LEAF_LEN {
                let (leaf, rest) = bytes.split_at(LEAF_LEN);
                self.push(leaf_hash(leaf), 0);
                self.len += LEAF_LEN as u64;
                bytes = rest;
                continue;
            }
            let begin = || Box::new(Leaf { sha: Sha256::new().chain_update(LEAF), len: 0 });
            let leaf = self.open.get_or_insert_with(begin);
            let (here, rest) = bytes.split_at(bytes.len().min(LEAF_LEN - leaf.len));
            leaf.sha.update(here);
            leaf.len += here.len();
            self.len += here.len() as u64;
            if leaf.len == LEAF_LEN {
                self.close();
            }
            bytes = rest;
        }
    }

    /// Adds a whole group of [`GROUP_LEN`] bytes whose root ([`values_root`]) was computed elsewhere. A group
    /// is no larger than a node of the kept level, unless the group has the nodes of that level: see
    /// [`Group::of`].
    ///
    /// # Panics
    /// Not at a border of groups: [`ValuesHasher::room`] is then not 0.
    pub fn push_group(&mut self, group: &Group) {
        assert!(self.open.is_none() && self.room() == 0, "groups are pushed at borders of groups");
        self.tree.push_subtree(group.root, GROUP_LEVEL);
        match &mut self.levels {
            Some(keep) if keep.level < GROUP_LEVEL => keep.nodes.extend(&group.nodes),
            Some(keep) => keep.push_subtree(group.root, GROUP_LEVEL),
            None => {}
        }
        self.len += GROUP_LEN as u64;
    }

    /// The level whose nodes are kept, if any.
    pub fn level(&self) -> Option<u32> {
        self.levels.as_ref().map(|keep| keep.level)
    }

    fn push(&mut self, node: Hash, level: u32) {
        self.tree.push_subtree(node, level);
        if let Some(keep) = &mut self.levels {
            keep.push_subtree(node, level);
        }
    }

    fn close(&mut self) {
        if let Some(leaf) = self.open.take() {
            self.push(leaf.sha.finalize().into(), 0);
        }
    }

    /// The root over all that came.
    pub fn finish(mut self) -> Hash {
        self.close();
        self.tree.root()
    }

    /// The root of all added values, and the nodes of the kept level. The last node may have fewer leaves.
    pub fn finish_level(mut self) -> (Hash, Vec<Hash>) {
        self.close();
        let mut nodes = Vec::new();
        if let Some(keep) = self.levels {
            nodes = keep.nodes;
            if keep.open.leaves() > 0 {
                nodes.push(keep.open.root());
            }
        }
        (self.tree.root(), nodes)
    }
}

/// A group of leaves that was hashed separately.
#[derive(Debug, Clone)]
pub struct Group {
    root: Hash,
    /// The nodes of the kept level, if that is below groups.
    nodes: Vec<Hash>,
}

impl Group {
    /// Hashes [`GROUP_LEN`] bytes; `level` is that of the hasher which takes the group.
    pub fn of(bytes: &[u8], level: Option<u32>) -> Self {
        let mut root = Tree::default();
        let level = level.filter(|level| *level < GROUP_LEVEL).unwrap_or(GROUP_LEVEL);
        let nodes: Vec<Hash> = bytes.chunks(LEAF_LEN << level).map(values_root).collect();
        nodes.iter().for_each(|node| root.push_subtree(*node, level));
        Group { root: root.root(), nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9162, section 2.1.1, word for word.
    fn by_the_book(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [one] => *one,
            _ => {
                let mut k = 1;
                while k * 2 < leaves.len() {
                    k *= 2;
                }
                node_hash(&by_the_book(&leaves[..k]), &by_the_book(&leaves[k..]))
            }
        }
    }

    #[test]
    fn folded_tree_is_the_recursive_one() {
        let mut tree = Tree::default();
        let mut leaves = Vec::new();
        for n in 0..70_u8 {
            assert_eq!(tree.root(), by_the_book(&leaves), "{n} leaves");
            let leaf = leaf_hash(&[n]);
            tree.push(leaf);
            leaves.push(leaf);
        }
        assert_eq!(tree.leaves(), 70);
    }

    #[test]
    fn known_roots() {
        // The values of certificate-transparency's own tests: the empty tree, one empty leaf, and the leaf 0x00.
        let hex = |h: Hash| h.iter().fold(String::new(), |s, b| format!("{s}{b:02x}"));
        let tree = Tree::default();
        assert_eq!(hex(tree.root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(leaf_hash(b"")), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
        assert_eq!(hex(leaf_hash(&[0])), "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7");
        let mut two = tree;
        two.push(leaf_hash(b""));
        two.push(leaf_hash(&[0]));
        assert_eq!(hex(two.root()), "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    }

    #[test]
    fn pieces_do_not_matter() {
        let bytes: Vec<u8> = (0..3 * LEAF_LEN + 5).map(|i| (i % 251).to_le_bytes()[0]).collect();
        let mut tree = Tree::default();
        bytes.chunks(LEAF_LEN).for_each(|leaf| tree.push(leaf_hash(leaf)));
        for piece in [1 << 12, 991, LEAF_LEN, LEAF_LEN + 1, bytes.len()] {
            let mut values = ValuesHasher::default();
            bytes.chunks(piece).for_each(|b| values.update(b));
            assert_eq!(values.bytes(), bytes.len() as u64);
            assert_eq!(values.finish(), tree.root(), "pieces of {piece}");
        }
        assert_eq!(values_root(&bytes), tree.root());
    }

    #[test]
    fn groups_and_kept_levels_are_nodes_of_the_same_tree() {
        let bytes: Vec<u8> = (0..3 * GROUP_LEN + LEAF_LEN + 5).map(|i| (i % 251).to_le_bytes()[0]).collect();
        let root = values_root(&bytes);
        for level in [0, 2, 7, 8, 9, 20] {
            let mut values = ValuesHasher::with_level(level);
            values.update(&bytes[..7]);
            assert_eq!(values.room(), GROUP_LEN - 7);
            values.update(&bytes[7..GROUP_LEN]);
            assert_eq!(values.room(), 0);
            values.push_group(&Group::of(&bytes[GROUP_LEN..2 * GROUP_LEN], values.level()));
            values.update(&bytes[2 * GROUP_LEN..]);
            let (found, nodes) = values.finish_level();
            assert_eq!(found, root);
            let expected: Vec<Hash> = bytes.chunks(LEAF_LEN << level).map(values_root).collect();
            assert_eq!(nodes, expected, "level {level}");
            let mut tree = Tree::default();
            // The last node may have fewer leaves, and nothing follows it.
            nodes.iter().for_each(|node| tree.push_subtree(*node, level));
            assert_eq!(tree.root(), root);
        }
    }
}
