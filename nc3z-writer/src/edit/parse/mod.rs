//! Converts words to values of the classic types: numbers as in CDL, types and escapes as in ncatted. [`attributes`] has edits in words.

pub mod attributes;
mod values;

use nc3z_format::{Error, NcType, Result};

/// Returns one value, big-endian. A word without point and exponent is an integer, and is stored exactly or
/// refused. Any other number is parsed as a double: an integer type accepts it if it is whole, a
/// floating-point type stores the nearest value. The Python package follows the same rules (`nc3z/_cast.py`).
///
/// # Errors
/// Invalid: the type has no such value.
pub fn encode(ty: NcType, word: &str) -> Result<Vec<u8>> {
    let word = word.trim();
    Ok(match ty {
        NcType::Byte => integer::<i8>(word, ty, (i8::MIN, i8::MAX))?.to_be_bytes().to_vec(),
        NcType::UByte => integer::<u8>(word, ty, (u8::MIN, u8::MAX))?.to_be_bytes().to_vec(),
        NcType::Short => integer::<i16>(word, ty, (i16::MIN, i16::MAX))?.to_be_bytes().to_vec(),
        NcType::UShort => integer::<u16>(word, ty, (u16::MIN, u16::MAX))?.to_be_bytes().to_vec(),
        NcType::Int => integer::<i32>(word, ty, (i32::MIN, i32::MAX))?.to_be_bytes().to_vec(),
        NcType::UInt => integer::<u32>(word, ty, (u32::MIN, u32::MAX))?.to_be_bytes().to_vec(),
        NcType::Int64 => integer::<i64>(word, ty, (i64::MIN, i64::MAX))?.to_be_bytes().to_vec(),
        NcType::UInt64 => integer::<u64>(word, ty, (u64::MIN, u64::MAX))?.to_be_bytes().to_vec(),
        NcType::Float => {
            let value = double(word, ty)?;
            #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest float; checked below")]
            let nearest = value.unwrap_or(f64::NAN) as f32;
            if nearest.is_infinite() && value.is_some_and(f64::is_finite) {
                return Err(Error::invalid(format!("`{word}` is too large for type {ty}")));
            }
            check_exact(word, ty, &format!("{nearest:.0}"))?;
            nearest.to_be_bytes().to_vec()
        }
        NcType::Double => {
            let value = double(word, ty)?.unwrap_or(f64::NAN);
            check_exact(word, ty, &format!("{value:.0}"))?;
            value.to_be_bytes().to_vec()
        }
        NcType::Char => match *word.as_bytes() {
            [byte] => vec![byte],
            _ => return Err(Error::invalid(format!("`{word}` is not one character"))),
        },
    })
}

/// Parses an integer of a type whose values are in `range`.
fn integer<T: TryFrom<i128> + std::fmt::Display + Copy>(word: &str, ty: NcType, range: (T, T)) -> Result<T> {
    let whole = || -> Option<i128> {
        // `200.0` counts as `200`, for any size.
        let plain = match word.split_once('.') {
            Some((plain, zeros)) if zeros.bytes().all(|b| b == b'0') => plain,
            _ => word,
        };
        plain.parse().ok().or_else(|| whole_double(word))
    };
    whole().and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
        Error::invalid(format!(
            "`{word}` is not a value of type {ty}, which holds whole numbers from {} to {}",
            range.0, range.1
        ))
    })
}

/// Returns the integer for a number with an exponent, if a double can represent all of its digits.
fn whole_double(word: &str) -> Option<i128> {
    let value: f64 =
        word.parse().ok().filter(|v: &f64| v.is_finite() && v.fract() == 0.0 && v.abs() < 1e20)?;
    let digits = |word: &str| {
        let word = word.split(['e', 'E']).next().unwrap_or_default();
        let all: String = word.chars().filter(char::is_ascii_digit).collect();
        all.trim_matches('0').to_owned()
    };
    if digits(word) != digits(&value.to_string()) {
        return None;
    }
    format!("{value:.0}").parse().ok()
}

