//! Running sums.
//!
//! Within a vector, the words one, two, four … places before are added to each word. The sum before the vector is
//! added last, so that each vector waits for the previous one by only one addition.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm256_add_epi16, _mm256_add_epi32, _mm256_add_epi64,
    _mm256_and_si256, _mm256_andnot_si256, _mm256_cvtepi8_epi16, _mm256_cvtepi8_epi32, _mm256_cvtepi8_epi64,
    _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set1_epi16,
    _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_slli_si256, _mm256_xor_si256,
};
use std::hint::black_box;
use zerocopy::transmute;

/// Running sums for one word width: a module for each.
macro_rules! sums {
    ($module:ident, $word:ty, $lanes:literal, $add:ident, $spread:expr, $last_of_halves:expr, [$($shift:literal),*]) => {
        pub(crate) mod $module {
            use super::*;

            const LANES: usize = $lanes;

            /// Returns the last word of the lower half in the whole upper half, and zeros in the lower half.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn carried(x: __m256i, across: __m256i) -> __m256i {
                _mm256_and_si256(_mm256_permutevar8x32_epi32($last_of_halves(x), across), upper())
            }

            /// Returns the last word in all positions.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn last(x: __m256i) -> __m256i {
                _mm256_permute4x64_epi64::<0xFF>($last_of_halves(x))
            }

            /// Running sums of one vector.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn prefix(x: __m256i, across: __m256i) -> __m256i {
                $(let x = $add(x, _mm256_slli_si256::<$shift>(x));)*
                $add(x, carried(x, across))
            }

            /// Computes running sums that restart where `stop` is all ones, and a mask of ones from the first such
            /// position on.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn prefix_between(x: __m256i, stop: __m256i, across: __m256i) -> (__m256i, __m256i) {
                $(
                    let x = $add(x, _mm256_andnot_si256(stop, _mm256_slli_si256::<$shift>(x)));
                    let stop = _mm256_or_si256(stop, _mm256_slli_si256::<$shift>(stop));
                )*
                let x = $add(x, _mm256_andnot_si256(stop, carried(x, across)));
                (x, _mm256_or_si256(stop, carried(stop, across)))
            }

            /// Returns a vector with one word in all positions.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn splat(word: $word) -> __m256i {
                transmute!([word; LANES])
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            fn first(x: __m256i) -> $word {
                let words: [$word; LANES] = transmute!(x);
                words[0]
            }

            /// Computes running sums `N` times in one pass; the last begins with `base`.
            #[target_feature(enable = "avx2")]
            pub(crate) fn plain<const N: usize>(words: &mut [$word], base: $word) {
                let across = across();
                let mut before = [splat(0); N];
                before[N - 1] = splat(base);
                let (groups, rest) = words.as_chunks_mut::<LANES>();
                for group in groups {
                    let mut x: __m256i = transmute!(*group);
                    for before in &mut before {
                        let sums = prefix(x, across);
                        x = $add(sums, *before);
                        *before = $add(*before, last(sums));
                    }
                    *group = transmute!(x);
                }
                let mut sums = before.map(|before| first(before));
                for word in rest {
                    for sum in &mut sums {
                        *sum = sum.wrapping_add(*word);
                        *word = *sum;
                    }
                }
            }

            /// Computes running sums `AGAIN` times: a sum continues to the next position if this position's byte of
            /// `pairs` is 0xFF, and restarts if it is 0. Then computes the running sum of the words whose byte of
            /// `valid` is 0xFF, starting from `base`. The other words are undefined afterwards. All in one pass.
            /// `valid` is as long as `words`, and so is `pairs` if it is needed.
            #[target_feature(enable = "avx2")]
            pub(crate) fn of_valid<const AGAIN: usize>(
                words: &mut [$word],
                valid: &[u8],
                pairs: &[u8],
                base: $word,
            ) {
                let across = across();
                let Some((first_word, words)) = words.split_first_mut() else { return };
                let mut before = [splat(*first_word); AGAIN];
                *first_word = base.wrapping_add(if valid[0] == 0 { 0 } else { *first_word });
                let mut before_all = splat(*first_word);
                // Each position uses the pair before it, so the last one is not needed.
                let pairs = if AGAIN > 0 { &pairs[..words.len()] } else { &valid[1..] };
                let (groups, rest) = words.as_chunks_mut::<LANES>();
                let (masks, valid) = valid[1..].as_chunks::<LANES>();
                let (pair_masks, pairs) = pairs.as_chunks::<LANES>();
                for ((group, mask), pair_mask) in groups.iter_mut().zip(masks).zip(pair_masks) {
                    // Sums restart at the next valid position.
                    if *mask == [0; LANES] {
                        continue;
                    }
                    let mut x: __m256i = transmute!(*group);
                    let whole = *pair_mask == [0xFF; LANES];
                    for before in &mut before {
                        // Uses the vector's own sums, so that vectors wait for each other by only one or two
                        // instructions.
                        if whole {
                            let sums = prefix(x, across);
                            x = $add(sums, *before);
                            *before = $add(last(sums), *before);
                        } else {
                            let stop = _mm256_xor_si256($spread(*pair_mask), _mm256_set1_epi16(-1));
                            let (sums, stop) = prefix_between(x, stop, across);
                            x = $add(sums, _mm256_andnot_si256(stop, *before));
                            *before = $add(last(sums), _mm256_andnot_si256(last(stop), *before));
                        }
                    }
                    let sums = prefix(_mm256_and_si256(x, $spread(*mask)), across);
                    *group = transmute!($add(sums, before_all));
                    before_all = $add(before_all, last(sums));
                }
                let mut sum = first(before_all);
                let mut between = before.map(|before| first(before));
                for ((word, &valid), &pair) in rest.iter_mut().zip(valid).zip(pairs) {
                    for between in &mut between {
                        *between = word.wrapping_add(if pair == 0 { 0 } else { *between });
                        *word = *between;
                    }
                    sum = sum.wrapping_add(if valid == 0 { 0 } else { *word });
                    *word = sum;
                }
            }
        }
    };
}

