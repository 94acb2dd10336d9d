//! One element as a number: the one place that turns big-endian bytes of the eleven types into numbers.

use crate::types::NcType;

/// An element as a number. Whole numbers keep all their digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A value of an integer type. Text is a sequence of bytes.
    Whole(i128),
    /// A value of a float type.
    Real(f64),
}

impl Number {
    /// The number that an element is.
    ///
    /// ```
    /// use nc3z_format::{NcType, decode_value::Number};
    /// assert_eq!(Number::for_type(NcType::Short, &[0xFF, 0xFF]), Number::Whole(-1));
    /// assert_eq!(Number::unsigned(NcType::Short, &[0xFF, 0xFF]), Number::Whole(65_535));
    /// ```
    pub fn for_type(ty: NcType, bytes: &[u8]) -> Self {
        match ty {
            NcType::Float => Number::Real(f32::from_be_bytes(be(bytes)).into()),
            NcType::Double => Number::Real(f64::from_be_bytes(be(bytes))),
            NcType::Char | NcType::UByte => Number::Whole(u8::from_be_bytes(be(bytes)).into()),
            NcType::UShort => Number::Whole(u16::from_be_bytes(be(bytes)).into()),
            NcType::UInt => Number::Whole(u32::from_be_bytes(be(bytes)).into()),
            NcType::UInt64 => Number::Whole(u64::from_be_bytes(be(bytes)).into()),
            NcType::Byte => Number::Whole(i8::from_be_bytes(be(bytes)).into()),
            NcType::Short => Number::Whole(i16::from_be_bytes(be(bytes)).into()),
            NcType::Int => Number::Whole(i32::from_be_bytes(be(bytes)).into()),
            NcType::Int64 => Number::Whole(i64::from_be_bytes(be(bytes)).into()),
        }
    }

    /// The number in these bytes, with the bits of an integer type read as an unsigned number.
    pub fn unsigned(ty: NcType, bytes: &[u8]) -> Self {
        Number::for_type(unsigned_twin(ty), bytes)
    }

    /// The double that is nearest to the number.
    #[expect(clippy::cast_precision_loss, reason = "a double is what is asked for")]
    pub fn real(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Real(x) => x,
        }
    }

    /// Returns true if a type has this number; of float types, the nearest one.
    ///
    /// ```
    /// use nc3z_format::{NcType, decode_value::Number};
    /// assert!(Number::Real(-5.0).fits(NcType::Short) && !Number::Real(0.5).fits(NcType::Short));
    /// assert!(!Number::Whole(40_000).fits(NcType::Short) && !Number::Real(1e300).fits(NcType::Float));
    /// ```
    #[expect(
        clippy::cast_possible_truncation,
        reason = "infinity is what is tested for; whole numbers below 2^65"
    )]
    pub fn fits(self, ty: NcType) -> bool {
        let all = 1_i128 << (8 * ty.size());
        let range = if ty.is_unsigned() { 0..all } else { -all / 2..all / 2 };
        match (self, ty) {
            (Number::Real(x), NcType::Float) => !x.is_finite() || (x as f32).is_finite(),
            (_, NcType::Float | NcType::Double) => true,
            (Number::Whole(n), _) => range.contains(&n),
            (Number::Real(x), _) => x.fract() == 0.0 && x.abs() < 2e19 && range.contains(&(x as i128)),
        }
    }

    /// Returns true if it is NaN.
    pub fn is_nan(self) -> bool {
        matches!(self, Number::Real(x) if x.is_nan())
    }
}

/// The first bytes; zeros where there are too few.
fn be<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

/// The unsigned type of the same size as a signed integer type; other types stay.
pub(super) fn unsigned_twin(ty: NcType) -> NcType {
    match ty {
        NcType::Byte => NcType::UByte,
        NcType::Short => NcType::UShort,
        NcType::Int => NcType::UInt,
        NcType::Int64 => NcType::UInt64,
        other => other,
    }
}

/// The signed type of the same size as an unsigned integer type; other types stay.
pub(super) fn signed_twin(ty: NcType) -> NcType {
    match ty {
        NcType::UByte => NcType::Byte,
        NcType::UShort => NcType::Short,
        NcType::UInt => NcType::Int,
        NcType::UInt64 => NcType::Int64,
        other => other,
    }
}
