//! Tree files: one level of each variable's tree, by which any part of it is checked without the rest (`spec/proof.md`, section 4).

use super::tree::{LEAF_LEN, Tree};
use super::{Hash, Root};
use crate::classic::Layout;

/// The first bytes of a tree file; the number is its version.
pub const TREE_MAGIC: &[u8; 12] = b"nc3z tree 1\n";
/// The first level that is stored: nodes of 64 KiB.
const FIRST_LEVEL: u32 = 4;
/// The last one: nodes of 1 MiB.
const LAST_LEVEL: u32 = 8;
/// A level with at most this many nodes is stored; otherwise the next one.
const MOST_NODES: u64 = 1 << 15;
/// Nodes of a page, as a power of two. The roots of pages are stored if there is more than one page.
const PAGE_LEVEL: u32 = 9;
/// Bytes of a hash.
const HASH_LEN: u64 = 32;

/// The level of the tree whose nodes a tree file has, for `len` bytes of values.
pub fn stored_level(len: u64) -> u32 {
    let nodes = |level: &u32| len.div_ceil((LEAF_LEN as u64) << level);
    (FIRST_LEVEL..LAST_LEVEL).find(|level| nodes(level) <= MOST_NODES).unwrap_or(LAST_LEVEL)
}

/// Where a tree file has the nodes of one variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreePlace {
    /// Bytes of values that a node is over; the last node may be over fewer.
    pub node_len: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Offset of the roots of pages, if there is more than one page.
    pages_offset: u64,
    /// Offset of the nodes, if there is more than one node: otherwise the root is the node.
    nodes_offset: u64,
}

impl TreePlace {
    /// The place of each variable's nodes, and the length of the tree file.
    pub fn all(layout: &Layout) -> (Vec<TreePlace>, u64) {
        let mut at = TREE_MAGIC.len() as u64 + 8 + layout.variables.len() as u64 * HASH_LEN;
        let mut place = |len: u64| {
            let node_len = (LEAF_LEN as u64) << stored_level(len);
            let nodes = len.div_ceil(node_len);
            let pages = nodes.div_ceil(1 << PAGE_LEVEL);
            let (pages_offset, nodes_offset) = (at, at + if pages > 1 { pages * HASH_LEN } else { 0 });
            at = nodes_offset + if nodes > 1 { nodes * HASH_LEN } else { 0 };
            TreePlace { node_len, nodes, pages_offset, nodes_offset }
        };
        let all = layout.variables.iter().map(|v| place(v.present * v.element_size())).collect();
        (all, at)
    }

    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.nodes.div_ceil(1 << PAGE_LEVEL)
    }

    /// The page that has a node, and the node's place in it.
    pub fn page_of(&self, node: u64) -> (u64, usize) {
        let within = node & ((1 << PAGE_LEVEL) - 1);
        (node >> PAGE_LEVEL, usize::try_from(within).expect("less than a page"))
    }

    /// Offset and length of the roots of pages. `None` if one page has all nodes.
    pub fn page_roots(&self) -> Option<(u64, u64)> {
        (self.pages() > 1).then(|| (self.pages_offset, self.pages() * HASH_LEN))
    }

    /// Offset and length of a page's nodes. `None` if the variable's root is the only node.
    pub fn page(&self, page: u64) -> Option<(u64, u64)> {
        let first = page << PAGE_LEVEL;
        let count = (self.nodes - first).min(1 << PAGE_LEVEL);
        (self.nodes > 1).then_some((self.nodes_offset + first * HASH_LEN, count * HASH_LEN))
    }
}

/// The offset and length of the roots of all variables' values.
pub fn tree_roots(variables: usize) -> (u64, u64) {
    (TREE_MAGIC.len() as u64 + 8, variables as u64 * HASH_LEN)
}

/// A tree file: of each variable the root of its values and the nodes of its stored level.
///
/// # Panics
/// The nodes are not those of the layout's variables.
pub fn encode_tree(layout: &Layout, variables: &[(Hash, Vec<Hash>)]) -> Vec<u8> {
    let (places, len) = TreePlace::all(layout);
    assert_eq!(variables.len(), places.len(), "the nodes of each variable");
    let mut out = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    out.extend(TREE_MAGIC);
    out.extend((variables.len() as u64).to_be_bytes());
    variables.iter().for_each(|(root, _)| out.extend(root));
    for (place, (_, nodes)) in places.iter().zip(variables) {
        assert_eq!(nodes.len() as u64, place.nodes, "the nodes of the stored level");
        if place.pages() > 1 {
            nodes.chunks(1 << PAGE_LEVEL).for_each(|page| out.extend(fold_nodes(page)));
        }
        if place.nodes > 1 {
            nodes.iter().for_each(|node| out.extend(node));
        }
    }
    out
}

/// The root over nodes of one level, all but the last of them over as many leaves.
pub fn fold_nodes(nodes: &[Hash]) -> Hash {
    let mut tree = Tree::default();
    // Where the tree begins at a multiple of its leaves, nodes fold as leaves do.
    nodes.iter().for_each(|node| tree.push(*node));
    tree.root()
}

/// The hashes in some bytes of a tree file.
pub fn hashes(bytes: &[u8]) -> Vec<Hash> {
    bytes.as_chunks().0.to_vec()
}

/// The root of a file whose variables' values have these roots.
pub fn root_of_values(header: &crate::classic::Header, layout: &Layout, roots: &[Hash]) -> Root {
    let each = layout.variables.iter().zip(roots);
    let digests: Vec<Hash> = each.map(|(variable, root)| super::variable_digest(variable, root)).collect();
    super::content_root(header, layout, &digests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_with_the_values_up_to_the_last() {
        assert_eq!(stored_level(0), 4);
        assert_eq!(stored_level(1 << 31), 4);
        assert_eq!(stored_level((1 << 31) + 1), 5);
        assert_eq!(stored_level(1 << 40), 8);
        assert_eq!(stored_level(u64::MAX), 8);
    }
}
