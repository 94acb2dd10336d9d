//! Converts big-endian bytes to native numbers like the netCDF C library, by the rules of [`Cast::cast_as_c`]. All
//! elements are converted; a range error is returned at the end.
//!
//! A number that does not fit becomes the default fill value of the requested type. That is the behaviour
//! of the library built with `ERANGE_FILL`, as for its Python package; other builds leave such elements
//! unchanged, or let them wrap.

use nc3z_format::{NcType, with_type};
use nc3z_reader::Element;
use nc3z_reader::convert::Cast;

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
    /// Returns the result of two conversions: the worse one.
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
    if from == NcType::Char {
        let len = bytes.len().min(out.len());
        out[..len].copy_from_slice(&bytes[..len]);
        return Fit::All;
    }
    with_type!(from, S => with_type!(to, T => convert_each::<S, T>(bytes, out)))
}

fn convert_each<S: Element, T: Element + Cast<S>>(bytes: &[u8], out: &mut [u8]) -> Fit {
    let fill = T::split(T::TYPE.default_fill()).first().map_or_else(T::default, |fill| T::from_be(*fill));
    let mut all = true;
    for (from, place) in S::split(bytes).iter().zip(out.chunks_exact_mut(size_of::<T>())) {
        let (value, fits) = T::cast_as_c(S::from_be(*from));
        all &= fits;
        place.copy_from_slice(if fits { value } else { fill }.as_bytes());
    }
    if all { Fit::All } else { Fit::NotAll }
}

/// Brings big-endian elements of `size` bytes each into native order, in place.
pub(crate) fn to_native(size: usize, bytes: &mut [u8]) {
    if cfg!(target_endian = "little") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_byte_is_what_its_reader_takes_it_for_before_cdf5() {
        assert_eq!(source_type(NcType::Byte, NcType::UByte, false), NcType::UByte);
        assert_eq!(source_type(NcType::Byte, NcType::UByte, true), NcType::Byte);
        assert_eq!(source_type(NcType::Byte, NcType::Short, false), NcType::Byte);
    }
}
