//! Magnitude tokens: small numbers are their own token; the token of a larger number is its exponent and top bit,
//! and the other bits are raw.

/// One more than the largest token of any width.
pub(crate) const TOKENS: usize = 136;

/// One more than the largest token of words of `bits` bits.
pub(crate) const fn alphabet(bits: u32) -> u32 {
    2 * bits + 8
}

/// Returns the number of raw bits after a token.
#[inline]
pub(crate) const fn raw_bits(token: u8) -> u8 {
    if token < 16 { 0 } else { (token >> 1) - 5 }
}

/// Returns the bits before the raw bits in the number of a token.
#[inline]
pub(crate) const fn lead(token: u8) -> u8 {
    if token < 16 { token } else { 2 | (token & 1) }
}
