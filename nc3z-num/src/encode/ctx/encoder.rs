//! Encoder of `ctx`.

use super::contexts::Sample;
use super::model::{Histogram, Tables, tables};
use super::stream::{put_raw, put_tokens};
use super::symbols::{histograms, symbols, tokens_of};
use super::table::{self, Encoder};
use super::workspace::Workspace;
use crate::ctx::context::Model;
use crate::ctx::lane::split;
use crate::ctx::limits::{MAX_LOG, MAX_STATES, MAX_TABLES_OF_NIBBLES, MIN_LOG, MIN_STRIDE};
use crate::ctx::token::TOKENS;
use crate::encode::Runs;
use crate::encode::bits::{BitWriter, put_varint};
use crate::encode::plan::Shape;
use crate::word::{Word, low8};
use std::ops::Range;

/// The stride of contexts for rows of `row` elements in a tile of `n`: whole rows, 16 elements or more.
pub(crate) fn context_stride(row: usize, n: usize) -> usize {
    if row < 2 || n == 0 {
        return 0;
    }
    let stride = row.saturating_mul(MIN_STRIDE.div_ceil(row));
    if stride < n.div_ceil(8) { stride } else { 0 }
}

/// Returns the ranges of the grid for the lanes: from the lane's first valid position to the next lane's.
fn lane_grids(runs: &Runs, lanes: &[Range<usize>; 4], n: usize) -> [Range<usize>; 4] {
    let mut starts = [n; 5];
    let mut before = 0;
    for run in &runs.list {
        for (l, lane) in lanes.iter().enumerate() {
            if !lane.is_empty() && (before..before + run.len()).contains(&lane.start) {
                starts[l] = run.start + lane.start - before;
            }
        }
        before += run.len();
    }
    std::array::from_fn(|l| starts[l]..starts[l + 1])
}

/// Writes tokens to `work.tokens`, and to `work.grid` if elements are masked.
fn tokenise<W: Word>(numbers: &[W], runs: &Runs, n: usize, work: &mut Workspace) {
    work.tokens.resize(numbers.len(), 0);
    tokens_of(numbers, &mut work.tokens);
    work.grid.clear();
    if runs.valid < n {
        work.grid.resize(n, 0);
        let mut from = 0;
        for run in &runs.list {
            work.grid[run.clone()].copy_from_slice(&work.tokens[from..from + run.len()]);
            from += run.len();
        }
    }
}

/// Returns the size of the tables: limited by the number of values, and large enough for the tokens that occur.
fn table_log(shape: Shape, values: usize, histograms: &[Histogram]) -> u32 {
    let distinct = histograms.iter().fold([false; TOKENS], |mut seen, h| {
        seen.iter_mut().zip(h).for_each(|(s, &c)| *s |= c > 0);
        seen
    });
    let distinct = distinct.iter().filter(|&&s| s).count().max(1);
    let most = (MAX_STATES / histograms.len()).ilog2().min(MAX_LOG);
    let wanted = u32::from(shape.log).min(values.ilog2() + 2).max(distinct.ilog2() + 2);
    wanted.clamp(MIN_LOG, most)
}

fn put_header(model: &Model, tables: &Tables, log: u32, out: &mut Vec<u8>) {
    out.push(low8(u64::from(log)));
    out.push(low8(model.kn() as u64));
    out.push(low8(model.kw() as u64));
    out.push(low8(tables.counts.len() as u64));
    put_varint(out, model.stride as u64);
    out.extend_from_slice(&model.north);
    out.extend_from_slice(&model.west);
    if tables.counts.len() <= MAX_TABLES_OF_NIBBLES {
        out.extend(tables.map.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |t| t << 4)));
    } else {
        out.extend_from_slice(&tables.map);
    }
    let mut bits = BitWriter::new(out);
    for counts in &tables.counts {
        table::put(counts, &mut bits);
    }
    bits.finish();
}

