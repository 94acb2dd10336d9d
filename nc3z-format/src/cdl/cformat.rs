//! A variable's `C_format` attribute: one `printf` conversion with text around it.

use super::number::{self, General};
use crate::types::NcType;

/// Longest width and precision: what is longer makes ncdump stop.
const MAX_WIDTH: usize = 99;

/// A format that was understood and suits the type it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CFormat {
    before: Vec<u8>,
    conversion: Option<Conversion>,
    after: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Conversion {
    left: bool,
    plus: bool,
    blank: bool,
    zeros: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits that an integer is cut to.
    bits: u32,
    letter: u8,
}

impl CFormat {
    /// Reads a format for values of type `ty`. Returns `None` for formats that C leaves undefined (a conversion for another
    /// type, several conversions), for formats that use the value as an address, and for `%a`.
    pub(crate) fn parse(format: &[u8], ty: NcType) -> Option<Self> {
        let mut out = CFormat { before: Vec::new(), conversion: None, after: Vec::new() };
        let mut rest = format.iter().copied().take_while(|&b| b != 0).peekable();
        while let Some(byte) = rest.next() {
            let text = if out.conversion.is_some() { &mut out.after } else { &mut out.before };
            match byte {
                b'%' if rest.next_if_eq(&b'%').is_some() => text.push(b'%'),
                b'%' if out.conversion.is_some() => return None,
                b'%' => out.conversion = Some(Conversion::parse(&mut rest, ty)?),
                _ => text.push(byte),
            }
        }
        Some(out)
    }

    pub(crate) fn integer(&self, value: i64, out: &mut Vec<u8>) {
        self.around(out, |c, out| c.integer(value, out));
    }

    pub(crate) fn float(&self, value: f64, out: &mut Vec<u8>) {
        self.around(out, |c, out| c.float(value, out));
    }

    fn around(&self, out: &mut Vec<u8>, convert: impl FnOnce(&Conversion, &mut Vec<u8>)) {
        out.extend_from_slice(&self.before);
        if let Some(conversion) = &self.conversion {
            convert(conversion, out);
        }
        out.extend_from_slice(&self.after);
    }
}

impl Conversion {
    fn parse(rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>, ty: NcType) -> Option<Self> {
        let mut c = Conversion {
            left: false,
            plus: false,
            blank: false,
            zeros: false,
            alternate: false,
            width: 0,
            precision: None,
            bits: 32,
            letter: 0,
        };
        while let Some(flag) = rest.next_if(|b| b"-+ 0#'".contains(b)) {
            match flag {
                b'-' => c.left = true,
                b'+' => c.plus = true,
                b' ' => c.blank = true,
                b'0' => c.zeros = true,
                b'#' => c.alternate = true,
                // Grouping by thousands: there is none in the C locale.
                _ => {}
            }
        }
        c.width = number_of(rest)?;
        if rest.next_if_eq(&b'.').is_some() {
            c.precision = Some(number_of(rest)?);
        }
        let mut halves = 0;
        while let Some(letter) = rest.next_if(|b| b"hlLqjzt".contains(b)) {
            if letter == b'h' {
                halves += 1;
            } else {
                c.bits = 64;
            }
        }
        c.bits = [c.bits, 16, 8].get(halves).copied()?;
        c.letter = rest.next()?;
        let fits = if ty.is_float() { b"fFeEgG".contains(&c.letter) } else { b"diuoxXc".contains(&c.letter) };
        fits.then_some(c)
    }

    fn integer(&self, value: i64, out: &mut Vec<u8>) {
        if self.letter == b'c' {
            let byte = value.to_le_bytes()[0];
            // A NUL ends the text.
            let text: &[u8] = if byte == 0 { &[] } else { &[byte] };
            return self.pad("", text.len(), false, out, |out| out.extend_from_slice(text));
        }
        let drop = 64 - self.bits;
        let cut = value << drop >> drop;
        let bits = (value.cast_unsigned() << drop) >> drop;
        let (sign, mut digits) = match self.letter {
            b'd' | b'i' if cut < 0 => ("-", cut.unsigned_abs().to_string()),
            b'd' | b'i' => (self.positive(), cut.to_string()),
            b'o' => ("", format!("{bits:o}")),
            b'x' => (if self.alternate && bits != 0 { "0x" } else { "" }, format!("{bits:x}")),
            b'X' => (if self.alternate && bits != 0 { "0X" } else { "" }, format!("{bits:X}")),
            _ => ("", bits.to_string()),
        };
        if let Some(least) = self.precision {
            if least == 0 && digits == "0" {
                digits.clear();
            }
            digits = format!("{digits:0>least$}");
        }
        if self.letter == b'o' && self.alternate && !digits.starts_with('0') {
            digits.insert(0, '0');
        }
        let zeros = self.zeros && self.precision.is_none();
        self.pad(sign, digits.len(), zeros, out, |out| out.extend_from_slice(digits.as_bytes()));
    }

