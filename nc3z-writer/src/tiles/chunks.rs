//! Reads chunks from the source. A box of the array, which consists of chunks with consecutive numbers, is read run
//! by run and cut.
//!
//! Chunks are numbered row-major. So the chunks of a box have consecutive numbers if it spans one chunk along the
//! outer dimensions, any number along one dimension, and the whole length of the inner dimensions. The largest such box
//! that fits in memory is read at a time. The tiles and their order do not depend on its size.

use super::padding::fill_up;
use super::raw::RawTile;
use super::read_ahead::ReadAhead;
use crate::error::Result;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::{VarId, VarLayout};
use nc3z_format::plan::{Plan, TilePlan};
use nc3z_format::tile::{Edge, TileExtent, TileLayout, Tiling};
use nc3z_format::{Hyperslab, selection};
use nc3z_reader::ClassicFile;

/// Runs are read separately, not through the buffer, if the distance to the next run is this many times their
/// length.
const SPARSE: u64 = 8;

/// The largest length of a box of several layers in bytes. A longer box would not need fewer reads.
const SEVERAL_LEN: u64 = 8 << 20;

/// A chunked variable and the positions of its bytes.
pub(crate) struct Chunked<'a> {
    info: &'a ArrayInfo,
    /// Chunks over bytes: the last dimension is the bytes of an element.
    tiling: Tiling,
    /// Lengths of a chunk, the last in bytes; never longer than the array for clipped chunks.
    chunk: Vec<u64>,
    padded: bool,
    /// Offset in the source of the first element.
    begin: u64,
    /// For each dimension, the distance in the source from one index to the next, in bytes.
    steps: Vec<u64>,
}

impl<'a> Chunked<'a> {
    /// The chunks of a variable; `None` where its tiles are linear.
    pub(crate) fn new(classic: &ClassicFile, arrays: &'a Arrays, var: VarId) -> Result<Option<Self>> {
        Self::from_array(arrays.variable(var), &classic.layout().variables[var.index()])
    }

    fn from_array(info: &'a ArrayInfo, place: &VarLayout) -> Result<Option<Self>> {
        if !matches!(info.tiling.layout(), TileLayout::Chunked { .. }) {
            return Ok(None);
        }
        let tiling = info.byte_tiling()?;
        let TileLayout::Chunked { shape: chunk, edge } = tiling.layout() else { return Ok(None) };
        let (chunk, padded) = (chunk.clone(), *edge == Edge::Padded);
        let mut steps = selection::widths(tiling.shape());
        if place.is_record {
            steps[0] = place.stride;
        }
        Ok(Some(Chunked { info, tiling, chunk, padded, begin: place.begin, steps }))
    }

    /// Returns the number of layers of chunks: indices of the grid of chunks along the first dimension.
    pub(crate) fn layers(&self) -> u64 {
        self.tiling.shape()[0].div_ceil(self.chunk[0])
    }

    /// Returns the bytes of a layer's elements, without padding.
    pub(crate) fn layer_len(&self, layer: u64) -> u64 {
        let slab = self.layer(layer);
        slab.count.iter().product()
    }

    /// True if a layer is one record: it is complete with the record, and is not open beside others.
    pub(crate) fn is_of_one_record(&self) -> bool {
        self.chunk[0] == 1
    }

    fn layer(&self, layer: u64) -> Hyperslab {
        let mut slab = Hyperslab::all(self.tiling.shape());
        (slab.start[0], slab.count[0]) = self.span(0, layer, 1);
        slab
    }

    /// Returns the first index and the number of indices of chunks `first .. first + count` along a dimension.
    fn span(&self, dim: usize, first: u64, count: u64) -> (u64, u64) {
        let start = first * self.chunk[dim];
        (start, self.chunk[dim].saturating_mul(count).min(self.tiling.shape()[dim] - start))
    }

    /// Calls `sink` with the tiles of some layers, whose elements are in the source. They are read in boxes of at
    /// most `budget` bytes, unless a chunk is larger.
    pub(crate) fn read_layers(
        &self,
        layers: std::ops::Range<u64>,
        reader: &mut ReadAhead<'_>,
        budget: u64,
        sink: &mut dyn FnMut(RawTile) -> Result<()>,
    ) -> Result<()> {
        let mut boxes = Boxes::new(self, layers, budget);
        let mut bytes = Vec::new();
        while let Some(slab) = boxes.next_box() {
            let len: u64 = slab.count.iter().product();
            bytes.resize(
                usize::try_from(len).expect("a box has at most the bytes of the budget or of one chunk"),
                0,
            );
            self.read_box(&slab, reader, &mut bytes)?;
            self.cut(&slab, &bytes, sink)?;
        }
        Ok(())
    }

