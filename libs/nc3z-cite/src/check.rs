//! Checks a slice against a root: `spec/proof.md`, section 3, step by step.

use crate::error::{Error, Result};
use crate::leaves::Leaves;
use crate::proof::{Proof, ProofVariable};
use crate::slice::{Slice, SliceVariable};
use nc3z_format::digest::{Entry, Hash, Root, fold, leaf_hash, root_of_entries, values_digest};
use nc3z_format::selection::Hyperslab;
use nc3z_look::text;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The proven properties of a slice.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proven {
    /// The root of the dataset.
    pub root: Root,
    /// True where the slice has the attributes of the file.
    pub has_file: bool,
    /// The variables of the slice.
    pub variables: Vec<ProvenVariable>,
}

impl Proven {
    /// Returns the result for the slice with this name. `about` has the proof's statements, which are not proven.
    pub fn to_json(&self, slice: &str, about: serde_json::Map<String, Value>) -> Value {
        let variables = self.variables.iter().map(|v| {
            json!({
                "name": text::name(&v.entry.name), "start": v.slab.start, "count": v.slab.count, "stride": v.slab.stride,
                "shape": v.entry.shape(), "words": text::safe(&v.to_string()),
            })
        });
        json!({
            "slice": slice, "root": self.root.to_string(), "global_attributes": self.has_file,
            "variables": variables.collect::<Vec<_>>(), "about_unproven": text::safe_json(about.into()),
        })
    }
}

/// A variable that is a part of the dataset's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProvenVariable {
    /// The entry of the root for it.
    pub entry: Entry,
    /// The part of the variable.
    pub slab: Hyperslab,
}

/// Checks that a slice is a part of the dataset with this root, as described by the proof.
///
/// # Errors
/// The slice is not a part of it, or the proof does not show it. The message says what differs.
pub fn check(slice: &Slice, proof: &Proof, root: &Root) -> Result<Proven> {
    let named = proof.root()?;
    if named != *root {
        return Err(Error::refused(format!("the proof is against the root {named}, not {root}")));
    }
    if proof.variables.len() != slice.variables.len() || proof.variables.is_empty() {
        let (proven, there) = (proof.variables.len(), slice.variables.len());
        return Err(Error::refused(format!("the proof has {proven} variables, and the slice has {there}")));
    }
    let mut entries: Vec<(u64, Hash)> = Vec::new();
    match (&proof.file, &slice.attributes) {
        (Some(entry), Some(attributes)) => {
            if Entry::decode_file(entry)? != *attributes {
                return Err(Error::refused(
                    "the global attributes of the slice differ from those of the dataset",
                ));
            }
            entries.push((0, leaf_hash(entry)));
        }
        (None, Some(attributes)) if !attributes.is_empty() => {
            return Err(Error::refused("the slice has global attributes, which the proof does not cover"));
        }
        (Some(_), None) => {
            return Err(Error::refused("the proof covers attributes that the slice does not have"));
        }
        (None, _) => {}
    }
    let mut variables: Vec<ProvenVariable> = Vec::new();
    for (part, own) in proof.variables.iter().zip(&slice.variables) {
        let proven = check_variable(part, own)
            .map_err(|e| Error::refused(format!("variable {}: {}", part.label(), bare(&e))))?;
        entries.push((part.number, leaf_hash(&part.entry)));
        variables.push(proven);
    }
    check_dimensions(&variables)?;
    let tree = fold(proof.entries, 1, &entries, &proof.path);
    let tree = tree.ok_or_else(|| Error::refused("the path from the entries to the root has other nodes"))?;
    let found = root_of_entries(proof.entries, &tree);
    if found != *root {
        return Err(Error::refused(format!("the variables of the proof have the root {found}, not {root}")));
    }
    Ok(Proven { root: *root, has_file: proof.file.is_some(), variables })
}

/// Returns an error's message without the prefix that the outer error has.
fn bare(e: &Error) -> String {
    match e {
        Error::Refused(what) => what.clone(),
        other => other.to_string(),
    }
}

impl ProofVariable {
    /// Returns its name for messages.
    fn label(&self) -> String {
        let number = self.number;
        self.name.as_ref().map_or_else(|| format!("{number}"), |name| format!("`{}`", name.escape_debug()))
    }
}