/// Parses a word as a double; `None` is NaN. A number that is too large is infinite only if it was written as
/// such.
fn double(word: &str, ty: NcType) -> Result<Option<f64>> {
    let value: f64 =
        word.parse().map_err(|_| Error::invalid(format!("`{word}` is not a value of type {ty}")))?;
    if value.is_infinite() && !word.to_ascii_lowercase().contains("inf") {
        return Err(Error::invalid(format!("`{word}` is too large for type {ty}")));
    }
    Ok(Some(value).filter(|v| !v.is_nan()))
}

/// Refuses an integer that the type cannot represent exactly.
fn check_exact(word: &str, ty: NcType, nearest: &str) -> Result<()> {
    let (sign, digits) =
        word.strip_prefix('-').map_or(("", word.trim_start_matches('+')), |digits| ("-", digits));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(());
    }
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    if nearest.strip_prefix(sign) == Some(digits) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{word}` is not a value of type {ty}, whose nearest value is {nearest}; `{word}.0` is rounded to it"
    )))
}

/// Parses a number in CDL, with the type of its suffix: `1b`, `2s`, `3`, `4ll`, `1.5f`, `2.5`.
pub fn cdl_number(word: &str) -> Option<(String, Option<NcType>, NcType)> {
    let word = word.trim();
    let lower = word.to_ascii_lowercase();
    let digits = lower.trim_start_matches(['+', '-']);
    if matches!(digits, "nan" | "inf" | "infinity") {
        return Some((word.to_owned(), None, NcType::Double));
    }
    if matches!(digits, "nanf" | "inff" | "infinityf") {
        return Some((word[..word.len() - 1].to_owned(), Some(NcType::Float), NcType::Float));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let suffixes = [
        ("ull", NcType::UInt64),
        ("ub", NcType::UByte),
        ("us", NcType::UShort),
        ("ul", NcType::UInt),
        ("ll", NcType::Int64),
        ("b", NcType::Byte),
        ("s", NcType::Short),
        ("u", NcType::UInt),
        ("l", NcType::Int),
    ];
    let is_integer = |text: &str| text.parse::<i128>().is_ok();
    for (suffix, ty) in suffixes {
        if let Some(number) = lower.strip_suffix(suffix)
            && is_integer(number)
        {
            return Some((number.to_owned(), Some(ty), ty));
        }
    }
    if is_integer(word) {
        return Some((word.to_owned(), None, NcType::Int));
    }
    for (suffix, ty) in [("f", Some(NcType::Float)), ("d", Some(NcType::Double)), ("", None)] {
        if let Some(number) = lower.strip_suffix(suffix)
            && number.parse::<f64>().is_ok()
        {
            return Some((number.to_owned(), ty, ty.unwrap_or(NcType::Double)));
        }
    }
    None
}

/// Parses a type and a value in the form of ncatted.
///
/// # Errors
/// Invalid: unknown type, or it has no such value.
pub fn typed(ty: &str, value: &str) -> Result<(NcType, Vec<u8>)> {
    let ty = match ty {
        "f" | "float" => NcType::Float,
        "d" | "double" => NcType::Double,
        "l" | "i" | "int" | "long" => NcType::Int,
        "s" | "short" => NcType::Short,
        "c" | "char" => NcType::Char,
        "b" | "byte" => NcType::Byte,
        "ub" | "ubyte" => NcType::UByte,
        "us" | "ushort" => NcType::UShort,
        "ul" | "ui" | "u" | "uint" => NcType::UInt,
        "ll" | "int64" => NcType::Int64,
        "ull" | "uint64" => NcType::UInt64,
        "sng" | "string" => return Err(Error::invalid("classic files have no strings; c is text")),
        other => {
            return Err(Error::invalid(format!(
                "unknown type `{other}`; expected f, d, l, i, s, c, b, ub, us, ul, ll or ull"
            )));
        }
    };
    if ty == NcType::Char {
        return Ok((ty, c_text(value)));
    }
    let mut values = Vec::new();
    for word in value.split(',') {
        let number = cdl_number(word).map_or_else(|| word.to_owned(), |(number, _, _)| number);
        values.extend(encode(ty, &number)?);
    }
    Ok((ty, values))
}

/// Replaces C's escapes, which ncatted allows in text.
fn c_text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'v') => out.push(11),
            Some(other @ (b'\\' | b'"' | b'\'' | b'?')) => out.push(other),
            Some(other) => out.extend([b'\\', other]),
            None => out.push(b'\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_type_that_cdl_gives_them() {
        let of = |word: &str| cdl_number(word).map(|(_, _, ty)| ty);
        for (word, ty) in [
            ("1", NcType::Int),
            ("-1b", NcType::Byte),
            ("2s", NcType::Short),
            ("3ll", NcType::Int64),
            ("4ul", NcType::UInt),
            ("1.5f", NcType::Float),
            ("1f", NcType::Float),
            ("1.5", NcType::Double),
            ("1e20", NcType::Double),
            ("nan", NcType::Double),
            ("-inff", NcType::Float),
        ] {
            assert_eq!(of(word), Some(ty), "{word}");
        }
        for text in ["K", "degC", "2 m", "1-2", "", "1x", "days since 1990"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (ty, word) in [
            (NcType::Byte, "128"),
            (NcType::Byte, "127.5"),
            (NcType::Byte, "nan"),
            (NcType::Byte, "inf"),
            (NcType::UInt, "-1"),
            (NcType::Int, "1.5"),
            (NcType::Int, "1.00000000000000000001e0"),
            (NcType::Int64, "9223372036854775808"),
            (NcType::Int64, "9223372036854775808.0"),
            (NcType::Int64, "9.007199254740993e15"),
            (NcType::UInt64, "1.8446744073709552e19"),
            (NcType::Float, "16777217"),
            (NcType::Float, "-16777217"),
            (NcType::Double, "9007199254740993"),
            (NcType::Float, "1e39"),
            (NcType::Double, "1e309"),
            (NcType::Float, "1x"),
            (NcType::Char, "ab"),
        ] {
            assert!(encode(ty, word).is_err(), "{word}");
        }
    }

    #[test]
    fn what_fits_is_stored_exactly() {
        assert_eq!(encode(NcType::Short, "-2").unwrap(), [0xFF, 0xFE]);
        assert_eq!(encode(NcType::Short, "200.0").unwrap(), [0, 200]);
        assert_eq!(encode(NcType::Short, "2e2").unwrap(), [0, 200]);
        assert_eq!(
            encode(NcType::Int64, "9007199254740993.0").unwrap(),
            9_007_199_254_740_993_i64.to_be_bytes()
        );
        // In Python's notation for the double 2^63 - 1024.
        assert_eq!(encode(NcType::Int64, "9.223372036854775e+18").unwrap(), (i64::MAX - 1023).to_be_bytes());
        for word in ["1.5", " 1.5 ", "15e-1"] {
            assert_eq!(encode(NcType::Float, word).unwrap(), 1.5_f32.to_be_bytes());
        }
        assert_eq!(encode(NcType::Float, "16777217.0").unwrap(), 16_777_216_f32.to_be_bytes());
        assert_eq!(encode(NcType::Float, "-016777216").unwrap(), (-16_777_216_f32).to_be_bytes());
        assert_eq!(encode(NcType::Double, "-0").unwrap(), (-0.0_f64).to_be_bytes());
        assert_eq!(
            encode(NcType::Double, "1267650600228229401496703205376").unwrap(),
            2_f64.powi(100).to_be_bytes()
        );
        assert_eq!(encode(NcType::Float, "-inf").unwrap(), f32::NEG_INFINITY.to_be_bytes());
        assert!(encode(NcType::Float, "nan").is_ok() && encode(NcType::Double, "NaN").is_ok());
    }

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(c_text(r"a\nb\\n\q"), b"a\nb\\n\\q");
    }

    #[test]
    fn types_are_those_of_ncatted() {
        assert_eq!(typed("s", "1,-2").unwrap(), (NcType::Short, vec![0, 1, 0xFF, 0xFE]));
        assert_eq!(typed("c", "1,2").unwrap(), (NcType::Char, b"1,2".to_vec()));
        assert_eq!(typed("f", "1.0f").unwrap().1, 1.0_f32.to_be_bytes());
        assert!(typed("b", "300").is_err() && typed("x", "1").is_err() && typed("sng", "a").is_err());
    }
}