    fn float(&self, value: f64, out: &mut Vec<u8>) {
        let sign = if value.is_sign_negative() { "-" } else { self.positive() };
        let x = value.abs();
        let precision = self.precision.unwrap_or(6);
        let mut body = Vec::new();
        match self.letter.to_ascii_lowercase() {
            b'f' => {
                body.extend_from_slice(format!("{x:.precision$}").as_bytes());
                if precision == 0 && self.alternate {
                    body.push(b'.');
                }
            }
            b'e' => {
                let text = format!("{x:.precision$e}");
                let (mantissa, exponent) = text.split_once('e').expect("`e` formatting writes an exponent");
                let exponent: i32 = exponent.parse().expect("an exponent is an integer");
                let point = if precision == 0 && self.alternate { "." } else { "" };
                let minus = if exponent < 0 { '-' } else { '+' };
                let exponent = exponent.unsigned_abs();
                body.extend_from_slice(format!("{mantissa}{point}e{minus}{exponent:02}").as_bytes());
            }
            _ => {
                let digits = u32::try_from(precision.max(1)).expect("at most MAX_WIDTH");
                number::general(x, General { digits, keep_zeros: self.alternate }, &mut body);
            }
        }
        if self.letter.is_ascii_uppercase() {
            body.make_ascii_uppercase();
        }
        self.pad(sign, body.len(), self.zeros, out, |out| out.extend_from_slice(&body));
    }

    fn positive(&self) -> &'static str {
        match (self.plus, self.blank) {
            (true, _) => "+",
            (_, true) => " ",
            _ => "",
        }
    }

    fn pad(&self, sign: &str, len: usize, zeros: bool, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        let missing = self.width.saturating_sub(sign.len() + len);
        let fill = |byte, out: &mut Vec<u8>| out.extend(std::iter::repeat_n(byte, missing));
        if !self.left && !zeros {
            fill(b' ', out);
        }
        out.extend_from_slice(sign.as_bytes());
        if !self.left && zeros {
            fill(b'0', out);
        }
        body(out);
        if self.left {
            fill(b' ', out);
        }
    }
}

/// A width or precision: digits, none for 0. `None` for `*` never comes here: it is not a digit, and no letter either.
fn number_of(rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>) -> Option<usize> {
    let mut n = 0;
    while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
        n = n * 10 + usize::from(digit - b'0');
        if n > MAX_WIDTH {
            return None;
        }
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(format: &str, x: f64) -> Option<String> {
        let mut out = Vec::new();
        CFormat::parse(format.as_bytes(), NcType::Double)?.float(x, &mut out);
        Some(String::from_utf8(out).unwrap())
    }

    fn integer(format: &str, n: i64) -> Option<String> {
        let mut out = Vec::new();
        CFormat::parse(format.as_bytes(), NcType::Int)?.integer(n, &mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn floats_as_printf_writes_them() {
        for (format, x, expected) in [
            ("%8.2f", 1.5, "    1.50"),
            ("%-8.2f|", 1.5, "1.50    |"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%+.0f", 2.5, "+2"),
            ("%#.0f", 2.5, "2."),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.3E", 1e-100, "1.000E-100"),
            ("%g", 0.0001, "0.0001"),
            ("%G", 1e-10, "1E-10"),
            ("%#g", 1.0, "1.00000"),
            ("%5.1f%%", 99.95, "100.0%"),
            ("% lg", 1.0, " 1"),
            ("no number", 1.0, "no number"),
        ] {
            assert_eq!(float(format, x).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn integers_as_printf_writes_them() {
        for (format, n, expected) in [
            ("<%5d>", 42, "<   42>"),
            ("%05i", -42, "-0042"),
            ("%.4d", 42, "0042"),
            ("%.0d", 0, ""),
            ("%x", -1, "ffffffff"),
            ("%#X", 255, "0XFF"),
            ("%#o", 8, "010"),
            ("%hhd", 300, "44"),
            ("%u", -1, "4294967295"),
            ("%lld", -1, "-1"),
            ("%d", (1 << 32) + 5, "5"),
            ("%c", 65, "A"),
            ("%-3c|", 65, "A  |"),
        ] {
            assert_eq!(integer(format, n).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn what_c_leaves_undefined_is_refused() {
        for format in ["%d", "%s", "%f %f", "%", "%5", "%*f", "%n", "%.200f", "%a"] {
            assert_eq!(float(format, 1.0), None, "{format}");
        }
        for format in ["%f", "%s", "%d%d", "%hhhd"] {
            assert_eq!(integer(format, 1), None, "{format}");
        }
    }
}
