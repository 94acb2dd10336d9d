//! A hyperslab of a variable into a buffer of some type.

use crate::convert::{self, Fit};
use crate::fault::Fault;
use nc3z_format::classic::Version;
use nc3z_format::selection::Hyperslab;
use nc3z_format::{NcType, with_type};
use nc3z_reader::{Element, Variable};
use std::ops::Range;
use zerocopy::FromBytes;

/// Bytes of stored elements that are converted at once, so that a conversion needs little memory beside the caller's.
const PIECE_LEN: u64 = 4 << 20;

/// A request whose hyperslab is inside its variable and whose type fits.
pub struct Read {
    variable: Variable,
    slab: Hyperslab,
    /// The type that the stored bytes are taken for.
    from: NcType,
    to: NcType,
    elements: usize,
    zeros: bool,
}

impl Read {
    /// Checks the type and counts the elements. The hyperslab is checked when it is read.
    ///
    /// # Errors
    /// Text as numbers or numbers as text; more elements than memory has addresses.
    pub fn new(variable: Variable, slab: Hyperslab, to: NcType) -> Result<Self, Fault> {
        let ty = variable.ty();
        if (ty == NcType::Char) != (to == NcType::Char) {
            return Err(Fault::Text);
        }
        let from = convert::source_type(ty, to, variable.source().header().version == Version::Cdf5);
        let elements = slab.count.iter().try_fold(1_u64, |all, count| all.checked_mul(*count));
        let elements = if slab.count.contains(&0) { Some(0) } else { elements };
        let fits = |n: &usize| n.checked_mul(8).is_some_and(|bytes| isize::try_from(bytes).is_ok());
        let elements = elements.and_then(|n| usize::try_from(n).ok()).filter(fits);
        Ok(Read { variable, slab, from, to, elements: elements.ok_or(Fault::TooLarge)?, zeros: false })
    }

