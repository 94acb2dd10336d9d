//! Cuts selections into bands: parts of few tiles and few boxes, so that planning and staging a band takes
//! little memory.
//!
//! If possible, a band ends between two tiles. Then a tile that is overwritten whole is recognized and not
//! read.

mod pending;
mod runs;

use crate::error::Result;
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::selection::{AnySelection, Placed, Row, Run};
use nc3z_format::tile::element_count;
use pending::{LinearBand, RowBand};
use runs::{Ranks, each_index, halves, tiles_of, true_runs, walk};

/// Limit for the bytes of the tiles that a band touches.
const BAND_BYTES: u64 = if cfg!(test) { 64 } else { 16 << 20 };
/// Limit for the boxes of a band.
const BAND_BOXES: usize = if cfg!(test) { 3 } else { 1 << 14 };
/// A band with this many times its limit of boxes ends inside a tile.
const FORCED: usize = 4;
pub(super) type Each<'e> = &'e mut dyn FnMut(Placed) -> Result<()>;

/// The tiles of an array, as in the staged array.
pub(super) struct Bands {
    shape: Vec<u64>,
    /// Lengths of a tile; for a linear tile, the number of its elements.
    tile: Vec<u64>,
    is_linear: bool,
    tile_bytes: u64,
    most_bytes: u64,
    most_boxes: usize,
}

impl Bands {
    pub(super) fn new(shape: &[u64], spec: &TileLayoutSpec, size: usize) -> Result<Self> {
        let (tile, is_linear) = match spec {
            TileLayoutSpec::Linear(len) => (vec![*len], true),
            TileLayoutSpec::Chunked { shape, .. } => (shape.clone(), false),
        };
        let tile_bytes = tile.iter().fold(size as u64, |bytes, n| bytes.saturating_mul(*n));
        element_count(shape)?;
        let (most_bytes, most_boxes) = (BAND_BYTES, BAND_BOXES);
        Ok(Bands { shape: shape.to_vec(), tile, is_linear, tile_bytes, most_bytes, most_boxes })
    }

    /// Returns everything as one band, for a plan that is printed.
    pub(super) fn undivided(self) -> Self {
        Bands { most_bytes: u64::MAX, most_boxes: usize::MAX / FORCED, ..self }
    }

    /// Lengths of the values' array to which the bands' positions refer.
    pub(super) fn values_shape(&self, selection: &AnySelection<'_>, elements: u64) -> Vec<u64> {
        match selection {
            AnySelection::Grid(selection) if !self.is_linear => selection.counts(),
            _ => vec![elements],
        }
    }

    /// Calls `each` with one band after another. The selection is not empty.
    pub(super) fn each(&self, selection: &AnySelection<'_>, each: Each<'_>) -> Result<()> {
        match selection {
            AnySelection::Grid(selection) => {
                let axes = selection.runs(&self.shape)?;
                if self.is_linear { self.linear_grid(axes, each) } else { self.grid(axes, each) }
            }
            AnySelection::Points { starts, count, stride } => self.points(starts, count, stride, each),
            AnySelection::Mask(mask) if self.is_linear => self.linear_mask(mask, each),
            AnySelection::Mask(mask) => self.mask(mask, each),
        }
    }

    /// The band without elements.
    pub(super) fn nothing(&self) -> Result<Placed> {
        let array = self.array();
        Ok(Placed::grid(vec![Vec::new(); array.len()], &array)?)
    }

    /// Lengths of the staged array.
    fn array(&self) -> Vec<u64> {
        if self.is_linear { vec![self.shape.iter().product()] } else { self.shape.clone() }
    }

    /// For chunks: halves the axis that touches several tiles, until a part touches few tiles.
    fn grid(&self, axes: Vec<Vec<Run>>, each: Each<'_>) -> Result<()> {
        let touched: Vec<u64> =
            axes.iter().zip(&self.tile).map(|(runs, &size)| tiles_of(runs, size)).collect();
        let product = |all: &mut dyn Iterator<Item = u64>| all.fold(1, u64::saturating_mul);
        let tiles = product(&mut touched.iter().copied());
        let boxes = axes.iter().zip(&touched).map(|(runs, &tiles)| tiles.max(runs.len() as u64));
        let (boxes, most_boxes) = (product(&mut boxes.into_iter()), self.most_boxes as u64);
        if tiles > 1 && (tiles.saturating_mul(self.tile_bytes) > self.most_bytes || boxes > most_boxes) {
            let axis = touched.iter().position(|&n| n > 1).expect("several tiles are touched");
            let (low, high) = halves(&axes[axis], self.tile[axis]);
            return self.both(axes, axis, low, high, each);
        }
        if boxes > most_boxes.saturating_mul(FORCED as u64)
            && let Some(axis) =
                (0..axes.len()).filter(|&axis| axes[axis].len() > 1).max_by_key(|&axis| axes[axis].len())
        {
            let (low, high) = axes[axis].split_at(axes[axis].len() / 2);
            let (low, high) = (low.to_vec(), high.to_vec());
            return self.both(axes, axis, low, high, each);
        }
        each(Placed::grid(axes, &self.shape)?)
    }

