//! Conversion between Rust's numbers and the big-endian values of files.

use nc3z_format::{NcType, with_type};
use nc3z_reader::convert::{Cast, Stored};

/// A Rust number that values are read as and written from: `i8` to `u64`, `f32`, `f64`.
///
/// * Each numeric type converts to each other one. Integers must fit. A float that becomes an integer loses its fraction,
///   and must then fit. A `double` beyond the largest `float` does not fit a `float`.
/// * `char` is text. It is read as and written from `u8` only.
/// * `u8` values of a `byte` keep their bits in formats before CDF-5, which have no unsigned types.
///
/// A value that does not fit is an error, which has its index. This trait is sealed.
pub trait Element: sealed::Convert {}

pub(crate) mod sealed {
    use super::{NcType, Unfit};

    /// The conversions of one type.
    pub trait Convert: nc3z_reader::Element {
        /// Returns values as big-endian bytes of a type.
        fn encode(values: &[Self], ty: NcType, has_unsigned: bool) -> Result<Vec<u8>, Unfit>;

        /// Returns the values of big-endian bytes of a type.
        fn decode(bytes: &[u8], ty: NcType, has_unsigned: bool) -> Result<Vec<Self>, Unfit>;
    }
}

/// The reason why values were not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// Text is converted from and to `u8` only.
    Text(&'static str),
    /// The value at this position does not fit the type.
    Value {
        /// Position among the values.
        position: usize,
        /// The value, as text.
        value: String,
        /// Name of the type.
        wanted: &'static str,
    },
}

/// Converts each value and appends its bytes.
macro_rules! encoded {
    ($values:ident as $to:ty, $wanted:expr) => {{
        let mut out = Vec::with_capacity($values.len() * size_of::<$to>());
        for (position, from) in $values.iter().enumerate() {
            let (to, fits) = <$to as Cast<Self>>::cast(*from);
            if !fits {
                return Err(Unfit::Value { position, value: from.to_string(), wanted: $wanted });
            }
            out.extend_from_slice(&to.to_be_bytes());
        }
        Ok(out)
    }};
}

fn decoded<S: Stored, T: Cast<S>>(bytes: &[u8], wanted: &'static str) -> Result<Vec<T>, Unfit> {
    let convert = |(position, from): (usize, &S::Bytes)| {
        let from = S::from_be(*from);
        let (to, fits) = T::cast(from);
        if fits { Ok(to) } else { Err(Unfit::Value { position, value: from.to_string(), wanted }) }
    };
    S::split(bytes).iter().enumerate().map(convert).collect()
}

/// Returns the type that values of an external type are converted from and to.
fn stored_as(ty: NcType, rust: &'static str, has_unsigned: bool) -> Result<NcType, Unfit> {
    match ty {
        NcType::Char if rust != "u8" => Err(Unfit::Text(rust)),
        NcType::Byte if rust == "u8" && !has_unsigned => Ok(NcType::UByte),
        ty => Ok(ty),
    }
}

macro_rules! elements {
    ($($rust:ident)+) => {$(
        impl Element for $rust {}

        impl sealed::Convert for $rust {
            fn encode(values: &[Self], ty: NcType, has_unsigned: bool) -> Result<Vec<u8>, Unfit> {
                let stored = stored_as(ty, stringify!($rust), has_unsigned)?;
                with_type!(stored, S => encoded!(values as S, ty.name()))
            }

            fn decode(bytes: &[u8], ty: NcType, has_unsigned: bool) -> Result<Vec<Self>, Unfit> {
                let stored = stored_as(ty, stringify!($rust), has_unsigned)?;
                with_type!(stored, S => decoded::<S, _>(bytes, stringify!($rust)))
            }
        }
    )+};
}
elements! { i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 }

#[cfg(test)]
mod tests {
    use super::sealed::Convert;
    use super::*;

    #[test]
    fn values_convert_both_ways_and_must_fit() {
        assert_eq!(f64::encode(&[1.5, -2.0], NcType::Short, false).unwrap(), [0, 1, 255, 254]);
        assert_eq!(i64::decode(&[0, 1, 255, 254], NcType::Short, false).unwrap(), [1, -2]);
        let unfit = |position, value: &str, wanted| Unfit::Value { position, value: value.into(), wanted };
        assert_eq!(i32::encode(&[1, 40_000], NcType::Short, false), Err(unfit(1, "40000", "short")));
        assert_eq!(u16::decode(&[0, 1, 255, 254], NcType::Short, false), Err(unfit(1, "-2", "u16")));
    }

    #[test]
    fn text_is_u8_and_a_byte_has_a_sign_in_cdf5() {
        assert_eq!(u8::encode(b"K", NcType::Char, false).unwrap(), b"K");
        assert_eq!(i8::encode(&[1], NcType::Char, false), Err(Unfit::Text("i8")));
        assert_eq!(u8::encode(&[200], NcType::Byte, false).unwrap(), [200]);
        assert!(u8::encode(&[200], NcType::Byte, true).is_err());
        assert!(u8::decode(&[200], NcType::Byte, true).is_err());
    }
}
