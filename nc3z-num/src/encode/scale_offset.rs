//! The scale-offset transform: patterns to multiples of the step, with exact exceptions.

use super::bits::put_varint;
use super::exceptions::Exceptions;
use crate::encode::Runs;
use crate::scale_offset::{NEAR, ScaleOffset, Segments, nearest, point};
use crate::transform::ord;
use crate::word::Word;
use multiversion::multiversion;

/// Does the work of [`point`] for either sign of the step.
fn point_of<W: Word>(k: W, l: ScaleOffset) -> W {
    if l.step < 0.0 { point::<W, true>(k, l) } else { point::<W, false>(k, l) }
}

/// The largest `k`: from here on, not every integer is a binary64.
const MOST: f64 = 9_007_199_254_740_992.0;

/// True if all but at most `missed` patterns are reproduced. Most guesses are wrong, which the first patterns show.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn is_met_as<W: Word, const DIVIDED: bool>(patterns: &[W], l: ScaleOffset, missed: usize) -> bool {
    let (frequency, mut left) = (l.frequency(), missed);
    for &p in patterns {
        let ratio = ((p.float_value() - l.off) * frequency).round_ties_even();
        if point::<W, DIVIDED>(W::signed_from_f64(ratio), l) == p && ratio.abs() <= MOST {
            continue;
        }
        if left == 0 {
            return false;
        }
        left -= 1;
    }
    true
}

/// Does the work of [`is_met_as`] for either sign of the step.
pub(crate) fn is_met<W: Word>(patterns: &[W], l: ScaleOffset, missed: usize) -> bool {
    if l.step < 0.0 {
        is_met_as::<W, true>(patterns, l, missed)
    } else {
        is_met_as::<W, false>(patterns, l, missed)
    }
}

/// Computes `k` of each pattern and whether it reproduces the pattern; returns the number of reproduced patterns. `k` of
/// other patterns may be any word.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn fit_as<W: Word, const DIVIDED: bool>(
    patterns: &[W],
    l: ScaleOffset,
    k: &mut [W],
    hit: &mut [u8],
) -> usize {
    let mut hits = 0;
    // A product instead of a quotient: near an integer both round to it, and elsewhere neither hits.
    let frequency = l.frequency();
    for ((p, k), h) in patterns.chunks(128).zip(k.chunks_mut(128)).zip(hit.chunks_mut(128)) {
        let (mut count, mut far) = (0u8, false);
        for ((&p, k), h) in p.iter().zip(k.iter_mut()).zip(h.iter_mut()) {
            let ratio = (p.float_value() - l.off) * frequency;
            *k = nearest(ratio);
            let good = u8::from(point::<W, DIVIDED>(*k, l) == p && ratio.abs() < NEAR);
            *h = good;
            count += good;
            far |= ratio.abs() >= NEAR && ratio.abs() <= MOST;
        }
        // Only words of 64 bits hold such integers.
        if far && W::BITS == 64 {
            count = 0;
            for ((&p, k), h) in p.iter().zip(k.iter_mut()).zip(h.iter_mut()) {
                let ratio = ((p.float_value() - l.off) * frequency).round_ties_even();
                *k = W::signed_from_f64(ratio);
                *h = u8::from(point::<W, DIVIDED>(*k, l) == p && ratio.abs() <= MOST);
                count += *h;
            }
        }
        hits += usize::from(count);
    }
    hits
}

/// Does the work of [`fit_as`] for either sign of the step.
fn fit<W: Word>(patterns: &[W], l: ScaleOffset, k: &mut [W], hit: &mut [u8]) -> usize {
    if l.step < 0.0 {
        fit_as::<W, true>(patterns, l, k, hit)
    } else {
        fit_as::<W, false>(patterns, l, k, hit)
    }
}

/// Returns the number of reproduced patterns in `sample`.
pub(crate) fn hits<W: Word>(sample: &[W], l: ScaleOffset) -> usize {
    hits_from(sample, l, 0).unwrap_or(0)
}

