//! The native unsigned word of an element, and the operations that the codec needs.
//!
//! Arithmetic wraps modulo 2^w everywhere; nothing here can fail.

use std::fmt::Debug;
use std::hash::Hash;

/// Reusable vectors, one for each word width.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Pool {
    w8: Vec<u8>,
    w16: Vec<u16>,
    w32: Vec<u32>,
    w64: Vec<u64>,
}

/// Words of a known width, for code that is written separately for each width.
#[derive(Debug)]
pub enum ByWidth<'a> {
    /// Of 8 bits.
    W8(&'a mut [u8]),
    /// Of 16 bits.
    W16(&'a mut [u16]),
    /// Of 32 bits.
    W32(&'a mut [u32]),
    /// Of 64 bits.
    W64(&'a mut [u64]),
}

/// Native unsigned word of an element: `u8`, `u16`, `u32` or `u64`.
pub trait Word: Copy + Default + Eq + Ord + Hash + Send + Sync + Debug + 'static {
    /// Bits of a word.
    const BITS: u32;
    /// Bytes of a word.
    const BYTES: usize;
    /// The low bits of `x`.
    fn from_u64(x: u64) -> Self;
    /// Zero-extended.
    fn to_u64(self) -> u64;
    /// Sum modulo 2^w.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// Difference modulo 2^w.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// Bitwise and.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    #[must_use]
    fn xor(self, other: Self) -> Self;
    /// Shift left; `n < w`.
    #[must_use]
    fn shl(self, n: u32) -> Self;
    /// Logical shift right; `n < w`.
    #[must_use]
    fn shr(self, n: u32) -> Self;
    /// Arithmetic shift right; `n < w`.
    #[must_use]
    fn sar(self, n: u32) -> Self;
    /// 0 for 0, all ones for 0xFF.
    fn widen_mask(byte: u8) -> Self;
    /// Returns the low byte.
    fn low(self) -> u8;
    /// The low 32 bits.
    fn low32(self) -> u32;
    /// Appends the words, little-endian.
    fn put_le(words: &[Self], out: &mut Vec<u8>);
    /// Fills `out` from `bytes`, little-endian; `bytes.len() == out.len() * BYTES`.
    fn get_le(bytes: &[u8], out: &mut [Self]);
    /// The value of a signed word as binary64; exact when its magnitude is at most 2^53.
    fn signed_to_f64(self) -> f64;
    /// The integer nearest to `x` as a signed word; saturates.
    fn signed_from_f64(x: f64) -> Self;
    /// The floating point value of the pattern (widths 4 and 8; 0.0 for others).
    fn float_value(self) -> f64;
    /// The pattern of `x` rounded to the float of this width (widths 4 and 8; 0 for others).
    fn float_pattern(x: f64) -> Self;
    /// The vector of this width.
    fn pool(pool: &mut Pool) -> &mut Vec<Self>;
    /// The vector of this width, read only.
    fn pooled(pool: &Pool) -> &[Self];

    /// The words by their width.
    #[doc(hidden)]
    fn by_width(words: &mut [Self]) -> ByWidth<'_>;

    /// 0, -1, 1, -2, … become 0, 1, 2, 3, …
    #[must_use]
    #[inline]
    fn zigzag(self) -> Self {
        self.shl(1).xor(self.sar(Self::BITS - 1))
    }

    /// Inverse of [`Word::zigzag`].
    #[must_use]
    #[inline]
    fn unzigzag(self) -> Self {
        self.shr(1).xor(Self::default().minus(self.and(Self::from_u64(1))))
    }
}

macro_rules! word {
    ($u:ty, $i:ty, $bytes:literal, $field:ident, $value:expr, $pattern:expr, $variant:ident) => {
        impl Word for $u {
            #[inline]
            fn by_width(words: &mut [Self]) -> ByWidth<'_> {
                ByWidth::$variant(words)
            }
            const BITS: u32 = <$u>::BITS;
            const BYTES: usize = $bytes;
            #[inline]
            #[expect(
                clippy::allow_attributes,
                reason = "one macro for four widths, of which one keeps all bits"
            )]
            #[allow(clippy::cast_possible_truncation, reason = "documented: the low bits")]
            fn from_u64(x: u64) -> Self {
                x as $u
            }
            #[inline]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline]
            fn shl(self, n: u32) -> Self {
                self.wrapping_shl(n)
            }
            #[inline]
            fn shr(self, n: u32) -> Self {
                self.wrapping_shr(n)
            }
            #[inline]
            fn sar(self, n: u32) -> Self {
                self.cast_signed().wrapping_shr(n).cast_unsigned()
            }
            #[inline]
            fn widen_mask(byte: u8) -> Self {
                <$i>::from(byte.cast_signed()).cast_unsigned()
            }
            #[inline]
            fn low32(self) -> u32 {
                low32(u64::from(self))
            }
            #[inline]
            fn low(self) -> u8 {
                self.to_le_bytes()[0]
            }
            fn put_le(words: &[Self], out: &mut Vec<u8>) {
                let start = out.len();
                out.resize(start + words.len() * $bytes, 0);
                for (d, s) in out[start..].chunks_exact_mut($bytes).zip(words) {
                    d.copy_from_slice(&s.to_le_bytes());
                }
            }
            fn get_le(bytes: &[u8], out: &mut [Self]) {
                let (chunks, _) = bytes.as_chunks::<$bytes>();
                for (d, s) in out.iter_mut().zip(chunks) {
                    *d = Self::from_le_bytes(*s);
                }
            }
            #[inline]
            #[expect(
                clippy::allow_attributes,
                reason = "one macro for four widths, of which one loses precision"
            )]
            #[allow(clippy::cast_precision_loss, reason = "documented: exact up to 2^53")]
            fn signed_to_f64(self) -> f64 {
                self.cast_signed() as f64
            }
            #[inline]
            #[expect(clippy::cast_possible_truncation, reason = "float to int casts saturate: documented")]
            fn signed_from_f64(x: f64) -> Self {
                (x as $i).cast_unsigned()
            }
            #[inline]
            fn float_value(self) -> f64 {
                $value(self)
            }
            #[inline]
            fn float_pattern(x: f64) -> Self {
                $pattern(x)
            }
            #[inline]
            fn pool(pool: &mut Pool) -> &mut Vec<Self> {
                &mut pool.$field
            }
            #[inline]
            fn pooled(pool: &Pool) -> &[Self] {
                &pool.$field
            }
        }
    };
}

