//! Magnitude tokens: small numbers are their own token, larger ones give exponent and top bit, the rest is raw.

use crate::num::word::{Word, low8};

/// Numbers below this are tokens of their own.
const DIRECT: u64 = 16;

/// One more than the largest token of any width.
pub(super) const TOKENS: usize = 136;

/// One more than the largest token of words of `bits` bits.
pub(super) const fn alphabet(bits: u32) -> u32 {
    2 * bits + 8
}

/// Token of `z`, and how many raw bits follow it.
#[inline]
pub(super) fn token<W: Word>(z: W) -> u8 {
    let z = z.to_u64();
    if z < DIRECT {
        return low8(z);
    }
    let e = z.ilog2();
    low8(u64::from(8 + 2 * e) + (z >> (e - 1) & 1))
}

/// Raw bits behind a token.
#[inline]
pub(in crate::num) const fn raw_bits(token: u8) -> u32 {
    if token < 16 { 0 } else { ((token - 16) >> 1) as u32 + 3 }
}

/// The number a token stands for when all its raw bits are zero.
#[inline]
pub(super) const fn floor(token: u8) -> u64 {
    if token < 16 { token as u64 } else { (2 | (token & 1) as u64) << raw_bits(token) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_raw_bits_rebuild_every_number() {
        for z in (0..4096u64).chain((0..64).flat_map(|s| [1 << s, u64::MAX >> s, 3u64 << s >> 1])) {
            let t = token(z);
            assert!(usize::from(t) < TOKENS);
            assert!(z >= floor(t) && z - floor(t) < 1 << raw_bits(t), "{z}");
        }
        assert_eq!(u32::from(token(u64::MAX)) + 1, alphabet(64));
        assert_eq!(u32::from(token(u32::MAX)) + 1, alphabet(32));
        assert_eq!(u32::from(token(u8::MAX)) + 1, alphabet(8));
    }
}