    /// Calls `sink` with the tiles of a layer whose elements are given.
    pub(crate) fn cut_layer(
        &self,
        layer: u64,
        bytes: &[u8],
        sink: &mut dyn FnMut(RawTile) -> Result<()>,
    ) -> Result<()> {
        self.cut(&self.layer(layer), bytes, sink)
    }

    /// Cuts the bytes of a box of whole chunks into tiles.
    fn cut(&self, slab: &Hyperslab, bytes: &[u8], sink: &mut dyn FnMut(RawTile) -> Result<()>) -> Result<()> {
        let plan = Plan::with_tiling(&self.tiling, slab)?;
        for part in plan.tiles() {
            let mut tile = vec![0; usize::try_from(part.decoded).expect("a tile is at most 1 GiB")];
            copy_back(&part, bytes, &mut tile);
            if part.elements < part.decoded
                && let TileExtent::Chunk { shape, .. } = self.tiling.extent(part.tile)?
            {
                self.fill_up(&mut tile, &shape);
            }
            sink(RawTile { array: self.info.id, tile: part.tile, bytes: tile })?;
        }
        Ok(())
    }

    /// Fills up a chunk, or its beginning; the array has `extent` of it.
    fn fill_up(&self, tile: &mut [u8], extent: &[u64]) {
        // The last dimension is the bytes of an element, which all chunks have.
        let last = self.chunk.len() - 1;
        let size = usize::try_from(self.chunk[last]).expect("at most 8 bytes");
        fill_up(tile, &extent[..last], &self.chunk[..last], size);
    }

    /// Reads the beginning of a chunk, row-major like its tile: whole slices of at most `most` bytes, unless a
    /// slice is longer. `at` is its position in the grid of chunks.
    pub(crate) fn beginning(&self, at: &[u64], most: u64, reader: &mut ReadAhead<'_>) -> Result<Vec<u8>> {
        let rank = self.chunk.len();
        let mut slab = Hyperslab::all(self.tiling.shape());
        for (d, k) in at.iter().enumerate() {
            (slab.start[d], slab.count[d]) = self.span(d, *k, 1);
        }
        let decoded: Vec<u64> = if self.padded { self.chunk.clone() } else { slab.count.clone() };
        let widths = selection::widths(&decoded);
        let d = widths.iter().position(|w| *w <= most).unwrap_or(rank - 1);
        let along = (most / widths[d]).clamp(1, decoded[d]);
        for i in 0..d {
            slab.count[i] = 1;
        }
        slab.count[d] = slab.count[d].min(along);
        let mut bytes = vec![0; usize::try_from(slab.count.iter().product::<u64>()).expect("at most a tile")];
        self.read_box(&slab, reader, &mut bytes)?;
        let plan = Plan::with_tiling(&self.tiling, &slab)?;
        let Some(part) = plan.tiles().next() else { return Ok(Vec::new()) };
        let mut tile = vec![0; usize::try_from(along * widths[d]).expect("a tile is at most 1 GiB")];
        copy_back(&part, &bytes, &mut tile);
        if self.padded {
            self.fill_up(&mut tile, &slab.count);
        }
        Ok(tile)
    }

    /// Returns the number of chunks along each dimension that the array does not clip; one if it clips all.
    pub(crate) fn whole_chunks(&self) -> Vec<u64> {
        let dims = self.tiling.shape().iter().zip(&self.chunk);
        dims.map(|(n, c)| (n / c).max(1)).take(self.chunk.len() - 1).collect()
    }

