//! The tree over a variable's values: the Merkle tree hash of RFC 9162, section 2.1.1, with SHA-256 and leaves of 1 MiB.

use super::Hash;
use sha2::{Digest, Sha256};

/// Bytes of a leaf; the last one of a tree may be shorter, but never empty.
pub const LEAF_LEN: usize = 1 << 20;
/// What stands before a leaf's bytes, so that no leaf can pass for a node.
const LEAF: [u8; 1] = [0];
/// What stands before a node's two children.
const NODE: [u8; 1] = [1];

/// The hash of one leaf.
pub fn leaf_hash(bytes: &[u8]) -> Hash {
    let mut leaf = LeafHasher::new();
    leaf.update(bytes);
    leaf.finish()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update(NODE).chain_update(left).chain_update(right).finalize().into()
}

/// One leaf, hashed as its bytes come.
#[derive(Debug, Clone)]
pub struct LeafHasher {
    sha: Sha256,
    len: usize,
}

impl LeafHasher {
    /// A leaf without bytes yet.
    fn new() -> Self {
        LeafHasher { sha: Sha256::new().chain_update(LEAF), len: 0 }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.sha.update(bytes);
        self.len += bytes.len();
    }

    fn finish(self) -> Hash {
        self.sha.finalize().into()
    }
}

/// Leaf hashes in order, folded as they come: memory is that of one path.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Roots of complete subtrees, largest first: one for each bit of `leaves` that is set.
    path: Vec<Hash>,
    leaves: u64,
}

impl Tree {
    /// Adds the next leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // As a counter carries: two subtrees of one size become one of twice the size.
        for _ in 0..self.leaves.trailing_ones() {
            let left = self.path.pop().expect("a subtree for each bit of `leaves`");
            hash = node_hash(&left, &hash);
        }
        self.path.push(hash);
        self.leaves += 1;
    }

    /// The hash of all leaves; of nothing, where there is none.
    pub fn root(&self) -> Hash {
        let mut path = self.path.iter().rev();
        let Some(&last) = path.next() else { return Sha256::digest([]).into() };
        path.fold(last, |right, left| node_hash(left, &right))
    }

    /// Leaves so far.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }
}

/// The values of one variable, hashed as they come.
#[derive(Debug, Clone, Default)]
pub struct ValuesHasher {
    tree: Tree,
    /// The leaf that is not full yet; none on a border of leaves.
    open: Option<Box<LeafHasher>>,
    len: u64,
}

impl ValuesHasher {
    /// Bytes that the open leaf still takes; 0 on a border of leaves.
    pub fn room(&self) -> usize {
        self.open.as_ref().map_or(0, |leaf| LEAF_LEN - leaf.len)
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let leaf = self.open.get_or_insert_with(|| Box::new(LeafHasher::new()));
            let (here, rest) = bytes.split_at(bytes.len().min(LEAF_LEN - leaf.len));
            leaf.update(here);
            self.len += here.len() as u64;
            if leaf.len == LEAF_LEN {
                self.close();
            }
            bytes = rest;
        }
    }

    /// Takes a whole leaf of [`LEAF_LEN`] bytes that was hashed elsewhere.
    ///
    /// # Panics
    /// Where a leaf is open: [`ValuesHasher::room`] is then not 0.
    pub fn push_leaf(&mut self, leaf: Hash) {
        assert!(self.open.is_none(), "leaves are pushed on borders of leaves");
        self.tree.push(leaf);
        self.len += LEAF_LEN as u64;
    }

    fn close(&mut self) {
        if let Some(leaf) = self.open.take() {
            self.tree.push(leaf.finish());
        }
    }

    /// The root over all that came.
    pub fn finish(mut self) -> Hash {
        self.close();
        self.tree.root()
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
        for piece in [1 << 12, 99_991, LEAF_LEN, LEAF_LEN + 1, bytes.len()] {
            let mut values = ValuesHasher::default();
            bytes.chunks(piece).for_each(|b| values.update(b));
            assert_eq!(values.bytes(), bytes.len() as u64);
            assert_eq!(values.finish(), tree.root(), "pieces of {piece}");
        }
        let mut values = ValuesHasher::default();
        values.update(&bytes[..7]);
        assert_eq!(values.room(), LEAF_LEN - 7);
        values.update(&bytes[7..LEAF_LEN]);
        assert_eq!(values.room(), 0);
        values.push_leaf(leaf_hash(&bytes[LEAF_LEN..2 * LEAF_LEN]));
        values.update(&bytes[2 * LEAF_LEN..]);
        assert_eq!(values.finish(), tree.root());
    }
}
