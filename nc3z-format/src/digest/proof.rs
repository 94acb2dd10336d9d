//! Proofs that some leaves belong to a root. A proof has the hashes of the largest subtrees without any of these leaves (`spec/proof.md`).
//!
//! A tree has subtrees for branches of `per_branch` leaves each; the last branch may have fewer. If each branch is one leaf, this is the tree
//! over the leaves.

use super::Hash;
use super::tree::{empty_hash, node_hash};

/// Computes the root of a tree of `count` leaves from some of its leaves, in ascending order, and from `nodes`, the roots of the
/// largest subtrees without any of these leaves, from the first leaf to the last. Returns `None` if there are too few or too many nodes,
/// or if leaves are out of order or beyond the end. A root does not fix the number of leaves, so callers hash that number together with it.
pub fn fold(count: u64, per_branch: u64, leaves: &[(u64, Hash)], nodes: &[Hash]) -> Option<Hash> {
    let ascends = leaves.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if !ascends || leaves.last().is_some_and(|last| last.0 >= count) {
        return None;
    }
    if count == 0 {
        return nodes.is_empty().then(empty_hash);
    }
    let mut rest = nodes;
    let root = fold_range(0, count, per_branch.max(1), leaves, &mut rest)?;
    rest.is_empty().then_some(root)
}

fn fold_range(
    first: u64,
    count: u64,
    per_branch: u64,
    leaves: &[(u64, Hash)],
    nodes: &mut &[Hash],
) -> Option<Hash> {
    match leaves {
        [] => {
            let (node, rest) = nodes.split_first()?;
            *nodes = rest;
            return Some(*node);
        }
        [only] if count == 1 => return Some(only.1),
        _ => {}
    }
    let left = left_of(count, per_branch);
    let (before, after) = leaves.split_at(leaves.partition_point(|leaf| leaf.0 < first + left));
    let left_root = fold_range(first, left, per_branch, before, nodes)?;
    let right_root = fold_range(first + left, count - left, per_branch, after, nodes)?;
    Some(node_hash(&left_root, &right_root))
}

/// Leaves of the left subtree of `count` leaves, at least 2: of several branches as many branches, of one branch as many leaves as the largest
/// power of two less than their number.
fn left_of(count: u64, per_branch: u64) -> u64 {
    let below = |n: u64| 1 << (n - 1).ilog2();
    if count > per_branch { per_branch * below(count.div_ceil(per_branch)) } else { below(count) }
}

/// The nodes that [`fold`] needs besides these leaves, which are ascending. `subtree` returns the root of the
/// leaves from the first number to before the second.
///
/// # Errors
/// The errors of `subtree`.
pub fn nodes<E>(
    count: u64,
    per_branch: u64,
    leaves: &[u64],
    subtree: &mut dyn FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let mut found = Vec::new();
    if count > 0 {
        collect(0, count, per_branch.max(1), leaves, subtree, &mut found)?;
    }
    Ok(found)
}

fn collect<E>(
    first: u64,
    count: u64,
    per_branch: u64,
    leaves: &[u64],
    subtree: &mut dyn FnMut(u64, u64) -> Result<Hash, E>,
    found: &mut Vec<Hash>,
) -> Result<(), E> {
    if leaves.is_empty() {
        found.push(subtree(first, first + count)?);
        return Ok(());
    }
    if count == 1 {
        return Ok(());
    }
    let left = left_of(count, per_branch);
    let (before, after) = leaves.split_at(leaves.partition_point(|leaf| *leaf < first + left));
    collect(first, left, per_branch, before, subtree, found)?;
    collect(first + left, count - left, per_branch, after, subtree, found)
}

#[cfg(test)]
mod tests {
    use super::super::{Tree, leaf_hash};
    use super::*;

    fn tree(leaves: &[Hash], per_branch: u64) -> Hash {
        let plain = |hashes: &mut dyn Iterator<Item = Hash>| {
            let mut tree = Tree::default();
            hashes.for_each(|hash| tree.push(hash));
            tree.root()
        };
        let branches = leaves.chunks(usize::try_from(per_branch).unwrap());
        plain(&mut branches.map(|branch| plain(&mut branch.iter().copied())))
    }

    #[test]
    fn every_choice_of_leaves_of_small_trees_is_proven() {
        for (count, per_branch) in (0..10_u64).flat_map(|n| [1, 2, 3, 4, 5, 9, 20].map(|per| (n, per))) {
            let all: Vec<Hash> = (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect();
            let at = |n: u64| usize::try_from(n).unwrap();
            for choice in 0..1_u64 << count {
                let chosen: Vec<u64> = (0..count).filter(|n| choice >> n & 1 == 1).collect();
                let mut subtree = |from, to| Ok::<_, ()>(tree(&all[at(from)..at(to)], per_branch));
                let found = nodes(count, per_branch, &chosen, &mut subtree).unwrap();
                let leaves: Vec<(u64, Hash)> = chosen.iter().map(|&n| (n, all[at(n)])).collect();
                let root = Some(tree(&all, per_branch));
                let fold = |leaves: &[_], found: &[_]| fold(count, per_branch, leaves, found);
                assert_eq!(
                    fold(&leaves, &found),
                    root,
                    "{count} leaves in branches of {per_branch}, {chosen:?}"
                );
                // A node too many, a node less, another number of leaves.
                let more: Vec<Hash> = found.iter().copied().chain([[0; 32]]).collect();
                assert_eq!(fold(&leaves, &more), None);
                if let Some((_, less)) = found.split_last() {
                    assert_eq!(fold(&leaves, less), None);
                }
                // Siblings in each other's place.
                for n in 1..leaves.len() {
                    let mut other = leaves.clone();
                    (other[n - 1].1, other[n].1) = (leaves[n].1, leaves[n - 1].1);
                    assert_ne!(fold(&other, &found), root);
                }
            }
        }
    }

    #[test]
    fn leaves_out_of_order_or_beyond_the_end_are_refused() {
        let leaf = |n| (n, [7; 32]);
        assert_eq!(fold(4, 1, &[leaf(1), leaf(0)], &[[0; 32]; 2]), None);
        assert_eq!(fold(4, 1, &[leaf(1), leaf(1)], &[[0; 32]; 2]), None);
        assert_eq!(fold(4, 1, &[leaf(4)], &[[0; 32]; 2]), None);
        assert_eq!(fold(u64::MAX, u64::MAX / 2, &[leaf(u64::MAX - 1)], &[[0; 32]; 2]), None);
    }
}
