//! The tree over a variable's values: the Merkle tree hash of RFC 9162, section 2.1.1, with SHA-256, over branches, and in each branch
//! over leaves of 4 KiB.

use super::lanes::{LANES, leaf_hashes};
use super::{Hash, Pieces};
use sha2::{Digest, Sha256};

/// Bytes of a leaf; the last one of a branch may be shorter, but never empty (docs/design/0041).
pub const LEAF_LEN: usize = 4 << 10;
/// Leaves of a group, as a power of two. Groups are what threads hash.
const GROUP_LEVEL: u32 = 8;
/// Bytes of a group; the last one of a branch may be shorter. Its root is a node of the branch's tree, because groups begin at multiples
/// of a power of two.
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

/// Returns the root of the tree over some values, in branches of `branch_len` bytes. The values are a whole variable, some of its branches,
/// or leaves of one branch that form a subtree.
pub fn values_root(bytes: &[u8], branch_len: u64) -> Hash {
    let branch_len = usize::try_from(branch_len).unwrap_or(usize::MAX).max(1);
    let mut branches = Tree::default();
    for branch in bytes.chunks(branch_len) {
        let mut leaves = Tree::default();
        for_each_leaf(branch, |leaf| leaves.push(leaf));
        branches.push(leaves.root());
    }
    branches.root()
}

