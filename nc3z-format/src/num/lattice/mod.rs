//! The lattice map of floats: `x = T(off + k * step)`, or `x = T(off + k / divisor)`, with exact exceptions.
//!
//! Decimal numbers that were parsed as doubles are quotients by a power of ten, seldom products.
//! Product or quotient and sum are rounded to binary64, the sum then to the type; never fused. A result of magnitude at
//! most the smallest normal number counts as zero of its sign, so that flush-to-zero modes change nothing.

mod detect;

pub(super) use detect::{detect, holds, spread};

use super::bad;
use super::bits::{Cursor, put_varint};
use super::domain::{Exceptions, ord};
use super::mask::Runs;
use super::word::{Word, index};
use crate::error::Result;
use multiversion::multiversion;

/// Offset and step of one segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lattice {
    /// Value of `k = 0`.
    pub off: f64,
    /// Distance of neighbours; if negative, `-step` is what `k` is divided by instead.
    pub step: f64,
}

impl Lattice {
    fn is_sound(self) -> bool {
        (self.off == 0.0 || self.off.is_normal()) && self.step.is_normal()
    }

    /// What to multiply distances from `off` by for `k`, nearly.
    pub(super) fn frequency(self) -> f64 {
        if self.step < 0.0 { -self.step } else { 1.0 / self.step }
    }
}

/// Lattices of consecutive segments of `len` elements each; the last may be shorter.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Segments {
    pub(super) len: usize,
    pub(super) list: Vec<Lattice>,
}

impl Segments {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len as u64);
        for l in &self.list {
            out.extend_from_slice(&l.off.to_le_bytes());
            out.extend_from_slice(&l.step.to_le_bytes());
        }
    }

    pub(super) fn take(part: &[u8], n: usize) -> Result<Self> {
        let mut cursor = Cursor::new(part);
        let len = index(cursor.varint()?);
        if len == 0 || len > n {
            return Err(bad("lattice segment", format_args!("1 to {n}"), len));
        }
        let count = n.div_ceil(len);
        if cursor.len() != count.saturating_mul(16) {
            return Err(bad("lattice part", format_args!("{count} segments of 16 bytes"), cursor.len()));
        }
        let (pairs, _) = cursor.rest().as_chunks::<8>();
        let list: Vec<Lattice> = pairs
            .chunks_exact(2)
            .map(|p| Lattice { off: f64::from_le_bytes(p[0]), step: f64::from_le_bytes(p[1]) })
            .collect();
        if let Some(l) = list.iter().find(|l| !l.is_sound()) {
            return Err(bad("lattice", "normal numbers", format_args!("{l:?}")));
        }
        Ok(Self { len, list })
    }
}

/// The pattern of lattice point `k`; `DIVIDED`: of a lattice whose step is negative.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn point<W: Word, const DIVIDED: bool>(k: W, l: Lattice) -> W {
    let k = k.signed_to_f64();
    let x = W::float_pattern(l.off + if DIVIDED { k / -l.step } else { k * l.step });
    // Without the sign; the smallest normal number is 1 << mantissa bits.
    let magnitude = x.shl(1).shr(1);
    let smallest = W::from_u64(if W::BITS == 64 { 1 << 52 } else { 1 << 23 });
    if magnitude <= smallest { x.xor(magnitude) } else { x }
}

/// As [`point`], of any lattice.
fn point_of<W: Word>(k: W, l: Lattice) -> W {
    if l.step < 0.0 { point::<W, true>(k, l) } else { point::<W, false>(k, l) }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn points<W: Word, const DIVIDED: bool>(grid: &mut [W], l: Lattice) -> bool {
    let mut sound = true;
    let limit = W::from_u64(1 << 53);
    for w in grid {
        if W::BITS == 64 {
            sound &= w.plus(limit) <= limit.plus(limit);
        }
        *w = point::<W, DIVIDED>(*w, l);
    }
    sound
}

/// Integers to patterns.
pub(super) fn invert<W: Word>(grid: &mut [W], segments: &Segments) -> Result<()> {
    for (part, l) in grid.chunks_mut(segments.len).zip(&segments.list) {
        let sound = if l.step < 0.0 { points::<W, true>(part, *l) } else { points::<W, false>(part, *l) };
        if !sound {
            return Err(bad("lattice index", "at most 2^53", "more"));
        }
    }
    Ok(())
}

/// `k` of each pattern, and whether it gives the pattern back; counts those that do.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn fit_as<W: Word, const DIVIDED: bool>(patterns: &[W], l: Lattice, k: &mut [W], hit: &mut [u8]) -> usize {
    let mut hits = 0;
    // A product instead of a quotient: near an integer both round to it, and elsewhere there is no hit.
    let frequency = l.frequency();
    for ((p, k), h) in patterns.chunks(128).zip(k.chunks_mut(128)).zip(hit.chunks_mut(128)) {
        let mut count = 0u8;
        for ((&p, k), h) in p.iter().zip(k.iter_mut()).zip(h.iter_mut()) {
            let ratio = ((p.float_value() - l.off) * frequency).round_ties_even();
            *k = W::signed_from_f64(ratio);
            let good = u8::from(point::<W, DIVIDED>(*k, l) == p && ratio.abs() <= 9_007_199_254_740_992.0);
            *h = good;
            count += good;
        }
        hits += usize::from(count);
    }
    hits
}

/// As [`fit_as`], of any lattice.
fn fit<W: Word>(patterns: &[W], l: Lattice, k: &mut [W], hit: &mut [u8]) -> usize {
    if l.step < 0.0 {
        fit_as::<W, true>(patterns, l, k, hit)
    } else {
        fit_as::<W, false>(patterns, l, k, hit)
    }
}

/// Share of `sample` that lies on a lattice, as a count.
fn hits<W: Word>(sample: &[W], l: Lattice) -> usize {
    let (mut k, mut hit) = ([W::default(); 64], [0u8; 64]);
    sample.chunks(64).map(|s| fit(s, l, &mut k[..s.len()], &mut hit[..s.len()])).sum()
}

/// Maps the patterns in `grid` onto a lattice of each segment, in place. None where more than a third of the
/// valid elements would be exceptions; `grid` is as before then.
pub(super) fn map<W: Word>(
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
            // The nearest lattice point is the better start, if it is close.
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
