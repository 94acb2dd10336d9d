//! The decisions of the `ctx` encoder: thresholds, and the contexts that share a table. Integer arithmetic only.

use super::table;
use crate::ctx::limits::MAX_TABLES;
use crate::ctx::table::Counts;
use crate::ctx::token::{TOKENS, raw_bits};
use crate::word::low8;

/// The number of occurrences of each token.
pub(crate) type Histogram = [u32; TOKENS];

/// Candidate thresholds from which the best are chosen; all of them, if there are few tokens.
const COARSE: usize = 12;
const FEW: usize = 16;

/// Mantissa part of log2 in 1/65536, at 1 + i/256.
static LOG2: [u32; 257] = log2_table();

const fn log2_table() -> [u32; 257] {
    let mut out = [0u32; 257];
    let mut i = 0;
    while i < 256 {
        // Each bit of the logarithm is found by squaring the mantissa (32 fraction bits): it is one if the square is 2 or more.
        let mut m: u64 = (1 << 32) + ((i as u64) << 24);
        let mut bit = 1u32 << 15;
        while bit > 0 {
            let square = (m as u128 * m as u128) >> 32;
            let over = square >> 33 != 0;
            let next = if over { square >> 1 } else { square };
            m = (next & 0xFFFF_FFFF_FFFF) as u64 & 0x3_FFFF_FFFF;
            if over {
                out[i] |= bit;
            }
            bit >>= 1;
        }
        i += 1;
    }
    out[256] = 1 << 16;
    out
}

/// `log2(x)` in 1/65536, by table and linear interpolation; 0 for 0.
#[inline]
pub(crate) fn log2_q16(x: u32) -> u64 {
    if x < 2 {
        return 0;
    }
    let e = x.ilog2();
    let mantissa = (u64::from(x) << (32 - e)) & 0xFFFF_FFFF;
    let i = (mantissa >> 24) as usize;
    let (a, b) = (u64::from(LOG2[i]), u64::from(LOG2[i + 1]));
    (u64::from(e) << 16) + a + (((b - a) * (mantissa & 0xFF_FFFF)) >> 24)
}

/// Bits (in 1/65536) that an ideal coder needs for the tokens of a histogram.
pub(crate) fn cost(histogram: &[u32]) -> u64 {
    let total: u32 = histogram.iter().sum();
    let all = log2_q16(total);
    histogram.iter().map(|&c| u64::from(c) * (all - log2_q16(c).min(all))).sum()
}

/// Bits (in 1/65536) that storing a table takes, roughly.
fn table_cost(histogram: &[u32]) -> u64 {
    let lo = histogram.iter().position(|&c| c > 0).unwrap_or(0);
    let hi = histogram.iter().rposition(|&c| c > 0).map_or(1, |h| h + 1);
    let used = histogram.iter().filter(|&&c| c > 0).count();
    ((16 + 4 * (hi - lo) + 4 * used) as u64) << 16
}

/// One more than the largest token that occurs: most tiles use a quarter of the tokens.
fn used_tokens(histograms: &[Histogram]) -> usize {
    let last = histograms.iter().filter_map(|h| h.iter().rposition(|&c| c > 0)).max();
    last.map_or(1, |last| last + 1)
}

/// Thresholds that split `rows` (a histogram of tokens for each value of the context) into at most `classes`
/// classes of least cost.
pub(crate) fn thresholds(rows: &[Histogram], classes: usize) -> Vec<u8> {
    let weights: Vec<u64> = rows.iter().map(|r| r.iter().map(|&c| u64::from(c)).sum()).collect();
    let total: u64 = weights.iter().sum();
    if classes < 2 || total == 0 {
        return Vec::new();
    }
    // Candidate cuts are at quantiles. The rows between two candidates form an atom, which is never divided.
    let (mut cuts, mut atoms) = (vec![0usize], vec![[0u32; TOKENS]]);
    let (mut seen, mut next) = (0u64, 1u64);
    for (value, row) in rows.iter().enumerate() {
        let full = rows.len() <= FEW || seen * COARSE as u64 >= next * total;
        if seen > 0 && full && weights[value..].iter().any(|&w| w > 0) {
            cuts.push(value);
            atoms.push([0; TOKENS]);
            next = seen * COARSE as u64 / total + 1;
        }
        let atom = atoms.last_mut().map_or(&mut [][..], |a| &mut a[..]);
        for (a, &c) in atom.iter_mut().zip(row) {
            *a += c;
        }
        seen += weights[value];
    }
    let used = used_tokens(&atoms);
    best_cuts(&atoms, used, classes).into_iter().map(|i| low8(cuts[i] as u64)).collect()
}