    /// Elements that the classic file claims and does not hold are read as zeros, as the netCDF library reads them. Otherwise they are
    /// an error.
    #[must_use]
    pub fn with_zeros(mut self) -> Self {
        self.zeros = true;
        self
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Elements along each dimension.
    pub fn counts(&self) -> Option<Vec<usize>> {
        self.slab.count.iter().map(|count| usize::try_from(*count).ok()).collect()
    }

    /// Bytes of the buffer.
    pub fn len(&self) -> usize {
        // Read::new has multiplied by the largest size.
        self.elements * self.to.size()
    }

    /// Returns true if no element is asked for.
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// Reads into a buffer, which need not be aligned. Elements that do not fit are left as [`convert`] says, and all others are read.
    ///
    /// # Errors
    /// A buffer of another length; what the reader says.
    pub fn into_buffer(&self, out: &mut [u8]) -> Result<Fit, Fault> {
        if out.len() != self.len() {
            return Err(Fault::Buffer { needed: self.len() as u64, given: out.len() as u64 });
        }
        // The library asks nothing of the strides then; the reader does.
        if self.is_empty() {
            return Ok(Fit::All);
        }
        if self.from == self.to {
            match self.as_it_is(out) {
                Err(Fault::Reader(e)) if self.zeros && e.is_incomplete() => {}
                done => return done.map(|()| Fit::All),
            }
        }
        let mut fit = Fit::All;
        let mut stored = Vec::new();
        let most = (PIECE_LEN / self.from.size() as u64).max(1);
        pieces(&self.slab, 0..self.elements, most, &mut |slab, at| {
            stored.resize(at.len() * self.from.size(), 0);
            self.stored(slab, &mut stored)?;
            let out = &mut out[at.start * self.to.size()..at.end * self.to.size()];
            fit = fit.and(convert::convert(self.from, &stored, self.to, out));
            Ok(())
        })?;
        Ok(fit)
    }

    /// Reads into places of a buffer that `place` gives for each element, in elements of the buffer.
    ///
    /// # Errors
    /// As [`Read::into_buffer`].
    pub fn scattered(&self, out: &mut [u8], place: &mut dyn FnMut() -> usize) -> Result<Fit, Fault> {
        let mut fit = Fit::All;
        let mut stored = Vec::new();
        let (from, to) = (self.from.size(), self.to.size());
        let most = (PIECE_LEN / from as u64).max(1);
        pieces(&self.slab, 0..self.elements, most, &mut |slab, at| {
            stored.resize(at.len() * from, 0);
            self.stored(slab, &mut stored)?;
            for element in stored.chunks_exact(from) {
                // A place outside the address space is outside the buffer.
                let at = place().saturating_mul(to);
                let end = at.saturating_add(to);
                let given = out.len() as u64;
                let out = out.get_mut(at..end).ok_or(Fault::Buffer { needed: end as u64, given })?;
                fit = fit.and(convert::convert(self.from, element, self.to, out));
            }
            Ok(())
        })?;
        Ok(fit)
    }

    /// The stored bytes of a part of the request.
    fn stored(&self, slab: &Hyperslab, out: &mut [u8]) -> Result<(), Fault> {
        match self.variable.read_bytes_into(slab, out) {
            Err(e) if self.zeros && e.is_incomplete() => {}
            done => return Ok(done?),
        }
        let (shape, size) = (self.variable.shape(), self.from.size());
        let present = self.variable.layout().present;
        pieces_by(slab, 0..out.len() / size, &mut |slab, at| {
            let (first, last) = (number(shape, slab, false), number(shape, slab, true));
            let out = &mut out[at.start * size..at.end * size];
            if first >= present {
                out.fill(0);
            } else if last < present {
                self.variable.read_bytes_into(slab, out)?;
            } else {
                return Ok(false);
            }
            Ok(true)
        })
    }

    fn as_it_is(&self, out: &mut [u8]) -> Result<(), Fault> {
        match self.to {
            NcType::Byte | NcType::Char | NcType::UByte => {
                Ok(self.variable.read_bytes_into(&self.slab, out)?)
            }
            to => with_type!(to, T => self.native::<T>(out)),
        }
    }

    fn native<T: Element>(&self, out: &mut [u8]) -> Result<(), Fault> {
        if let Ok(out) = <[T]>::mut_from_bytes(out) {
            return Ok(self.variable.read_into(&self.slab, out)?);
        }
        // Not aligned.
        self.variable.read_bytes_into(&self.slab, out)?;
        convert::to_native(size_of::<T>(), out);
        Ok(())
    }
}

/// Cuts a hyperslab into pieces of at most `most` elements, in the order of the output.
fn pieces(
    slab: &Hyperslab,
    at: Range<usize>,
    most: u64,
    read: &mut dyn FnMut(&Hyperslab, Range<usize>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    pieces_by(slab, at, &mut |slab, at| {
        let small = at.len() as u64 <= most;
        if small { read(slab, at).map(|()| true) } else { Ok(false) }
    })
}

/// Gives a hyperslab to `take`, or its halves, and so on, until `take` says that it took each. Single elements are taken.
fn pieces_by(
    slab: &Hyperslab,
    at: Range<usize>,
    take: &mut dyn FnMut(&Hyperslab, Range<usize>) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    if at.is_empty() || take(slab, at.clone())? {
        return Ok(());
    }
    let Some(d) = slab.count.iter().position(|count| *count > 1) else { return Ok(()) };
    let half = slab.count[d] / 2;
    let (mut first, mut second) = (slab.clone(), slab.clone());
    first.count[d] = half;
    second.count[d] -= half;
    second.start[d] += half * slab.stride[d].unsigned_abs();
    let each = at.len() as u64 / slab.count[d];
    let middle = at.start + usize::try_from(half * each).expect("less than all elements");
    pieces_by(&first, at.start..middle, take)?;
    pieces_by(&second, middle..at.end, take)
}

/// The number of a hyperslab's first or last element in the flattened variable. Strides are positive.
fn number(shape: &[u64], slab: &Hyperslab, last: bool) -> u64 {
    shape.iter().enumerate().fold(0, |number: u64, (d, len)| {
        let along = if last { (slab.count[d] - 1) * slab.stride[d].unsigned_abs() } else { 0 };
        number.saturating_mul(*len).saturating_add(slab.start[d] + along)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_hyperslab_in_order() {
        for most in [1, 2, 3, 7, 100] {
            let slab = Hyperslab::new([1, 0, 2], [3, 1, 5], [2, 1, 3]).unwrap();
            let mut found = Vec::new();
            pieces(&slab, 0..15, most, &mut |piece, at| {
                assert!(at.len() as u64 <= most && at.start == found.len());
                for i in 0..piece.count[0] {
                    for k in 0..piece.count[2] {
                        found.push((piece.start[0] + 2 * i, piece.start[2] + 3 * k));
                    }
                }
                assert_eq!(found.len(), at.end);
                Ok(())
            })
            .unwrap();
            let expected: Vec<_> = (0..3).flat_map(|i| (0..5).map(move |k| (1 + 2 * i, 2 + 3 * k))).collect();
            assert_eq!(found, expected, "{most}");
        }
    }
}
