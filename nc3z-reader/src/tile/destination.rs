//! Where a read puts elements.

use super::lattice::{Lattice, both, from};
use crate::error::{Error, Result};
use nc3z_format::plan::TilePlan;
use nc3z_format::plan::copy::copy_run;
use std::ops::Range;

/// An output of [`Destination::len`] elements, and the ways to put tiles into it.
pub(crate) trait Destination: Send {
    /// The number of elements.
    fn len(&self) -> usize;

    /// The memory of some elements, if a whole tile of big-endian bytes can be put there unchanged.
    /// [`Destination::settle`] must follow.
    fn room(&mut self, at: Range<usize>) -> Option<&mut [u8]>;

    /// Brings bytes put into [`Destination::room`] into their final order.
    fn settle(&mut self, at: Range<usize>);

    /// Copies a tile's elements out of `bytes`, which begin with the tile's element `first`. Returns the
    /// first element that does not fit.
    fn put(&mut self, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<Option<Misfit>>;

    /// Copies element `src` of `bytes` to position `dst`. Returns false if there is no such element or
    /// position, or the value does not fit.
    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool;

    /// Copies the elements of `bytes` that are in lattices, which `pass` passes until the callback stops it.
    /// Returns the first element that does not fit.
    fn gather(&mut self, pass: Pass<'_>, bytes: &[u8]) -> Option<Misfit>;

    /// Its consecutive parts, each with the given number of elements.
    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Destination + 'a>>;
}

/// Passes lattices to a callback until it returns false.
pub(crate) type Pass<'p> = &'p dyn Fn(&mut dyn FnMut(&Lattice) -> bool);

/// An element whose value does not fit the wanted type.
pub(crate) struct Misfit {
    /// Its position in the output.
    pub(crate) dst: u64,
    pub(crate) value: String,
    pub(crate) wanted: &'static str,
}

/// The reason why a read stopped.
pub(crate) enum Failure {
    Misfit(Misfit),
    Error(Error),
}

impl Failure {
    /// The failure of an output that is a part of another and begins `before` elements later.
    pub(super) fn moved(self, before: u64) -> Self {
        match self {
            Failure::Misfit(misfit) => Failure::Misfit(Misfit { dst: misfit.dst + before, ..misfit }),
            Failure::Error(error) => Failure::Error(error),
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(error.into())
    }
}

/// Big-endian bytes of elements of `N` bytes.
pub(crate) struct AsStored<'o, const N: usize>(pub(crate) &'o mut [[u8; N]]);

impl<const N: usize> Destination for AsStored<'_, N> {
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

    fn gather(&mut self, pass: Pass<'_>, bytes: &[u8]) -> Option<Misfit> {
        pass(&mut |lattice| {
            if lattice.step == N.cast_signed() {
                lattice.each_row(bytes, self.0, |from: &[[u8; N]], to| to.copy_from_slice(from));
            } else {
                lattice.convert(bytes, self.0, |from: [u8; N]| from);
            }
            true
        });
        None
    }

    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Destination + 'a>> {
        let parts = cut(self.0, lens);
        parts.map(|part| Box::new(AsStored(part)) as Box<dyn Destination + 'a>).collect()
    }
}

/// Consecutive parts of these lengths.
pub(crate) fn cut<'a, T>(mut rest: &'a mut [T], lens: &[usize]) -> impl Iterator<Item = &'a mut [T]> {
    lens.iter().map(move |&len| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(len);
        rest = after;
        part
    })
}

/// A position in the output, which is in memory. The output has been compared with the plan.
pub(crate) fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("a position in the output")
}
