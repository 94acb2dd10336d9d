//! Magnitude tokens: small numbers are their own token, larger ones give exponent and top bit, the rest is raw.

/// One more than the largest token of any width.
pub(crate) const TOKENS: usize = 136;

/// One more than the largest token of words of `bits` bits.
pub(crate) const fn alphabet(bits: u32) -> u32 {
    2 * bits + 8
}

/// Raw bits behind a token.
#[inline]
pub(crate) const fn raw_bits(token: u8) -> u32 {
    if token < 16 { 0 } else { ((token - 16) >> 1) as u32 + 3 }
}

/// The number a token stands for when all its raw bits are zero.
#[inline]
pub(crate) const fn floor(token: u8) -> u64 {
    if token < 16 { token as u64 } else { (2 | (token & 1) as u64) << raw_bits(token) }
}
