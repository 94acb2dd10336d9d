//! The eleven external types of the classic format: codes, sizes, names, default fill values.

use crate::error::{Error, Result};

/// External type of a variable or attribute. Codes as in the classic file format specification; the last five
/// exist in CDF-5 only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum NcType {
    /// 8-bit signed integer.
    Byte = 1,
    /// 8-bit character.
    Char = 2,
    /// 16-bit signed integer.
    Short = 3,
    /// 32-bit signed integer.
    Int = 4,
    /// IEEE 754 binary32.
    Float = 5,
    /// IEEE 754 binary64.
    Double = 6,
    /// 8-bit unsigned integer (CDF-5).
    UByte = 7,
    /// 16-bit unsigned integer (CDF-5).
    UShort = 8,
    /// 32-bit unsigned integer (CDF-5).
    UInt = 9,
    /// 64-bit signed integer (CDF-5).
    Int64 = 10,
    /// 64-bit unsigned integer (CDF-5).
    UInt64 = 11,
}

impl NcType {
    /// All types, in the order of their codes.
    pub const ALL: [NcType; 11] = [
        NcType::Byte,
        NcType::Char,
        NcType::Short,
        NcType::Int,
        NcType::Float,
        NcType::Double,
        NcType::UByte,
        NcType::UShort,
        NcType::UInt,
        NcType::Int64,
        NcType::UInt64,
    ];

    /// The type of a stored code.
    ///
    /// # Errors
    /// Any code outside 1..=11 is corrupt.
    pub fn from_code(code: u32) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|t| t.code() == code)
            .ok_or_else(|| Error::corrupt("external type", None, "code", "1 to 11", code))
    }

    /// The code stored in headers.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Bytes of one element in the file.
    pub const fn size(self) -> usize {
        match self {
            NcType::Byte | NcType::Char | NcType::UByte => 1,
            NcType::Short | NcType::UShort => 2,
            NcType::Int | NcType::UInt | NcType::Float => 4,
            NcType::Double | NcType::Int64 | NcType::UInt64 => 8,
        }
    }

    /// True for the five types that only CDF-5 has.
    pub const fn needs_cdf5(self) -> bool {
        self.code() > 6
    }

    /// True for `float` and `double`.
    pub const fn is_float(self) -> bool {
        matches!(self, NcType::Float | NcType::Double)
    }

    /// True for the unsigned integer types (not `char`).
    pub const fn is_unsigned(self) -> bool {
        matches!(self, NcType::UByte | NcType::UShort | NcType::UInt | NcType::UInt64)
    }

    /// The name CDL uses.
    pub const fn name(self) -> &'static str {
        match self {
            NcType::Byte => "byte",
            NcType::Char => "char",
            NcType::Short => "short",
            NcType::Int => "int",
            NcType::Float => "float",
            NcType::Double => "double",
            NcType::UByte => "ubyte",
            NcType::UShort => "ushort",
            NcType::UInt => "uint",
            NcType::Int64 => "int64",
            NcType::UInt64 => "uint64",
        }
    }

    /// The default fill value as big-endian bytes (`netcdf.h`, `NC_FILL_*`).
    pub const fn default_fill(self) -> &'static [u8] {
        match self {
            NcType::Byte => &[0x81],
            NcType::Char => &[0],
            NcType::Short => &[0x80, 0x01],
            NcType::Int => &[0x80, 0, 0, 0x01],
            NcType::Float => &[0x7C, 0xF0, 0, 0],
            NcType::Double => &[0x47, 0x9E, 0, 0, 0, 0, 0, 0],
            NcType::UByte => &[0xFF],
            NcType::UShort => &[0xFF, 0xFF],
            NcType::UInt => &[0xFF, 0xFF, 0xFF, 0xFF],
            NcType::Int64 => &[0x80, 0, 0, 0, 0, 0, 0, 0x02],
            NcType::UInt64 => &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE],
        }
    }
}

impl From<NcType> for nc3z_num::ElementType {
    fn from(ty: NcType) -> Self {
        match ty {
            NcType::Byte => Self::I8,
            NcType::Char | NcType::UByte => Self::U8,
            NcType::Short => Self::I16,
            NcType::UShort => Self::U16,
            NcType::Int => Self::I32,
            NcType::UInt => Self::U32,
            NcType::Int64 => Self::I64,
            NcType::UInt64 => Self::U64,
            NcType::Float => Self::F32,
            NcType::Double => Self::F64,
        }
    }
}

impl std::fmt::Display for NcType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Evaluates an expression in which a name stands for the Rust type of an external type. Text is `u8`.
///
/// ```
/// use nc3z_format::{NcType, with_type};
/// let size = |ty: NcType| with_type!(ty, T => size_of::<T>());
/// assert_eq!((size(NcType::Char), size(NcType::Double)), (1, 8));
/// ```
#[macro_export]
macro_rules! with_type {
    (@match $ty:expr, $name:ident, $what:expr; $($nc:ident $rust:ty),+) => {
        match $ty {
            $($crate::NcType::$nc => {
                type $name = $rust;
                $what
            })+
        }
    };
    ($ty:expr, $name:ident => $what:expr) => {
        $crate::with_type!(@match $ty, $name, $what;
            Byte i8, Char u8, UByte u8, Short i16, UShort u16, Int i32, UInt u32, Int64 i64, UInt64 u64, Float f32, Double f64)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_fill_has_the_size_of_the_type() {
        for t in NcType::ALL {
            assert_eq!(NcType::from_code(t.code()).unwrap(), t);
            assert_eq!(t.default_fill().len(), t.size());
        }
        assert!(NcType::from_code(0).is_err() && NcType::from_code(12).is_err());
    }
}