fn check_variable(part: &ProofVariable, own: &SliceVariable) -> Result<ProvenVariable> {
    let entry = Entry::decode(&part.entry)?;
    if part.number == 0 {
        return Err(Error::refused("entry 0 is that of the file"));
    }
    if part.name.as_ref().is_some_and(|name| name.as_bytes() != entry.name) {
        return Err(Error::refused("the name beside the entry is not the name in it"));
    }
    let slab = slab_of(part, &entry)?;
    check_form(own, &entry, &slab)?;
    let shape = entry.shape();
    let leaves = Leaves::new(entry.ty, &shape, entry.present)?;
    let plan = leaves.plan(&slab)?;
    let wanted = plan.selected().checked_mul(entry.ty.size() as u64);
    if wanted != Some(own.values.len() as u64) {
        let found = own.values.len();
        return Err(Error::refused(format!("the hyperslab {slab} is not the {found} bytes of the slice")));
    }
    let mut rest = &part.leaves[..];
    let mut known: Vec<(u64, Hash)> = Vec::new();
    for leaf in plan.tiles() {
        if let Some(bytes) = leaves.whole(&leaf, &own.values) {
            known.push((leaf.tile, leaf_hash(bytes)));
            continue;
        }
        let (bytes, after) = rest
            .split_at_checked(leaves.len_of(leaf.tile))
            .ok_or_else(|| Error::refused(format!("leaf {} is not in the proof", leaf.tile)))?;
        rest = after;
        if !leaves.agrees(&leaf, bytes, &own.values) {
            return Err(Error::refused(format!(
                "values of the slice differ from those of leaf {}",
                leaf.tile
            )));
        }
        known.push((leaf.tile, leaf_hash(bytes)));
    }
    if !rest.is_empty() {
        return Err(Error::refused("the proof has leaves that the hyperslab does not meet"));
    }
    let root = fold(leaves.count(), leaves.per_branch(), &known, &part.nodes);
    let root =
        root.ok_or_else(|| Error::refused("the path from the values to their root has other nodes"))?;
    if values_digest(entry.ty, &shape, entry.present, &root) != entry.digest {
        return Err(Error::refused(format!("the values are not those of {slab}")));
    }
    Ok(ProvenVariable { entry, slab })
}

/// Checks that a slice has a single part of each dimension. Otherwise values could get coordinates that do
/// not belong to them.
fn check_dimensions(variables: &[ProvenVariable]) -> Result<()> {
    let mut parts: BTreeMap<u64, (u64, u64, i64)> = BTreeMap::new();
    for variable in variables {
        for (n, dimension) in variable.entry.dimensions.iter().enumerate() {
            let slab = &variable.slab;
            let part = (slab.start[n], slab.count[n], slab.stride[n]);
            if *parts.entry(dimension.number).or_insert(part) != part {
                let name = String::from_utf8_lossy(&dimension.name);
                return Err(Error::refused(format!(
                    "two parts of the dimension `{}` in one slice",
                    name.escape_debug()
                )));
            }
        }
    }
    Ok(())
}

/// Returns the hyperslab of a proof. Strides are at least 1, so that a slice has its elements in the
/// dataset's order.
fn slab_of(part: &ProofVariable, entry: &Entry) -> Result<Hyperslab> {
    let rank = entry.dimensions.len();
    let lens = [part.start.len(), part.count.len(), part.stride.len()];
    if lens != [rank; 3] {
        return Err(Error::refused(format!("a hyperslab of other dimensions than {rank}")));
    }
    if part.stride.iter().any(|step| *step < 1) {
        return Err(Error::refused("a stride below 1"));
    }
    Ok(Hyperslab::new(part.start.clone(), part.count.clone(), part.stride.clone())?)
}

/// Compares the description of a variable in the slice with its entry. Formats describe variables in
/// different detail; each detail must be right.
fn check_form(own: &SliceVariable, entry: &Entry, slab: &Hyperslab) -> Result<()> {
    let differs = |what: &str| Err(Error::refused(format!("the slice has another {what} than the dataset")));
    if own.name.as_ref().is_some_and(|name| *name != entry.name) {
        return differs("name");
    }
    if own.ty != entry.ty {
        return differs("type");
    }
    if own.shape != slab.count {
        return Err(Error::refused(format!(
            "the slice has the shape {:?}, and the hyperslab is {slab}",
            own.shape
        )));
    }
    if let Some(dimensions) = &own.dimensions {
        let same = dimensions.len() == entry.dimensions.len()
            && dimensions.iter().zip(&entry.dimensions).all(|(own, dimension)| {
                own.name == dimension.name && own.is_record.is_none_or(|is| is == dimension.is_record)
            });
        if !same {
            return differs("list of dimensions");
        }
    }
    if own.attributes.as_ref().is_some_and(|attributes| *attributes != entry.attributes) {
        return differs("list of attributes");
    }
    Ok(())
}

impl std::fmt::Display for ProvenVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = String::from_utf8_lossy(&self.entry.name);
        write!(f, "{} {}", self.entry.ty.name(), name.escape_debug())?;
        for (n, dimension) in self.entry.dimensions.iter().enumerate() {
            let (start, count, stride) = (self.slab.start[n], self.slab.count[n], self.slab.stride[n]);
            let own = String::from_utf8_lossy(&dimension.name);
            write!(f, "{}{}=", if n == 0 { "(" } else { ", " }, own.escape_debug())?;
            let last = start + stride.unsigned_abs() * count.saturating_sub(1);
            match (count, stride) {
                (0, _) => write!(f, "nothing")?,
                (1, _) => write!(f, "{start}")?,
                (_, 1) => write!(f, "{start}..{last}")?,
                _ => write!(f, "{start}..{last} by {stride}")?,
            }
            write!(f, " of {}", dimension.len)?;
        }
        if !self.entry.dimensions.is_empty() {
            write!(f, ")")?;
        }
        Ok(())
    }
}
