//! Joins byte planes to words.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_permute2x128_si256, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_srli_epi16, _mm256_srli_epi32, _mm256_srli_epi64,
    _mm256_sub_epi16, _mm256_sub_epi32, _mm256_sub_epi64, _mm256_unpackhi_epi8, _mm256_unpackhi_epi16,
    _mm256_unpackhi_epi32, _mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32,
    _mm256_xor_si256,
};
use zerocopy::transmute;

/// Bytes of a plane that are loaded at once.
const AT_ONCE: usize = 32;

#[inline]
#[target_feature(enable = "avx2")]
fn unzigzag16(z: __m256i) -> __m256i {
    let sign = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_and_si256(z, _mm256_set1_epi16(1)));
    _mm256_xor_si256(_mm256_srli_epi16::<1>(z), sign)
}

#[inline]
#[target_feature(enable = "avx2")]
fn unzigzag32(z: __m256i) -> __m256i {
    let sign = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_and_si256(z, _mm256_set1_epi32(1)));
    _mm256_xor_si256(_mm256_srli_epi32::<1>(z), sign)
}

#[inline]
#[target_feature(enable = "avx2")]
fn unzigzag64(z: __m256i) -> __m256i {
    let sign = _mm256_sub_epi64(_mm256_setzero_si256(), _mm256_and_si256(z, _mm256_set1_epi64x(1)));
    _mm256_xor_si256(_mm256_srli_epi64::<1>(z), sign)
}

/// Returns the words of four planes, of 32 bytes each: words 0 to 3 and 16 to 19, then 4 to 7 and 20 to 23, and so
/// on.
#[inline]
#[target_feature(enable = "avx2")]
fn interleaved([p0, p1, p2, p3]: [[u8; AT_ONCE]; 4]) -> [__m256i; 4] {
    let (p0, p1, p2, p3): (__m256i, __m256i, __m256i, __m256i) =
        (transmute!(p0), transmute!(p1), transmute!(p2), transmute!(p3));
    let (low, high) = (_mm256_unpacklo_epi8(p0, p1), _mm256_unpackhi_epi8(p0, p1));
    let (low_top, high_top) = (_mm256_unpacklo_epi8(p2, p3), _mm256_unpackhi_epi8(p2, p3));
    [
        _mm256_unpacklo_epi16(low, low_top),
        _mm256_unpackhi_epi16(low, low_top),
        _mm256_unpacklo_epi16(high, high_top),
        _mm256_unpackhi_epi16(high, high_top),
    ]
}

/// Fills words from two planes, in whole groups of 32; returns the number of filled words.
#[target_feature(enable = "avx2")]
pub(crate) fn words16(planes: [&[u8]; 2], signed: bool, out: &mut [u16]) -> usize {
    let (groups, _) = out.as_chunks_mut::<AT_ONCE>();
    let [p0, p1] = planes.map(|plane| plane.as_chunks::<AT_ONCE>().0);
    for ((out, p0), p1) in groups.iter_mut().zip(p0).zip(p1) {
        let (p0, p1): (__m256i, __m256i) = (transmute!(*p0), transmute!(*p1));
        // The two halves of vectors are unpacked separately.
        let (low, high) = (_mm256_unpacklo_epi8(p0, p1), _mm256_unpackhi_epi8(p0, p1));
        let words =
            [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)];
        let (parts, _) = out.as_chunks_mut::<16>();
        for (part, words) in parts.iter_mut().zip(words) {
            *part = transmute!(if signed { unzigzag16(words) } else { words });
        }
    }
    groups.len() * AT_ONCE
}

/// Does the work of [`words16`] for four planes.
#[target_feature(enable = "avx2")]
pub(crate) fn words32(planes: [&[u8]; 4], signed: bool, out: &mut [u32]) -> usize {
    let (groups, _) = out.as_chunks_mut::<AT_ONCE>();
    let [p0, p1, p2, p3] = planes.map(|plane| plane.as_chunks::<AT_ONCE>().0);
    for ((((out, p0), p1), p2), p3) in groups.iter_mut().zip(p0).zip(p1).zip(p2).zip(p3) {
        let [a, b, c, d] = interleaved([*p0, *p1, *p2, *p3]);
        let words = [
            _mm256_permute2x128_si256::<0x20>(a, b),
            _mm256_permute2x128_si256::<0x20>(c, d),
            _mm256_permute2x128_si256::<0x31>(a, b),
            _mm256_permute2x128_si256::<0x31>(c, d),
        ];
        let (parts, _) = out.as_chunks_mut::<8>();
        for (part, words) in parts.iter_mut().zip(words) {
            *part = transmute!(if signed { unzigzag32(words) } else { words });
        }
    }
    groups.len() * AT_ONCE
}

/// Does the work of [`words16`] for eight planes.
#[target_feature(enable = "avx2")]
pub(crate) fn words64(planes: [&[u8]; 8], signed: bool, out: &mut [u64]) -> usize {
    let (groups, _) = out.as_chunks_mut::<AT_ONCE>();
    let planes = planes.map(|plane| plane.as_chunks::<AT_ONCE>().0);
    for (at, out) in groups.iter_mut().enumerate() {
        let [p0, p1, p2, p3, p4, p5, p6, p7] = planes.map(|plane| plane[at]);
        let low = interleaved([p0, p1, p2, p3]);
        let high = interleaved([p4, p5, p6, p7]);
        let (parts, _) = out.as_chunks_mut::<4>();
        for i in 0..4 {
            let first = _mm256_unpacklo_epi32(low[i], high[i]);
            let second = _mm256_unpackhi_epi32(low[i], high[i]);
            let words = _mm256_permute2x128_si256::<0x20>(first, second);
            let later = _mm256_permute2x128_si256::<0x31>(first, second);
            parts[i] = transmute!(if signed { unzigzag64(words) } else { words });
            parts[i + 4] = transmute!(if signed { unzigzag64(later) } else { later });
        }
    }
    groups.len() * AT_ONCE
}