/// Returns the number of reproduced patterns in `sample`, if it is at least `least`. Most guesses are wrong, which
/// the first few elements show.
pub(crate) fn hits_from<W: Word>(sample: &[W], l: ScaleOffset, least: usize) -> Option<usize> {
    let (mut k, mut hit) = ([W::default(); 64], [0u8; 64]);
    let mut met = 0;
    let mut left = sample.len();
    for part in sample.chunks(64) {
        if met + left < least {
            return None;
        }
        met += fit(part, l, &mut k[..part.len()], &mut hit[..part.len()]);
        left -= part.len();
    }
    (met >= least).then_some(met)
}

/// Maps the patterns in `grid` by the scale-offset of each segment, in place. Returns `None` if more than a third
/// of the valid elements would be exceptions; `grid` is then unchanged.
pub(crate) fn map<W: Word>(
    grid: &mut Vec<W>,
    spare: &mut Vec<W>,
    hit: &mut Vec<u8>,
    runs: &Runs,
    segments: &Segments,
) -> Option<Exceptions<W>> {
    let n = grid.len();
    spare.resize(n, W::default());
    hit.resize(n, 0);
    let mut total = 0;
    for (i, l) in segments.list.iter().enumerate() {
        let range = i * segments.len..n.min((i + 1) * segments.len);
        total += fit(&grid[range.clone()], *l, &mut spare[range.clone()], &mut hit[range]);
    }
    let mut exceptions = Exceptions { list: Vec::new() };
    if total < n {
        let mut previous = W::default();
        for at in runs.list.iter().cloned().flatten() {
            if hit[at] != 0 {
                previous = spare[at];
                continue;
            }
            spare[at] = previous;
            let l = segments.list[at / segments.len];
            let near = point_of(previous, l);
            // The nearest multiple is used if its number is small enough.
            let ratio = ((grid[at].float_value() - l.off) * l.frequency()).round_ties_even();
            let k = W::signed_from_f64(if ratio.abs() <= 2_147_483_000.0 { ratio } else { 0.0 });
            let (k, near) =
                if ratio.abs() <= 2_147_483_000.0 { (k, point_of(k, l)) } else { (previous, near) };
            spare[at] = k;
            let difference = ord(grid[at], 0).minus(ord(near, 0));
            if difference == W::default() {
                continue;
            }
            previous = k;
            exceptions.list.push((at, difference));
            if exceptions.list.len() * 3 > runs.valid {
                return None;
            }
        }
    }
    std::mem::swap(grid, spare);
    Some(exceptions)
}

impl ScaleOffset {
    /// Returns the factor that approximately converts distances from `off` to `k`.
    pub(crate) fn frequency(self) -> f64 {
        if self.step < 0.0 { -self.step } else { 1.0 / self.step }
    }
}

impl Segments {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len as u64);
        for l in &self.list {
            out.extend_from_slice(&l.off.to_le_bytes());
            out.extend_from_slice(&l.step.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around 2^51 two ways of rounding meet; from 2^53 on, not every integer is a binary64.
    #[test]
    fn multiples_of_all_sizes_are_reproduced() {
        let l = ScaleOffset { off: 0.0, step: 1.0 };
        let (mut k, mut hit) = ([0; 200], [0; 200]);
        for first in [1u64, 1 << 50, (1 << 51) - 100, 1 << 52, (1 << 53) - 199] {
            let integers: Vec<u64> = (first..first + 200).collect();
            #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
            let patterns: Vec<u64> = integers.iter().map(|&k| (k as f64).to_bits()).collect();
            assert_eq!(fit(&patterns, l, &mut k, &mut hit), 200, "{first}");
            assert_eq!(k[..], integers);
            let opposite: Vec<u64> = patterns.iter().map(|p| p ^ 1 << 63).collect();
            assert_eq!(fit(&opposite, l, &mut k, &mut hit), 200, "-{first}");
            assert!(k.iter().zip(&integers).all(|(k, i)| k.wrapping_add(*i) == 0));
        }
        let too_large = [9_007_199_254_740_994.0f64, 1e300, f64::NAN, f64::INFINITY].map(f64::to_bits);
        assert_eq!(fit(&too_large, l, &mut k[..4], &mut hit[..4]), 0);
        let no_numbers = [f32::NAN, f32::INFINITY, -1e30, 0.5].map(f32::to_bits);
        assert_eq!(fit(&no_numbers, l, &mut [0; 4], &mut [0; 4]), 0);
    }
}
