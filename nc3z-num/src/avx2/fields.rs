//! Fields of up to 25 bits out of a bit stream, eight at once.

use crate::word::index;
use std::arch::x86_64::{
    __m128i, _mm_cvtsi64_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_castsi128_si256, _mm256_cvtepu8_epi32, _mm256_inserti128_si256, _mm256_set1_epi32,
    _mm256_shuffle_epi8, _mm256_srli_epi32, _mm256_srlv_epi32,
};
use zerocopy::transmute;

/// The longest fields of which eight fit in 16 bytes, at any bit offset.
pub(crate) const MOST_OF_8: u8 = 14;
/// The longest fields of which four fit in 16 bytes; each field is within the four bytes from its first one on.
pub(crate) const MOST_OF_4: u8 = 25;

const _: () = assert!(8 * MOST_OF_8 as usize + 7 <= 128 && 4 * MOST_OF_4 as usize + 7 <= 128);
// Positions of the eight fields are counted in one byte each.
const _: () = assert!(7 * MOST_OF_4 as usize + 7 < 256);

/// Reads fields of `lens` bits each from a window, from bit `at` on; returns the bit after the last. The bits above
/// a field are those that follow it. `HALVES`: up to [`MOST_OF_4`] bits each, otherwise up to [`MOST_OF_8`]. Fields
/// beyond the window are undefined.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn take<const HALVES: bool>(
    lens: &[[u8; 8]],
    window: &[u8],
    mut at: u64,
    raws: &mut [[u32; 8]],
) -> u64 {
    // Shuffles: each word's first byte index, and four consecutive bytes.
    let first =
        transmute!([0u32, 0x0404_0404, 0x0808_0808, 0x0C0C_0C0C, 0, 0x0404_0404, 0x0808_0808, 0x0C0C_0C0C]);
    let four = _mm256_set1_epi32(0x0302_0100);
    let seven = _mm256_set1_epi32(7);
    for (lens, raws) in lens.iter().zip(raws) {
        // Each byte of the product is the sum of all lengths up to it.
        let ends = u64::from_le_bytes(*lens).wrapping_mul(0x0101_0101_0101_0101);
        let mut begins = (ends << 8).wrapping_add((at & 7) * 0x0101_0101_0101_0101);
        let low = sixteen(window, at >> 3);
        let table = if HALVES {
            // The upper four are read from the byte in which their first field begins.
            let skipped = begins >> 35 & 0x1F;
            begins = begins.wrapping_sub((skipped * 0x0808_0808) << 32);
            let high = sixteen(window, (at >> 3) + skipped);
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        } else {
            _mm256_broadcastsi128_si256(low)
        };
        let begins = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(begins.cast_signed()));
        let bytes = _mm256_shuffle_epi8(_mm256_srli_epi32::<3>(begins), first);
        let words = _mm256_shuffle_epi8(table, _mm256_add_epi32(bytes, four));
        *raws = transmute!(_mm256_srlv_epi32(words, _mm256_and_si256(begins, seven)));
        at += ends >> 56;
    }
    at
}

/// Returns the bytes from `byte` on, with zeros after the window's end.
#[inline]
#[target_feature(enable = "avx2")]
fn sixteen(window: &[u8], byte: u64) -> __m128i {
    let bytes: [u8; 16] =
        window.get(index(byte)..).and_then(|b| b.first_chunk().copied()).unwrap_or_default();
    transmute!(bytes)
}
