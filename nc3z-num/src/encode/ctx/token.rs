//! The token of a number.

use crate::word::{Word, low8};

/// Numbers below this are tokens of their own.
pub(crate) const DIRECT: u64 = 16;

/// Returns the token of `z`.
#[inline]
pub(crate) fn token<W: Word>(z: W) -> u8 {
    let z = z.to_u64();
    if z < DIRECT {
        return low8(z);
    }
    let e = z.ilog2();
    low8(u64::from(8 + 2 * e) + (z >> (e - 1) & 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctx::token::{TOKENS, alphabet, lead, raw_bits};

    #[test]
    fn tokens_and_raw_bits_rebuild_every_number() {
        for z in (0..4096u64).chain((0..64).flat_map(|s| [1 << s, u64::MAX >> s, 3u64 << s >> 1])) {
            let t = token(z);
            assert!(usize::from(t) < TOKENS);
            assert_eq!(z >> raw_bits(t), lead(t).into(), "{z}");
        }
        assert_eq!(u32::from(token(u64::MAX)) + 1, alphabet(64));
        assert_eq!(u32::from(token(u32::MAX)) + 1, alphabet(32));
        assert_eq!(u32::from(token(u8::MAX)) + 1, alphabet(8));
    }
}