/// Returns the cuts of the atoms into at most `classes` groups (dynamic programming over group costs).
fn best_cuts(atoms: &[Histogram], used: usize, classes: usize) -> Vec<usize> {
    let n = atoms.len();
    let mut group = vec![vec![0u64; n + 1]; n];
    for (i, costs) in group.iter_mut().enumerate() {
        let mut sum = [0u32; TOKENS];
        for j in i..n {
            for (s, &a) in sum[..used].iter_mut().zip(&atoms[j]) {
                *s += a;
            }
            costs[j + 1] = cost(&sum[..used]) + (64 << 16);
        }
    }
    // best[k][j]: least cost of the first j atoms in k + 1 groups, and where the last group begins.
    let mut best = vec![(0..=n).map(|j| (group[0][j], 0)).collect::<Vec<_>>()];
    for k in 1..classes.min(n) {
        let row = (0..=n)
            .map(|j| {
                (k..j.max(k)).map(|i| (best[k - 1][i].0 + group[i][j], i)).min().unwrap_or((u64::MAX >> 1, 0))
            })
            .collect();
        best.push(row);
    }
    let last = (0..best.len()).min_by_key(|&k| best[k][n].0).unwrap_or(0);
    let (mut cuts, mut j) = (Vec::new(), n);
    for k in (1..=last).rev() {
        j = best[k][j].1;
        cuts.push(j);
    }
    cuts.reverse();
    cuts
}

/// Tables, and the table of each context.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) map: Vec<u8>,
    pub(crate) counts: Vec<Counts>,
    /// The histogram of each table's tokens.
    histograms: Vec<Histogram>,
}

impl Tables {
    /// Returns the bits (in 1/65536) of the tokens with tables of `2^log` states.
    pub(crate) fn token_bits(&self, log: u32) -> u64 {
        let states = u64::from(log) << 16;
        let all = self.histograms.iter().zip(&self.counts).flat_map(|(h, c)| h.iter().zip(c));
        let used = all.filter(|(h, _)| **h > 0);
        used.map(|(&h, &c)| u64::from(h) * (states - log2_q16(u32::from(c)))).sum()
    }

    /// Returns the number of raw bits after the tokens.
    pub(crate) fn raw_bits(&self) -> u64 {
        let all = self.histograms.iter().flat_map(|h| (0..=255u8).zip(h));
        all.map(|(t, &h)| u64::from(h) * u64::from(raw_bits(t))).sum()
    }
}

/// Merges contexts while that saves bits, or while there are more than a map can name.
pub(crate) fn tables(histograms: &[Histogram], log: u32) -> Tables {
    let used = used_tokens(histograms);
    let total = |h: &Histogram| cost(&h[..used]) + table_cost(&h[..used]);
    let mut groups: Vec<(Histogram, Vec<usize>, u64)> = Vec::new();
    let mut empty = Vec::new();
    for (i, h) in histograms.iter().enumerate() {
        if h.iter().any(|&c| c > 0) {
            groups.push((*h, vec![i], total(h)));
        } else {
            empty.push(i);
        }
    }
    if groups.is_empty() {
        groups.push(([0; TOKENS], Vec::new(), 0));
    }
    if let Some(first) = groups.first_mut() {
        first.1.append(&mut empty);
    }
    let joined = |a: &Histogram, b: &Histogram| -> Histogram {
        let mut sum = *a;
        sum[..used].iter_mut().zip(b).for_each(|(s, &b)| *s += b);
        sum
    };
    let price = |a: &(Histogram, Vec<usize>, u64), b: &(Histogram, Vec<usize>, u64)| -> i128 {
        let h = joined(&a.0, &b.0);
        i128::from(total(&h)) - i128::from(a.2 + b.2)
    };
    let mut prices: Vec<Vec<i128>> =
        groups.iter().enumerate().map(|(i, a)| groups[..i].iter().map(|b| price(a, b)).collect()).collect();
    loop {
        let best = prices
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, &p)| (p, i, j)))
            .min();
        let Some((gain, i, j)) = best else { break };
        if gain >= 0 && groups.len() <= MAX_TABLES {
            break;
        }
        let (b, mut members, _) = groups.remove(i);
        prices.remove(i);
        for row in &mut prices[i..] {
            row.remove(i);
        }
        groups[j].0 = joined(&groups[j].0, &b);
        groups[j].1.append(&mut members);
        groups[j].2 = total(&groups[j].0);
        for k in 0..groups.len() {
            match k.cmp(&j) {
                std::cmp::Ordering::Less => prices[j][k] = price(&groups[j], &groups[k]),
                std::cmp::Ordering::Greater => prices[k][j] = price(&groups[k], &groups[j]),
                std::cmp::Ordering::Equal => {}
            }
        }
    }
    let mut map = vec![0u8; histograms.len()];
    for (t, group) in (0u8..).zip(&groups) {
        for &context in &group.1 {
            map[context] = t;
        }
    }
    let counts = groups.iter().map(|g| table::normalise(&g.0, log)).collect();
    Tables { map, counts, histograms: groups.into_iter().map(|g| g.0).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    fn fixed_point_logarithm_is_close() {
        for x in [1u32, 2, 3, 5, 100, 1000, 65_537, u32::MAX] {
            let exact = f64::from(x).log2() * 65536.0;
            assert!((exact - log2_q16(x) as f64).abs() < 4.0, "{x}: {exact} {}", log2_q16(x));
        }
    }
}
