//! Tree files. They store one level of each variable's tree, so that any part of a variable can be checked without its other parts
//! (`spec/proof.md`, section 4).

use super::tree::Tree;
use super::{Hash, Pieces, Root};
use crate::classic::{Layout, VarLayout};

/// The first bytes of a tree file; the number is its version.
pub const TREE_MAGIC: &[u8; 12] = b"nc3z tree 1\n";
/// The first level that is stored: nodes of 64 KiB, or of a shorter branch.
const FIRST_LEVEL: u32 = 4;
/// The last one: nodes of 1 MiB, or of as many branches.
const LAST_LEVEL: u32 = 8;
/// A level with at most this many nodes is stored; otherwise the next one.
const MOST_NODES: u64 = 1 << 15;
/// Nodes of a page, as a power of two. The roots of pages are stored if there is more than one page.
const PAGE_LEVEL: u32 = 9;
/// Bytes of a hash.
const HASH_LEN: u64 = 32;

/// The level of the tree over these leaves whose nodes a tree file has.
pub fn stored_level(leaves: &Pieces) -> Pieces {
    let levels = (FIRST_LEVEL..LAST_LEVEL).map(|level| leaves.coarser(level));
    levels.into_iter().find(|nodes| nodes.count() <= MOST_NODES).unwrap_or_else(|| leaves.coarser(LAST_LEVEL))
}

/// Where a tree file has the nodes of one variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreePlace {
    /// The leaves of the variable's tree, in bytes of its values.
    pub leaves: Pieces,
    /// The values that nodes are over, in bytes.
    pub nodes: Pieces,
    /// The nodes that pages have.
    pages: Pieces,
    /// Offset of the roots of pages, if there is more than one page.
    pages_offset: u64,
    /// Offset of the nodes, if there is more than one node: otherwise the root is the node.
    nodes_offset: u64,
}

impl TreePlace {
    /// The place of each variable's nodes, and the length of the tree file.
    pub fn all(layout: &Layout) -> (Vec<TreePlace>, u64) {
        let mut at = TREE_MAGIC.len() as u64 + 8 + layout.variables.len() as u64 * HASH_LEN;
        let mut place = |v: &VarLayout| {
            let leaves = Pieces::leaves(v.ty, &v.shape, v.present);
            let nodes = stored_level(&leaves);
            let pages = nodes.as_units().coarser(PAGE_LEVEL);
            let (pages_offset, count) = (at, |n: u64| if n > 1 { n * HASH_LEN } else { 0 });
            let nodes_offset = at + count(pages.count());
            at = nodes_offset + count(nodes.count());
            TreePlace { leaves, nodes, pages, pages_offset, nodes_offset }
        };
        let all = layout.variables.iter().map(&mut place).collect();
        (all, at)
    }

    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.pages.count()
    }

    /// Pages of a branch.
    pub fn pages_per_branch(&self) -> u64 {
        self.pages.per_branch()
    }

    /// The page that has a node, and the node's place in it.
    pub fn page_of(&self, node: u64) -> (u64, usize) {
        let page = self.pages.piece_at(node);
        let within = node - self.pages.range(page).start;
        (page, usize::try_from(within).expect("less than a page"))
    }

    /// Offset and length of the roots of pages. `None` if one page has all nodes.
    pub fn page_roots(&self) -> Option<(u64, u64)> {
        (self.pages() > 1).then(|| (self.pages_offset, self.pages() * HASH_LEN))
    }

    /// Offset and length of a page's nodes. `None` if the variable's root is the only node.
    pub fn page(&self, page: u64) -> Option<(u64, u64)> {
        let nodes = self.pages.range(page);
        let place = (self.nodes_offset + nodes.start * HASH_LEN, (nodes.end - nodes.start) * HASH_LEN);
        (self.nodes.count() > 1).then_some(place)
    }
}

/// The offset and length of the roots of all variables' values.
pub fn tree_roots(variables: usize) -> (u64, u64) {
    (TREE_MAGIC.len() as u64 + 8, variables as u64 * HASH_LEN)
}

/// Encodes a tree file. `variables` has the root of each variable's values and the nodes of its stored level.
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
        assert_eq!(nodes.len() as u64, place.nodes.count(), "the nodes of the stored level");
        if place.pages() > 1 {
            let at = |n: u64| usize::try_from(n).expect("a place in memory");
            let pages = (0..place.pages()).map(|page| place.pages.range(page));
            pages.for_each(|page| {
                out.extend(fold_nodes(&nodes[at(page.start)..at(page.end)], place.nodes.per_branch()));
            });
        }
        if place.nodes.count() > 1 {
            nodes.iter().for_each(|node| out.extend(node));
        }
    }
    out
}

/// The root over nodes of one level: of whole branches that have `per_branch` nodes each, or of a part of one branch that is a node of its
/// tree.
pub fn fold_nodes(nodes: &[Hash], per_branch: u64) -> Hash {
    let mut branches = Tree::default();
    for branch in nodes.chunks(usize::try_from(per_branch).unwrap_or(usize::MAX).max(1)) {
        let mut tree = Tree::default();
        // Each branch begins with a new node, and all nodes but the last have the same number of leaves. So nodes fold as leaves do.
        branch.iter().for_each(|node| tree.push(*node));
        branches.push(tree.root());
    }
    branches.root()
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
        use crate::types::NcType::Byte;
        let piece =
            |shape: &[u64]| stored_level(&Pieces::leaves(Byte, shape, shape.iter().product())).piece();
        assert_eq!(piece(&[0]), 16, "no branch, and 16 times as many");
        assert_eq!(piece(&[1 << 31]), 64 << 10);
        assert_eq!(piece(&[(1 << 31) + 1]), 128 << 10);
        assert_eq!(piece(&[1 << 40]), 1 << 20);
        assert_eq!(piece(&[u64::MAX]), 1 << 20);
        // Nodes of branches: a part of each, one, several.
        assert_eq!(piece(&[10, 100_000]), 64 << 10);
        assert_eq!(piece(&[32_768, 42_048]), 42_048);
        assert_eq!(piece(&[32_769, 42_048]), 2 * 42_048);
        assert_eq!(piece(&[1 << 30, 42_048]), 16 * 42_048);
    }
}
