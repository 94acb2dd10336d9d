//! Moves words from the front of a grid to their positions, and back.

use crate::mask::pack;
use crate::word::low8;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi8, _mm_cvtsi64_si128, _mm_set1_epi8, _mm_shuffle_epi8, _mm_unpacklo_epi8,
    _mm256_cvtepu8_epi32, _mm256_permutevar8x32_epi32,
};
use zerocopy::transmute;

/// For each set of eight positions, as bits: the number of members before each position.
static BEFORE: [[u8; 8]; 256] = before();

#[expect(clippy::cast_possible_truncation, reason = "one bit")]
const fn before() -> [[u8; 8]; 256] {
    let mut out = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut at, mut count) = (0, 0);
        while at < 8 {
            out[set][at] = count;
            count += (set >> at & 1) as u8;
            at += 1;
        }
        set += 1;
    }
    out
}

/// For each set of eight positions, as bits: its members in ascending order, then zeros.
static PLACES: [[u8; 8]; 256] = places();

const fn places() -> [[u8; 8]; 256] {
    let before = before();
    let mut out = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let mut at = 0;
        while at < 8 {
            if set >> at & 1 == 1 {
                out[set][before[set][at as usize] as usize] = at;
            }
            at += 1;
        }
        set += 1;
    }
    out
}

/// Returns `numbers` in the low half, each twice, the second time plus one: the positions of halves of words.
#[inline]
#[target_feature(enable = "avx2")]
fn doubled(numbers: [u8; 8]) -> __m128i {
    let once = _mm_cvtsi64_si128(i64::from_le_bytes(numbers));
    let twice = _mm_add_epi8(once, once);
    _mm_unpacklo_epi8(twice, _mm_add_epi8(twice, _mm_set1_epi8(1)))
}

/// Moves consecutive words to the positions of a set; the other positions are undefined.
#[inline]
#[target_feature(enable = "avx2")]
fn spread8(words: [u8; 8], set: u8) -> [u8; 8] {
    let places = _mm_cvtsi64_si128(i64::from_le_bytes(BEFORE[usize::from(set)]));
    let words = _mm_cvtsi64_si128(i64::from_le_bytes(words));
    let spread: [u64; 2] = transmute!(_mm_shuffle_epi8(words, places));
    spread[0].to_le_bytes()
}

#[inline]
#[target_feature(enable = "avx2")]
fn spread16(words: [u16; 8], set: u8) -> [u16; 8] {
    let words: __m128i = transmute!(words);
    transmute!(_mm_shuffle_epi8(words, doubled(BEFORE[usize::from(set)])))
}

#[inline]
#[target_feature(enable = "avx2")]
fn spread32(words: [u32; 8], set: u8) -> [u32; 8] {
    let places = _mm_cvtsi64_si128(i64::from_le_bytes(BEFORE[usize::from(set)]));
    let words: __m256i = transmute!(words);
    transmute!(_mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(places)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn spread64(words: [u64; 4], set: u8) -> [u64; 4] {
    let places = doubled(BEFORE[usize::from(set)]);
    let words: __m256i = transmute!(words);
    transmute!(_mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(places)))
}

/// Moves `count` words from the front to the positions whose byte of `valid` is 0xFF. The last ones are moved
/// first, so that no word is overwritten before it is moved.
macro_rules! expand {
    ($name:ident, $word:ty, $lanes:literal, $spread:ident) => {
        #[target_feature(enable = "avx2")]
        pub(crate) fn $name(words: &mut [$word], valid: &[u8], count: usize) {
            const LANES: usize = $lanes;
            let (groups, rest) = valid.as_chunks::<LANES>();
            let mut from = count;
            let tail = LANES * groups.len();
            for (at, _) in rest.iter().enumerate().rev().filter(|(_, v)| **v != 0) {
                from -= 1;
                words[tail + at] = words[from];
            }
            for (g, valid) in groups.iter().enumerate().rev() {
                let at = LANES * g;
                // All words before are already at their positions.
                if from == at + LANES {
                    break;
                }
                let set = low8(pack(valid));
                from -= set.count_ones() as usize;
                let Some(&group) = words[from..].first_chunk::<LANES>() else { break };
                words[at..at + LANES].copy_from_slice(&$spread(group, set));
            }
        }
    };
}

expand!(words8, u8, 8, spread8);
expand!(words16, u16, 8, spread16);
expand!(words32, u32, 8, spread32);
expand!(words64, u64, 4, spread64);

/// Moves the words whose byte of `valid` is 0xFF to the front; returns their number.
#[target_feature(enable = "avx2")]
pub(crate) fn gather16(words: &mut [u16], valid: &[u8]) -> usize {
    let (groups, rest) = valid.as_chunks::<8>();
    let mut to = 0;
    for (g, valid) in groups.iter().enumerate() {
        let set = low8(pack(valid));
        let Some(&group) = words[8 * g..].first_chunk::<8>() else { break };
        let group: __m128i = transmute!(group);
        let front: [u16; 8] = transmute!(_mm_shuffle_epi8(group, doubled(PLACES[usize::from(set)])));
        words[to..to + 8].copy_from_slice(&front);
        to += set.count_ones() as usize;
    }
    for (at, _) in rest.iter().enumerate().filter(|(_, v)| **v != 0) {
        words[to] = words[8 * groups.len() + at];
        to += 1;
    }
    to
}
