//! Cuts selections into bands: parts of few tiles and few boxes, so that planning and staging a band takes
//! little memory.
//!
//! If possible, a band ends between two tiles. Then a tile that is overwritten whole is recognized and not
//! read.

mod pending;
mod runs;

use super::picks::Picks;
use crate::error::Result;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::tile::element_count;
use nc3z_staged::{FlatRun, IndexSelection, Segment};
use pending::{LinearBand, SegmentBand};
use runs::{Ranks, each_index, halves, runs_of, tiles_of, true_runs, walk};

/// Limit for the bytes of the tiles that a band touches.
const BAND_BYTES: usize = if cfg!(test) { 64 } else { 16 << 20 };
/// Limit for the boxes of a band.
const BAND_BOXES: usize = if cfg!(test) { 3 } else { 1 << 14 };
/// A band with this many times its limit of boxes ends inside a tile.
const FORCED: usize = 4;
pub(super) type Each<'e> = &'e mut dyn FnMut(IndexSelection) -> Result<()>;

/// The tiles of an array, as in the staged array.
pub(super) struct Bands {
    shape: Vec<usize>,
    /// Lengths of a tile; for a linear tile, the number of its elements.
    tile: Vec<usize>,
    is_linear: bool,
    tile_bytes: usize,
    most_bytes: usize,
    most_boxes: usize,
}

pub(super) fn narrow(lens: &[u64]) -> Result<Vec<usize>> {
    let lens: Result<Vec<usize>, _> = lens.iter().map(|&n| usize::try_from(n)).collect();
    lens.map_err(|_| FormatError::invalid("an array of more elements than this machine can address").into())
}

impl Bands {
    pub(super) fn new(shape: &[u64], spec: &TileLayoutSpec, size: usize) -> Result<Self> {
        let (tile, is_linear) = match spec {
            TileLayoutSpec::Linear(len) => (narrow(&[*len])?, true),
            TileLayoutSpec::Chunked { shape, .. } => (narrow(shape)?, false),
        };
        let tile_bytes = tile.iter().fold(size, |bytes, n| bytes.saturating_mul(*n));
        element_count(shape)?;
        let (most_bytes, most_boxes) = (BAND_BYTES, BAND_BOXES);
        Ok(Bands { shape: narrow(shape)?, tile, is_linear, tile_bytes, most_bytes, most_boxes })
    }

    /// Returns everything as one band, for a plan that is printed.
    pub(super) fn undivided(self) -> Self {
        Bands { most_bytes: usize::MAX, most_boxes: usize::MAX / FORCED, ..self }
    }

    /// Lengths of the values' array to which the bands' positions refer.
    pub(super) fn values_shape(&self, picks: &Picks<'_>, elements: usize) -> Vec<usize> {
        match picks {
            Picks::Grid(picks) if !self.is_linear => {
                picks.iter().map(|pick| usize::try_from(pick.len()).unwrap_or(usize::MAX)).collect()
            }
            _ => vec![elements],
        }
    }

    /// Calls `each` with one band after another. The picks are inside the variable and not empty.
    pub(super) fn each(&self, picks: &Picks<'_>, each: Each<'_>) -> Result<()> {
        match picks {
            Picks::Grid(picks) => {
                let axes: Vec<Vec<FlatRun>> = picks.iter().map(runs_of).collect::<Result<_>>()?;
                if self.is_linear { self.linear_grid(axes, each) } else { self.grid(axes, each) }
            }
            Picks::Points { starts, count, stride } => {
                self.points(&narrow(starts)?, &narrow(count)?, &narrow(stride)?, each)
            }
            Picks::Mask(mask) if self.is_linear => self.linear_mask(mask, each),
            Picks::Mask(mask) => self.mask(mask, each),
        }
    }

    /// Lengths of the staged array.
    fn array(&self) -> Vec<usize> {
        if self.is_linear { vec![self.shape.iter().product()] } else { self.shape.clone() }
    }

