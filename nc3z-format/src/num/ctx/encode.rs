//! Encoder of `ctx`.

use super::context::{Model, averages_of};
use super::lane::{contexts_of, split};
use super::model::{Histogram, Tables, tables, thresholds};
use super::table::{self, Encoder};
use super::token::{TOKENS, floor, raw_bits, token};
use super::{MAX_CONTEXTS, MAX_LOG, MAX_NORTH, MAX_STATES, MAX_WEST, MIN_LOG, MIN_STRIDE, Shape, Workspace};
use crate::num::bits::{BitWriter, put_varint};
use crate::num::mask::Runs;
use crate::num::word::{Word, low8, low16, low32};
use std::ops::Range;

/// At most so many values are looked at to find thresholds.
const SAMPLE: usize = 1 << 16;

/// The stride of contexts for rows of `row` elements in a tile of `n`: whole rows, 16 elements or more.
fn context_stride(row: usize, n: usize) -> usize {
    if row < 2 || n == 0 {
        return 0;
    }
    let stride = row.saturating_mul(MIN_STRIDE.div_ceil(row));
    if stride < n.div_ceil(8) { stride } else { 0 }
}

/// Parts of the grid that belong to the lanes: from the lane's first valid position to the next lane's.
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

/// Chooses the thresholds from a sample of the tokens.
fn model(
    tokens: &[u8],
    grid: &[u8],
    grids: &[Range<usize>; 4],
    stride: usize,
    shape: Shape,
    work: &mut Vec<u8>,
) -> Model {
    let small = tokens.len() < 1024;
    let kw = if small { 1 } else { usize::from(shape.west).clamp(1, MAX_WEST) };
    let kn = if small || stride == 0 { 1 } else { usize::from(shape.north).clamp(1, MAX_NORTH) };
    let kn = kn.min(MAX_CONTEXTS / kw);
    let mut rows = vec![[0u32; TOKENS]; TOKENS];
    let pieces = |len: usize| {
        let every = len.div_ceil(SAMPLE).max(1);
        (0..len).step_by(1024 * every).map(move |s| s..(s + 1024).min(len))
    };
    let mut west = Vec::new();
    if kw > 1 {
        for piece in pieces(tokens.len()) {
            for pair in tokens[piece].windows(2) {
                rows[usize::from(pair[0])][usize::from(pair[1])] += 1;
            }
        }
        west = thresholds(&rows, kw);
    }
    let mut north = Vec::new();
    if kn > 1 {
        rows.fill([0; TOKENS]);
        work.resize(1024, 0);
        for lane in grids.iter().filter(|g| g.len() > stride + 1) {
            let grid = &grid[lane.clone()];
            for piece in pieces(grid.len() - stride - 1) {
                let from = piece.start + stride + 1;
                averages_of(grid, from, stride, &mut work[..piece.len()]);
                for (&u, &t) in work.iter().zip(&grid[from..from + piece.len()]) {
                    rows[usize::from(u)][usize::from(t)] += 1;
                }
            }
        }
        north = thresholds(&rows, kn);
    }
    Model { stride: if north.is_empty() { 0 } else { stride }, north, west }
}

/// Writes tokens to `work.tokens`, and to `work.grid` where something is masked.
fn tokenise<W: Word>(numbers: &[W], runs: &Runs, n: usize, work: &mut Workspace) {
    work.tokens.clear();
    work.tokens.extend(numbers.iter().map(|&z| token(z)));
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

/// Writes the context number of each value to `work.contexts`.
fn contexts(
    model: &Model,
    runs: &Runs,
    n: usize,
    lanes: &[Range<usize>; 4],
    grids: &[Range<usize>; 4],
    work: &mut Workspace,
) {
    let Workspace { tokens, grid, contexts, .. } = work;
    let unit = low16(low32(model.kw() as u64));
    let masked = runs.valid < n;
    contexts.clear();
    contexts.resize(n, 0);
    if model.stride > 0 {
        let source: &[u8] = if masked { grid } else { tokens };
        for g in grids.iter().filter(|g| !g.is_empty()) {
            contexts_of(&source[g.clone()], 0, model, unit, &mut contexts[g.clone()]);
        }
    }
    if masked {
        runs.gather(contexts);
        contexts.truncate(runs.valid);
    }
    let mut class = [0u16; 256];
    for (t, c) in (0u8..=255).zip(&mut class) {
        *c = low16(low32(model.west_class(t) as u64));
    }
    for lane in lanes.iter().filter(|l| l.len() > 1) {
        let previous = &tokens[lane.start..lane.end - 1];
        for (c, &t) in contexts[lane.start + 1..lane.end].iter_mut().zip(previous) {
            *c += class[usize::from(t)];
        }
    }
}

/// Size of the tables: no finer than the number of values deserves, fine enough for the tokens that occur.
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
    for pair in tables.map.chunks(2) {
        out.push(pair[0] | pair.get(1).map_or(0, |t| t << 4));
    }
    let mut bits = BitWriter::new(out);
    for counts in &tables.counts {
        table::put(counts, &mut bits);
    }
    bits.finish();
}

