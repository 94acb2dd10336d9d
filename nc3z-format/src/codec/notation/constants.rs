//! Parameters of filters as nccopy, ncgen and CDO write them: `9`, `-17b`, `23ub`, `789f`, `1.5d`, `-9L`.

use crate::error::{Error, Result};

/// One parameter as words of 32 bits: one, or two (the low one first) for 64-bit integers and doubles.
pub(super) fn words(text: &str) -> Result<Vec<u32>> {
    let wrong = |why: &str| {
        Error::invalid(format!(
            "invalid filter parameter `{text}`: {why}; examples are 9, -17b, 23ub, 789f, 1.5d, -9L"
        ))
    };
    let number_len = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (number, tag) = text.split_at(number_len);
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) {
        return Err(wrong("it does not begin with a number"));
    }
    let whole = |least: i128, most: i128| {
        let n: i128 = number.parse().map_err(|_| wrong("it is not an integer"))?;
        if (least..=most).contains(&n) {
            Ok(n)
        } else {
            Err(wrong(&format!("it is not from {least} to {most}")))
        }
    };
    // The bits of a number in its own width, the rest zero: as netCDF-C packs it.
    let one = |least: i128, most: i128, bits: u32| -> Result<Vec<u32>> {
        let masked = whole(least, most)? & ((1 << bits) - 1);
        Ok(vec![u32::try_from(masked).expect("at most 32 bits")])
    };
    let two = |bits: u64| {
        let low = u32::try_from(bits & 0xFFFF_FFFF).expect("masked");
        vec![low, u32::try_from(bits >> 32).expect("the high half")]
    };
    match tag.to_ascii_lowercase().as_str() {
        "" if number.contains(['.', 'e', 'E']) => {
            Err(wrong("a number with a point is a float (1.5f) or a double (1.5d)"))
        }
        "" => one(i32::MIN.into(), u32::MAX.into(), 32),
        "u" => one(0, u32::MAX.into(), 32),
        "b" => one(i8::MIN.into(), u8::MAX.into(), 8),
        "ub" => one(0, u8::MAX.into(), 8),
        "s" => one(i16::MIN.into(), u16::MAX.into(), 16),
        "us" => one(0, u16::MAX.into(), 16),
        "l" | "ll" => {
            let n = whole(i64::MIN.into(), u64::MAX.into())? & i128::from(u64::MAX);
            Ok(two(u64::try_from(n).expect("masked")))
        }
        "ul" | "ull" => Ok(two(u64::try_from(whole(0, u64::MAX.into())?).expect("in range"))),
        "f" => {
            let x: f32 = number.parse().map_err(|_| wrong("it is not a number"))?;
            Ok(vec![x.to_bits()])
        }
        "d" => {
            let x: f64 = number.parse().map_err(|_| wrong("it is not a number"))?;
            Ok(two(x.to_bits()))
        }
        _ => Err(wrong("tags are b, s, f, d, L, U, UB, US, UL")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_those_of_netcdf_c() {
        // Its own test of the parser: tst_filterparser.c.
        for (text, expected) in [
            ("-17b", &[239][..]),
            ("23ub", &[23]),
            ("-25S", &[65511]),
            ("27US", &[27]),
            ("77", &[77]),
            ("93U", &[93]),
            ("2147483647", &[2_147_483_647]),
            ("-2147483648", &[2_147_483_648]),
            ("4294967295U", &[4_294_967_295]),
            ("789f", &[1_145_389_056]),
            ("-9223372036854775807L", &[1, 2_147_483_648]),
            ("18446744073709551615UL", &[4_294_967_295, 4_294_967_295]),
            ("12345678.12345678d", &[3_287_505_826, 1_097_305_129]),
            ("1e3f", &[0x447A_0000]),
        ] {
            assert_eq!(words(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn others_are_refused() {
        for text in ["", "x", "1.5", "300b", "-1ub", "4294967296", "1x", "--1", "1..2d", "é", "1é", "e", "f"]
        {
            assert!(words(text).is_err(), "{text}");
        }
    }
}