    /// For chunks: halves the axis that touches several tiles, until a part touches few tiles.
    fn grid(&self, axes: Vec<Vec<FlatRun>>, each: Each<'_>) -> Result<()> {
        let touched: Vec<usize> =
            axes.iter().zip(&self.tile).map(|(runs, &size)| tiles_of(runs, size)).collect();
        let product = |all: &mut dyn Iterator<Item = usize>| all.fold(1_usize, usize::saturating_mul);
        let tiles = product(&mut touched.iter().copied());
        let boxes = product(&mut axes.iter().zip(&touched).map(|(runs, &tiles)| runs.len().max(tiles)));
        if tiles > 1 && (tiles.saturating_mul(self.tile_bytes) > self.most_bytes || boxes > self.most_boxes) {
            let axis = touched.iter().position(|&n| n > 1).expect("several tiles are touched");
            let (low, high) = halves(&axes[axis], self.tile[axis]);
            return self.both(axes, axis, low, high, each);
        }
        if boxes > self.most_boxes.saturating_mul(FORCED)
            && let Some(axis) =
                (0..axes.len()).filter(|&axis| axes[axis].len() > 1).max_by_key(|&axis| axes[axis].len())
        {
            let (low, high) = axes[axis].split_at(axes[axis].len() / 2);
            let (low, high) = (low.to_vec(), high.to_vec());
            return self.both(axes, axis, low, high, each);
        }
        each(IndexSelection::grid(axes, &self.shape)?)
    }

    fn both(
        &self,
        mut axes: Vec<Vec<FlatRun>>,
        axis: usize,
        low: Vec<FlatRun>,
        high: Vec<FlatRun>,
        each: Each<'_>,
    ) -> Result<()> {
        axes[axis] = low;
        self.grid(axes.clone(), each)?;
        axes[axis] = high;
        self.grid(axes, each)
    }