/// Appends the token stream.
fn put_tokens(
    encoders: &[Encoder],
    map: &[u8],
    log: u32,
    lanes: &[Range<usize>; 4],
    work: &mut Workspace,
    out: &mut Vec<u8>,
) {
    let Workspace { tokens, contexts, bits, .. } = work;
    let by_context: Vec<&Encoder> = map.iter().map(|&t| &encoders[usize::from(t)]).collect();
    let mut states = [0u32; 4];
    bits.clear();
    let q = lanes[0].len();
    for j in (0..q).rev() {
        for (lane, state) in lanes.iter().zip(&mut states).rev() {
            if j < lane.len() {
                let at = lane.start + j;
                let (before, field, nb) = by_context[usize::from(contexts[at])].step(tokens[at], *state);
                *state = before;
                bits.push(field | nb << 16);
            }
        }
    }
    let mut stream = Vec::with_capacity(tokens.len() / 2 + 16);
    let mut writer = BitWriter::new(&mut stream);
    for state in states {
        writer.put(u64::from(state), log);
    }
    for &b in bits.iter().rev() {
        writer.put(u64::from(b & 0xFFFF), b >> 16);
    }
    writer.finish();
    put_varint(out, stream.len() as u64);
    out.extend_from_slice(&stream);
}

/// Appends the raw bits.
fn put_raw<W: Word>(numbers: &[W], tokens: &[u8], out: &mut Vec<u8>) {
    let mut writer = BitWriter::new(out);
    for (&z, &t) in numbers.iter().zip(tokens) {
        let n = raw_bits(t);
        let raw = z.to_u64() - floor(t);
        if n > 32 {
            writer.put(raw & 0xFFFF_FFFF, 32);
            writer.put(raw >> 32, n - 32);
        } else {
            writer.put(raw, n);
        }
    }
    writer.finish();
}

/// Appends the part for `numbers` (not empty), the valid elements of a tile of `n`.
pub(in crate::num) fn encode<W: Word>(
    numbers: &[W],
    n: usize,
    runs: &Runs,
    row: usize,
    shape: Shape,
    work: &mut Workspace,
    out: &mut Vec<u8>,
) {
    tokenise(numbers, runs, n, work);
    let lanes = split(numbers.len());
    let grids = lane_grids(runs, &lanes, n);
    let source = if work.grid.is_empty() { &work.tokens } else { &work.grid };
    let model = model(&work.tokens, source, &grids, context_stride(row, n), shape, &mut work.averages);
    contexts(&model, runs, n, &lanes, &grids, work);
    let mut histograms = vec![[0u32; 256]; model.kn() * model.kw()];
    for (&c, &t) in work.contexts.iter().zip(&work.tokens) {
        histograms[usize::from(c)][usize::from(t)] += 1;
    }
    let histograms: Vec<Histogram> = histograms.iter().map(|h| std::array::from_fn(|t| h[t])).collect();
    let log = table_log(shape, numbers.len(), &histograms);
    let tables = tables(&histograms, log);
    put_header(&model, &tables, log, out);
    let encoders: Vec<Encoder> =
        tables.counts.iter().map(|c| Encoder::new(c, log, &mut work.spread)).collect();
    put_tokens(&encoders, &tables.map, log, &lanes, work, out);
    put_raw(numbers, &work.tokens, out);
}
