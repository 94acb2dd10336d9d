//! Makes proofs, from a dataset and its tree file.

use crate::error::{Error, Result};
use crate::leaves::Leaves;
use crate::proof::{FORMAT, Proof, ProofVariable};
use nc3z_format::classic::VarId;
use nc3z_format::digest::{Entry, Hash, LEAF_LEN, Tree, leaf_hash, nodes, values_digest};
use nc3z_format::select::Hyperslab;
use nc3z_reader::{Dataset, TreeFile};
use serde_json::Map;

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
    let path = nodes(all.len() as u64, &shown, &mut |first, end| {
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
        return Err(Error::Request("a slice with a proof goes forward: strides are at least 1".to_owned()));
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
        brought.extend(values.leaf(leaf.tile, len)?);
    }
    let found = nodes(leaves.count(), &met, &mut |first, end| values.subtree(first, end))?;
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
    /// The number of leaves of a node.
    fn per_node(&self) -> u64 {
        self.tree.place(self.variable).node_len / LEAF_LEN as u64
    }

    fn leaf(&mut self, leaf: u64, len: usize) -> Result<Vec<u8>> {
        let within = usize::try_from(leaf % self.per_node()).expect("less than a node") * LEAF_LEN;
        let node = self.node(leaf / self.per_node())?;
        Ok(node[within..within + len].to_vec())
    }

    /// Returns the values of a node, after checking them.
    fn node(&mut self, node: u64) -> Result<&[u8]> {
        if self.node.as_ref().is_none_or(|(held, _)| *held != node) {
            let v = &self.dataset.layout().variables[self.variable.index()];
            let place = self.tree.place(self.variable);
            let first = node * place.node_len;
            let len = place.node_len.min(v.present * v.element_size() - first);
            let mut values = vec![0; usize::try_from(len).expect("a node is at most 1 MiB")];
            self.dataset.source().read_range(self.variable, first, &mut values)?;
            if nc3z_format::digest::values_root(&values) != self.tree.node(self.variable, node)? {
                return Err(Error::refused("the tree file is of other values than the dataset has"));
            }
            self.node = Some((node, values));
        }
        Ok(&self.node.as_ref().expect("it was read").1)
    }

    /// Returns the root over some leaves: from the tree file, or, inside a node, computed from values.
    fn subtree(&mut self, first: u64, end: u64) -> Result<Hash> {
        let per_node = self.per_node();
        let is_nodes =
            first.is_multiple_of(per_node) && (end.is_multiple_of(per_node) || end == self.leaves());
        if is_nodes {
            return Ok(self.tree.subtree(self.variable, first / per_node..end.div_ceil(per_node))?);
        }
        let begin = usize::try_from(first % per_node).expect("less than a node") * LEAF_LEN;
        let leaves = usize::try_from(end - first).expect("less than a node") * LEAF_LEN;
        let node = self.node(first / per_node)?;
        Ok(nc3z_format::digest::values_root(&node[begin..node.len().min(begin + leaves)]))
    }

    fn leaves(&self) -> u64 {
        let v = &self.dataset.layout().variables[self.variable.index()];
        (v.present * v.element_size()).div_ceil(LEAF_LEN as u64)
    }
}
