//! Numbers as C's `printf` writes them: integers, `%g`.

use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct General {
    /// Significant digits, at least 1.
    pub(crate) digits: u32,
    /// `#`: zeros at the end and the point stay.
    pub(crate) keep_zeros: bool,
}

impl General {
    pub(crate) const fn new(digits: u32) -> Self {
        General { digits, keep_zeros: false }
    }
}

pub(crate) fn unsigned(n: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

pub(crate) fn signed(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends a finite number by `%.{digits}g`.
#[inline]
pub(crate) fn general(x: f64, style: General, out: &mut Vec<u8>) {
    if x.is_sign_negative() {
        out.push(b'-');
    }
    match rounded(x.abs(), style.digits) {
        Some((number, exponent)) => {
            place(itoa::Buffer::new().format(number).as_bytes(), exponent, style, out);
        }
        None => general_by_std(x.abs(), style, out),
    }
}

/// Appends a number by the digits of the standard library, which has them for every number, and takes five times as long.
fn general_by_std(x: f64, style: General, out: &mut Vec<u8>) {
    let mut text = String::with_capacity(32);
    write!(text, "{:.*e}", style.digits as usize - 1, x).expect("a string takes all text");
    let (mantissa, exponent) = text.split_once('e').expect("`e` formatting writes an exponent");
    let (exponent, end) = (exponent.parse().expect("an exponent is an integer"), mantissa.len());
    text.truncate(end);
    if end > 1 {
        // The point.
        text.remove(1);
    }
    place(text.as_bytes(), exponent, style, out);
}

/// Rounds a positive number to `digits` decimal digits, ties to even. Returns these as an integer, and the exponent of the first one.
/// None for numbers whose exact value times a power of ten does not fit in 128 bits, for 0, and for more than 17 digits.
fn rounded(x: f64, digits: u32) -> Option<(u64, i32)> {
    let (fraction, biased) = (x.to_bits() & ((1 << 52) - 1), i32::try_from(x.to_bits() >> 52).ok()?);
    if biased == 0 || !(1..=17).contains(&digits) {
        return None;
    }
    // x = mantissa * 2^binary
    let (mantissa, binary) = (u128::from(fraction | 1 << 52), biased - 1075);
    let (least, end) = (10_u128.pow(digits - 1), 10_u128.pow(digits));
    // The logarithm of 2 to base 10 is a little more than 1233 / 4096: this is the exponent, or one less or more.
    let mut exponent = ((biased - 1023) * 1233) >> 12;
    for _ in 0..3 {
        let scale = i32::try_from(digits).ok()? - 1 - exponent;
        // 53 bits and a power of at most 74 bits. Whole numbers of at most 128 bits are divided by a power of at most 127 bits.
        let is_whole = (0..=75).contains(&binary);
        let most = if is_whole && scale < 0 { 38 } else { 22 };
        let power = (scale.unsigned_abs() <= most).then(|| 10_u128.pow(scale.unsigned_abs()))?;
        let (whole, rest, half) = if scale >= 0 && binary < 0 {
            let shift = Some(binary.unsigned_abs()).filter(|shift| *shift < 128)?;
            let scaled = mantissa * power;
            (scaled >> shift, scaled & ((1 << shift) - 1), 1 << (shift - 1))
        } else if scale < 0 && is_whole {
            let value = mantissa << binary;
            (value / power, value % power, power / 2)
        } else if scale < 0 && binary < 0 {
            let divisor = power << Some(binary.unsigned_abs()).filter(|shift| *shift <= 53)?;
            (mantissa / divisor, mantissa % divisor, divisor / 2)
        } else {
            return None;
        };
        if whole < least {
            exponent -= 1;
        } else if whole >= end {
            exponent += 1;
        } else {
            let up = rest > half || (rest == half && whole % 2 == 1);
            let number = whole + u128::from(up);
            let is_next = number == end;
            let number = u64::try_from(if is_next { least } else { number }).ok()?;
            return Some((number, exponent + i32::from(is_next)));
        }
    }
    None
}

/// Sets point and exponent among the digits, of which there are `style.digits`.
#[inline]
fn place(digits: &[u8], exponent: i32, style: General, out: &mut Vec<u8>) {
    let mut len = digits.len();
    if !style.keep_zeros {
        while digits[len - 1] == b'0' && len > 1 {
            len -= 1;
        }
    }
    let scientific = exponent < -4 || i64::from(exponent) >= i64::from(style.digits);
    if !scientific && exponent < 0 {
        out.extend_from_slice(&b"0.000"[..=exponent.unsigned_abs() as usize]);
        out.extend_from_slice(&digits[..len]);
        return;
    }
    let before = if scientific { 1 } else { exponent.unsigned_abs() as usize + 1 };
    if len <= before {
        // Zeros before the point are never trimmed.
        out.extend_from_slice(&digits[..before]);
        if style.keep_zeros {
            out.push(b'.');
        }
    } else {
        out.extend_from_slice(&digits[..before]);
        out.push(b'.');
        out.extend_from_slice(&digits[before..len]);
    }
    if scientific {
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.unsigned_abs() < 10 {
            out.push(b'0');
        }
        unsigned(exponent.unsigned_abs().into(), out);
    }
}

/// Takes away zeros at the end of the fraction, not the point, of the number that `out` ends with from `begin` on.
/// Whatever follows the digits (an exponent, a suffix) stays.
pub(crate) fn trim_zeros(out: &mut Vec<u8>, begin: usize) {
    let number = &out[begin..];
    let sign = usize::from(number.first() == Some(&b'-'));
    let end = number[sign..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count() + sign;
    let kept = number[..end].iter().rposition(|&b| b != b'0').map_or(0, |at| at + 1);
    if kept > 0 && number[..end].contains(&b'.') {
        out.drain(begin + kept..begin + end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(x: f64, digits: u32) -> String {
        let mut out = Vec::new();
        general(x, General::new(digits), &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Numbers of all magnitudes, of few digits, at and beside ties; the count is NC3Z_NUMBERS, which was 10^7 when this was written.
    #[test]
    fn both_ways_write_the_same_digits() {
        let count = std::env::var("NC3Z_NUMBERS").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000_u64);
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut fast = 0;
        for n in 0..count {
            let (a, b) = (next(), next());
            let digits = u32::try_from(1 + b % 17).unwrap();
            let real = |n: u64| f64::from(u32::try_from(n >> 32).unwrap());
            let x = match n % 6 {
                0 => f64::from_bits(a),
                1 => f64::from(f32::from_bits(u32::try_from(a >> 32).unwrap())),
                2 => real(a) / 8192.0,
                3 => real(a) * 10_f64.powi(i32::try_from(b % 40).unwrap() - 20),
                4 => (real(a) + 0.5) / 1000.0,
                _ => f64::from(u16::try_from(a >> 48).unwrap()) * 0.01 + 250.0,
            };
            if !x.is_finite() {
                continue;
            }
            for keep_zeros in [false, true] {
                let style = General { digits, keep_zeros };
                let (mut one, mut other) = (Vec::new(), Vec::new());
                general(x.abs(), style, &mut one);
                general_by_std(x.abs(), style, &mut other);
                assert_eq!(one, other, "{x:e} {digits}");
            }
            fast += u64::from(rounded(x.abs(), digits).is_some());
        }
        assert!(fast > count / 3, "{fast}");
    }

    #[test]
    fn as_printf_writes_them() {
        for (x, digits, expected) in [
            (0.0, 7, "0"),
            (-0.0, 7, "-0"),
            (1.0, 7, "1"),
            (100.0, 7, "100"),
            (1_234_567.0, 7, "1234567"),
            (12_345_678.0, 7, "1.234568e+07"),
            (0.0001, 7, "0.0001"),
            (0.000_012_5, 7, "1.25e-05"),
            (1e22, 15, "1e+22"),
            (1e100, 15, "1e+100"),
            (5e-324, 15, "4.94065645841247e-324"),
            (0.1, 20, "0.10000000000000000555"),
            (1.0 / 3.0, 1, "0.3"),
            (25.0, 1, "2e+01"),
            (9.999_999_99, 7, "10"),
            (999_999.96, 7, "1000000"),
            (9_999_999.6, 7, "1e+07"),
        ] {
            assert_eq!(text(x, digits), expected);
        }
    }

    #[test]
    fn halves_go_to_the_even_digit() {
        for (x, digits, expected) in [
            (2.5, 1, "2"),
            (3.5, 1, "4"),
            (1_234_566.5, 7, "1234566"),
            (1_234_567.5, 7, "1234568"),
            (0.125, 2, "0.12"),
            (0.375, 2, "0.38"),
            (12_345_678_901_234_565.0, 16, "1.234567890123456e+16"),
            (25_000.0, 1, "2e+04"),
            (f64::MAX, 17, "1.7976931348623157e+308"),
        ] {
            assert_eq!(text(x, digits), expected);
        }
    }

    #[test]
    fn attributes_keep_their_point() {
        for (x, digits, expected) in [
            (1.0, 7, "1.f"),
            (0.0, 7, "0.f"),
            (1e20, 7, "1.e+20f"),
            (0.5, 7, "0.5f"),
            (1_234_567.0, 7, "1234567.f"),
        ] {
            let mut out = b"-".to_vec();
            general(x, General { digits, keep_zeros: true }, &mut out);
            out.push(b'f');
            trim_zeros(&mut out, 1);
            assert_eq!(String::from_utf8(out).unwrap(), format!("-{expected}"));
        }
    }

    #[test]
    fn integers() {
        let mut out = Vec::new();
        for n in [0, 7, -10, 99, 100, i64::MIN, i64::MAX] {
            signed(n, &mut out);
            out.push(b' ');
        }
        let expected = "0 7 -10 99 100 -9223372036854775808 9223372036854775807 ";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
