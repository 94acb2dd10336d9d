//! From external types to Rust's: the conversions of the netCDF API.
//!
//! * Any numeric type is read as any other. Integers must fit; a float read as an integer loses its fraction, as in
//!   C, and must then fit; integers become the nearest float; a double beyond the largest float does not fit one.
//!   Infinities and NaN pass between floats and fit no integer.
//! * `char` is text: it is read as `u8` and as nothing else.
//! * `byte` read as `u8` is checked in CDF-5 only. The older formats have no unsigned type: the reader
//!   decides whether a `byte` has a sign.
//!
//! A value that does not fit is an error that names it and its index; the netCDF library says `NC_ERANGE`. The library's own rules
//! are those of [`Cast::cast_as_c`].

mod cast;

pub use cast::Cast;

use multiversion::multiversion;
use nc3z_format::NcType;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A Rust type that elements are read as: `i8` to `u64`, `f32`, `f64`.
///
/// Sealed: the format defines the conversions.
pub trait Element:
    Stored
    + IntoBytes
    + FromBytes
    + Immutable
    + Cast<i8>
    + Cast<u8>
    + Cast<i16>
    + Cast<u16>
    + Cast<i32>
    + Cast<u32>
    + Cast<i64>
    + Cast<u64>
    + Cast<f32>
    + Cast<f64>
{
    /// The external type that this is read from without conversion.
    const TYPE: NcType;

    /// Turns elements that hold big-endian bytes into native ones, in place.
    fn from_be_in_place(elements: &mut [Self]);
}

/// A type that is big-endian in files.
pub trait Stored: sealed::Sealed + Copy + Default + Send + Sync + std::fmt::Display + 'static {
    /// Its bytes: an array.
    type Bytes: Copy + FromBytes + Immutable + KnownLayout + Unaligned;

    /// One element.
    fn from_be(bytes: Self::Bytes) -> Self;

    /// The bytes as elements. An incomplete element at the end is omitted.
    fn split(bytes: &[u8]) -> &[Self::Bytes];
}

mod sealed {
    /// Limits the traits to the ten types.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($rust:ty, $nc:ident, $swap:expr;)+) => {$(
        impl sealed::Sealed for $rust {}

        impl Stored for $rust {
            type Bytes = [u8; size_of::<$rust>()];

            #[inline]
            fn from_be(bytes: Self::Bytes) -> Self {
                <$rust>::from_be_bytes(bytes)
            }

            fn split(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }
        }

        impl Element for $rust {
            const TYPE: NcType = NcType::$nc;

            fn from_be_in_place(elements: &mut [Self]) {
                let swap: fn(&mut [Self]) = $swap;
                swap(elements);
            }
        }
    )+};
}

elements! {
    i8, Byte, |_| ();
    u8, UByte, |_| ();
    i16, Short, turn_all;
    u16, UShort, turn_all;
    i32, Int, turn_all;
    u32, UInt, turn_all;
    i64, Int64, turn_all;
    u64, UInt64, turn_all;
    // As integers: a float that is not in native order yet may be any NaN, and moving a float may change the
    // bits of a NaN.
    f32, Float, |x| <[u32]>::mut_from_bytes(x.as_mut_bytes()).map_or((), u32::from_be_in_place);
    f64, Double, |x| <[u64]>::mut_from_bytes(x.as_mut_bytes()).map_or((), u64::from_be_in_place);
}

/// Brings big-endian numbers into native order, by the widest instructions that the processor has.
#[multiversion(targets("x86_64+avx+avx2"))]
fn turn_all<T: Turn>(elements: &mut [T]) {
    for x in elements {
        *x = x.turned();
    }
}

/// Integers that may have another byte order.
trait Turn: Copy {
    fn turned(self) -> Self;
}

macro_rules! turn {
    ($($int:ty),+) => {$(
        impl Turn for $int {
            #[inline]
            fn turned(self) -> Self {
                <$int>::from_be(self)
            }
        }
    )+};
}
turn!(i16, u16, i32, u32, i64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_turned_in_place() {
        let mut floats =
            [f32::from_bits(1.5_f32.to_bits().to_be()), f32::from_bits(0x0100_807F_u32.to_be().swap_bytes())];
        f32::from_be_in_place(&mut floats);
        assert_eq!(floats[0].to_bits(), 1.5_f32.to_bits());
        assert_eq!(floats[1].to_bits(), u32::from_be(0x0100_807F), "a signalling NaN keeps its bits");
        let mut shorts = [0x0102_i16.to_be()];
        i16::from_be_in_place(&mut shorts);
        assert_eq!(shorts, [0x0102]);
        assert_eq!(f64::split(&[0; 17]).len(), 2);
    }
}
