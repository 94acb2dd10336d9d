//! One number of one type as a number of another.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "this file consists of casts; next to each is the test whether the value fits"
)]

/// Conversion of one value from `S`.
pub trait Cast<S> {
    /// Returns the converted value, and whether it fits. A value that does not fit has no meaning.
    fn cast(from: S) -> (Self, bool)
    where
        Self: Sized;

    /// Converts by the rules of the netCDF C library (`libsrc/ncx.m4` of netcdf-c). They differ from [`cast`](Self::cast) for floats:
    ///
    /// * A float fits an integer if it is between the integer's least and greatest value before its fraction is
    ///   cut off: 127.5 does not fit a `byte`.
    /// * Infinities do not fit a float.
    /// * A NaN fits an integer. C does not define the result; here it is the one that x86-64 computes.
    fn cast_as_c(from: S) -> (Self, bool)
    where
        Self: Sized,
    {
        Self::cast(from)
    }
}

macro_rules! to_integer {
    ($($to:ty)+) => {$(
        to_integer!($to; i8 u8 i16 u16 i32 u32 i64 u64);
        float_to_integer!($to; f32 f64);
    )+};
    ($to:ty; $($from:ty)+) => {$(
        impl Cast<$from> for $to {
            #[inline]
            fn cast(from: $from) -> (Self, bool) {
                <$to>::try_from(from).map_or((0, false), |to| (to, true))
            }
        }
    )+};
}

macro_rules! float_to_integer {
    ($to:ty; $($from:ty)+) => {$(
        impl Cast<$from> for $to {
            #[inline]
            fn cast(from: $from) -> (Self, bool) {
                // Both bounds are powers of two (or zero), and so exact: where MAX rounds, it rounds up to one.
                let fits = from > <$to>::MIN as $from - 1.0 && from < <$to>::MAX as $from + 1.0;
                // If MIN - 1 rounds to MIN, MIN itself still fits.
                (from as $to, fits || from == <$to>::MIN as $from)
            }

            #[inline]
            fn cast_as_c(from: $from) -> (Self, bool) {
                let x = f64::from(from);
                if x.is_nan() {
                    return (<$to>::OF_NAN, true);
                }
                // If the greatest value rounds up to a power of two, that power fits, as in C.
                (x as $to, x >= <$to>::MIN as f64 && x <= <$to>::MAX as f64)
            }
        }
    )+};
}

macro_rules! to_float {
    ($($to:ty)+) => {$(
        to_float!($to; i8 u8 i16 u16 i32 u32 i64 u64);
    )+};
    ($to:ty; $($from:ty)+) => {$(
        impl Cast<$from> for $to {
            #[inline]
            fn cast(from: $from) -> (Self, bool) {
                (from as $to, true)
            }
        }
    )+};
}

to_integer! { i8 u8 i16 u16 i32 u32 i64 u64 }

/// What x86-64 makes of a NaN: it converts to a wider integer and cuts that off.
trait OfNan {
    const OF_NAN: Self;
}

macro_rules! of_nan {
    ($($integer:ty, $value:expr;)+) => {$(
        impl OfNan for $integer {
            const OF_NAN: Self = $value;
        }
    )+};
}

of_nan! { i8, 0; u8, 0; i16, 0; u16, 0; i32, i32::MIN; u32, 0; i64, i64::MIN; u64, 1 << 63; }
to_float! { f32 f64 }

impl Cast<f32> for f32 {
    #[inline]
    fn cast(from: f32) -> (Self, bool) {
        (from, true)
    }
}

impl Cast<f64> for f64 {
    #[inline]
    fn cast(from: f64) -> (Self, bool) {
        (from, true)
    }
}

impl Cast<f32> for f64 {
    #[inline]
    fn cast(from: f32) -> (Self, bool) {
        (f64::from(from), true)
    }
}

impl Cast<f64> for f32 {
    #[inline]
    fn cast(from: f64) -> (Self, bool) {
        let beyond = from.abs() > f64::from(f32::MAX) && from.is_finite();
        (from as f32, !beyond)
    }

