//! Where a read's elements go: bytes as they are, or Rust's numbers.

use super::lent::Walk;
use crate::dataset::convert::{Cast, Element, Stored};
use crate::error::Result;
use multiversion::multiversion;
use nc3z_format::Error as FormatError;
use nc3z_format::plan::copy::{copy_run, map_run};
use nc3z_format::plan::{CopyRun, TilePlan};
use std::any::TypeId;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An output of so many elements, and how tiles come into it.
pub(super) trait Dest: Send {
    /// Elements.
    fn len(&self) -> usize;

    /// The room of some elements, where a whole tile of big-endian bytes can go as it is; [`Dest::settle`] must follow.
    fn room(&mut self, at: Range<usize>) -> Option<&mut [u8]>;

    /// Brings bytes put into [`Dest::room`] into their final order.
    fn settle(&mut self, at: Range<usize>);

    /// Copies a tile's elements out of `bytes`, which begin with the tile's element `first`; tells the first that does
    /// not fit.
    fn put(&mut self, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<Option<Misfit>>;

    /// Copies element `src` of `bytes` to position `dst`; false where there is no such element or position, or the value does not fit.
    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool;

    /// Takes elements from where they lie in `bytes`, which hold the whole walk, from number `first` on until the output is full; tells the
    /// first that does not fit.
    fn gather(&mut self, walk: &Walk, first: usize, bytes: &[u8]) -> Option<Misfit>;

    /// Its consecutive parts, each with the given number of elements.
    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Dest + 'a>>;
}

/// An element whose value the wanted type does not have.
pub(super) struct Misfit {
    /// Its position in the output.
    pub(super) dst: u64,
    pub(super) value: String,
    /// The wanted type's name.
    pub(super) wanted: &'static str,
}

/// Big-endian bytes of elements of `N` bytes.
pub(super) struct AsStored<'o, const N: usize>(pub(super) &'o mut [[u8; N]]);

impl<const N: usize> Dest for AsStored<'_, N> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn room(&mut self, at: Range<usize>) -> Option<&mut [u8]> {
        Some(self.0[at].as_flattened_mut())
    }

    fn settle(&mut self, _: Range<usize>) {}

    fn put(&mut self, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<Option<Misfit>> {
        let elements = bytes.as_chunks::<N>().0;
        for run in tile.runs() {
            copy_run(&from(run, first)?, elements, self.0)?;
        }
        Ok(None)
    }

    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool {
        let Some((from, to)) = both(src, bytes.as_chunks::<N>().0, dst, self.0) else { return false };
        *to = *from;
        true
    }

    fn gather(&mut self, walk: &Walk, first: usize, bytes: &[u8]) -> Option<Misfit> {
        let mut rest = &mut *self.0;
        walk.rows(first, rest.len(), |row| {
            let (to, after) = std::mem::take(&mut rest).split_at_mut(row.len);
            rest = after;
            if walk.step == N.cast_signed() {
                to.as_flattened_mut().copy_from_slice(&bytes[row.at..][..row.len * N]);
            } else {
                strided(bytes, row.at, walk.step, to, |from: [u8; N]| from);
            }
            true
        });
        None
    }

    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Dest + 'a>> {
        let parts = cut(self.0, lens);
        parts.map(|part| Box::new(AsStored(part)) as Box<dyn Dest + 'a>).collect()
    }
}

/// Elements stored as `S`, wanted as `T`.
pub(super) struct Typed<'o, S, T> {
    out: &'o mut [T],
    stored: PhantomData<S>,
}

impl<'o, S: Stored, T: 'static> Typed<'o, S, T> {
    pub(super) fn new(out: &'o mut [T]) -> Self {
        Typed { out, stored: PhantomData }
    }

    fn is_same() -> bool {
        TypeId::of::<S>() == TypeId::of::<T>()
    }
}

