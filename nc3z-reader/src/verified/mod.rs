//! Reads that are checked against a root: every returned value belongs to the dataset with that root,
//! whatever the origin of the bytes (`spec/proof.md`, section 4).
//!
//! ```text
//! root ◀── header, roots of all variables' values   checked on opening
//!          roots ◀── nodes of a stored level        checked page by page, once
//!                    nodes ◀── values               checked at each read, before any is returned
//! ```

mod tree_file;

use crate::classic::ClassicFile;
use crate::dataset::{ArraySource, Dataset};
use crate::error::{Error, ErrorKind, Result};
use crate::monitor::Monitor;
use crate::parallel;
use crate::restore::DigestRequest;
use crate::source::{MemorySource, SharedSource};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::digest::{Pieces, Root};
use nc3z_format::plan::{Plan, TilePlan};
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::{TileExtent, Tiling};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
pub use tree_file::TreeFile;

/// Bytes of nodes that are read and checked at a time. Nodes that the output contains only in part are in
/// memory meanwhile.
const BATCH_LEN: u64 = 64 << 20;
/// Runs of whole nodes of at least this many bytes are read directly into the output, although the tiles at
/// their ends are then decoded twice: a copy of 16 MiB takes about as long as decoding two tiles of 1 MiB.
const WHOLE_FROM: u64 = 16 << 20;
/// From this many bytes of nodes on, other threads check some of them: 512 KiB are hashed in 0.4 ms.
const PARALLEL_FROM: usize = 512 << 10;

impl Dataset {
    /// The same dataset, with every value checked against a root before it is returned. `tree` is a tree file
    /// of any origin. Without one, the whole dataset is read here to make it. The header and the roots of all
    /// variables are checked now.
    ///
    /// ```
    /// use nc3z_reader::{Dataset, DigestRequest};
    /// let open = || Dataset::open("../testdata/classic/record_padding.nc", &Default::default());
    /// let wanted = DigestRequest { content: true, ..DigestRequest::default() };
    /// let root = open()?.digests(wanted, &())?.root().unwrap();
    /// let dataset = open()?.verified(&root, None, &())?;
    /// let a = dataset.variable("a")?;
    /// assert_eq!(a.read::<i16>(&a.all())?.len(), 200);
    /// # Ok::<(), nc3z_reader::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another root; a tree file of another dataset; errors of reading; a dataset that is neither an archive
    /// nor a classic file.
    pub fn verified(self, root: &Root, tree: Option<SharedSource>, monitor: &dyn Monitor) -> Result<Dataset> {
        let tree = if let Some(tree) = tree {
            tree
        } else {
            let wanted = DigestRequest { content: true, sha256: false, tree: true };
            let tree = self.digests(wanted, monitor)?.tree;
            Arc::new(MemorySource::new(tree.expect("the tree was wanted")))
        };
        let inner = Arc::clone(self.source());
        let tree = TreeFile::open(tree, inner.header(), inner.layout())?;
        tree.expect(root)?;
        Ok(Dataset::new(Arc::new(Verified { inner, tree, root: *root })))
    }

    /// Reads everything and computes digests of the file and of its content; see [`Archive::digests`](crate::Archive::digests) and [`ClassicFile::digests`].
    ///
    /// # Errors
    /// The errors of these; a dataset that is neither an archive nor a classic file.
    pub fn digests(&self, wanted: DigestRequest, monitor: &dyn Monitor) -> Result<crate::Digests> {
        match (self.archive(), self.classic()) {
            (Some(archive), _) => archive.digests(wanted, monitor),
            (None, Some(classic)) => ClassicFile::digests(classic, wanted, monitor),
            (None, None) => Err(FormatError::invalid("only archives and classic files have a root").into()),
        }
    }
}

/// An array source whose values are checked.
struct Verified {
    inner: Arc<dyn ArraySource>,
    tree: TreeFile,
    root: Root,
}

impl Verified {
    /// The values of nodes, in bytes.
    fn nodes(&self, var: VarId) -> &Pieces {
        &self.tree.place(var).nodes
    }

    /// Compares the values of a node with its hash.
    fn check(&self, var: VarId, node: u64, values: &[u8]) -> Result<()> {
        if self.tree.matches(var, node, values)? {
            return Ok(());
        }
        Err(self.wrong(var, node))
    }

