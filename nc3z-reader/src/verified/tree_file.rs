//! The nodes of a tree file. Each page is checked once, at its first use.

use crate::error::{Error, ErrorKind, Result};
use crate::source::{MemorySource, SharedSource};
use nc3z_format::Error as FormatError;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::digest::{
    Hash, Root, TREE_MAGIC, TreePlace, fold_nodes, hashes, root_of_values, tree_roots, values_root,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Length of a hash in bytes.
const HASH_LEN: u64 = 32;
/// A tree file of at most this many bytes is read as a whole: the tree of 2 GiB of values has 1 MiB.
const SHORT_TREE_FILE: usize = 1 << 20;
/// Largest number of pages in memory: 64 MiB of nodes, which cover at least 4 TiB of values.
const MOST_PAGES: usize = 4096;

/// A tree file: one level of the tree over each variable's values. It may come from anyone: its content is
/// checked against a root.
pub struct TreeFile {
    source: SharedSource,
    places: Vec<TreePlace>,
    roots: Vec<Hash>,
    /// Pages by variable and number. The roots of a variable's pages have no number.
    pages: Mutex<HashMap<(VarId, Option<u64>), Arc<Vec<Hash>>>>,
    root: Root,
}

impl TreeFile {
    /// Opens the tree file of a dataset with this header and layout. All else in the file follows from its
    /// root.
    ///
    /// # Errors
    /// No tree file, or one of a dataset with other variables or lengths.
    pub fn open(source: SharedSource, header: &Header, layout: &Layout) -> Result<Self> {
        let (places, len) = TreePlace::all(layout);
        let source = in_memory_if_short(source)?;
        let begin =
            source.read_at(0, source.len().min(TREE_MAGIC.len() as u64 + 8).try_into().unwrap_or(0))?;
        if !begin.starts_with(TREE_MAGIC) {
            return Err(FormatError::invalid("not a tree file: it does not begin with `nc3z tree 1`").into());
        }
        let other =
            || FormatError::invalid("the tree file is of another dataset: it has other variables or lengths");
        let count = (layout.variables.len() as u64).to_be_bytes();
        if begin[TREE_MAGIC.len()..] != count || source.len() != len {
            return Err(other().into());
        }
        let (offset, roots_len) = tree_roots(places.len());
        let roots = read(&source, offset, roots_len)?;
        let root = root_of_values(header, layout, &roots);
        Ok(TreeFile { source, places, roots, pages: Mutex::default(), root })
    }

    /// The root of the dataset, from header and tree file.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Compares the root with the expected one.
    ///
    /// # Errors
    /// The tree file has another root.
    pub fn expect(&self, root: &Root) -> Result<()> {
        if self.root == *root {
            return Ok(());
        }
        Err(ErrorKind::OtherRoot { expected: root.to_string(), found: self.root.to_string() }.into())
    }

    /// The root of a variable's values.
    ///
    /// # Panics
    /// The variable does not exist.
    pub fn values_root(&self, var: VarId) -> &Hash {
        &self.roots[var.index()]
    }

    /// The root over the nodes of this range, which must be a node of the tree: a part of one branch, or whole
    /// branches. The range is all nodes (or branches) of the level below, or a power of two of them from a multiple
    /// of that power on, or all after such a multiple.
    ///
    /// # Errors
    /// Nodes that do not belong to the variable's root; errors of reading the file.
    pub fn subtree(&self, var: VarId, nodes: Range<u64>) -> Result<Hash> {
        let place = *self.place(var);
        if nodes == (0..place.nodes.count()) {
            return Ok(*self.values_root(var));
        }
        let (first, within) = place.page_of(nodes.start);
        let (last, end) = place.page_of(nodes.end - 1);
        let (page, range, per_branch) = if first == last && (within > 0 || !Self::is_page(place, first, end))
        {
            (Some(first), within..end + 1, place.nodes.per_branch())
        } else {
            let at = |page| usize::try_from(page).unwrap_or(usize::MAX);
            (None, at(first)..at(last).saturating_add(1), place.pages_per_branch())
        };
        let hashes = self.page(var, page)?;
        Ok(fold_nodes(hashes.get(range).ok_or_else(|| Self::wrong(var))?, per_branch))
    }

    /// Returns true if a page ends with this node.
    fn is_page(place: TreePlace, page: u64, last: usize) -> bool {
        place.page(page).is_some_and(|(_, len)| len == (last as u64 + 1) * HASH_LEN) && place.pages() > 1
    }

    /// The layout of a variable's nodes in the file.
    ///
    /// # Panics
    /// The variable does not exist.
    pub fn place(&self, var: VarId) -> &TreePlace {
        &self.places[var.index()]
    }

    /// Returns true if these values are those of a node.
    ///
    /// # Errors
    /// As [`TreeFile::subtree`].
    pub fn matches(&self, var: VarId, node: u64, values: &[u8]) -> Result<bool> {
        Ok(values_root(values, self.place(var).leaves.branch()) == self.node(var, node)?)
    }

    /// One node.
    ///
    /// # Errors
    /// As [`TreeFile::subtree`].
    pub fn node(&self, var: VarId, node: u64) -> Result<Hash> {
        let (page, within) = self.place(var).page_of(node);
        let nodes = self.page(var, Some(page))?;
        nodes.get(within).copied().ok_or_else(|| Self::wrong(var))
    }

    /// A page of nodes, or the roots of pages.
    fn page(&self, var: VarId, page: Option<u64>) -> Result<Arc<Vec<Hash>>> {
        let known = |pages: &HashMap<_, Arc<Vec<Hash>>>| pages.get(&(var, page)).map(Arc::clone);
        if let Some(page) = known(&self.pages.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(page);
        }
        let place = *self.place(var);
        let root = self.roots[var.index()];
        let per_branch = if page.is_some() { place.nodes.per_branch() } else { place.pages_per_branch() };
        let (range, expected) = match page {
            None => (place.page_roots(), root),
            Some(page) if place.pages() > 1 => {
                let roots = self.page(var, None)?;
                let at = usize::try_from(page).unwrap_or(usize::MAX);
                (place.page(page), *roots.get(at).ok_or_else(|| Self::wrong(var))?)
            }
            Some(page) => (place.page(page), root),
        };
        let nodes = match range {
            Some((offset, len)) => read(&self.source, offset, len)?,
            None => vec![root],
        };
        if fold_nodes(&nodes, per_branch) != expected {
            return Err(Self::wrong(var));
        }
        let nodes = Arc::new(nodes);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() >= MOST_PAGES {
            pages.clear();
        }
        pages.insert((var, page), Arc::clone(&nodes));
        Ok(nodes)
    }

    fn wrong(var: VarId) -> Error {
        let what = format!(
            "the tree file is damaged or forged: nodes of variable {} are not those of its root",
            var.0
        );
        FormatError::invalid(what).into()
    }
}

/// Reads a short tree file as a whole: a remote one costs a single round trip.
fn in_memory_if_short(source: SharedSource) -> Result<SharedSource> {
    match usize::try_from(source.len()) {
        Ok(len) if len <= SHORT_TREE_FILE => Ok(Arc::new(MemorySource::new(source.read_at(0, len)?))),
        _ => Ok(source),
    }
}

/// Some hashes of the tree file.
fn read(source: &SharedSource, offset: u64, len: u64) -> Result<Vec<Hash>> {
    let len =
        usize::try_from(len).map_err(|_| FormatError::invalid("the tree file does not fit in memory"))?;
    Ok(hashes(&source.read_at(offset, len)?))
}
