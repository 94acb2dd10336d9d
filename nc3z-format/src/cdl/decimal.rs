//! Binary floating point to a given number of decimal digits, correctly rounded (half to even), as C's `printf` does.
//!
//! For almost all values one multiplication by a 128-bit power of ten suffices. Values too close to a half
//! use the standard library's exact (and slower) algorithm.

/// Largest number of digits that [`digits`] returns.
pub(crate) const MAX_DIGITS: u32 = 17;

/// Exponents of the table: from the largest double at one digit to the smallest at [`MAX_DIGITS`].
const FIRST: i32 = -312;
const COUNT: usize = 660;

/// `10^k`, cut (not rounded) to 128 bits: `mantissa * 2^exponent`, the mantissa's top bit set. Exact for `0 <= k <= 55`.
#[derive(Clone, Copy)]
struct Power {
    mantissa: u128,
    exponent: i32,
}

static POWERS: [Power; COUNT] = powers();

/// The largest `k` for which `10^k` fits 128 bits after its factors of two are taken out.
const EXACT_TO: i32 = 55;

/// Decimal digits of a number: `digits * 10^(exponent - (n - 1))` for `n` digits, so `exponent` is that of the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: u64,
    pub(crate) exponent: i32,
}

/// The first `n` significant digits of a positive, finite number, rounded half to even; 1 <= n <= [`MAX_DIGITS`].
pub(crate) fn digits(x: f64, n: u32) -> Decimal {
    debug_assert!(x > 0.0 && x.is_finite() && (1..=MAX_DIGITS).contains(&n));
    quick(x, n).unwrap_or_else(|| exact(x, n))
}

/// Powers of ten as integers.
const TENS: [u64; 20] = {
    let mut tens = [1; 20];
    let mut n = 1;
    while n < 20 {
        tens[n] = tens[n - 1] * 10;
        n += 1;
    }
    tens
};

/// The digits by one multiplication; `None` where the error of the power could change the last digit.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "halves of a product are taken on purpose; bit counts and the field of an exponent are small"
)]
fn quick(x: f64, n: u32) -> Option<Decimal> {
    let bits = x.to_bits();
    let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    let shift = mantissa.leading_zeros();
    let (mantissa, exponent) = (mantissa << shift, exponent - shift as i32);
    // log10(2) times the binary exponent, from below: at most one less than the decimal exponent.
    let mut first = ((exponent + 63) * 78913) >> 18;
    let limit = TENS[n as usize];
    loop {
        let k = n as i32 - 1 - first;
        let power = POWERS[usize::try_from(k - FIRST).ok()?];
        // mantissa * power in 192 bits: `high` and 64 bits below it.
        let low = u128::from(mantissa) * u128::from(power.mantissa as u64);
        let high = u128::from(mantissa) * (power.mantissa >> 64) + (low >> 64);
        let below = low as u64;
        // x * 10^k = (high * 2^64 + below) * 2^(exponent + power.exponent)
        let drop = -(exponent + power.exponent) - 64;
        if !(1..128).contains(&drop) {
            return None;
        }
        let whole = (high >> drop) as u64;
        if whole >= limit {
            first += 1;
            continue;
        }
        let rest = high & ((1 << drop) - 1);
        let half = 1_u128 << (drop - 1);
        let up = if (0..=EXACT_TO).contains(&k) {
            rest > half || (rest == half && (below > 0 || whole & 1 == 1))
        } else if rest.abs_diff(half) > 4 {
            // The power lacks less than two units of its last place, the product less than 2 * 2^64: 3 in `high`.
            rest > half
        } else {
            return None;
        };
        let rounded = whole + u64::from(up);
        return match rounded {
            r if r == limit => Some(Decimal { digits: limit / 10, exponent: first + 1 }),
            r if r < limit / 10 => {
                first -= 1;
                continue;
            }
            digits => Some(Decimal { digits, exponent: first }),
        };
    }
}

/// The digits by the standard library.
#[cold]
fn exact(x: f64, n: u32) -> Decimal {
    let text = format!("{x:.*e}", n as usize - 1);
    let (mantissa, exponent) = text.split_once('e').expect("`e` formatting writes an exponent");
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).fold(0, |d, b| d * 10 + u64::from(b - b'0'));
    Decimal { digits, exponent: exponent.parse().expect("an exponent is an integer") }
}