    /// Reads a box, run by run.
    fn read_box(&self, slab: &Hyperslab, reader: &mut ReadAhead<'_>, out: &mut [u8]) -> Result<()> {
        // Contiguous inner dimensions are one run.
        let rank = slab.count.len();
        let (mut run, mut d) = (slab.count[rank - 1], rank - 1);
        while d > 0 && run == self.steps[d - 1] {
            d -= 1;
            run *= slab.count[d];
        }
        // Reads `run` bytes at a time, along the dimensions before `d`.
        let sparse = d > 0 && self.steps[d - 1] / SPARSE > run;
        let offset = |index: &[u64]| {
            let outer = index.iter().zip(&self.steps).map(|(i, step)| i * step).sum::<u64>();
            let inner = slab.start[d..].iter().zip(&self.steps[d..]).map(|(i, step)| i * step).sum::<u64>();
            self.begin + outer + inner
        };
        let mut index = slab.start[..d].to_vec();
        for part in out.chunks_exact_mut(usize::try_from(run).expect("inside the box")) {
            if sparse {
                reader.read_here(offset(&index), part)?;
            } else {
                reader.read(offset(&index), part)?;
            }
            // Advances the index over the outer dimensions.
            for i in (0..d).rev() {
                index[i] += 1;
                if index[i] < slab.start[i] + slab.count[i] {
                    break;
                }
                index[i] = slab.start[i];
            }
        }
        Ok(())
    }
}

/// Reverses the plan's copies: from the box into the tile, up to the tile's end.
fn copy_back(part: &TilePlan<'_>, bytes: &[u8], tile: &mut [u8]) {
    let narrow = |n: u64| usize::try_from(n).expect("inside a box in memory");
    for run in part.runs() {
        let (src, dst, len) = (narrow(run.src), narrow(run.dst), narrow(run.len));
        if run.is_contiguous() {
            tile[src..src + len].copy_from_slice(&bytes[dst..dst + len]);
            continue;
        }
        // Elements of one byte in chunks of one column: ascending, but not contiguous.
        let steps = (narrow(run.src_step), narrow(run.dst_step.unsigned_abs()));
        let to = tile[src..].iter_mut().step_by(steps.0).take(len);
        to.zip(bytes[dst..].iter().step_by(steps.1)).for_each(|(t, b)| *t = *b);
    }
}

/// The boxes in which some layers are read.
struct Boxes<'c> {
    chunked: &'c Chunked<'c>,
    /// Boxes span one chunk along the dimensions before this one, some along this one, all along the others.
    dim: usize,
    step: u64,
    /// Grid of chunks up to `dim`: the beginning of the next box, `None` after the last; the end of the grid.
    at: Option<Vec<u64>>,
    begin: u64,
    end: Vec<u64>,
}

impl<'c> Boxes<'c> {
    fn new(chunked: &'c Chunked<'c>, layers: std::ops::Range<u64>, budget: u64) -> Self {
        let shape = chunked.tiling.shape();
        let clipped: Vec<u64> = shape.iter().zip(&chunked.chunk).map(|(n, c)| (*n).min(*c)).collect();
        let len_from = |d: usize| -> u64 {
            let inner = shape[d + 1..].iter().product::<u64>();
            clipped[..=d].iter().product::<u64>().saturating_mul(inner)
        };
        let rank = shape.len();
        let dim = (0..rank).find(|&d| len_from(d) <= budget).unwrap_or(rank - 1);
        let most = if dim == 0 { budget.min(SEVERAL_LEN) } else { budget };
        let step = (most / len_from(dim)).max(1);
        let mut end: Vec<u64> =
            shape.iter().zip(&chunked.chunk).map(|(n, c)| n.div_ceil(*c)).take(dim + 1).collect();
        end[0] = layers.end;
        let mut first = vec![0; dim + 1];
        first[0] = layers.start;
        let at = (!layers.is_empty()).then_some(first);
        Boxes { chunked, dim, step, at, begin: layers.start, end }
    }

    fn next_box(&mut self) -> Option<Hyperslab> {
        let mut at = self.at.take()?;
        let mut slab = Hyperslab::all(self.chunked.tiling.shape());
        for (d, &k) in at.iter().enumerate() {
            let count = if d == self.dim { self.step.min(self.end[d] - k) } else { 1 };
            (slab.start[d], slab.count[d]) = self.chunked.span(d, k, count);
        }
        for d in (0..=self.dim).rev() {
            at[d] += if d == self.dim { self.step } else { 1 };
            if at[d] < self.end[d] {
                self.at = Some(at);
                break;
            }
            at[d] = if d == 0 { self.begin } else { 0 };
        }
        Some(slab)
    }
}