    /// The error of values that do not belong to the root. It names the tiles from which they were decoded.
    fn wrong(&self, var: VarId, node: u64) -> Error {
        let size = self.layout().variables[var.index()].element_size();
        let bytes = self.nodes(var).range(node);
        let elements = bytes.start / size..bytes.end / size;
        let tiles = self.tiles_of(var, elements.start, elements.end).unwrap_or_default();
        let variable = format!("variable \"{}\"", self.header().variables[var.index()].name_lossy());
        ErrorKind::Unverified { variable, elements, tiles, root: self.root.to_string() }.into()
    }

    fn tiles_of(&self, var: VarId, first: u64, end: u64) -> Result<Vec<u64>> {
        let tiling = self.inner.tiling(var)?;
        let mut tiles = Vec::new();
        for plan in crate::tile::plans_of_run(&tiling, first, end - first) {
            tiles.extend(plan?.0.tiles().map(|tile| tile.tile));
        }
        tiles.sort_unstable();
        tiles.dedup();
        Ok(tiles)
    }

    /// Reads a hyperslab: as one run where it is one and at hand, otherwise node by node, a batch at a time.
    fn read_checked(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let v = &self.layout().variables[var.index()];
        let plan: Plan = self.nodes(var).plan(v.ty, &v.shape, v.present, slab)?;
        if let Some(first) = run_of(slab, &v.shape).filter(|_| !self.inner.fetches_ahead()) {
            let begin = first * v.element_size();
            if begin + out.len() as u64 <= v.present * v.element_size() {
                return self.read_run(var, begin, out);
            }
        }
        let most = in_memory((BATCH_LEN / self.nodes(var).piece()).max(1));
        let mut nodes = plan.tiles();
        loop {
            let batch: Vec<TilePlan<'_>> = nodes.by_ref().take(most).collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.read_batch(var, &batch, out)?;
        }
    }

    /// Reads the bytes from `begin` of the variable's flattened array into the output, and checks them there. The bytes of
    /// the first and the last node that the output does not contain are read separately.
    fn read_run(&self, var: VarId, begin: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let nodes = self.nodes(var);
        let end = begin + out.len() as u64;
        let around = nodes.around(begin..end);
        let apart = |bytes: Range<u64>| {
            let mut values = vec![0; in_memory(bytes.end - bytes.start)];
            if !values.is_empty() {
                self.inner.read_range(var, bytes.start, &mut values)?;
            }
            Ok::<_, Error>(values)
        };
        self.inner.read_range(var, begin, out)?;
        let before = apart(around.start..begin)?;
        let behind = apart(end..around.end)?;
        let check = |node: u64| {
            let Range { start: first, end: last } = nodes.range(node);
            let own = &out[in_memory(first.max(begin) - begin)..in_memory(last.min(end) - begin)];
            if first >= begin && last <= end {
                return self.check(var, node, own);
            }
            let before = if first < begin { &before[..] } else { &[] };
            let behind = if last > end { &behind[..] } else { &[] };
            self.check(var, node, &[before, own, behind].concat())
        };
        check_each(out.len(), (nodes.piece_at(begin)..=nodes.piece_at(end - 1)).collect(), check)
    }

