//! Converts big-endian bytes to native numbers like the netCDF C library (`libsrc/ncx.m4` of netcdf-c). All
//! elements are converted; a range error is returned at the end.
//!
//! * A number that does not fit becomes the default fill value of the requested type. That is the behaviour
//!   of the library built with `ERANGE_FILL`, as for its Python package; other builds leave such elements
//!   unchanged, or let them wrap.
//! * A float fits an integer if it is between the integer's least and greatest value before its fraction is
//!   cut off: 127.5 does not fit a `byte`.
//! * A double beyond the largest float does not fit one; nor do infinities.
//! * A NaN counts as fitting. C does not define the resulting integer: here it is that of x86-64.
//!
//! [`nc3z_reader::convert`] has the rules of the Rust API: it stops at the first number that does not fit.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "casts are what this file is for"
)]

use nc3z_format::NcType;

/// The result of a conversion: all elements fit the wanted type, or some do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Fit {
    /// All fit.
    All,
    /// One or more did not: `NC_ERANGE`.
    NotAll,
}

impl Fit {
    /// Of both.
    pub fn and(self, other: Fit) -> Fit {
        if self == Fit::All { other } else { self }
    }
}

/// The type that bytes of a stored type are taken for. Before CDF-5 there was no unsigned type, and a `byte` is what its reader takes
/// it for.
pub fn source_type(stored: NcType, wanted: NcType, is_cdf5: bool) -> NcType {
    match (stored, wanted) {
        (NcType::Byte, NcType::UByte) if !is_cdf5 => NcType::UByte,
        _ => stored,
    }
}

/// Converts elements of one numeric type to another; text is copied. Elements that lack room in `out` are left out.
pub fn convert(from: NcType, bytes: &[u8], to: NcType, out: &mut [u8]) -> Fit {
    match from {
        NcType::Char => {
            let len = bytes.len().min(out.len());
            out[..len].copy_from_slice(&bytes[..len]);
            Fit::All
        }
        NcType::Byte => convert_from::<i8>(bytes, to, out),
        NcType::UByte => convert_from::<u8>(bytes, to, out),
        NcType::Short => convert_from::<i16>(bytes, to, out),
        NcType::UShort => convert_from::<u16>(bytes, to, out),
        NcType::Int => convert_from::<i32>(bytes, to, out),
        NcType::UInt => convert_from::<u32>(bytes, to, out),
        NcType::Int64 => convert_from::<i64>(bytes, to, out),
        NcType::UInt64 => convert_from::<u64>(bytes, to, out),
        NcType::Float => convert_from::<f32>(bytes, to, out),
        NcType::Double => convert_from::<f64>(bytes, to, out),
    }
}

fn convert_from<S>(bytes: &[u8], to: NcType, out: &mut [u8]) -> Fit
where
    S: Number
        + To<i8>
        + To<u8>
        + To<i16>
        + To<u16>
        + To<i32>
        + To<u32>
        + To<i64>
        + To<u64>
        + To<f32>
        + To<f64>,
{
    match to {
        NcType::Byte => convert_each::<S, i8>(bytes, out),
        NcType::Char | NcType::UByte => convert_each::<S, u8>(bytes, out),
        NcType::Short => convert_each::<S, i16>(bytes, out),
        NcType::UShort => convert_each::<S, u16>(bytes, out),
        NcType::Int => convert_each::<S, i32>(bytes, out),
        NcType::UInt => convert_each::<S, u32>(bytes, out),
        NcType::Int64 => convert_each::<S, i64>(bytes, out),
        NcType::UInt64 => convert_each::<S, u64>(bytes, out),
        NcType::Float => convert_each::<S, f32>(bytes, out),
        NcType::Double => convert_each::<S, f64>(bytes, out),
    }
}

fn convert_each<S: Number + To<T>, T: Number>(bytes: &[u8], out: &mut [u8]) -> Fit {
    let mut all = true;
    for (from, place) in bytes.chunks_exact(size_of::<S>()).zip(out.chunks_exact_mut(size_of::<T>())) {
        let value = S::from_be(from).to();
        all &= value.is_some();
        value.unwrap_or(T::FILL).put(place);
    }
    if all { Fit::All } else { Fit::NotAll }
}

