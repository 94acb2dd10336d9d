//! The context of a value: the size of the previous token, and of the tokens around it in the previous row.

use super::limits::MAX_NORTH;
use multiversion::multiversion;

/// The rule for contexts; encoder and decoder use the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// Elements from a position back to the previous row; 0 if the row is not used.
    pub(crate) stride: usize,
    /// Thresholds of the previous row's average, ascending (`kn - 1`).
    pub(crate) north: Vec<u8>,
    /// Thresholds of the previous token, ascending (`kw - 1`).
    pub(crate) west: Vec<u8>,
}

impl Model {
    pub(crate) fn kn(&self) -> usize {
        self.north.len() + 1
    }

    pub(crate) fn kw(&self) -> usize {
        self.west.len() + 1
    }

    /// Returns the class of the previous row for elements without one.
    pub(crate) fn middle(&self) -> usize {
        self.kn() / 2
    }

    /// Returns the class of a previous token.
    pub(crate) fn west_class(&self, token: u8) -> usize {
        self.west.iter().filter(|&&t| token >= t).count()
    }
}

#[inline]
fn avg(a: u8, b: u8) -> u8 {
    // (a | b) - ((a ^ b) >> 1) is the rounded-up average without a carry out of eight bits.
    (a | b) - ((a ^ b) >> 1)
}

/// `out[i]` = average around the previous row of position `from + i` of `grid`; `from > stride`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
pub(crate) fn averages(grid: &[u8], from: usize, stride: usize, out: &mut [u8]) {
    let start = from - stride - 1;
    let n = out.len();
    let rows = grid[start..start + n]
        .iter()
        .zip(&grid[start + 1..start + 1 + n])
        .zip(&grid[start + 2..start + 2 + n]);
    for (o, ((&west, &here), &east)) in out.iter_mut().zip(rows) {
        *o = avg(here, avg(west, east));
    }
}

/// `out[i]` = class of the previous row's average at `from + i`; `out` has at most 256 places.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
pub(crate) fn classes(grid: &[u8], from: usize, stride: usize, thresholds: &Thresholds, out: &mut [u8]) {
    averages(grid, from, stride, out);
    match thresholds {
        Thresholds::Three(list) => classify(list, out),
        Thresholds::Seven(list) => classify(list, out),
        Thresholds::Fifteen(list) => classify(list, out),
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn classify<const N: usize>(thresholds: &[u8; N], out: &mut [u8]) {
    for x in out {
        *x = thresholds.iter().map(|&t| u8::from(*x >= t)).sum();
    }
}

/// Thresholds of the previous row in a list of a fixed length, which is filled up with 255: no token is that large.
pub(crate) enum Thresholds {
    Three([u8; 3]),
    Seven([u8; 7]),
    Fifteen([u8; MAX_NORTH - 1]),
}

impl Thresholds {
    pub(crate) fn new(north: &[u8]) -> Self {
        fn filled<const N: usize>(list: &[u8]) -> [u8; N] {
            std::array::from_fn(|i| list.get(i).copied().unwrap_or(255))
        }
        match north.len() {
            ..=3 => Thresholds::Three(filled(north)),
            4..=7 => Thresholds::Seven(filled(north)),
            _ => Thresholds::Fifteen(filled(north)),
        }
    }
}

/// `out[i]` = class of the previous row's average at `from + i`, times `unit`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn north_classes(
    grid: &[u8],
    from: usize,
    stride: usize,
    north: &[u8],
    unit: u16,
    out: &mut [u16],
) {
    let thresholds = Thresholds::new(north);
    let mut u = [0u8; 256];
    let mut at = from;
    for part in out.chunks_mut(256) {
        let u = &mut u[..part.len()];
        classes(grid, at, stride, &thresholds, u);
        for (o, &x) in part.iter_mut().zip(u.iter()) {
            *o = u16::from(x).wrapping_mul(unit);
        }
        at += part.len();
    }
}
