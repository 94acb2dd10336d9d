//! Native values as the destination of a read.

use super::conversion::Conversion;
use super::convert::Element;
use crate::error::Result;
use crate::tile::{Destination, Lattice, Misfit, Pass, cut, of_tile};
use nc3z_format::plan::TilePlan;
use std::ops::Range;
use zerocopy::IntoBytes;

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

    /// Converts a lattice. Returns the first element that does not fit.
    fn take(&mut self, lattice: &Lattice, bytes: &[u8]) -> Option<Misfit> {
        if self.convert(lattice, bytes) { None } else { self.misfit(lattice, bytes) }
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

impl<T: Element> Destination for Typed<'_, T> {
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
        of_tile(tile, first, self.from.size, lens, &mut |lattice| {
            misfit = self.take(lattice, bytes);
            misfit.is_none()
        })?;
        Ok(misfit)
    }

    fn put_one(&mut self, src: u64, bytes: &[u8], dst: u64) -> bool {
        (self.from.one)(src, bytes, dst, self.out)
    }

    fn gather(&mut self, pass: Pass<'_>, bytes: &[u8]) -> Option<Misfit> {
        let mut misfit = None;
        pass(&mut |lattice| {
            misfit = self.take(lattice, bytes);
            misfit.is_none()
        });
        misfit
    }

    fn split<'a>(&'a mut self, lens: &[usize]) -> Vec<Box<dyn Destination + 'a>> {
        let from = self.from;
        cut(self.out, lens).map(|out| Box::new(Typed { out, from }) as Box<dyn Destination + 'a>).collect()
    }
}
