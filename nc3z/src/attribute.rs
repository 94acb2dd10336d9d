//! Attributes and their values.

use crate::element::sealed::Convert;
use crate::element::{Element, Unfit};
use crate::error::{Error, Result};
use nc3z_format::NcType;
use std::borrow::Cow;

/// An attribute of a variable or of the file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Attribute {
    /// The name of the attribute.
    pub name: String,
    /// The values of the attribute.
    pub values: Values,
}

impl Attribute {
    pub(crate) fn new(attribute: &nc3z_format::classic::Attribute) -> Self {
        let name = attribute.name_lossy().into_owned();
        Attribute { name, values: Values::from_be(attribute.ty, &attribute.values) }
    }
}

/// Values of one external type, as native numbers.
///
/// Made from text, a number, or a list of numbers:
///
/// ```
/// use nc3z::{NcType, Values};
/// assert_eq!(Values::from("K").dtype(), NcType::Char);
/// assert_eq!(Values::from([0.5_f32, 2.0]).to_vec::<f64>()?, [0.5, 2.0]);
/// # Ok::<(), nc3z::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Text, in the file's own encoding.
    Char(Vec<u8>),
    /// Values of `byte`.
    Byte(Vec<i8>),
    /// Values of `short`.
    Short(Vec<i16>),
    /// Values of `int`.
    Int(Vec<i32>),
    /// Values of `float`.
    Float(Vec<f32>),
    /// Values of `double`.
    Double(Vec<f64>),
    /// Values of `ubyte` (CDF-5).
    UByte(Vec<u8>),
    /// Values of `ushort` (CDF-5).
    UShort(Vec<u16>),
    /// Values of `uint` (CDF-5).
    UInt(Vec<u32>),
    /// Values of `int64` (CDF-5).
    Int64(Vec<i64>),
    /// Values of `uint64` (CDF-5).
    UInt64(Vec<u64>),
}

/// Evaluates an expression for the list of values, whatever its type.
macro_rules! each {
    ($values:expr, $list:ident => $what:expr) => {
        match $values {
            Values::Char($list) | Values::UByte($list) => $what,
            Values::Byte($list) => $what,
            Values::Short($list) => $what,
            Values::Int($list) => $what,
            Values::Float($list) => $what,
            Values::Double($list) => $what,
            Values::UShort($list) => $what,
            Values::UInt($list) => $what,
            Values::Int64($list) => $what,
            Values::UInt64($list) => $what,
        }
    };
}

impl Values {
    /// Returns the external type.
    pub fn dtype(&self) -> NcType {
        match self {
            Values::Char(_) => NcType::Char,
            Values::Byte(_) => NcType::Byte,
            Values::Short(_) => NcType::Short,
            Values::Int(_) => NcType::Int,
            Values::Float(_) => NcType::Float,
            Values::Double(_) => NcType::Double,
            Values::UByte(_) => NcType::UByte,
            Values::UShort(_) => NcType::UShort,
            Values::UInt(_) => NcType::UInt,
            Values::Int64(_) => NcType::Int64,
            Values::UInt64(_) => NcType::UInt64,
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        each!(self, list => list.len())
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text, if this is text. Bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Values::Char(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }

    /// Returns the values as numbers of `T`; see [`Element`] for the rules.
    ///
    /// # Errors
    /// A value does not fit `T`. Text is converted to `u8` only.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        T::decode(&self.to_be(), self.dtype(), true).map_err(|unfit| match unfit {
            Unfit::Text(wanted) => Error::invalid(format!("text is read as u8, not as {wanted}")),
            Unfit::Value { position, value, wanted } => {
                Error::range("the attribute".into(), vec![position as u64], value, wanted)
            }
        })
    }

    /// Returns the values as big-endian bytes.
    pub(crate) fn to_be(&self) -> Vec<u8> {
        each!(self, list => list.iter().flat_map(|value| value.to_be_bytes()).collect())
    }

    /// Returns the values of big-endian bytes.
    pub(crate) fn from_be(ty: NcType, bytes: &[u8]) -> Self {
        fn list<T: Convert>(ty: NcType, bytes: &[u8]) -> Vec<T> {
            T::decode(bytes, ty, true).expect("each value fits its own type")
        }
        match ty {
            NcType::Char => Values::Char(bytes.to_vec()),
            NcType::UByte => Values::UByte(bytes.to_vec()),
            NcType::Byte => Values::Byte(list(ty, bytes)),
            NcType::Short => Values::Short(list(ty, bytes)),
            NcType::Int => Values::Int(list(ty, bytes)),
            NcType::Float => Values::Float(list(ty, bytes)),
            NcType::Double => Values::Double(list(ty, bytes)),
            NcType::UShort => Values::UShort(list(ty, bytes)),
            NcType::UInt => Values::UInt(list(ty, bytes)),
            NcType::Int64 => Values::Int64(list(ty, bytes)),
            NcType::UInt64 => Values::UInt64(list(ty, bytes)),
        }
    }
}

impl From<&str> for Values {
    fn from(text: &str) -> Self {
        Values::Char(text.into())
    }
}

impl From<String> for Values {
    fn from(text: String) -> Self {
        Values::Char(text.into())
    }
}

macro_rules! values {
    ($($rust:ty, $variant:ident;)+) => {$(
        impl From<$rust> for Values {
            fn from(value: $rust) -> Self {
                Values::$variant(vec![value])
            }
        }

        impl From<Vec<$rust>> for Values {
            fn from(values: Vec<$rust>) -> Self {
                Values::$variant(values)
            }
        }

        impl<const N: usize> From<[$rust; N]> for Values {
            fn from(values: [$rust; N]) -> Self {
                Values::$variant(values.into())
            }
        }
    )+};
}
values! {
    i8, Byte;
    i16, Short;
    i32, Int;
    f32, Float;
    f64, Double;
    u8, UByte;
    u16, UShort;
    u32, UInt;
    i64, Int64;
    u64, UInt64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_type_return_from_their_bytes() {
        let all: [Values; 11] = [
            "text".into(),
            (-3_i8).into(),
            [1_i16, -2].into(),
            7_i32.into(),
            vec![0.5_f32].into(),
            f64::MIN_POSITIVE.into(),
            200_u8.into(),
            40_000_u16.into(),
            u32::MAX.into(),
            i64::MIN.into(),
            u64::MAX.into(),
        ];
        for values in all {
            assert_eq!(Values::from_be(values.dtype(), &values.to_be()), values);
            assert_eq!(values.to_be().len(), values.len() * values.dtype().size());
        }
    }

    #[test]
    fn conversion_names_the_value_that_does_not_fit() {
        let error = Values::from([1_i32, -1]).to_vec::<u8>().unwrap_err();
        assert_eq!(error.to_string(), "the attribute, element [1]: -1 does not fit u8");
        assert_eq!(error.kind(), crate::ErrorKind::Range);
        assert!(Values::from("K").to_vec::<f64>().is_err());
    }
}
