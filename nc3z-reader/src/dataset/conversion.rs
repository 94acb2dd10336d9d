//! The code for each pair of a stored and a wanted type. There are a hundred pairs, so this is a table of a
//! few small functions. The code that uses it is compiled once for each wanted type, or only once.

use super::convert::{Cast, Element, Stored};
use crate::tile::{Lattice, both, element};
use multiversion::multiversion;

/// The conversion of elements of one stored type to `T`.
pub(super) struct Conversion<T> {
    /// Bytes of a stored element.
    pub(super) size: usize,
    /// True if the stored type is `T` itself.
    pub(super) same: bool,
    /// Converts a lattice, which is inside the bytes and the output. Returns true if all values fit.
    pub(super) lattice: fn(&Lattice, &[u8], &mut [T]) -> bool,
    /// Converts element `src` of the bytes to position `dst`. Returns false if there is no such element or
    /// position, or the value does not fit.
    pub(super) one: fn(u64, &[u8], u64, &mut [T]) -> bool,
    /// The first value of the bytes, as text.
    pub(super) text: fn(&[u8]) -> String,
}

impl<T: Element> Conversion<T> {
    pub(super) fn new<S: Element>() -> &'static Conversion<T>
    where
        T: Cast<S>,
    {
        const {
            &Conversion {
                size: size_of::<S>(),
                same: S::TYPE as u8 == T::TYPE as u8,
                lattice: convert_lattice::<S, T>,
                one: convert_one::<S, T>,
                text: text::<S>,
            }
        }
    }
}

/// Uses the widest instructions of the processor.
#[multiversion(targets("x86_64+avx+avx2"))]
fn convert_lattice<S: Stored, T: Cast<S>>(lattice: &Lattice, bytes: &[u8], out: &mut [T]) -> bool {
    let mut all_fit = true;
    lattice.convert(bytes, out, |from: S::Bytes| {
        let (value, fits) = T::cast(S::from_be(from));
        all_fit &= fits;
        value
    });
    all_fit
}

fn convert_one<S: Stored, T: Cast<S>>(src: u64, bytes: &[u8], dst: u64, out: &mut [T]) -> bool {
    let Some((from, to)) = both(src, S::split(bytes), dst, out) else { return false };
    let (value, fits) = T::cast(S::from_be(*from));
    *to = value;
    fits
}

fn text<S: Stored>(bytes: &[u8]) -> String {
    S::from_be(*element::<S::Bytes>(bytes)).to_string()
}