    fn both(
        &self,
        mut axes: Vec<Vec<Run>>,
        axis: usize,
        low: Vec<Run>,
        high: Vec<Run>,
        each: Each<'_>,
    ) -> Result<()> {
        axes[axis] = low;
        self.grid(axes.clone(), each)?;
        axes[axis] = high;
        self.grid(axes, each)
    }

    /// For linear tiles: takes the runs of a grid in the flattened array, in ascending order.
    fn linear_grid(&self, mut axes: Vec<Vec<Run>>, each: Each<'_>) -> Result<()> {
        let mut units = vec![1; axes.len()];
        let mut value_units = vec![1; axes.len()];
        for axis in (1..axes.len()).rev() {
            units[axis - 1] = units[axis] * self.shape[axis];
            value_units[axis - 1] = value_units[axis] * axes[axis].iter().map(|run| run.count).sum::<u64>();
        }
        let twice = |runs: &Vec<Run>| runs.windows(2).any(|pair| pair[0].last() == pair[1].low);
        if axes.split_last().is_some_and(|(_, outer)| outer.iter().any(twice)) {
            // The runs do not ascend.
            let mut band = RowBand::new(self, each);
            walk(&axes, &units, &value_units, (0, 0), &mut |at, place| {
                band.push(Row { at: vec![at], count: 1, place })
            })?;
            return band.end();
        }
        // Axes that are selected whole make the runs of the axis before them longer.
        let mut lens = self.shape.clone();
        while let [.., outer, last] = axes.as_mut_slice() {
            let len = lens[lens.len() - 1];
            if !matches!(last.as_slice(), [run] if run.count == len && run.is_contiguous() && run.low == 0)
                || !outer.iter().all(Run::is_contiguous)
            {
                break;
            }
            for run in outer.iter_mut() {
                *run = Run::new(run.low * len, run.count * len, run.place * len);
            }
            axes.pop();
            lens.pop();
            let above = lens.len() - 1;
            lens[above] *= len;
            units[above] = 1;
            value_units[above] = 1;
        }
        let mut band = LinearBand::new(self, each);
        let Some((inner, outer)) = axes.split_last() else {
            return band.finish_with(Run::new(0, 1, 0));
        };
        walk(outer, &units, &value_units, (0, 0), &mut |at, place| {
            inner
                .iter()
                .try_for_each(|run| band.push(Run { low: run.low + at, place: run.place + place, ..*run }))
        })?;
        band.end()
    }

    fn linear_mask(&self, mask: &[bool], each: Each<'_>) -> Result<()> {
        let mut band = LinearBand::new(self, each);
        let mut place = 0;
        true_runs(mask, |low, count| {
            let run = Run::new(low, count, place);
            place += count;
            band.push(run)
        })?;
        band.end()
    }

    /// For chunks: goes through a mask tile by tile, row by row.
    fn mask(&self, mask: &[bool], each: Each<'_>) -> Result<()> {
        let in_mask = |n: u64| usize::try_from(n).expect("the mask is in memory");
        let ranks = Ranks::new(mask);
        let mut band = RowBand::new(self, each);
        let grid: Vec<u64> = self.shape.iter().zip(&self.tile).map(|(n, c)| n.div_ceil(*c)).collect();
        each_index(&grid, |tile| {
            let start: Vec<u64> = tile.iter().zip(&self.tile).map(|(i, c)| i * c).collect();
            let lens: Vec<u64> =
                start.iter().zip(&self.tile).zip(&self.shape).map(|((&i, &c), &n)| c.min(n - i)).collect();
            band.tile_ends()?;
            let rows = &lens[..lens.len().saturating_sub(1)];
            each_index(rows, |row| {
                let mut at = start.clone();
                at.iter_mut().zip(row).for_each(|(at, i)| *at += i);
                let flat = at.iter().zip(&self.shape).fold(0, |flat, (i, n)| flat * n + i);
                let (flat, len) = (in_mask(flat), in_mask(lens.last().copied().unwrap_or(1)));
                let row = &mask[flat..flat + len];
                let mut place = if row.contains(&true) { ranks.before(mask, flat) as u64 } else { 0 };
                true_runs(row, |first, count| {
                    let mut at = at.clone();
                    if let Some(last) = at.last_mut() {
                        *last += first;
                    }
                    place += count;
                    band.push(Row { at, count, place: place - count })
                })
            })
        })?;
        band.end()
    }