    /// Reads and checks some nodes. Runs of nodes that the output contains as a whole are read into it. The
    /// others are read separately, each run once, and the needed values are copied.
    fn read_batch(&self, var: VarId, batch: &[TilePlan<'_>], out: &mut [u8]) -> Result<()> {
        let size = self.layout().variables[var.index()].ty.size();
        let (whole, apart): (Vec<_>, Vec<_>) =
            self.runs(var, batch).into_iter().partition(|run| is_whole(run));
        for run in whole {
            let first = run[0].whole.map_or(0, in_memory) * size;
            let bytes = self.bytes_of(var, run);
            let room = &mut out[first..][..in_memory(bytes.end - bytes.start)];
            self.inner.read_range(var, bytes.start, room)?;
            self.check_run(var, run[0].tile, room)?;
        }
        let near = self.fetch(var, &apart)?;
        let source = near.as_deref().unwrap_or(&*self.inner);
        let read = |run: &[TilePlan<'_>]| self.checked(source, var, self.bytes_of(var, run));
        let values: Vec<Result<Vec<u8>>> = match &apart[..] {
            [] => return Ok(()),
            // Threads share the work within the run.
            [run] => vec![read(run)],
            _ => parallel::in_pool(|| parallel::map(apart.clone(), read)),
        };
        for (run, values) in apart.iter().zip(values) {
            let (values, begin) = (values?, self.bytes_of(var, run).start);
            for node in *run {
                let from = in_memory(self.bytes_of(var, std::slice::from_ref(node)).start - begin);
                copy(node, &values[from..], size, out);
            }
        }
        Ok(())
    }

    /// Splits the batch into runs of consecutive nodes. A long part that the output contains as a whole is a
    /// separate run.
    fn runs<'b, 't>(&self, var: VarId, batch: &'b [TilePlan<'t>]) -> Vec<&'b [TilePlan<'t>]> {
        let mut runs = Vec::new();
        for run in batch.chunk_by(|a, b| a.tile + 1 == b.tile) {
            let is_long = |part: &[TilePlan<'_>]| {
                let bytes = self.bytes_of(var, part);
                part[0].whole.is_some() && bytes.end - bytes.start >= WHOLE_FROM
            };
            let parts = run.chunk_by(|a, b| a.whole.is_some() == b.whole.is_some());
            if parts.clone().any(is_long) {
                runs.extend(parts);
            } else {
                runs.push(run);
            }
        }
        runs
    }