/// The table, by repeated multiplication and division of 256-bit numbers: errors stay below 2^-240.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::large_stack_arrays,
    reason = "evaluated by the compiler: k is at least FIRST, COUNT is small"
)]
const fn powers() -> [Power; COUNT] {
    let mut table = [Power { mantissa: 0, exponent: 0 }; COUNT];
    let one = Wide { high: 1 << 127, low: 0, exponent: -127 };
    let (mut value, mut k) = (one, 0);
    while (k - FIRST) < COUNT as i32 {
        table[(k - FIRST) as usize] = value.cut();
        value = value.times_ten();
        k += 1;
    }
    (value, k) = (one, 0);
    while k >= FIRST {
        table[(k - FIRST) as usize] = value.cut();
        value = value.over_ten();
        k -= 1;
    }
    table
}

/// `(high + low / 2^128) * 2^exponent`, the top bit of `high` set.
#[derive(Clone, Copy)]
struct Wide {
    high: u128,
    low: u128,
    exponent: i32,
}

impl Wide {
    const fn cut(self) -> Power {
        Power { mantissa: self.high, exponent: self.exponent }
    }

    const fn shifted_right(self, by: u32) -> (u128, u128) {
        (self.high >> by, self.low >> by | self.high << (128 - by))
    }

    /// `v * 10 = (v / 2 + v / 8) * 16`, which does not overflow.
    const fn times_ten(self) -> Wide {
        let (half, eighth) = (self.shifted_right(1), self.shifted_right(3));
        let (low, carry) = half.1.overflowing_add(eighth.1);
        Wide { high: half.0 + eighth.0 + carry as u128, low, exponent: self.exponent + 4 }.normal()
    }

    const fn over_ten(self) -> Wide {
        let high = self.high / 10;
        let upper = ((self.high % 10) << 64) | (self.low >> 64);
        let lower = ((upper % 10) << 64) | (self.low & (u64::MAX as u128));
        Wide { high, low: ((upper / 10) << 64) | (lower / 10), exponent: self.exponent }.normal()
    }

    const fn normal(self) -> Wide {
        let by = self.high.leading_zeros();
        if by == 0 {
            return self;
        }
        Wide {
            high: self.high << by | self.low >> (128 - by),
            low: self.low << by,
            exponent: self.exponent - by.cast_signed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn simple_numbers() {
        assert_eq!(digits(1.0, 7), Decimal { digits: 1_000_000, exponent: 0 });
        assert_eq!(digits(9.999_999_9, 7), Decimal { digits: 1_000_000, exponent: 1 });
        assert_eq!(digits(5e-324, 15), Decimal { digits: 494_065_645_841_247, exponent: -324 });
        assert_eq!(digits(f64::MAX, 17), Decimal { digits: 17_976_931_348_623_157, exponent: 308 });
    }

    #[test]
    fn halves_go_to_the_even_digit() {
        assert_eq!(digits(2.5, 1).digits, 2);
        assert_eq!(digits(3.5, 1).digits, 4);
        assert_eq!(digits(1_234_566.5, 7).digits, 1_234_566);
        assert_eq!(digits(1_234_567.5, 7).digits, 1_234_568);
        assert_eq!(digits(0.125, 2).digits, 12);
        assert_eq!(digits(0.375, 2).digits, 38);
        assert_eq!(digits(12_345_678_901_234_565.0, 16).digits, 1_234_567_890_123_456);
        assert_eq!(digits(25_000.0, 1), Decimal { digits: 2, exponent: 4 });
    }

    #[test]
    fn powers_of_two_and_ten_and_their_neighbours_are_exact() {
        let powers = (-1074..=1023).map(|e| 2_f64.powi(e)).chain((-323..=308).map(|e| 10_f64.powi(e)));
        for x in powers.flat_map(|x| [x.next_down(), x, x.next_up()]).filter(|x| *x > 0.0 && x.is_finite()) {
            for n in 1..=MAX_DIGITS {
                assert_eq!(digits(x, n), exact(x, n), "{x:e} with {n} digits");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn any_double(bits in 1_u64..0x7FF0_0000_0000_0000, n in 1..=MAX_DIGITS) {
            let x = f64::from_bits(bits);
            prop_assert_eq!(digits(x, n), exact(x, n));
        }

        #[test]
        fn any_float(bits in 1_u32..0x7F80_0000, n in 1..=MAX_DIGITS) {
            let x = f64::from(f32::from_bits(bits));
            prop_assert_eq!(digits(x, n), exact(x, n));
        }

        #[test]
        fn short_decimals(digits_ in 1_u64..100_000_000, places in 0_i32..12, n in 1..=MAX_DIGITS) {
            let x = format!("{digits_}e-{places}").parse::<f64>().unwrap();
            prop_assert_eq!(digits(x, n), exact(x, n));
        }
    }
}
