//! One value as text: by type, format and fill value.

use super::cformat::CFormat;
use super::number::{self, General};
use super::style::Style;
use crate::classic::Variable;
use crate::types::NcType;

/// The format in which the values of a variable are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// Rows of characters in quotes.
    Text,
    /// Integers as they are.
    Integer,
    /// Floating point to a number of digits.
    General(General),
    /// The format of the variable's `C_format`.
    C(CFormat),
}

impl Format {
    pub(crate) fn new(variable: &Variable, style: &Style) -> Self {
        let by_option = match variable.ty {
            NcType::Float => style.float_digits,
            NcType::Double => style.double_digits,
            _ => None,
        };
        if let Some(digits) = by_option {
            return Format::General(General::new(digits));
        }
        if let Some(text) = c_format(variable) {
            let is_text = variable.ty == NcType::Char && matches!(text, b"" | b"%s");
            if let Some(format) = CFormat::parse(text, variable.ty).filter(|_| !is_text) {
                return Format::C(format);
            }
        }
        match variable.ty {
            NcType::Char => Format::Text,
            NcType::Float => Format::General(General::new(style.float())),
            NcType::Double => Format::General(General::new(style.double())),
            _ => Format::Integer,
        }
    }
}

/// The `C_format` attribute, if it is text of fewer than 100 bytes, up to its first NUL.
fn c_format(variable: &Variable) -> Option<&[u8]> {
    let attribute = variable.attribute(b"C_format")?;
    let fits = attribute.ty == NcType::Char && (1..100).contains(&attribute.values.len());
    fits.then(|| super::name::until_nul(&attribute.values))
}

/// The value that is written as `_`: `_FillValue` if it is one value of the variable's type, else the type's default.
/// Bytes have no default.
pub(crate) fn fill_value(variable: &Variable) -> Option<&[u8]> {
    let has_default = !matches!(variable.ty, NcType::Byte | NcType::UByte);
    variable.own_fill_value().or_else(|| has_default.then(|| variable.ty.default_fill()))
}

/// A value of one of the types.
pub(crate) trait Element: Copy {
    /// Bytes in the file.
    const SIZE: usize;
    /// From big-endian bytes.
    fn from_be(bytes: &[u8]) -> Self;
    /// True if `self` counts as the fill value.
    fn is_fill(self, fill: Self) -> bool;
    /// Appends the value.
    fn print(self, format: &Format, out: &mut Vec<u8>);
}

macro_rules! integers {
    ($($int:ty => $print:ident as $wide:ty;)+) => {$(
        impl Element for $int {
            const SIZE: usize = size_of::<$int>();

            #[inline]
            fn from_be(bytes: &[u8]) -> Self {
                <$int>::from_be_bytes(bytes.try_into().expect("pieces of the element's size"))
            }

            #[inline]
            fn is_fill(self, fill: Self) -> bool {
                self == fill
            }

            #[inline]
            fn print(self, format: &Format, out: &mut Vec<u8>) {
                match format {
                    Format::C(format) => format.integer(bits(<$wide>::from(self)), out),
                    _ => number::$print(self.into(), out),
                }
            }
        }
    )+};
}

integers! {
    i8 => signed as i64;
    i16 => signed as i64;
    i32 => signed as i64;
    i64 => signed as i64;
    u8 => unsigned as u64;
    u16 => unsigned as u64;
    u32 => unsigned as u64;
    u64 => unsigned as u64;
}

/// The argument that C passes to `printf`: the bits, for either sign.
trait Bits {
    fn bits(self) -> i64;
}

impl Bits for i64 {
    fn bits(self) -> i64 {
        self
    }
}

impl Bits for u64 {
    fn bits(self) -> i64 {
        self.cast_signed()
    }
}

fn bits(value: impl Bits) -> i64 {
    value.bits()
}

macro_rules! floats {
    ($($float:ty, $nan:literal, $infinity:literal;)+) => {$(
        impl Element for $float {
            const SIZE: usize = size_of::<$float>();

            #[inline]
            fn from_be(bytes: &[u8]) -> Self {
                <$float>::from_be_bytes(bytes.try_into().expect("pieces of the element's size"))
            }

            // Neighbours of the fill value count too: it may have been converted on its way.
            #[inline]
            fn is_fill(self, fill: Self) -> bool {
                if (fill > 0.0) != (self > 0.0) {
                    return false;
                }
                if fill.is_finite() && self.is_finite() {
                    return (fill - self).abs() <= (<$float>::EPSILON * self).abs();
                }
                (fill.is_nan() && self.is_nan()) || (fill.is_infinite() && self.is_infinite())
            }

            #[inline]
            fn print(self, format: &Format, out: &mut Vec<u8>) {
                if !self.is_finite() {
                    out.extend_from_slice(special(self.is_nan(), self < 0.0, $nan, $infinity));
                    return;
                }
                match format {
                    Format::General(general) => number::general(self.into(), *general, out),
                    Format::C(format) => format.float(self.into(), out),
                    Format::Integer | Format::Text => unreachable!("floats have neither format"),
                }
            }
        }
    )+};
}

floats! {
    f32, b"NaNf", b"-Infinityf";
    f64, b"NaN", b"-Infinity";
}

/// The words for what is not finite.
pub(crate) fn special(
    is_nan: bool,
    is_negative: bool,
    nan: &'static [u8],
    infinity: &'static [u8],
) -> &'static [u8] {
    match (is_nan, is_negative) {
        (true, _) => nan,
        (_, true) => infinity,
        _ => &infinity[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_fill_value_are_fill() {
        let fill = 9.969_21e36_f32;
        assert!(fill.next_up().is_fill(fill) && fill.next_down().is_fill(fill));
        assert!(!fill.next_up().next_up().next_up().is_fill(fill) && !(-fill).is_fill(fill));
        assert!(f64::NAN.is_fill(f64::NAN) && f64::INFINITY.is_fill(f64::INFINITY));
        assert!(!f64::NEG_INFINITY.is_fill(f64::INFINITY) && !f64::NAN.is_fill(0.0));
        assert!((-0.0_f64).is_fill(0.0) && !f64::MIN_POSITIVE.is_fill(0.0));
    }
}
