//! Makes proofs, from a dataset and its tree file.

use crate::error::{Error, Result};
use crate::leaves::Leaves;
use crate::proof::{FORMAT, Proof, ProofVariable};
use nc3z_format::classic::VarId;
use nc3z_format::digest::{Entry, Hash, Tree, TreePlace, leaf_hash, nodes, values_digest, values_root};
use nc3z_format::selection::Hyperslab;
use nc3z_reader::{Dataset, TreeFile};
use serde_json::Map;
use std::ops::Range;

/// The maximal number of bytes of leaves in a proof. If a slice is scattered over an array, each value needs
/// its whole leaf.
pub const MAX_LEAF_BYTES: u64 = 64 << 20;

/// A variable of a slice, and the part of it that the slice has.
#[derive(Debug, Clone)]
pub struct Part {
    /// The variable's place in the header.
    pub variable: VarId,
    /// The part of it; strides are at least 1.
    pub slab: Hyperslab,
}

/// Makes the proof of a slice. `parts` are its variables in the order of the header. `with_file` is true if
/// the slice has the attributes of the file. From the dataset, only nodes of the tree at the borders of the
/// slice are read.
///
/// # Errors
/// Parts that have no proof; leaves longer than [`MAX_LEAF_BYTES`]; values that differ from the tree file;
/// read errors.
pub fn make(dataset: &Dataset, tree: &TreeFile, parts: &[Part], with_file: bool) -> Result<Proof> {
    let (header, layout) = (dataset.header(), dataset.layout());
    let digest = |n: usize| {
        let (v, id) = (&layout.variables[n], VarId(u32::try_from(n).unwrap_or(u32::MAX)));
        values_digest(v.ty, &v.shape, v.present, tree.values_root(id))
    };
    let entry = |n: usize| Entry::of_variable(header, layout, n, &digest(n)).encode();
    let mut variables = Vec::new();
    let mut room = MAX_LEAF_BYTES;
    for part in parts {
        let n = part.variable.index();
        let (found, leaves) = prove_values(dataset, tree, part, &mut room)?;
        variables.push(ProofVariable {
            name: String::from_utf8(header.variables[n].name.clone()).ok(),
            number: n as u64 + 1,
            entry: entry(n),
            start: part.slab.start.clone(),
            count: part.slab.count.clone(),
            stride: part.slab.stride.clone(),
            nodes: found,
            leaves,
        });
    }
    let file = Entry::of_file(header, layout);
    let all: Vec<Hash> = std::iter::once(leaf_hash(&file))
        .chain((0..layout.variables.len()).map(|n| leaf_hash(&entry(n))))
        .collect();
    let shown: Vec<u64> =
        with_file.then_some(0).into_iter().chain(variables.iter().map(|v| v.number)).collect();
    let path = nodes(all.len() as u64, 1, &shown, &mut |first, end| {
        let mut tree = Tree::default();
        let at = |n: u64| usize::try_from(n).expect("a place in memory");
        all[at(first)..at(end)].iter().for_each(|leaf| tree.push(*leaf));
        Ok::<_, Error>(tree.root())
    })?;
    Ok(Proof {
        format: FORMAT.to_owned(),
        root: tree.root().to_string(),
        entries: all.len() as u64,
        path,
        file: with_file.then_some(file),
        variables,
        about: Map::new(),
    })
}

/// Returns the nodes next to the leaves that a part meets, and the bytes of the leaves that it contains only
/// partly.
fn prove_values(
    dataset: &Dataset,
    tree: &TreeFile,
    part: &Part,
    room: &mut u64,
) -> Result<(Vec<Hash>, Vec<u8>)> {
    let v = &dataset.layout().variables[part.variable.index()];
    if part.slab.stride.iter().any(|step| *step < 1) {
        return Err(Error::Request("a slice with a proof needs strides of at least 1".to_owned()));
    }
    let leaves = Leaves::new(v.ty, &v.shape, v.present)?;
    let plan = leaves.plan(&part.slab)?;
    let mut values = Values { dataset, tree, variable: part.variable, node: None };
    let (mut met, mut brought) = (Vec::new(), Vec::new());
    for leaf in plan.tiles() {
        met.push(leaf.tile);
        if leaf.whole.is_some() {
            continue;
        }
        let len = leaves.len_of(leaf.tile);
        *room = room.checked_sub(len as u64).ok_or_else(|| {
            Error::Request(format!(
                "the slice is scattered: its proof would have more than {} MiB of values beside it; a slice along the last dimensions, or \
                 one that is widened, has a short proof",
                MAX_LEAF_BYTES >> 20
            ))
        })?;
        brought.extend(values.leaf(leaf.tile)?);
    }
    let found =
        nodes(leaves.count(), leaves.per_branch(), &met, &mut |first, end| values.subtree(first, end))?;
    Ok((found, brought))
}

/// The values of a variable, node by node. The last node is kept in memory.
struct Values<'a> {
    dataset: &'a Dataset,
    tree: &'a TreeFile,
    variable: VarId,
    node: Option<(u64, Vec<u8>)>,
}

impl Values<'_> {
    fn leaf(&mut self, leaf: u64) -> Result<Vec<u8>> {
        let bytes = self.tree.place(self.variable).leaves.range(leaf);
        Ok(self.part(bytes)?.to_vec())
    }

    /// Returns values of one node, after checking it.
    fn part(&mut self, bytes: Range<u64>) -> Result<&[u8]> {
        let nodes = self.tree.place(self.variable).nodes;
        let number = nodes.piece_at(bytes.start);
        let Range { start: first, end } = nodes.range(number);
        if self.node.as_ref().is_none_or(|(held, _)| *held != number) {
            let mut values = vec![0; usize::try_from(end - first).expect("a node is at most 1 MiB")];
            self.dataset.source().read_range(self.variable, first, &mut values)?;
            if !self.tree.matches(self.variable, number, &values)? {
                return Err(Error::refused("the tree file does not belong to the values of the dataset"));
            }
            self.node = Some((number, values));
        }
        let at = |byte: u64| usize::try_from(byte - first).expect("a place in a node");
        Ok(&self.node.as_ref().expect("it was read").1[at(bytes.start)..at(bytes.end)])
    }

    /// Returns the root over some leaves: from the tree file, or, inside a node, computed from values.
    fn subtree(&mut self, first: u64, end: u64) -> Result<Hash> {
        let TreePlace { leaves, nodes, .. } = *self.tree.place(self.variable);
        let bytes = leaves.range(first).start..leaves.range(end - 1).end;
        if nodes.around(bytes.clone()) == bytes {
            let numbers = nodes.piece_at(bytes.start)..nodes.piece_at(bytes.end - 1) + 1;
            return Ok(self.tree.subtree(self.variable, numbers)?);
        }
        Ok(values_root(self.part(bytes)?, leaves.branch()))
    }
}
