//! Running sums, the inverse of differences of neighbours.

use crate::word::Word;
use multiversion::{multiversion, target::match_target};
#[cfg(target_arch = "x86_64")]
use {
    crate::avx2::running_sums::{w16, w32, w64},
    crate::word::{ByWidth, low16},
};

/// Computes running sums `N` times in one pass; the last begins with `base`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn plain<W: Word, const N: usize>(words: &mut [W], base: W) {
    match_target! {
        "x86_64+avx2" => match W::by_width(words) {
            ByWidth::W16(words) => return w16::plain::<N>(words, low16(base.low32())),
            ByWidth::W32(words) => return w32::plain::<N>(words, base.low32()),
            ByWidth::W64(words) => return w64::plain::<N>(words, base.to_u64()),
            ByWidth::W8(_) => {}
        },
        _ => {}
    }
    let mut sums = [W::default(); N];
    sums[N - 1] = base;
    for word in words {
        for sum in &mut sums {
            *sum = sum.plus(*word);
            *word = *sum;
        }
    }
}

/// Computes running sums `AGAIN` times: a sum continues to the next position if this position's byte of `pairs` is
/// 0xFF, and restarts if it is 0. Then computes the running sum of the valid positions, starting from `base`.
/// Masked positions are undefined afterwards. If `AGAIN` is 0, no pairs are needed.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn of_valid<W: Word, const AGAIN: usize>(words: &mut [W], valid: &[u8], pairs: &[u8], base: W) {
    match_target! {
        "x86_64+avx2" => match W::by_width(words) {
            ByWidth::W16(words) => return w16::of_valid::<AGAIN>(words, valid, pairs, low16(base.low32())),
            ByWidth::W32(words) => return w32::of_valid::<AGAIN>(words, valid, pairs, base.low32()),
            ByWidth::W64(words) => return w64::of_valid::<AGAIN>(words, valid, pairs, base.to_u64()),
            ByWidth::W8(_) => {}
        },
        _ => {}
    }
    for _ in 0..AGAIN {
        let mut carried = W::default();
        for (word, &pair) in words.iter_mut().zip(pairs) {
            *word = word.plus(carried);
            carried = word.and(W::widen_mask(pair));
        }
    }
    let mut sum = base;
    for (word, &valid) in words.iter_mut().zip(valid) {
        sum = sum.plus(word.and(W::widen_mask(valid)));
        *word = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the sums of [`of_valid`] and [`plain`] word by word.
    fn slowly<W: Word>(words: &[W], valid: &[u8], again: usize, base: W) -> Vec<W> {
        let mut words = words.to_vec();
        for _ in 0..again {
            for i in 2..words.len() {
                if valid[i - 1] != 0 && valid[i - 2] != 0 {
                    words[i] = words[i].plus(words[i - 1]);
                }
            }
        }
        let mut sum = base;
        for (word, &valid) in words.iter_mut().zip(valid) {
            if valid != 0 {
                sum = sum.plus(*word);
            }
            *word = sum;
        }
        words
    }

    fn same<W: Word, const AGAIN: usize>(words: &[u64], valid: &[u8], base: u64) {
        let words: Vec<W> = words.iter().map(|&w| W::from_u64(w)).collect();
        let base = W::from_u64(base);
        let mut pairs = Vec::new();
        crate::mask::pairs(valid, &mut pairs);
        let mut found = words.clone();
        of_valid::<W, AGAIN>(&mut found, valid, &pairs, base);
        let expected = slowly(&words, valid, AGAIN, base);
        let of_valid = |words: &[W]| -> Vec<W> {
            words.iter().zip(valid).filter(|(_, v)| **v != 0).map(|(w, _)| *w).collect()
        };
        assert_eq!(of_valid(&found), of_valid(&expected), "{AGAIN} times again, {} bits", W::BITS);
    }

    fn same_plain<W: Word, const N: usize>(words: &[u64], base: u64) {
        let words: Vec<W> = words.iter().map(|&w| W::from_u64(w)).collect();
        let mut found = words.clone();
        plain::<W, N>(&mut found, W::from_u64(base));
        let mut sums = words;
        for n in 0..N {
            let mut sum = W::from_u64(if n + 1 < N { 0 } else { base });
            for word in &mut sums {
                sum = sum.plus(*word);
                *word = sum;
            }
        }
        assert_eq!(found, sums, "{N} times, {} bits", W::BITS);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_plain_loops(
            // Single masked positions, and long runs of either kind.
            runs in prop::collection::vec((prop::bool::weighted(0.6), prop_oneof![1usize..4, 1usize..40]), 1..12),
            seed: u64,
            base: u64,
        ) {
            let valid: Vec<u8> =
                runs.iter().flat_map(|&(v, len)| std::iter::repeat_n(if v { 0xFF } else { 0 }, len)).collect();
            let words: Vec<u64> =
                (1..=valid.len() as u64).map(|i| (seed ^ i).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)).collect();
            macro_rules! each {
                ($($word:ty),*) => {$(
                    same::<$word, 0>(&words, &valid, base);
                    same::<$word, 1>(&words, &valid, base);
                    same::<$word, 3>(&words, &valid, base);
                    same_plain::<$word, 1>(&words, base);
                    same_plain::<$word, 2>(&words, base);
                    same_plain::<$word, 4>(&words, base);
                )*};
            }
            each!(u8, u16, u32, u64);
        }
    }
}