/// The positions of a tile's tokens.
#[derive(Debug)]
struct Places {
    lanes: [Range<usize>; 4],
    grids: [Range<usize>; 4],
    stride: usize,
}

/// Contexts and tables for the tokens in a workspace.
#[derive(Debug)]
struct Decided {
    model: Model,
    tables: Tables,
    log: u32,
}

impl Decided {
    /// Decides from the tokens in the workspace; their symbols are then in the workspace.
    fn new(places: &Places, runs: &Runs, shape: Shape, work: &mut Workspace) -> Self {
        let source = if work.grid.is_empty() { &work.tokens } else { &work.grid };
        let sample =
            Sample { tokens: &work.tokens, grid: source, lanes: &places.grids, stride: places.stride };
        let model = sample.model(shape, &mut work.averages);
        put_symbols(&model, places, runs, work);
        let histograms = histograms(&work.symbols, model.kn() * model.kw(), &mut work.counts);
        let log = table_log(shape, work.tokens.len(), &histograms);
        let tables = tables(&histograms, log);
        Decided { model, tables, log }
    }

    /// Returns the bytes of the written part: the exact bytes of the tables, and the tokens' bytes as estimated
    /// from the tables.
    fn len(&self) -> u64 {
        let Self { model, tables, log } = self;
        let mut around = Vec::new();
        put_header(model, tables, *log, &mut around);
        let tokens = ((tables.token_bits(*log) >> 16) + 4 * u64::from(*log)).div_ceil(8);
        put_varint(&mut around, tokens);
        around.len() as u64 + tokens + tables.raw_bits().div_ceil(8)
    }
}

fn put_symbols(model: &Model, places: &Places, runs: &Runs, work: &mut Workspace) {
    let Workspace { tokens, grid, averages, symbols: out, .. } = work;
    symbols(model, tokens, grid, runs, &places.lanes, &places.grids, averages, out);
}

/// A part that is decided except for the shape of its contexts; its data are in the workspace.
#[derive(Debug)]
pub(crate) struct Prepared {
    places: Places,
    by_shape: Vec<Decided>,
}

impl Prepared {
    /// Prepares `numbers` (not empty), the valid elements of a tile of `n`.
    pub(crate) fn new<W: Word>(
        numbers: &[W],
        (n, row): (usize, usize),
        runs: &Runs,
        shapes: &[Shape],
        work: &mut Workspace,
    ) -> Self {
        tokenise(numbers, runs, n, work);
        let lanes = split(numbers.len());
        let grids = lane_grids(runs, &lanes, n);
        let places = Places { lanes, grids, stride: context_stride(row, n) };
        let by_shape = shapes.iter().map(|&shape| Decided::new(&places, runs, shape, work)).collect();
        Prepared { places, by_shape }
    }

    /// Estimates the bytes that [`Self::put`] would append for each of the shapes, to within a few thousandths.
    pub(crate) fn lens(&self) -> impl Iterator<Item = u64> {
        self.by_shape.iter().map(Decided::len)
    }

    /// Appends the part with contexts of one of the shapes; `numbers` are those that were prepared.
    pub(crate) fn put<W: Word>(
        self,
        shape: usize,
        numbers: &[W],
        runs: &Runs,
        work: &mut Workspace,
        out: &mut Vec<u8>,
    ) {
        let Decided { model, tables, log } = &self.by_shape[shape];
        // The workspace has the symbols of the last shape.
        if shape + 1 < self.by_shape.len() {
            put_symbols(model, &self.places, runs, work);
        }
        put_header(model, tables, *log, out);
        let encoders: Vec<Encoder> =
            tables.counts.iter().map(|c| Encoder::new(c, *log, &mut work.spread)).collect();
        let steps = work.steps.get_or_insert_default();
        steps.set(&encoders, &tables.map, *log);
        put_tokens(steps, &work.symbols, *log, &self.places.lanes, &mut work.bits, out);
        put_raw(numbers, &work.tokens, &mut work.bits, out);
    }
}
