//! The hashes of four leaves at once.
//!
//! A SHA-256 waits most of the time for the result of its previous instruction. Leaves do not depend on each other, so four of
//! them are hashed in the time of two (docs/design/0061). Processors without SHA instructions hash leaf by leaf.

use super::Hash;
use super::tree::{LEAF_LEN, leaf_hash};
use multiversion::{multiversion, target::match_target};

/// The number of leaves that are hashed at once.
pub(super) const LANES: usize = 4;

/// Returns the hashes of four whole leaves.
#[multiversion(targets("x86_64+sse+sse2+sse3+ssse3+sse4.1+sha"))]
pub(super) fn leaf_hashes(leaves: &[[u8; LEAF_LEN]; LANES]) -> [Hash; LANES] {
    match_target! {
        "x86_64+sha+sse4.1" => x86::leaf_hashes(leaves),
        _ => leaves.each_ref().map(|leaf| leaf_hash(leaf)),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Hash, LANES, LEAF_LEN};
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi32, _mm_set_epi32, _mm_set_epi64x,
        _mm_setzero_si128, _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32,
        _mm_shuffle_epi8, _mm_shuffle_epi32,
    };

    /// The first state of SHA-256, and its constants, as FIPS 180-4 gives them.
    const FIRST: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    #[rustfmt::skip]
    const ROUNDS: [[u32; 4]; 16] = [
        [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5], [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
        [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3], [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
        [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc], [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
        [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7], [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
        [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13], [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
        [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3], [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
        [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5], [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
        [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208], [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
    ];

    /// Bytes of a block of SHA-256.
    const BLOCK: usize = 64;

    /// A leaf's message is a zero byte, its bytes, and the padding of SHA-256. So blocks begin one byte before a multiple of
    /// their length.
    #[inline]
    #[target_feature(enable = "sha,sse4.1")]
    pub(super) fn leaf_hashes(leaves: &[[u8; LEAF_LEN]; LANES]) -> [Hash; LANES] {
        const { assert!(LEAF_LEN.is_multiple_of(BLOCK)) };
        let [a, b, c, d, e, f, g, h] = FIRST.map(u32::cast_signed);
        let mut states =
            States { abef: [_mm_set_epi32(a, b, e, f); LANES], cdgh: [_mm_set_epi32(c, d, g, h); LANES] };
        let mut ends = [[0; BLOCK]; LANES];
        for (block, leaf) in ends.iter_mut().zip(leaves) {
            block[1..].copy_from_slice(&leaf[..BLOCK - 1]);
        }
        states.add(ends.each_ref());
        let [l0, l1, l2, l3] = leaves;
        for at in (BLOCK - 1..LEAF_LEN - 1).step_by(BLOCK) {
            states.add([block(l0, at), block(l1, at), block(l2, at), block(l3, at)]);
        }
        for (block, leaf) in ends.iter_mut().zip(leaves) {
            *block = [0; BLOCK];
            (block[0], block[1]) = (leaf[LEAF_LEN - 1], 0x80);
            block[BLOCK - 8..].copy_from_slice(&(8 * (LEAF_LEN as u64 + 1)).to_be_bytes());
        }
        states.add(ends.each_ref());
        states.hashes()
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn block(leaf: &[u8; LEAF_LEN], at: usize) -> &[u8; BLOCK] {
        leaf[at..].first_chunk().expect("blocks end before the last byte")
    }

    /// The states of four hashes, in the order of the instructions.
    struct States {
        /// Words 0, 1, 4 and 5, the last one lowest.
        abef: [__m128i; LANES],
        /// Words 2, 3, 6 and 7.
        cdgh: [__m128i; LANES],
    }

    impl States {
        /// Adds the next block of each hash.
        #[inline]
        #[target_feature(enable = "sha,sse4.1")]
        #[expect(clippy::needless_range_loop, reason = "loops of constant length become straight code")]
        fn add(&mut self, blocks: [&[u8; BLOCK]; LANES]) {
            let mut words = [[_mm_setzero_si128(); 4]; LANES];
            for lane in 0..LANES {
                for part in 0..4 {
                    words[lane][part] = big_endian(blocks[lane], 16 * part);
                }
            }
            let (mut abef, mut cdgh) = (self.abef, self.cdgh);
            for round in 0..16 {
                let [k0, k1, k2, k3] = ROUNDS[round];
                let k = _mm_set_epi32(k3.cast_signed(), k2.cast_signed(), k1.cast_signed(), k0.cast_signed());
                for lane in 0..LANES {
                    let w = &mut words[lane];
                    if round >= 4 {
                        let (w0, w1) = (w[round % 4], w[(round + 1) % 4]);
                        let (w2, w3) = (w[(round + 2) % 4], w[(round + 3) % 4]);
                        let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
                        w[round % 4] = _mm_sha256msg2_epu32(sum, w3);
                    }
                    let sum = _mm_add_epi32(w[round % 4], k);
                    cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], sum);
                    let high = _mm_shuffle_epi32::<0b1110>(sum);
                    abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], high);
                }
            }
            for lane in 0..LANES {
                self.abef[lane] = _mm_add_epi32(self.abef[lane], abef[lane]);
                self.cdgh[lane] = _mm_add_epi32(self.cdgh[lane], cdgh[lane]);
            }
        }

        #[inline]
        #[target_feature(enable = "sha,sse4.1")]
        fn hashes(&self) -> [Hash; LANES] {
            let mut hashes = [Hash::default(); LANES];
            for ((hash, abef), cdgh) in hashes.iter_mut().zip(self.abef).zip(self.cdgh) {
                let words = [
                    _mm_extract_epi32::<3>(abef),
                    _mm_extract_epi32::<2>(abef),
                    _mm_extract_epi32::<3>(cdgh),
                    _mm_extract_epi32::<2>(cdgh),
                    _mm_extract_epi32::<1>(abef),
                    _mm_extract_epi32::<0>(abef),
                    _mm_extract_epi32::<1>(cdgh),
                    _mm_extract_epi32::<0>(cdgh),
                ];
                for (bytes, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(words) {
                    *bytes = word.to_be_bytes();
                }
            }
            hashes
        }
    }

    /// Loads the four words from a byte of a block on.
    #[inline]
    #[target_feature(enable = "sha,sse4.1")]
    fn big_endian(block: &[u8; BLOCK], at: usize) -> __m128i {
        let (low, high) = (half(block, at), half(block, at + 8));
        let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        _mm_shuffle_epi8(_mm_set_epi64x(high, low), order)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn half(block: &[u8; BLOCK], at: usize) -> i64 {
        i64::from_le_bytes(*block[at..].first_chunk().expect("inside a block"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_leaves_have_the_hashes_of_each() {
        let mut seed = 1u32;
        for _ in 0..8 {
            let mut leaves = [[0; LEAF_LEN]; LANES];
            for byte in leaves.as_flattened_mut() {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = seed.to_be_bytes()[0];
            }
            assert_eq!(leaf_hashes(&leaves), leaves.each_ref().map(|leaf| leaf_hash(leaf)));
        }
    }
}