    #[inline]
    fn cast_as_c(from: f64) -> (Self, bool) {
        (from as f32, from.is_nan() || from.abs() <= f64::from(f32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits<T: Cast<S>, S>(from: S) -> Option<T> {
        let (to, fits) = T::cast(from);
        fits.then_some(to)
    }

    #[test]
    fn integers_must_fit() {
        assert_eq!(fits::<u8, i8>(-1), None);
        assert_eq!(fits::<i8, u8>(127), Some(127));
        assert_eq!(fits::<i8, u8>(128), None);
        assert_eq!(fits::<i64, u64>(1 << 63), None);
        assert_eq!(fits::<u64, i64>(i64::MAX), Some(u64::MAX / 2));
    }

    #[test]
    fn floats_lose_their_fraction_and_must_then_fit() {
        assert_eq!(fits::<i8, f32>(127.9), Some(127));
        assert_eq!(fits::<i8, f32>(-128.9), Some(-128));
        assert_eq!(fits::<i8, f32>(128.0), None);
        assert_eq!(fits::<i8, f64>(-129.0), None);
        assert_eq!(fits::<u8, f64>(-0.9), Some(0));
        assert_eq!(fits::<u8, f64>(-1.0), None);
        assert_eq!(fits::<i32, f32>(2_147_483_648.0), None);
        assert_eq!(fits::<i32, f32>(-2_147_483_648.0), Some(i32::MIN));
        assert_eq!(fits::<i32, f64>(-2_147_483_648.5), Some(i32::MIN));
        assert_eq!(fits::<i32, f64>(-2_147_483_649.0), None);
        assert_eq!(fits::<i64, f64>(-9_223_372_036_854_775_808.0), Some(i64::MIN));
        assert_eq!(fits::<i64, f64>(-9_223_372_036_854_777_856.0), None);
        assert_eq!(fits::<i64, f64>(9_223_372_036_854_775_808.0), None);
        assert_eq!(fits::<u64, f64>(18_446_744_073_709_549_568.0), Some(18_446_744_073_709_549_568));
        assert_eq!(fits::<u64, f32>(18_446_744_073_709_551_616.0), None);
        assert_eq!(fits::<i16, f64>(f64::NAN), None);
        assert_eq!(fits::<i16, f64>(f64::NEG_INFINITY), None);
    }

    #[test]
    fn c_compares_floats_before_their_fraction_goes() {
        fn to<T: Cast<S>, S>(from: S) -> Option<T> {
            let (to, fits) = T::cast_as_c(from);
            fits.then_some(to)
        }
        assert_eq!(to::<i8, f32>(126.9), Some(126));
        assert_eq!(to::<i8, f32>(127.1), None);
        assert_eq!(to::<u8, f64>(-0.5), None);
        assert_eq!(to::<i32, f64>(2_147_483_647.5), None);
        assert_eq!(to::<i64, f64>(9_223_372_036_854_775_808.0), Some(i64::MAX));
        assert_eq!(to::<u64, f32>(18_446_744_073_709_551_616.0), Some(u64::MAX));
        assert_eq!(to::<i32, f64>(f64::NAN), Some(i32::MIN));
        assert_eq!(to::<f32, f64>(f64::INFINITY), None);
        assert!(to::<f32, f64>(f64::NAN).unwrap().is_nan());
        assert_eq!(to::<f32, i64>(i64::MAX), Some(9.223_372e18));
        assert_eq!(to::<i8, i16>(300), None);
        assert_eq!(to::<u64, i8>(-1), None);
    }

    #[test]
    fn doubles_beyond_the_largest_float_do_not_fit_but_infinities_do() {
        assert_eq!(fits::<f32, f64>(f64::from(f32::MAX)), Some(f32::MAX));
        assert_eq!(fits::<f32, f64>(3.402_823_5e38), None);
        assert_eq!(fits::<f32, f64>(1e39), None);
        assert_eq!(fits::<f32, f64>(f64::INFINITY), Some(f32::INFINITY));
        assert!(fits::<f32, f64>(f64::NAN).unwrap().is_nan());
        assert_eq!(fits::<f32, f64>(1e-300), Some(0.0));
    }
}
