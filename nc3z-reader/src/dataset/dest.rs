//! The outputs of a read: stored bytes, or Rust's numbers.

use super::conversion::{Conversion, both};
use super::convert::Element;
use super::lattice::{self, Lattice, from};
use super::lent::Walk;
use crate::error::Result;
use nc3z_format::plan::TilePlan;
use nc3z_format::plan::copy::copy_run;
use std::ops::Range;
use zerocopy::IntoBytes;

/// An output of [`Dest::len`] elements, and the ways to write tiles into it.
pub(super) trait Dest: Send {
    /// The number of elements.
    fn len(&self) -> usize;

    /// The memory of some elements, if a whole tile of big-endian bytes can be put there unchanged.
    /// [`Dest::settle`] must follow.
    fn room(&mut self, at: Range<usize>) -> Option<&mut [u8]>;

    /// Brings bytes put into [`Dest::room`] into their final order.
    fn settle(&mut self, at: Range<usize>);

    /// Copies a tile's elements out of `bytes`, which begin with the tile's element `first`. Returns the
    /// first element that does not fit.
    fn put(&mut self, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<Option<Misfit>>;

    /// Copies element `src` of `bytes` to position `dst`. Returns false if there is no such element or
    /// position, or the value does not fit.
    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool;

    /// Copies elements of `bytes`, which hold the whole walk, from number `first` on until the output is
    /// full. Returns the first element that does not fit.
    fn gather(&mut self, walk: &Walk, first: usize, bytes: &[u8]) -> Option<Misfit>;

    /// Its consecutive parts, each with the given number of elements.
    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Dest + 'a>>;
}

/// An element whose value does not fit the wanted type.
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
        walk.lattices(first, self.0.len(), &mut |lattice| {
            if lattice.step == N.cast_signed() {
                lattice.each_row(bytes, self.0, |from: &[[u8; N]], to| to.copy_from_slice(from));
            } else {
                lattice.convert(bytes, self.0, |from: [u8; N]| from);
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

/// Elements wanted as `T`.
pub(super) struct Typed<'o, T: 'static> {
    pub(super) out: &'o mut [T],
    pub(super) from: &'static Conversion<T>,
}

impl<T: Element> Typed<'_, T> {
    /// Converts a lattice. Returns true if all values fit.
    fn convert(&mut self, lattice: &Lattice, bytes: &[u8]) -> bool {
        // For a single element, detecting the processor's features costs more than it saves.
        if (lattice.len, lattice.rows, lattice.planes) == (1, 1, 1) {
            return (self.from.one)(0, &bytes[lattice.at..], lattice.to as u64, self.out);
        }
        (self.from.lattice)(lattice, bytes, self.out)
    }

    /// The first element of a lattice that does not fit.
    fn misfit(&self, lattice: &Lattice, bytes: &[u8]) -> Option<Misfit> {
        lattice.places().find_map(|(at, dst)| {
            let from = &bytes[at..];
            let fits = (self.from.one)(0, from, 0, &mut [T::default()]);
            let wanted = std::any::type_name::<T>();
            (!fits).then(|| Misfit { dst: dst as u64, value: (self.from.text)(from), wanted })
        })
    }
}

impl<T: Element> Dest for Typed<'_, T> {
    fn len(&self) -> usize {
        self.out.len()
    }

    fn room(&mut self, at: Range<usize>) -> Option<&mut [u8]> {
        self.from.same.then(|| self.out[at].as_mut_bytes())
    }

    fn settle(&mut self, at: Range<usize>) {
        T::from_be_in_place(&mut self.out[at]);
    }

    fn put(&mut self, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<Option<Misfit>> {
        // Sizes are powers of two.
        let lens = (bytes.len() >> self.from.size.ilog2(), self.out.len());
        let mut misfit = None;
        lattice::of_tile(tile, first, self.from.size, lens, &mut |lattice| {
            let all_fit = self.convert(lattice, bytes);
            if !all_fit {
                misfit = self.misfit(lattice, bytes);
            }
            all_fit
        })?;
        Ok(misfit)
    }

    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool {
        (self.from.one)(src, bytes, dst, self.out)
    }

    fn gather(&mut self, walk: &Walk, first: usize, bytes: &[u8]) -> Option<Misfit> {
        let mut misfit = None;
        walk.lattices(first, self.out.len(), &mut |lattice| {
            let all_fit = self.convert(lattice, bytes);
            if !all_fit {
                misfit = self.misfit(lattice, bytes);
            }
            all_fit
        });
        misfit.map(|misfit| Misfit { dst: first as u64 + misfit.dst, ..misfit })
    }

    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Dest + 'a>> {
        let from = self.from;
        cut(self.out, lens).map(|out| Box::new(Typed { out, from }) as Box<dyn Dest + 'a>).collect()
    }
}

fn cut<'a, T>(mut rest: &'a mut [T], lens: &[usize]) -> impl Iterator<Item = &'a mut [T]> {
    lens.iter().map(move |&len| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(len);
        rest = after;
        part
    })
}
