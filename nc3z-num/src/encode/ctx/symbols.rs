//! Joins each token with its context to one number, the symbol.

use super::context::north_bytes;
use super::model::Histogram;
use super::token::token;
use crate::ctx::context::Model;
use crate::ctx::limits::MAX_CONTEXTS;
use crate::ctx::token::TOKENS;
use crate::encode::Runs;
use crate::word::{Word, low8};
use multiversion::multiversion;
use std::ops::Range;

/// One more than the largest symbol, `context * 256 + token`.
pub(crate) const SYMBOLS: usize = MAX_CONTEXTS << 8;

/// `out[i]` = token of `numbers[i]`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn tokens_of<W: Word>(numbers: &[W], out: &mut [u8]) {
    if W::BITS == 64 {
        out.iter_mut().zip(numbers).for_each(|(o, &z)| *o = token(z));
        return;
    }
    for (o, &z) in out.iter_mut().zip(numbers) {
        let z = W::low32(z);
        // The exponent and the top bit of the mantissa form the token. Each bit that is eight below a set bit is
        // cleared, so that rounding to 24 bits cannot carry.
        let kept = z & !(z >> 8);
        #[expect(clippy::cast_precision_loss, reason = "rounding cannot carry, see above")]
        let large = ((kept as f32).to_bits() >> 22).wrapping_sub(2 * 127 - 8);
        *o = low8(u64::from(if z < 16 { z } else { large }));
    }
}

/// `out[i]` = symbol of a token, from the class of the previous row and the previous token. The first has no
/// previous token. `bounds` is the number of classes' bounds in `west`; the others are 255, which no token reaches.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn join(tokens: &[u8], north: &[u8], west: &[u8; 16], bounds: usize, unit: u8, out: &mut [u16]) {
    match bounds {
        0..=3 => join_by::<3>(tokens, north, west, unit, out),
        4..=7 => join_by::<7>(tokens, north, west, unit, out),
        _ => join_by::<16>(tokens, north, west, unit, out),
    }
}

/// With a fixed number of comparisons, several tokens are compared at once.
#[expect(clippy::inline_always, reason = "compiled for the processor features of its caller")]
#[inline(always)]
fn join_by<const N: usize>(tokens: &[u8], north: &[u8], west: &[u8; 16], unit: u8, out: &mut [u16]) {
    let Some((&first, &class)) = tokens.first().zip(north.first()) else { return };
    out[0] = u16::from(class.wrapping_mul(unit)) << 8 | u16::from(first);
    let (here, north, out) = (&tokens[1..], &north[1..], &mut out[1..]);
    let west: [u8; N] = *west.first_chunk().expect("N is at most 16");
    for (((o, &t), &p), &n) in out.iter_mut().zip(here).zip(tokens).zip(north) {
        let mut class = 0;
        for bound in west {
            class += u8::from(p >= bound);
        }
        *o = u16::from(n.wrapping_mul(unit).wrapping_add(class)) << 8 | u16::from(t);
    }
}

/// Writes the symbols of `tokens` to `symbols`; if elements are masked, `grid` has the tokens at their positions.
#[expect(clippy::too_many_arguments, reason = "one tile's tokens and their places")]
pub(crate) fn symbols(
    model: &Model,
    tokens: &[u8],
    grid: &[u8],
    runs: &Runs,
    lanes: &[Range<usize>; 4],
    grids: &[Range<usize>; 4],
    north: &mut Vec<u8>,
    symbols: &mut Vec<u16>,
) {
    let source = if grid.is_empty() { tokens } else { grid };
    north.resize(source.len(), 0);
    if model.stride == 0 {
        north.fill(0);
    } else {
        let middle = low8(model.middle() as u64);
        for g in grids.iter().filter(|g| !g.is_empty()) {
            let out = &mut north[g.clone()];
            let (head, tail) = out.split_at_mut((model.stride + 1).min(g.len()));
            head.fill(middle);
            north_bytes(&source[g.clone()], model.stride + 1, model.stride, &model.north, tail);
        }
    }
    if !grid.is_empty() {
        runs.gather(north);
        north.truncate(tokens.len());
    }
    let mut west = [255u8; 16];
    west[..model.west.len()].copy_from_slice(&model.west);
    let unit = low8(model.kw() as u64);
    symbols.resize(tokens.len(), 0);
    for lane in lanes {
        let lane = lane.clone();
        join(&tokens[lane.clone()], &north[lane.clone()], &west, model.west.len(), unit, &mut symbols[lane]);
    }
}

/// Counts the numbers below `N` in `items`; `counts` has `N` pairs of zeros.
pub(crate) fn count<T: Copy + Into<usize>, const N: usize>(items: &[T], counts: &mut [[u32; 2]; N]) {
    // There are two counters for each number, so that a run of one number need not wait for its own sums.
    let (pairs, rest) = items.as_chunks::<2>();
    for pair in pairs {
        counts[pair[0].into() % N][0] += 1;
        counts[pair[1].into() % N][1] += 1;
    }
    for &item in rest {
        counts[item.into() % N][0] += 1;
    }
}

/// Counts the tokens in each of `contexts` contexts. `work` is memory to reuse.
pub(crate) fn histograms(symbols: &[u16], contexts: usize, work: &mut Vec<[u32; 2]>) -> Vec<Histogram> {
    /// Counting is fastest with a fixed number of counters.
    fn of<const N: usize>(symbols: &[u16], work: &mut Vec<[u32; 2]>) {
        work.clear();
        work.resize(N, [0; 2]);
        count::<u16, N>(symbols, work.first_chunk_mut().expect("made with this length"));
    }
    match contexts {
        1 => of::<256>(symbols, work),
        2..=4 => of::<1024>(symbols, work),
        5..=16 => of::<4096>(symbols, work),
        17..=32 => of::<8192>(symbols, work),
        _ => of::<SYMBOLS>(symbols, work),
    }
    let counts = work.chunks_exact(256).take(contexts);
    counts.map(|c| std::array::from_fn::<u32, TOKENS, _>(|t| c[t].iter().sum())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_by_floats_are_those_by_logarithms() {
        let edges = (0..32).flat_map(|s| (0..32).map(move |r| (1u32 << s).wrapping_add(1 << r)));
        let filled = (0..32).flat_map(|s| (0..32).map(move |r| (u32::MAX >> s).wrapping_sub(1 << r)));
        let numbers: Vec<u32> =
            (0..70_000).chain(edges).chain(filled).chain((0..32).map(|s| u32::MAX >> s)).collect();
        let mut out = vec![0; numbers.len()];
        tokens_of(&numbers, &mut out);
        for (&z, &t) in numbers.iter().zip(&out) {
            assert_eq!(t, token(z), "{z}");
        }
    }
}
