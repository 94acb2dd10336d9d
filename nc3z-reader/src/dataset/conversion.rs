//! What is there for each pair of a stored and a wanted type: a hundred times, wherever numbers are read. So it is a table of few small
//! functions, and whoever uses it is there once for each wanted type, or once at all.

use super::convert::{Cast, Element, Stored};
use super::lattice::{Lattice, element};
use multiversion::multiversion;

/// Elements that are gathered, and then converted.
const PART: usize = 64;

/// How elements of one stored type become `T`.
pub(super) struct Conversion<T> {
    /// Bytes of a stored element.
    pub(super) size: usize,
    /// Whether the stored type is `T` itself.
    pub(super) same: bool,
    /// Converts a lattice whose rows are neighbours, in the bytes and in the output; tells whether all of it fits.
    rows: fn(&Lattice, &[u8], &mut [T]) -> bool,
    /// Converts element `src` of the bytes to position `dst`; false where there is no such element or position, or the value does not fit.
    pub(super) one: fn(u64, &[u8], u64, &mut [T]) -> bool,
    /// The value that the bytes begin with, as text.
    pub(super) text: fn(&[u8]) -> String,
}

impl<T: Element> Conversion<T> {
    /// From `S`.
    pub(super) fn of<S: Element>() -> &'static Conversion<T>
    where
        T: Cast<S>,
    {
        const {
            &Conversion {
                size: size_of::<S>(),
                same: S::TYPE as u8 == T::TYPE as u8,
                rows: convert_rows::<S, T>,
                one: convert_one::<S, T>,
                text: text::<S>,
            }
        }
    }

    /// Converts a lattice, which lies in the bytes and in the output; tells whether all of it fits.
    pub(super) fn lattice(&self, lattice: &Lattice, bytes: &[u8], out: &mut [T]) -> bool {
        if self.same {
            turn(lattice, bytes, out);
            return true;
        }
        let lattice = &lattice.in_long_rows();
        let Lattice { step, each, len, .. } = *lattice;
        if step == self.size.cast_signed() && each == 1 {
            return (self.rows)(lattice, bytes, out);
        }
        let mut all_fit = true;
        let (mut packed, mut made) = ([[0; 8]; PART], [T::default(); PART]);
        lattice.each_start(|mut at, mut to| {
            for begin in (0..len).step_by(PART) {
                let count = PART.min(len - begin);
                let row = Lattice::row(self.size, count);
                let packed = &mut packed.as_flattened_mut()[..count * self.size];
                match self.size {
                    1 => gather::<1>(bytes, at, step, packed),
                    2 => gather::<2>(bytes, at, step, packed),
                    4 => gather::<4>(bytes, at, step, packed),
                    _ => gather::<8>(bytes, at, step, packed),
                }
                if each == 1 {
                    all_fit &= (self.rows)(&row, packed, &mut out[to..]);
                    to += count;
                } else {
                    all_fit &= (self.rows)(&row, packed, &mut made);
                    for &value in &made[..count] {
                        out[to] = value;
                        to = to.wrapping_add_signed(each);
                    }
                }
                at = at.wrapping_add_signed(step.wrapping_mul(count.cast_signed()));
            }
        });
        all_fit
    }
}

/// Elements of `N` bytes, `step` bytes apart, as neighbours.
fn gather<const N: usize>(bytes: &[u8], mut at: usize, step: isize, packed: &mut [u8]) {
    for to in packed.as_chunks_mut::<N>().0 {
        to.copy_from_slice(&bytes[at..][..N]);
        at = at.wrapping_add_signed(step);
    }
}

/// By the widest instructions that the processor has.
#[multiversion(targets("x86_64+avx+avx2"))]
fn turn<T: Stored>(lattice: &Lattice, bytes: &[u8], out: &mut [T]) {
    lattice.convert(bytes, out, |from: T::Bytes| T::from_be(from));
}

/// By the widest instructions that the processor has.
#[multiversion(targets("x86_64+avx+avx2"))]
fn convert_rows<S: Stored, T: Cast<S>>(lattice: &Lattice, bytes: &[u8], out: &mut [T]) -> bool {
    let mut all_fit = true;
    lattice.each_start(|at, to| {
        let from = S::split(&bytes[at..][..lattice.len * size_of::<S>()]);
        for (to, from) in out[to..][..lattice.len].iter_mut().zip(from) {
            let (value, fits) = T::cast(S::from_be(*from));
            *to = value;
            all_fit &= fits;
        }
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

/// An element and its place; nothing where one of the slices lacks it.
#[inline]
pub(super) fn both<'s, 'o, S, T>(
    src: u64,
    from: &'s [S],
    dst: u64,
    to: &'o mut [T],
) -> Option<(&'s S, &'o mut T)> {
    let (src, dst) = (usize::try_from(src).ok()?, usize::try_from(dst).ok()?);
    Some((from.get(src)?, to.get_mut(dst)?))
}