impl<S: Stored, T: Element + Cast<S>> Dest for Typed<'_, S, T> {
    fn len(&self) -> usize {
        self.out.len()
    }

    fn room(&mut self, at: Range<usize>) -> Option<&mut [u8]> {
        Self::is_same().then(|| self.out[at].as_mut_bytes())
    }

    fn settle(&mut self, at: Range<usize>) {
        T::from_be_in_place(&mut self.out[at]);
    }

    fn put(&mut self, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<Option<Misfit>> {
        let elements = S::split(bytes);
        let all_fit = Cell::new(true);
        let convert = |bytes: S::Bytes| {
            let (value, fits) = T::cast(S::from_be(bytes));
            all_fit.set(all_fit.get() & fits);
            value
        };
        for run in tile.runs() {
            let run = from(run, first)?;
            match contiguous(&run, elements, self.out) {
                Some((from, to)) => all_fit.set(all_fit.get() & convert_all::<S, T>(from, to)),
                None => map_run(&run, elements, self.out, convert)?,
            }
        }
        Ok(if all_fit.get() { None } else { find_misfit::<S, T>(tile, first, elements) })
    }

    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool {
        let Some((from, to)) = both(src, S::split(bytes), dst, self.out) else { return false };
        let (value, fits) = T::cast(S::from_be(*from));
        *to = value;
        fits
    }

    fn gather(&mut self, walk: &Walk, first: usize, bytes: &[u8]) -> Option<Misfit> {
        let all_fit = gather_all::<S, T>(walk, first, bytes, self.out);
        if all_fit { None } else { find_unfit::<S, T>(walk, first, self.out.len(), bytes) }
    }

    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Dest + 'a>> {
        let parts = cut(self.out, lens);
        parts.map(|part| Box::new(Typed::<S, T>::new(part)) as Box<dyn Dest + 'a>).collect()
    }
}

/// An element and its place; nothing where one of the slices lacks it.
fn both<'s, 'o, S, T>(src: u64, from: &'s [S], dst: u64, to: &'o mut [T]) -> Option<(&'s S, &'o mut T)> {
    let (src, dst) = (usize::try_from(src).ok()?, usize::try_from(dst).ok()?);
    Some((from.get(src)?, to.get_mut(dst)?))
}

/// Both parts of a run whose elements follow one another; nothing where they do not, or where it leaves one of the slices.
fn contiguous<'s, 'o, S, T>(run: &CopyRun, src: &'s [S], dst: &'o mut [T]) -> Option<(&'s [S], &'o mut [T])> {
    let len = usize::try_from(run.len).ok().filter(|_| run.is_contiguous())?;
    let (at, to) = (usize::try_from(run.src).ok()?, usize::try_from(run.dst).ok()?);
    Some((src.get(at..at.checked_add(len)?)?, dst.get_mut(to..to.checked_add(len)?)?))
}

/// Converts elements one after another; tells whether all fit. By the widest instructions that the processor has.
#[multiversion(targets("x86_64+avx+avx2"))]
fn convert_all<S: Stored, T: Cast<S>>(from: &[S::Bytes], to: &mut [T]) -> bool {
    let mut all_fit = true;
    for (to, from) in to.iter_mut().zip(from) {
        let (value, fits) = T::cast(S::from_be(*from));
        *to = value;
        all_fit &= fits;
    }
    all_fit
}

/// Fills `to` with a walk's elements from number `first` on; tells whether all fit. By the widest instructions that the processor has.
#[multiversion(targets("x86_64+avx+avx2"))]
fn gather_all<S: Stored, T: Cast<S>>(walk: &Walk, first: usize, bytes: &[u8], to: &mut [T]) -> bool {
    let size = size_of::<S>();
    let mut all_fit = true;
    let mut rest = to;
    walk.rows(first, rest.len(), |row| {
        let (to, after) = std::mem::take(&mut rest).split_at_mut(row.len);
        rest = after;
        let mut convert = |from: S::Bytes| {
            let (value, fits) = T::cast(S::from_be(from));
            all_fit &= fits;
            value
        };
        if walk.step == size.cast_signed() {
            let from = S::split(&bytes[row.at..][..row.len * size]);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = convert(*from));
        } else {
            strided(bytes, row.at, walk.step, to, convert);
        }
        all_fit
    });
    all_fit
}