/// Binary64 to binary32, to nearest, ties to even.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "rounding to binary32 is the purpose")]
fn narrow(x: f64) -> u32 {
    (x as f32).to_bits()
}

#[inline]
fn value32(x: u32) -> f64 {
    f64::from(f32::from_bits(x))
}

word!(u8, i8, 1, w8, |_| 0.0, |_| 0, W8);
word!(u16, i16, 2, w16, |_| 0.0, |_| 0, W16);
word!(u32, i32, 4, w32, value32, narrow, W32);
word!(u64, i64, 8, w64, f64::from_bits, f64::to_bits, W64);

/// Converts a 64-bit count to an index. It saturates, so that a comparison with a length fails.
#[inline]
pub(crate) fn index(x: u64) -> usize {
    usize::try_from(x).unwrap_or(usize::MAX)
}

/// The low byte of `x`.
#[inline]
pub(crate) fn low8(x: u64) -> u8 {
    x.to_le_bytes()[0]
}

/// The low half-word of `x`.
#[inline]
pub(crate) fn low16(x: u32) -> u16 {
    let b = x.to_le_bytes();
    u16::from_le_bytes([b[0], b[1]])
}

/// The low word of `x`.
#[inline]
pub(crate) fn low32(x: u64) -> u32 {
    u32::from_u64(x)
}
