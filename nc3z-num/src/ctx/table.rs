//! Frequency tables: their stored form, and the tANS tables derived from them.

use super::token::TOKENS;
use crate::bits::{PAD, load};
use crate::error::{Result, bad};
use crate::word::low16;

/// Occurrences of each token, summing to `2^log`.
pub(crate) type Counts = [u16; TOKENS];

/// Reads a table from bit `at` of a padded stream.
pub(crate) fn take(padded: &[u8], at: &mut u64, log: u32, alphabet: u32) -> Result<Counts> {
    let mut field = |n: u32| -> Result<u32> {
        let word = load(padded, *at).ok_or_else(|| bad("table", "more bits", "none"))?;
        *at += u64::from(n);
        if *at > 8 * (padded.len() - PAD) as u64 {
            return Err(bad("table", "more bits", "none"));
        }
        Ok(crate::word::low32(word) & ((1 << n) - 1))
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

/// Assigns a token to each state: tokens ascending, with a fixed step from state 0.
pub(crate) fn spread(counts: &Counts, log: u32, out: &mut Vec<u8>) {
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

/// Creates the decoder's entry for each state: bits to read (bits 0 to 7), token (8 to 15), and the next state, to
/// which the bits read are added (16 to 31). `class` has each token's addition to the next state.
pub(crate) fn decode_entries(
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
