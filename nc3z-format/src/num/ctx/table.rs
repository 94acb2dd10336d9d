//! Frequency tables: how they are stored, and the tANS tables that follow from them.

use super::token::TOKENS;
use crate::error::Result;
use crate::num::bad;
use crate::num::bits::{BitWriter, PAD, load};
use crate::num::word::low16;

/// Occurrences of each token, summing to `2^log`.
pub(super) type Counts = [u16; TOKENS];

/// Appends a table: lo, hi, then `count + 1` of the tokens `lo..hi` as exponent and mantissa.
pub(super) fn put(counts: &Counts, bits: &mut BitWriter<'_>) {
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

/// Reads a table from bit `at` of a padded stream.
pub(super) fn take(padded: &[u8], at: &mut usize, log: u32, alphabet: u32) -> Result<Counts> {
    let mut field = |n: u32| -> Result<u32> {
        let word = load(padded, *at).ok_or_else(|| bad("table", "more bits", "none"))?;
        *at += n as usize;
        if *at > 8 * (padded.len() - PAD) {
            return Err(bad("table", "more bits", "none"));
        }
        Ok(crate::num::word::low32(word) & ((1 << n) - 1))
    };
    let (lo, hi) = (field(8)?, field(8)?);
    if lo >= hi || hi > alphabet {
        return Err(bad("table range", format_args!("lo < hi <= {alphabet}"), format_args!("{lo}, {hi}")));
    }
    let mut counts = [0u16; TOKENS];
    let mut sum = 0u32;
    for token in lo..hi {
        let e = field(4)?;
        if e > log {
            return Err(bad("table exponent", log, e));
        }
        let v = (1 << e) + field(e)?;
        sum += v - 1;
        counts[token as usize] = low16(v - 1);
    }
    if sum != 1 << log || counts[lo as usize] == 0 || counts[hi as usize - 1] == 0 {
        return Err(bad("table sum", 1u32 << log, sum));
    }
    Ok(counts)
}

/// The token of each state: tokens ascending, laid out with a fixed step from state 0.
pub(super) fn spread(counts: &Counts, log: u32, out: &mut Vec<u8>) {
    let size = 1usize << log;
    let step = (size >> 1) + (size >> 3) + 3;
    out.clear();
    out.resize(size, 0);
    let mut at = 0;
    for (token, &c) in (0u8..).zip(counts) {
        for _ in 0..c {
            out[at] = token;
            at = (at + step) & (size - 1);
        }
    }
}

/// What the decoder knows of a state: bits to read (bits 0 to 7), token (8 to 15), and the next state, to which
/// the bits read are added (16 to 31). `class` gives what a token adds to the next state.
pub(super) fn decode_entries(
    counts: &Counts,
    log: u32,
    class: &[u16; 256],
    spread_: &mut Vec<u8>,
    out: &mut [u32],
) {
    spread(counts, log, spread_);
    let mut occurrence: [u32; TOKENS] = std::array::from_fn(|t| u32::from(counts[t]));
    for (entry, &token) in out.iter_mut().zip(spread_.iter()) {
        let x = &mut occurrence[usize::from(token)];
        let nb = log - x.ilog2();
        let next = (*x << nb) - (1 << log) + u32::from(class[usize::from(token)]);
        *entry = nb | u32::from(token) << 8 | next << 16;
        *x += 1;
    }
}

/// Scales a histogram so that it sums to `2^log`; every token that occurs keeps at least one.
pub(super) fn normalise(histogram: &[u32; TOKENS], log: u32) -> Counts {
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
        // Move by one where it changes the cost least: the largest h / c gains, the smallest loses.
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

/// The encoder's side of a table.
pub(super) struct Encoder {
    /// Per token: what to add to the state so that the high half is the number of bits.
    pub(super) delta_bits: [u32; TOKENS],
    /// Per token: where its states stand, less its count.
    pub(super) first: [u32; TOKENS],
    /// State before, by number of the state after among those of its token.
    pub(super) states: Vec<u16>,
}

impl Encoder {
    pub(super) fn new(counts: &Counts, log: u32, spread_: &mut Vec<u8>) -> Self {
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