    /// For linear tiles: takes the runs of a grid in the flattened array, in ascending order.
    fn linear_grid(&self, mut axes: Vec<Vec<FlatRun>>, each: Each<'_>) -> Result<()> {
        let mut units = vec![1; axes.len()];
        let mut value_units = vec![1; axes.len()];
        for axis in (1..axes.len()).rev() {
            units[axis - 1] = units[axis] * self.shape[axis];
            value_units[axis - 1] = value_units[axis] * axes[axis].iter().map(|run| run.count).sum::<usize>();
        }
        // Axes that are selected whole make the runs of the axis before them longer.
        let mut lens = self.shape.clone();
        while let [.., outer, last] = axes.as_mut_slice() {
            let len = lens[lens.len() - 1];
            let plain = |run: &FlatRun| run.count == 1 || (run.step == 1 && run.value_step == 1);
            if !matches!(last.as_slice(), [run] if run.count == len && plain(run) && run.at == 0)
                || !outer.iter().all(plain)
            {
                break;
            }
            for run in outer.iter_mut() {
                *run = FlatRun {
                    at: run.at * len,
                    step: 1,
                    value: run.value * len,
                    value_step: 1,
                    count: run.count * len,
                };
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
            return band.finish_with(FlatRun { at: 0, step: 1, value: 0, value_step: 1, count: 1 });
        };
        walk(outer, &units, &value_units, (0, 0), &mut |at, value| {
            inner
                .iter()
                .try_for_each(|run| band.push(FlatRun { at: run.at + at, value: run.value + value, ..*run }))
        })?;
        band.end()
    }

    fn linear_mask(&self, mask: &[bool], each: Each<'_>) -> Result<()> {
        let mut band = LinearBand::new(self, each);
        let mut value = 0;
        true_runs(mask, |at, count| {
            let run = FlatRun { at, step: 1, value, value_step: 1, count };
            value += count;
            band.push(run)
        })?;
        band.end()
    }

    /// For chunks: goes through a mask tile by tile, row by row.
    fn mask(&self, mask: &[bool], each: Each<'_>) -> Result<()> {
        let ranks = Ranks::new(mask);
        let mut band = SegmentBand::new(self, each);
        let grid: Vec<usize> = self.shape.iter().zip(&self.tile).map(|(n, c)| n.div_ceil(*c)).collect();
        each_index(&grid, |tile| {
            let start: Vec<usize> = tile.iter().zip(&self.tile).map(|(i, c)| i * c).collect();
            let lens: Vec<usize> =
                start.iter().zip(&self.tile).zip(&self.shape).map(|((&i, &c), &n)| c.min(n - i)).collect();
            band.tile_ends()?;
            let rows = &lens[..lens.len().saturating_sub(1)];
            each_index(rows, |row| {
                let mut at = start.clone();
                at.iter_mut().zip(row).for_each(|(at, i)| *at += i);
                let flat = at.iter().zip(&self.shape).fold(0, |flat, (i, n)| flat * n + i);
                let row = &mask[flat..flat + lens.last().copied().unwrap_or(1)];
                let mut value = if row.contains(&true) { ranks.before(mask, flat) } else { 0 };
                true_runs(row, |first, count| {
                    let mut at = at.clone();
                    if let Some(last) = at.last_mut() {
                        *last += first;
                    }
                    value += count;
                    band.push(Segment { at, count, value: value - count })
                })
            })
        })?;
        band.end()
    }

    /// Goes through points in the order of their tiles. A box that spans several tiles is split at the tiles'
    /// edges.
    fn points(&self, starts: &[usize], count: &[usize], stride: &[usize], each: Each<'_>) -> Result<()> {
        let rank = count.len();
        let flat = |at: &[usize], lens: &[usize]| at.iter().zip(lens).fold(0, |flat, (i, n)| flat * n + i);
        let grid: Vec<usize> = if self.is_linear {
            Vec::new()
        } else {
            self.shape.iter().zip(&self.tile).map(|(n, c)| n.div_ceil(*c)).collect()
        };
        let place = |at: &[usize]| -> usize {
            if self.is_linear {
                return flat(at, &self.shape);
            }
            flat(&at.iter().zip(&self.tile).map(|(i, c)| i / c).collect::<Vec<_>>(), &grid)
        };
        let mut order: Vec<(usize, usize)> = starts.chunks_exact(rank).map(place).zip(0..).collect();
        order.sort_unstable();
        let blocks: Vec<Vec<Block>> =
            (0..rank).map(|axis| self.blocks(axis, starts, count, stride)).collect();
        let each_len: usize = count.iter().product();
        let mut band = SegmentBand::new(self, each);
        let groups: Vec<&[(usize, usize)]> =
            if self.is_linear { vec![&order[..]] } else { order.chunk_by(|a, b| a.0 == b.0).collect() };
        for group in groups {
            let lens: Vec<usize> = blocks.iter().map(Vec::len).collect();
            each_index(&lens, |block| {
                let block: Vec<Block> = block.iter().zip(&blocks).map(|(&n, all)| all[n]).collect();
                if !self.is_linear {
                    band.tile_ends()?;
                }
                for &(_, point) in group {
                    let start = &starts[point * rank..][..rank];
                    self.point(start, &block, (count, stride), point * each_len, &mut band)?;
                }
                Ok(())
            })?;
        }
        band.end()
    }

    /// Splits a box along an axis into parts that are processed one after another. For chunks, these are the
    /// parts in each tile. For linear tiles, each index is a part if the axis precedes all axes along which the
    /// box has one index.
    fn blocks(&self, axis: usize, starts: &[usize], count: &[usize], stride: &[usize]) -> Vec<Block> {
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
            let here =
                (self.tile[axis] - (first + done * step) % self.tile[axis]).div_ceil(step).min(n - done);
            blocks.push(Block { done, count: here });
            done += here;
        }
        blocks
    }

    /// The segments of a block of a point's box.
    fn point(
        &self,
        start: &[usize],
        block: &[Block],
        (count, stride): (&[usize], &[usize]),
        value: usize,
        band: &mut SegmentBand<'_, '_>,
    ) -> Result<()> {
        let Some(last) = block.len().checked_sub(1) else { return Ok(()) };
        let joined = stride[last] == 1 || block[last].count == 1;
        let mut lens: Vec<usize> = block.iter().map(|block| block.count).collect();
        let run = if joined { std::mem::replace(&mut lens[last], 1) } else { 1 };
        each_index(&lens, |at| {
            let nth: Vec<usize> = at.iter().zip(block).map(|(i, block)| i + block.done).collect();
            let value = value + nth.iter().zip(count).fold(0, |place, (i, n)| place * n + i);
            let at: Vec<usize> =
                nth.iter().zip(stride).zip(start).map(|((i, step), first)| first + i * step).collect();
            let at = if self.is_linear {
                vec![at.iter().zip(&self.shape).fold(0, |flat, (i, n)| flat * n + i)]
            } else {
                at
            };
            band.push(Segment { at, count: run, value })
        })
    }
}

/// A part of a box along an axis.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Elements before it.
    done: usize,
    count: usize,
}
