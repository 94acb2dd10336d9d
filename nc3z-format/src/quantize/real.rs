//! The two float types by their bits.

/// A binary32 or binary64 number.
pub(super) trait Real: Copy + PartialEq {
    /// Explicit bits of the significand.
    const MANTISSA: u32;
    /// The exponent of the smallest normal number.
    const MIN_EXPONENT: i32;

    /// The bits, in the low half for binary32.
    fn bits(self) -> u64;
    /// The number of these bits.
    fn of_bits(bits: u64) -> Self;
    /// Returns the value as a double.
    fn wide(self) -> f64;
    /// Returns the number that is nearest to `x`.
    fn nearest(x: f64) -> Self;

    /// Returns whether rounding can change a value, which is so unless it is zero, NaN or infinite.
    fn is_roundable(self) -> bool {
        let x = self.wide();
        x.is_finite() && x != 0.0
    }

    /// Returns the floor of the binary logarithm of a normal number. For smaller numbers, returns that of the smallest normal number.
    fn exponent(self) -> i32 {
        let field =
            self.bits() >> Self::MANTISSA & ((1 << (EXPONENT_BITS[usize::from(Self::MANTISSA > 23)])) - 1);
        i32::try_from(field.max(1)).expect("eleven bits") - 1 + Self::MIN_EXPONENT
    }
}

/// Bits of the exponent of binary32 and binary64.
const EXPONENT_BITS: [u32; 2] = [8, 11];

impl Real for f32 {
    const MANTISSA: u32 = 23;
    const MIN_EXPONENT: i32 = -126;

    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn of_bits(bits: u64) -> Self {
        f32::from_bits(u32::try_from(bits & 0xFFFF_FFFF).expect("masked"))
    }

    fn wide(self) -> f64 {
        self.into()
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding to binary32 is what this is for")]
    fn nearest(x: f64) -> Self {
        x as f32
    }
}

impl Real for f64 {
    const MANTISSA: u32 = 52;
    const MIN_EXPONENT: i32 = -1022;

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn of_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }

    fn wide(self) -> f64 {
        self
    }

    fn nearest(x: f64) -> Self {
        x
    }
}

/// 2^e, rounded down to zero below what binary64 has; infinity above.
pub(super) fn power_of_two(e: i32) -> f64 {
    match e {
        1024.. => f64::INFINITY,
        -1022..=1023 => f64::from_bits(u64::try_from(e + 1023).expect("1 to 2046") << 52),
        -1074..=-1023 => f64::from_bits(1 << (e + 1074)),
        _ => 0.0,
    }
}

/// Significand in [0.5, 1) and exponent, as C's `frexp`; of a finite number other than zero.
pub(super) fn split(x: f64) -> (f64, i32) {
    let (x, shift) = if x.abs() < f64::MIN_POSITIVE { (x * power_of_two(54), -54) } else { (x, 0) };
    let e = i32::try_from(x.to_bits() >> 52 & 0x7FF).expect("eleven bits") - 1022;
    (f64::from_bits(x.to_bits() & !(0x7FF << 52) | 0x3FE << 52), e + shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_split_as_frexp_does() {
        for (x, m, e) in
            [(1.0, 0.5, 1), (-3.0, -0.75, 2), (5e-324, 0.5, -1073), (f64::MIN_POSITIVE, 0.5, -1021)]
        {
            assert_eq!(split(x), (m, e), "{x}");
        }
    }

    #[test]
    fn exponents_of_normal_numbers_and_of_those_below() {
        assert_eq!((1.5_f32.exponent(), 0.75_f64.exponent(), f32::from_bits(1).exponent()), (0, -1, -126));
        assert_eq!(
            (f64::MAX.exponent(), f64::from_bits(3).exponent(), f32::MAX.exponent()),
            (1023, -1022, 127)
        );
        assert_eq!([-1074, -1075, 3].map(|e| power_of_two(e).to_bits()), [1, 0, 8.0_f64.to_bits()]);
    }
}
