//! Frequency tables of the encoder: normalised, stored, and as steps of tANS.

use crate::ctx::table::{Counts, spread};
use crate::ctx::token::TOKENS;
use crate::encode::bits::BitWriter;
use crate::word::low16;

/// Appends a table: lo, hi, then `count + 1` of the tokens `lo..hi` as exponent and mantissa.
pub(crate) fn put(counts: &Counts, bits: &mut BitWriter<'_>) {
    let lo = counts.iter().position(|&c| c > 0).unwrap_or(0);
    let hi = counts.iter().rposition(|&c| c > 0).map_or(1, |h| h + 1);
    bits.put(lo as u64, 8);
    bits.put(hi as u64, 8);
    for &c in &counts[lo..hi] {
        let v = u32::from(c) + 1;
        let e = v.ilog2();
        bits.put(u64::from(e), 4);
        bits.put(u64::from(v - (1 << e)), e);
    }
}

/// Scales a histogram to the sum `2^log`; every token that occurs keeps at least one.
pub(crate) fn normalise(histogram: &[u32; TOKENS], log: u32) -> Counts {
    let total: u64 = histogram.iter().map(|&h| u64::from(h)).sum();
    let mut counts = [0u16; TOKENS];
    if total == 0 {
        counts[0] = 1 << log;
        return counts;
    }
    let size = 1i64 << log;
    let mut rest = size;
    for (c, &h) in counts.iter_mut().zip(histogram) {
        if h > 0 {
            let scaled = ((u64::from(h) << (log + 1)) + total) / (2 * total);
            *c = u16::try_from(scaled.max(1)).unwrap_or(1);
            rest -= i64::from(*c);
        }
    }
    while rest != 0 {
        // Changes the count whose change costs least: the one with the largest h / c grows, the one with the
        // smallest shrinks.
        let ratio = |t: usize| (u64::from(histogram[t]) << 16) / u64::from(2 * counts[t] + 1);
        let present = (0..TOKENS).filter(|&t| counts[t] > 0);
        if rest > 0 {
            let t = present.max_by_key(|&t| ratio(t)).unwrap_or(0);
            counts[t] += 1;
            rest -= 1;
        } else {
            let ratio = |t: usize| (u64::from(histogram[t]) << 16) / u64::from(2 * counts[t] - 1);
            let t = present.filter(|&t| counts[t] > 1).min_by_key(|&t| ratio(t)).unwrap_or(0);
            counts[t] -= 1;
            rest += 1;
        }
    }
    counts
}

/// A table in the encoder's form.
pub(crate) struct Encoder {
    /// For each token: the addition to the state that puts the number of bits into the high half.
    pub(crate) delta_bits: [u32; TOKENS],
    /// For each token: the position of its states, minus its count.
    pub(crate) first: [u32; TOKENS],
    /// The state before, by the number of the state after among those of its token.
    pub(crate) states: Vec<u16>,
}

impl Encoder {
    pub(crate) fn new(counts: &Counts, log: u32, spread_: &mut Vec<u8>) -> Self {
        spread(counts, log, spread_);
        let (mut delta_bits, mut first) = ([0u32; TOKENS], [0u32; TOKENS]);
        let mut start = 0u32;
        for (t, &c) in counts.iter().enumerate() {
            let c = u32::from(c);
            if c > 0 {
                let nb = if c == 1 { log } else { log - (c - 1).ilog2() };
                delta_bits[t] = (nb << 16).wrapping_sub(c << nb);
            }
            first[t] = start.wrapping_sub(c);
            start += c;
        }
        let mut states = vec![0u16; 1 << log];
        let mut next: [u32; TOKENS] = std::array::from_fn(|t| first[t].wrapping_add(u32::from(counts[t])));
        for (state, &t) in (0u32..).zip(spread_.iter()) {
            let n = &mut next[usize::from(t)];
            states[*n as usize] = low16(state);
            *n += 1;
        }
        Self { delta_bits, first, states }
    }
}