    /// The bytes of consecutive nodes, in the variable's flattened array.
    fn bytes_of(&self, var: VarId, run: &[TilePlan<'_>]) -> Range<u64> {
        let nodes = self.nodes(var);
        nodes.range(run[0].tile).start..nodes.range(run[run.len() - 1].tile).end
    }

    /// The inner source with the bytes for several runs, fetched together if each request costs a round trip.
    fn fetch(&self, var: VarId, runs: &[&[TilePlan<'_>]]) -> Result<Option<Arc<dyn ArraySource>>> {
        if runs.len() < 2 || !self.inner.fetches_ahead() {
            return Ok(None);
        }
        let size = self.layout().variables[var.index()].element_size();
        let mut tiles = Vec::new();
        for run in runs {
            let bytes = self.bytes_of(var, run);
            tiles.extend(self.tiles_of(var, bytes.start / size, bytes.end / size)?);
        }
        tiles.sort_unstable();
        tiles.dedup();
        let (taken, near) = self.inner.fetch(var, &tiles)?;
        // If one round cannot fetch all tiles, they are fetched run by run.
        Ok(near.filter(|_| taken == tiles.len()))
    }

    /// Reads the values of whole nodes, these bytes of the variable's flattened array, and checks them.
    fn checked(&self, source: &dyn ArraySource, var: VarId, bytes: Range<u64>) -> Result<Vec<u8>> {
        let mut values = vec![0; in_memory(bytes.end - bytes.start)];
        source.read_range(var, bytes.start, &mut values)?;
        self.check_run(var, self.nodes(var).piece_at(bytes.start), &values)?;
        Ok(values)
    }

    /// Checks the values of consecutive nodes, from node `first` on.
    fn check_run(&self, var: VarId, first: u64, values: &[u8]) -> Result<()> {
        let (mut nodes, mut rest) = (Vec::new(), values);
        while !rest.is_empty() {
            let node = first + nodes.len() as u64;
            let bytes = self.nodes(var).range(node);
            let (own, after) = rest.split_at(in_memory(bytes.end - bytes.start));
            nodes.push((node, own));
            rest = after;
        }
        check_each(values.len(), nodes, |(node, values)| self.check(var, node, values))
    }
}

/// Checks nodes of `len` bytes together, by several threads if that pays.
fn check_each<T: Send>(
    len: usize,
    nodes: Vec<T>,
    check: impl Fn(T) -> Result<()> + Send + Sync,
) -> Result<()> {
    if len < PARALLEL_FROM {
        return nodes.into_iter().try_for_each(check);
    }
    parallel::in_pool(|| parallel::try_each(nodes, check))
}

/// Returns the first element of a hyperslab, if it is one run of the flattened array.
fn run_of(slab: &Hyperslab, shape: &[u64]) -> Option<u64> {
    let (mut first, mut unit, mut inner_are_whole) = (0, 1, true);
    for (d, len) in shape.iter().enumerate().rev() {
        let (start, count) = (slab.start[d], slab.count[d]);
        if count != 1 && (slab.stride[d] != 1 || !inner_are_whole) {
            return None;
        }
        inner_are_whole = inner_are_whole && count == *len;
        first += start * unit;
        unit *= len;
    }
    Some(first)
}

/// Returns true if the output contains all elements of these nodes, one after another.
fn is_whole(run: &[TilePlan<'_>]) -> bool {
    let follows = |a: &TilePlan<'_>, b: &TilePlan<'_>| {
        b.whole.is_some() && b.whole == a.whole.map(|first| first + a.elements)
    };
    run[0].whole.is_some() && run.is_sorted_by(follows)
}

/// A place in memory. It has been compared with the buffer.
fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("a place in a buffer")
}

/// Copies the values that a plan needs from a node.
fn copy(tile: &TilePlan<'_>, values: &[u8], size: usize, out: &mut [u8]) {
    for run in tile.runs() {
        if run.is_contiguous() {
            let len = in_memory(run.len) * size;
            let from = &values[in_memory(run.src) * size..][..len];
            out[in_memory(run.dst) * size..][..len].copy_from_slice(from);
            continue;
        }
        for n in 0..run.len {
            let from = in_memory(run.src + n * run.src_step) * size;
            let to = run.dst.wrapping_add(run.dst_step.cast_unsigned().wrapping_mul(n));
            out[in_memory(to) * size..][..size].copy_from_slice(&values[from..from + size]);
        }
    }
}

impl ArraySource for Verified {
    fn header(&self) -> &Header {
        self.inner.header()
    }

    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>> {
        self.inner.tiling(var)
    }

    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()> {
        match self.inner.tiling(var)?.extent(tile)? {
            TileExtent::Linear { first, .. } => {
                let size = self.layout().variables[var.index()].element_size();
                self.read_range(var, first * size, out)
            }
            TileExtent::Chunk { start, shape } => {
                let slab = Hyperslab::new(start.clone(), shape, vec![1; start.len()])?;
                let bytes = self.layout().variables[var.index()].ty.size();
                if in_memory(slab.count.iter().product::<u64>()) * bytes != out.len() {
                    let what = "reading with a root reads padded tiles as hyperslabs";
                    return Err(FormatError::invalid(what).into());
                }
                self.read_slab(var, &slab, out)
            }
        }
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, _: bool) -> Result<(u64, Bytes)> {
        let size = self.layout().variables[var.index()].ty.size();
        let mut bytes = vec![0; in_memory(tile.decoded) * size];
        self.fill_tile(var, tile.tile, &mut bytes)?;
        Ok((0, bytes.into()))
    }

    fn reads_slabs(&self, _: VarId) -> bool {
        true
    }

    fn read_slab(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let done = self.read_checked(var, slab, out);
        if done.is_err() {
            // Unchecked values are removed, in case the caller ignores the error.
            out.fill(0);
        }
        done
    }

    fn decode_cost(&self, var: VarId, tile: u64) -> u64 {
        self.inner.decode_cost(var, tile)
    }

    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        let v = &self.layout().variables[var.index()];
        let total = v.present * v.element_size();
        let (mut at, mut rest) = (first, out);
        while !rest.is_empty() {
            if at >= total {
                // The inner source says what is missing.
                return self.inner.read_range(var, at, rest);
            }
            // Whole nodes, as many as are checked at once.
            let end = at.saturating_add(rest.len() as u64).min(total).min(at.saturating_add(BATCH_LEN));
            let bytes = self.nodes(var).around(at..end);
            let from = in_memory(at - bytes.start);
            let values = self.checked(&*self.inner, var, bytes)?;
            let from = &values[from..];
            let (here, after) = rest.split_at_mut(from.len().min(rest.len()));
            here.copy_from_slice(&from[..here.len()]);
            at += here.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn read_bytes(&self, _: u64, _: &mut [u8]) -> Result<()> {
        let what = "a root covers names, attributes and values, not the file's bytes: read variables, or open without a root";
        Err(FormatError::invalid(what).into())
    }
}