/// Calls `sink` with the hash of each leaf of some bytes, in order. The last leaf may be shorter.
fn for_each_leaf(bytes: &[u8], mut sink: impl FnMut(Hash)) {
    let (whole, rest) = bytes.as_chunks::<LEAF_LEN>();
    let (together, others) = whole.as_chunks::<LANES>();
    together.iter().flat_map(leaf_hashes).for_each(&mut sink);
    others.iter().for_each(|leaf| sink(leaf_hash(leaf)));
    if !rest.is_empty() {
        sink(leaf_hash(rest));
    }
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
    /// The number of leaves so far is not a multiple of `2^level`.
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
#[derive(Debug, Clone)]
pub struct ValuesHasher {
    groups: Pieces,
    /// Over the branches so far.
    branches: Tree,
    /// Over the leaves of the branch that is not full yet.
    leaves: Tree,
    /// The leaf that is not full yet; none at a border of leaves.
    open: Option<Box<Leaf>>,
    len: u64,
    kept: Option<Keep>,
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
    /// A node is over `2^level` leaves of a branch, or over `2^level` branches.
    level: u32,
    in_branches: bool,
    /// The node that is not full yet.
    open: Tree,
    nodes: Vec<Hash>,
}

impl Keep {
    fn push_subtree(&mut self, root: Hash, level: u32) {
        debug_assert!(level <= self.level);
        self.open.push_subtree(root, level);
        if self.open.leaves() == 1 << self.level {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.open.leaves() > 0 {
            self.nodes.push(std::mem::take(&mut self.open).root());
        }
    }
}

impl ValuesHasher {
    /// A hasher of values in branches of `branch_len` bytes.
    pub fn new(branch_len: u64) -> Self {
        let (branches, leaves) = (Tree::default(), Tree::default());
        ValuesHasher { groups: Pieces::groups(branch_len), branches, leaves, open: None, len: 0, kept: None }
    }

    /// The hasher keeps the nodes of a level of the tree: one of [`Pieces::coarser`], from the leaves.
    #[must_use]
    pub fn keeping(mut self, nodes: &Pieces) -> Self {
        let (leaf, branch) = (LEAF_LEN as u64, self.groups.branch());
        let in_branches = nodes.piece() < branch;
        let level = (nodes.piece() / if in_branches { leaf } else { branch }).max(1).ilog2();
        self.kept = Some(Keep { level, in_branches, open: Tree::default(), nodes: Vec::new() });
        self
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Splits the next bytes: those before the next border of groups, whole groups, and those after them.
    pub fn split<'b>(&self, bytes: &'b [u8]) -> (&'b [u8], Vec<&'b [u8]>, &'b [u8]) {
        let room = |at: u64| {
            let group = self.groups.range(self.groups.piece_at(at));
            usize::try_from(group.end - at).unwrap_or(usize::MAX)
        };
        let is_border = self.groups.range(self.groups.piece_at(self.len)).start == self.len;
        let (head, mut rest) = bytes.split_at(if is_border { 0 } else { room(self.len).min(bytes.len()) });
        let (mut groups, mut at) = (Vec::new(), self.len + head.len() as u64);
        while let Some((group, after)) = rest.split_at_checked(room(at)) {
            groups.push(group);
            at += group.len() as u64;
            rest = after;
        }
        (head, groups, rest)
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let in_branch = self.groups.branch() - self.len % self.groups.branch();
            let in_branch = usize::try_from(in_branch).unwrap_or(usize::MAX);
            if self.open.is_none() && bytes.len() >= LEAF_LEN.min(in_branch) {
                // Whole leaves, or the last one of a branch.
                let here = in_branch.min(bytes.len());
                let here = if here == in_branch { here } else { here / LEAF_LEN * LEAF_LEN };
                let (leaves, rest) = bytes.split_at(here);
                let mut lens = leaves.chunks(LEAF_LEN).map(|leaf| leaf.len() as u64);
                for_each_leaf(leaves, |leaf| {
                    self.len += lens.next().unwrap_or_default();
                    self.push(leaf);
                });
                bytes = rest;
                continue;
            }
            let begin = || Box::new(Leaf { sha: Sha256::new().chain_update(LEAF), len: 0 });
            let leaf = self.open.get_or_insert_with(begin);
            let room = in_branch.min(LEAF_LEN - leaf.len);
            let (here, rest) = bytes.split_at(bytes.len().min(room));
            leaf.sha.update(here);
            leaf.len += here.len();
            self.len += here.len() as u64;
            if here.len() == room {
                self.close();
            }
            bytes = rest;
        }
    }

    /// Adds a whole group, which was hashed elsewhere: see [`ValuesHasher::split`].
    ///
    /// # Panics
    /// Not at a border of groups.
    pub fn push_group(&mut self, group: &Group) {
        let range = self.groups.range(self.groups.piece_at(self.len));
        let is_next = range == (self.len..self.len + group.len);
        assert!(self.open.is_none() && is_next, "groups are pushed at borders of groups");
        self.leaves.push_subtree(group.root, GROUP_LEVEL);
        if let Some(keep) = self.kept.as_mut().filter(|keep| keep.in_branches) {
            if keep.level < GROUP_LEVEL {
                keep.nodes.extend(&group.nodes);
            } else {
                keep.push_subtree(group.root, GROUP_LEVEL);
            }
        }
        self.len += group.len;
        self.close_if_full();
    }

    /// The level whose nodes are collected, if that level is inside branches.
    pub fn level(&self) -> Option<u32> {
        self.kept.as_ref().filter(|keep| keep.in_branches).map(|keep| keep.level)
    }

    fn push(&mut self, leaf: Hash) {
        self.leaves.push(leaf);
        if let Some(keep) = self.kept.as_mut().filter(|keep| keep.in_branches) {
            keep.push_subtree(leaf, 0);
        }
        self.close_if_full();
    }

    /// Closes the branch that the bytes so far have filled.
    fn close_if_full(&mut self) {
        if self.len.is_multiple_of(self.groups.branch()) {
            self.close_branch();
        }
    }

    fn close_branch(&mut self) {
        if self.leaves.leaves() == 0 {
            return;
        }
        let root = std::mem::take(&mut self.leaves).root();
        self.branches.push(root);
        match &mut self.kept {
            Some(keep) if keep.in_branches => keep.close(),
            Some(keep) => keep.push_subtree(root, 0),
            None => {}
        }
    }

    fn close(&mut self) {
        if let Some(leaf) = self.open.take() {
            self.push(leaf.sha.finalize().into());
        }
    }

    /// The root over all that came.
    pub fn finish(self) -> Hash {
        self.finish_level().0
    }

    /// The root of all added values, and the nodes of the kept level. The last node may have fewer leaves.
    pub fn finish_level(mut self) -> (Hash, Vec<Hash>) {
        self.close();
        self.close_branch();
        let mut nodes = Vec::new();
        if let Some(mut keep) = self.kept {
            keep.close();
            nodes = keep.nodes;
        }
        (self.branches.root(), nodes)
    }
}

/// A group of leaves of a branch that was hashed separately.
#[derive(Debug, Clone)]
pub struct Group {
    root: Hash,
    len: u64,
    /// The nodes of the kept level, if that is below groups.
    nodes: Vec<Hash>,
}

impl Group {
    /// Hashes a group. `level` is the level of the hasher to which the group is added.
    pub fn new(bytes: &[u8], level: Option<u32>) -> Self {
        let mut root = Tree::default();
        let level = level.filter(|level| *level < GROUP_LEVEL).unwrap_or(GROUP_LEVEL);
        let nodes: Vec<Hash> =
            bytes.chunks(LEAF_LEN << level).map(|node| values_root(node, u64::MAX)).collect();
        nodes.iter().for_each(|node| root.push_subtree(*node, level));
        Group { root: root.root(), len: bytes.len() as u64, nodes }
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

    /// The values root by the text of `spec/digest.md`: branches one after another, and in each the leaves.
    fn by_the_text(bytes: &[u8], branch_len: usize) -> Hash {
        let leaves = |branch: &[u8]| branch.chunks(LEAF_LEN).map(leaf_hash).collect::<Vec<_>>();
        by_the_book(&bytes.chunks(branch_len).map(|branch| by_the_book(&leaves(branch))).collect::<Vec<_>>())
    }

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 % 251).to_le_bytes()[0]).collect()
    }

    #[test]
    fn pieces_do_not_matter() {
        for (len, branch_len) in [
            (3 * LEAF_LEN + 5, usize::MAX),
            (0, 1),
            (10 * 40_000, 40_000),
            (10 * 40_000 - 3, 40_000),
            (9 * 32_768, 32_768),
            (3 * 65_540 + 1, 65_540),
        ] {
            let bytes = sample(len);
            let root = by_the_text(&bytes, branch_len.max(1));
            assert_eq!(values_root(&bytes, branch_len as u64), root);
            for piece in [1 << 12, 991, LEAF_LEN, LEAF_LEN + 1, bytes.len().max(1)] {
                let mut values = ValuesHasher::new(branch_len as u64);
                bytes.chunks(piece).for_each(|b| values.update(b));
                assert_eq!(values.bytes(), bytes.len() as u64);
                assert_eq!(
                    values.finish(),
                    root,
                    "{len} bytes in branches of {branch_len}, pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn groups_and_kept_levels_are_nodes_of_the_same_tree() {
        use crate::types::NcType::Byte;
        let arrays: [&[u64]; 6] = [
            &[3 * GROUP_LEN as u64 + 5001],
            &[3, GROUP_LEN as u64 + 5001],
            &[70, 33_000],
            &[35, 2, 45_056],
            &[2, 2 * GROUP_LEN as u64],
            &[3, 5, 7],
        ];
        for shape in arrays {
            let len = shape.iter().product::<u64>();
            for len in [len, len - 7] {
                let bytes = sample(usize::try_from(len).unwrap());
                let leaves = Pieces::leaves(Byte, shape, len);
                let branch_len = usize::try_from(leaves.branch()).unwrap();
                let root = by_the_text(&bytes, branch_len);
                for level in [0, 2, 4, 7, 8, 9, 12] {
                    let pieces = leaves.coarser(level);
                    let mut values = ValuesHasher::new(leaves.branch()).keeping(&pieces);
                    for part in bytes.chunks(700_001) {
                        let (head, groups, tail) = values.split(part);
                        values.update(head);
                        for group in groups {
                            values.push_group(&Group::new(group, values.level()));
                        }
                        values.update(tail);
                    }
                    let (found, nodes) = values.finish_level();
                    assert_eq!(found, root);
                    let expected = (0..pieces.count()).map(|n| {
                        let range = pieces.range(n);
                        let at = |n: u64| usize::try_from(n).unwrap();
                        by_the_text(&bytes[at(range.start)..at(range.end)], branch_len)
                    });
                    assert_eq!(nodes, expected.collect::<Vec<_>>(), "{shape:?}, {len}, level {level}");
                    assert_eq!(super::super::fold_nodes(&nodes, pieces.per_branch()), root);
                }
            }
        }
    }
}