/// Selects double words so that the last two of the lower half fill the upper half. The shuffle is hidden from the
/// compiler, which would replace it by one that waits for an unrelated register.
#[inline]
#[target_feature(enable = "avx2")]
fn across() -> __m256i {
    black_box(transmute!([0u32, 1, 2, 3, 2, 3, 2, 3]))
}

#[inline]
#[target_feature(enable = "avx2")]
fn upper() -> __m256i {
    transmute!([0, 0, u64::MAX, u64::MAX])
}

/// Converts bytes of a mask to words of 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn spread16(mask: [u8; 16]) -> __m256i {
    _mm256_cvtepi8_epi16(transmute!(mask))
}

#[inline]
#[target_feature(enable = "avx2")]
fn spread32(mask: [u8; 8]) -> __m256i {
    _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(mask)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn spread64(mask: [u8; 4]) -> __m256i {
    _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(i32::from_le_bytes(mask)))
}

/// Returns the last word of each half in the whole half.
#[inline]
#[target_feature(enable = "avx2")]
fn last16(x: __m256i) -> __m256i {
    _mm256_shuffle_epi8(x, _mm256_set1_epi16(0x0F0E))
}

#[inline]
#[target_feature(enable = "avx2")]
fn last32(x: __m256i) -> __m256i {
    _mm256_shuffle_epi32::<0xFF>(x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn last64(x: __m256i) -> __m256i {
    _mm256_shuffle_epi32::<0xEE>(x)
}

sums!(w16, u16, 16, _mm256_add_epi16, spread16, last16, [2, 4, 8]);
sums!(w32, u32, 8, _mm256_add_epi32, spread32, last32, [4, 8]);
sums!(w64, u64, 4, _mm256_add_epi64, spread64, last64, [8]);