/// Converts elements that lie `step` bytes apart, the first at `at`.
#[inline]
fn strided<F: Copy + FromBytes + Immutable + KnownLayout + Unaligned, T>(
    bytes: &[u8],
    at: usize,
    step: isize,
    to: &mut [T],
    mut convert: impl FnMut(F) -> T,
) {
    let (size, every) = (size_of::<F>(), step.unsigned_abs());
    let reach = every * to.len().saturating_sub(1);
    let low = if step < 0 { at - reach } else { at };
    let span = &bytes[low..low + reach + size];
    // Each case apart, so that the compiler sees plain loops.
    if let (true, Ok(all)) =
        (every.is_multiple_of(size), <[F]>::ref_from_bytes(&span[..span.len() / size * size]))
    {
        let picked = all.iter().step_by(every / size);
        if step < 0 {
            to.iter_mut().rev().zip(picked).for_each(|(to, from)| *to = convert(*from));
        } else {
            to.iter_mut().zip(picked).for_each(|(to, from)| *to = convert(*from));
        }
        return;
    }
    let picked = span.chunks(every).map(|from| *element::<F>(from, 0));
    if step < 0 {
        to.iter_mut().rev().zip(picked).for_each(|(to, from)| *to = convert(from));
    } else {
        to.iter_mut().zip(picked).for_each(|(to, from)| *to = convert(from));
    }
}

/// The element that begins at `at`.
fn element<F: FromBytes + Immutable + KnownLayout + Unaligned>(bytes: &[u8], at: usize) -> &F {
    F::ref_from_prefix(&bytes[at..]).expect("a walk is made for bytes that hold it").0
}

/// The first element of a walk that does not fit, of so many from number `first` on.
fn find_unfit<S: Stored, T: Cast<S>>(walk: &Walk, first: usize, len: usize, bytes: &[u8]) -> Option<Misfit> {
    let mut before = first;
    let mut found = None;
    walk.rows(first, len, |row| {
        found = (0..row.len).find_map(|i| {
            let at = row.at.wrapping_add_signed(walk.step.wrapping_mul(i.cast_signed()));
            let value = S::from_be(*element::<S::Bytes>(bytes, at));
            (!T::cast(value).1).then(|| Misfit {
                dst: (before + i) as u64,
                value: value.to_string(),
                wanted: std::any::type_name::<T>(),
            })
        });
        before += row.len;
        found.is_none()
    });
    found
}

/// The first element of the tile that does not fit.
fn find_misfit<S: Stored, T: Cast<S>>(
    tile: &TilePlan<'_>,
    first: u64,
    elements: &[S::Bytes],
) -> Option<Misfit> {
    tile.runs().find_map(|run| {
        (0..run.len).find_map(|i| {
            let at = usize::try_from(run.src - first + i * run.src_step).ok()?;
            let value = S::from_be(*elements.get(at)?);
            let dst = run.dst.wrapping_add(run.dst_step.cast_unsigned().wrapping_mul(i));
            let wanted = std::any::type_name::<T>();
            (!T::cast(value).1).then(|| Misfit { dst, value: value.to_string(), wanted })
        })
    })
}

/// The same run in bytes that begin with the tile's element `first`.
fn from(run: CopyRun, first: u64) -> Result<CopyRun> {
    let src = run.src.checked_sub(first);
    let src =
        src.ok_or_else(|| FormatError::invalid(format!("copy run ({run}) in elements from {first} on")))?;
    Ok(CopyRun { src, ..run })
}

fn cut<'a, T>(mut rest: &'a mut [T], lens: &[usize]) -> impl Iterator<Item = &'a mut [T]> {
    lens.iter().map(move |&len| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(len);
        rest = after;
        part
    })
}
