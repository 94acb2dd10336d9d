//! Words of the command line as values of the classic types.

use anyhow::{Result, anyhow, bail};
use nc3z_format::NcType;

/// One value, big-endian.
pub(super) fn encode(ty: NcType, word: &str) -> Result<Vec<u8>> {
    fn parse<T: std::str::FromStr>(ty: NcType, word: &str) -> Result<T> {
        word.parse().map_err(|_| anyhow!("`{word}` is no value of type {ty}"))
    }
    let word = word.trim();
    Ok(match ty {
        NcType::Byte => parse::<i8>(ty, word)?.to_be_bytes().to_vec(),
        NcType::UByte => parse::<u8>(ty, word)?.to_be_bytes().to_vec(),
        NcType::Short => parse::<i16>(ty, word)?.to_be_bytes().to_vec(),
        NcType::UShort => parse::<u16>(ty, word)?.to_be_bytes().to_vec(),
        NcType::Int => parse::<i32>(ty, word)?.to_be_bytes().to_vec(),
        NcType::UInt => parse::<u32>(ty, word)?.to_be_bytes().to_vec(),
        NcType::Int64 => parse::<i64>(ty, word)?.to_be_bytes().to_vec(),
        NcType::UInt64 => parse::<u64>(ty, word)?.to_be_bytes().to_vec(),
        NcType::Float => finite(word, parse::<f32>(ty, word)?.to_be_bytes().to_vec(), |b| {
            f32::from_be_bytes(b.first_chunk().copied().unwrap_or_default()).is_infinite()
        })?,
        NcType::Double => finite(word, parse::<f64>(ty, word)?.to_be_bytes().to_vec(), |b| {
            f64::from_be_bytes(b.first_chunk().copied().unwrap_or_default()).is_infinite()
        })?,
        NcType::Char => match *word.as_bytes() {
            [byte] => vec![byte],
            _ => bail!("`{word}` is not one character"),
        },
    })
}

/// Numbers that are too large become infinite only where that was said.
fn finite(word: &str, bytes: Vec<u8>, is_infinite: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
    if is_infinite(&bytes) && !word.to_ascii_lowercase().contains("inf") {
        bail!("`{word}` is too large for the type");
    }
    Ok(bytes)
}

/// A number as CDL writes it, with its type where the suffix says one: `1b`, `2s`, `3`, `4ll`, `1.5f`, `2.5`.
pub(super) fn cdl_number(word: &str) -> Option<(String, Option<NcType>, NcType)> {
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
        assert_eq!(encode(NcType::Short, "-2").unwrap(), [0xFF, 0xFE]);
        assert_eq!(encode(NcType::Float, " 1.5 ").unwrap(), 1.5_f32.to_be_bytes());
        for (ty, word) in [
            (NcType::Byte, "128"),
            (NcType::UInt, "-1"),
            (NcType::Int, "1.5"),
            (NcType::Float, "1e39"),
            (NcType::Char, "ab"),
        ] {
            assert!(encode(ty, word).is_err(), "{word}");
        }
        assert!(encode(NcType::Float, "inf").is_ok());
    }
}