/// Brings big-endian elements of `size` bytes each into native order, in place.
pub(crate) fn to_native(size: usize, bytes: &mut [u8]) {
    if cfg!(target_endian = "little") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

/// A number that stands big-endian in files and natively in the caller's memory.
trait Number: Copy {
    /// `NC_FILL_BYTE` and so on.
    const FILL: Self;

    fn from_be(bytes: &[u8]) -> Self;
    fn put(self, place: &mut [u8]);
}

/// C's conversion; nothing for what does not fit.
trait To<T> {
    fn to(self) -> Option<T>;
}

macro_rules! numbers {
    ($($t:ty, $fill:expr;)+) => {$(
        impl Number for $t {
            const FILL: $t = $fill;

            #[inline]
            fn from_be(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(0 as $t, <$t>::from_be_bytes)
            }

            #[inline]
            #[expect(clippy::host_endian_bytes, reason = "the caller's memory is native")]
            fn put(self, place: &mut [u8]) {
                place.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )+};
}
numbers! {
    i8, -127;
    u8, 255;
    i16, -32_767;
    u16, 65_535;
    i32, -2_147_483_647;
    u32, 4_294_967_295;
    i64, -9_223_372_036_854_775_806;
    u64, 18_446_744_073_709_551_614;
    f32, 9.969_21e36;
    f64, 9.969_209_968_386_869e36;
}

macro_rules! integers {
    ($($from:ty)+) => {$(
        integers!($from; i8 u8 i16 u16 i32 u32 i64 u64);
        integers!(float $from; f32 f64);
    )+};
    ($from:ty; $($to:ty)+) => {$(
        impl To<$to> for $from {
            #[inline]
            fn to(self) -> Option<$to> {
                <$to>::try_from(self).ok()
            }
        }
    )+};
    (float $from:ty; $($to:ty)+) => {$(
        impl To<$to> for $from {
            #[inline]
            fn to(self) -> Option<$to> {
                Some(self as $to)
            }
        }
    )+};
}
integers! { i8 u8 i16 u16 i32 u32 i64 u64 }

macro_rules! floats {
    ($($from:ty)+) => {$(
        // x86-64 converts to a wider integer and cuts that off.
        floats!($from; i8 => 0, u8 => 0, i16 => 0, u16 => 0, i32 => i32::MIN, u32 => 0, i64 => i64::MIN, u64 => 1 << 63);
    )+};
    ($from:ty; $($to:ty => $nan:expr),+) => {$(
        impl To<$to> for $from {
            #[inline]
            fn to(self) -> Option<$to> {
                let x = f64::from(self);
                if x.is_nan() {
                    return Some($nan);
                }
                // Where the greatest value rounds up to a power of two, that counts as fitting, as it does in C.
                let fits = x >= <$to>::MIN as f64 && x <= <$to>::MAX as f64;
                fits.then_some(x as $to)
            }
        }
    )+};
}
floats! { f32 f64 }

impl To<f32> for f32 {
    #[inline]
    fn to(self) -> Option<f32> {
        Some(self)
    }
}

impl To<f64> for f64 {
    #[inline]
    fn to(self) -> Option<f64> {
        Some(self)
    }
}

impl To<f64> for f32 {
    #[inline]
    fn to(self) -> Option<f64> {
        Some(f64::from(self))
    }
}

impl To<f32> for f64 {
    #[inline]
    fn to(self) -> Option<f32> {
        let beyond = self.abs() > f64::from(f32::MAX);
        (!beyond).then_some(self as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to<S: To<T>, T>(from: S) -> Option<T> {
        from.to()
    }

    #[test]
    fn floats_are_compared_before_their_fraction_goes() {
        assert_eq!(to::<f32, i8>(126.9), Some(126));
        assert_eq!(to::<f32, i8>(127.1), None);
        assert_eq!(to::<f64, u8>(-0.5), None);
        assert_eq!(to::<f64, i32>(2_147_483_647.5), None);
        assert_eq!(to::<f64, i64>(9_223_372_036_854_775_808.0), Some(i64::MAX));
        assert_eq!(to::<f32, u64>(18_446_744_073_709_551_616.0), Some(u64::MAX));
        assert_eq!(to::<f64, i32>(f64::NAN), Some(i32::MIN));
        assert_eq!(to::<f64, f32>(f64::INFINITY), None);
        assert!(to::<f64, f32>(f64::NAN).unwrap().is_nan());
        assert_eq!(to::<i64, f32>(i64::MAX), Some(9.223_372e18));
        assert_eq!(to::<i16, i8>(300), None);
        assert_eq!(to::<i8, u64>(-1), None);
    }

    #[test]
    fn fill_values_stand_for_what_does_not_fit_and_the_rest_is_converted() {
        let stored: Vec<u8> = [1.0_f32, 1e9, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        let mut out = [9_u8; 6];
        assert_eq!(convert(NcType::Float, &stored, NcType::Short, &mut out), Fit::NotAll);
        let shorts: Vec<i16> =
            out.as_chunks()
                .0
                .iter()
                .map(|b| {
                    if cfg!(target_endian = "little") {
                        i16::from_le_bytes(*b)
                    } else {
                        i16::from_be_bytes(*b)
                    }
                })
                .collect();
        assert_eq!(shorts, [1, -32_767, -2]);
        assert_eq!(convert(NcType::Float, &stored, NcType::Int, &mut [0; 12]), Fit::All);
    }

    #[test]
    fn fill_values_are_those_of_the_format() {
        for ty in NcType::ALL.into_iter().filter(|ty| *ty != NcType::Char) {
            // The greatest double fits no other type; a NaN as a double is none of these.
            let stored = if ty == NcType::Double { continue } else { f64::MAX.to_be_bytes() };
            let (mut out, mut fill) = (vec![0; ty.size()], vec![0; ty.size()]);
            assert_eq!(convert(NcType::Double, &stored, ty, &mut out), Fit::NotAll);
            assert_eq!(convert(ty, ty.default_fill(), ty, &mut fill), Fit::All);
            assert_eq!(out, fill, "{ty}");
        }
    }

    #[test]
    fn a_byte_is_what_its_reader_takes_it_for_before_cdf5() {
        assert_eq!(source_type(NcType::Byte, NcType::UByte, false), NcType::UByte);
        assert_eq!(source_type(NcType::Byte, NcType::UByte, true), NcType::Byte);
        assert_eq!(source_type(NcType::Byte, NcType::Short, false), NcType::Byte);
    }
}