    /// Goes through points in the order of their tiles. A box that spans several tiles is split at the tiles'
    /// edges.
    fn points(&self, starts: &[u64], count: &[u64], stride: &[i64], each: Each<'_>) -> Result<()> {
        let rank = count.len();
        let flat = |at: &[u64], lens: &[u64]| at.iter().zip(lens).fold(0, |flat, (i, n)| flat * n + i);
        let grid: Vec<u64> = if self.is_linear {
            Vec::new()
        } else {
            self.shape.iter().zip(&self.tile).map(|(n, c)| n.div_ceil(*c)).collect()
        };
        let place = |at: &[u64]| -> u64 {
            if self.is_linear {
                return flat(at, &self.shape);
            }
            flat(&at.iter().zip(&self.tile).map(|(i, c)| i / c).collect::<Vec<_>>(), &grid)
        };
        let mut order: Vec<(u64, usize)> = starts.chunks_exact(rank).map(place).zip(0..).collect();
        order.sort_unstable();
        let blocks: Vec<Vec<Block>> =
            (0..rank).map(|axis| self.blocks(axis, starts, count, stride)).collect();
        let each_len: u64 = count.iter().product();
        let mut band = RowBand::new(self, each);
        let groups: Vec<&[(u64, usize)]> =
            if self.is_linear { vec![&order[..]] } else { order.chunk_by(|a, b| a.0 == b.0).collect() };
        for group in groups {
            let lens: Vec<u64> = blocks.iter().map(|all| all.len() as u64).collect();
            each_index(&lens, |block| {
                let block: Vec<Block> = block
                    .iter()
                    .zip(&blocks)
                    .map(|(&n, all)| all[usize::try_from(n).expect("a place in it")])
                    .collect();
                if !self.is_linear {
                    band.tile_ends()?;
                }
                for &(_, point) in group {
                    let start = &starts[point * rank..][..rank];
                    self.point(start, &block, (count, stride), point as u64 * each_len, &mut band)?;
                }
                Ok(())
            })?;
        }
        band.end()
    }

    /// Splits a box along an axis into parts that are processed one after another. For chunks, these are the
    /// parts in each tile. For linear tiles, each index is a part if the axis precedes all axes along which the
    /// box has one index.
    fn blocks(&self, axis: usize, starts: &[u64], count: &[u64], stride: &[i64]) -> Vec<Block> {
        let (n, step) = (count[axis], stride[axis]);
        let first = starts.get(axis).copied().unwrap_or(0);
        if n == 1 {
            return vec![Block { done: 0, count: 1 }];
        }
        if self.is_linear {
            let leads = count[..axis].iter().all(|&n| n > 1) && count[axis..].contains(&1);
            let all = if leads { n } else { 1 };
            return (0..all).map(|done| Block { done, count: n / all }).collect();
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut done = 0;
        while done < n {
            // The distance to the end of the tile, in the direction of the box.
            let (tile, at) = (self.tile[axis], nth_index(first, step, done));
            let room = if step < 0 { at % tile + 1 } else { tile - at % tile };
            let here = room.div_ceil(step.unsigned_abs()).min(n - done);
            blocks.push(Block { done, count: here });
            done += here;
        }
        blocks
    }

    /// The rows of a block of a point's box.
    fn point(
        &self,
        start: &[u64],
        block: &[Block],
        (count, stride): (&[u64], &[i64]),
        place: u64,
        band: &mut RowBand<'_, '_>,
    ) -> Result<()> {
        let Some(last) = block.len().checked_sub(1) else { return Ok(()) };
        let joined = stride[last] == 1 || block[last].count == 1;
        let mut lens: Vec<u64> = block.iter().map(|block| block.count).collect();
        let run = if joined { std::mem::replace(&mut lens[last], 1) } else { 1 };
        each_index(&lens, |at| {
            let nth: Vec<u64> = at.iter().zip(block).map(|(i, block)| i + block.done).collect();
            let place = place + nth.iter().zip(count).fold(0, |place, (i, n)| place * n + i);
            let at: Vec<u64> = nth
                .iter()
                .zip(stride)
                .zip(start)
                .map(|((i, step), first)| nth_index(*first, *step, *i))
                .collect();
            let at = if self.is_linear {
                vec![at.iter().zip(&self.shape).fold(0, |flat, (i, n)| flat * n + i)]
            } else {
                at
            };
            band.push(Row { at, count: run, place })
        })
    }
}

/// Returns the `n`-th index of a box along an axis.
fn nth_index(first: u64, step: i64, n: u64) -> u64 {
    first.wrapping_add(step.cast_unsigned().wrapping_mul(n))
}

/// A part of a box along an axis.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Elements before it.
    done: u64,
    count: u64,
}
