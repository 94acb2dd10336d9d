//! Requests to a variable whose bytes are mapped into memory. They are converted in one pass, without tiles.

use super::read::unfit;
use super::source::ArraySource;
use crate::error::Result;
use crate::parallel;
use crate::tile::{Destination, Lattice, Misfit, SHARES};
use nc3z_format::classic::{VarId, VarLayout};
use nc3z_format::selection::Hyperslab;

/// Bytes that the processor's cache loads for a single element. Elements further apart than this cost as much
/// as this many bytes.
const CACHE_LINE: usize = 64;

/// A conversion of at least this many bytes uses several threads. Waking them takes as long as converting some hundred
/// KiB on an idle machine, and much longer on a busy one.
const PARALLEL_FROM: usize = 16 << 20;

/// Smallest share in bytes. Shares of equal length finish at about the same time if each thread has several.
const SHARE_LEN: usize = 2 << 20;

/// A hyperslab as places in a variable's bytes, in order of the output. The bytes contain all its elements.
pub(super) struct Walk {
    /// Byte of the first element.
    first: usize,
    /// The outer axes, outermost first, each of at least 2 elements.
    outer: Vec<Axis>,
    /// Elements along the innermost axis, at least 1.
    pub(super) row: usize,
    /// Bytes from one element of a row to the next.
    pub(super) step: isize,
}

/// The number of elements along an axis, and the bytes from one to the next.
type Axis = (usize, isize);

impl Walk {
    /// The walk of a hyperslab in bytes that begin with the variable's first element. `None` if the hyperslab
    /// exceeds the variable or these bytes, or selects no element.
    fn new(v: &VarLayout, len: usize, slab: &Hyperslab) -> Option<Walk> {
        let selection = slab.resolve(&v.shape).ok()?;
        if selection.elements() == 0 {
            return None;
        }
        let size = v.element_size();
        let (mut first, mut last, mut width) = (0_u64, size, size);
        let mut axes: Vec<(usize, isize)> = Vec::with_capacity(slab.rank());
        for (d, line) in selection.dims().iter().enumerate().rev() {
            let each = match v.is_record && d == 0 {
                true if width != v.slot_len => return None,
                true => v.stride,
                false => width,
            };
            width = width.checked_mul(v.shape[d])?;
            let high = line.low.checked_add(line.step.checked_mul(line.count - 1)?)?;
            first = first.checked_add(each.checked_mul(if line.reversed { high } else { line.low })?)?;
            last = last.checked_add(each.checked_mul(high)?)?;
            if line.count == 1 {
                continue;
            }
            let step = isize::try_from(each.checked_mul(line.step)?).ok().filter(|step| *step > 0)?;
            let step = if line.reversed { -step } else { step };
            let count = usize::try_from(line.count).ok()?;
            match axes.last_mut() {
                Some((inner, apart)) if isize::try_from(*inner).ok()?.checked_mul(*apart)? == step => {
                    *inner *= count;
                }
                _ => axes.push((count, step)),
            }
        }
        let within = usize::try_from(last).is_ok_and(|last| last <= len);
        let (row, step) = if axes.is_empty() { (1, isize::try_from(size).ok()?) } else { axes.remove(0) };
        axes.reverse();
        within.then_some(Walk { first: usize::try_from(first).ok()?, outer: axes, row, step })
    }

    /// Passes `len` elements from number `first` on, one lattice after another, until the callback stops it.
    /// The output begins with the first.
    pub(super) fn lattices(&self, first: usize, len: usize, take: &mut dyn FnMut(&Lattice) -> bool) {
        // Most walks are one lattice. It is made where it is used: copying a value just written would delay
        // the processor.
        let single = (1, 0);
        let axes = match self.outer[..] {
            [] => Some((single, single)),
            [rows] => Some((single, rows)),
            [planes, rows] => Some((planes, rows)),
            _ => None,
        };
        if let Some((planes, rows)) = axes.filter(|_| first == 0) {
            let lattice = self.lattice(self.first, 0, (planes, rows, self.row));
            if lattice.elements() == len {
                take(&lattice);
                return;
            }
        }
        self.parts(first, len, take);
    }

    #[inline]
    fn lattice(
        &self,
        at: usize,
        to: usize,
        ((planes, deep), (rows, apart), len): (Axis, Axis, usize),
    ) -> Lattice {
        let to_apart = len.cast_signed();
        Lattice { at, step: self.step, to, each: 1, len, rows, apart, to_apart, planes, deep }
    }

    /// As [`Walk::lattices`], for any `first`.
    fn parts(&self, first: usize, len: usize, take: &mut dyn FnMut(&Lattice) -> bool) {
        let (mut number, mut within) = (first / self.row, first % self.row);
        let mut at = self.first;
        let mut index = vec![0; self.outer.len()];
        for (i, (count, step)) in index.iter_mut().zip(&self.outer).rev() {
            *i = number % count;
            number /= count;
            // The final value is inside the bytes. Intermediate values may wrap modulo 2^64.
            at = at.wrapping_add_signed(step.wrapping_mul((*i).cast_signed()));
        }
        let mut to = 0;
        while to < len {
            let left = len - to;
            let here = (self.row - within).min(left);
            let mut axes = index.iter().zip(&self.outer).rev();
            // Takes all whole rows along the innermost of the outer axes. If these are the whole axis, takes
            // whole planes.
            let (mut inner, mut gone) = (0, 1);
            let (mut planes, mut rows) = ((1, 0), (1, 0));
            if let Some((i, (count, apart))) = axes.next().filter(|_| here == self.row) {
                rows = ((count - i).min(left / here), *apart);
                gone = rows.0;
                if let Some((outer, (planes_in_all, deep))) = axes.next().filter(|_| rows.0 == *count) {
                    planes = ((planes_in_all - outer).min(left / (here * rows.0)), *deep);
                    (inner, gone) = (1, planes.0);
                }
            }
            let skip = self.step.wrapping_mul(within.cast_signed());
            let lattice = self.lattice(at.wrapping_add_signed(skip), to, (planes, rows, here));
            if !take(&lattice) {
                return;
            }
            to += lattice.elements();
            within = 0;
            for (i, (count, step)) in index.iter_mut().zip(&self.outer).rev().skip(inner) {
                *i += gone;
                at = at.wrapping_add_signed(step.wrapping_mul(gone.cast_signed()));
                if *i < *count {
                    break;
                }
                at = at.wrapping_add_signed(step.wrapping_mul(count.cast_signed()).wrapping_neg());
                (*i, gone) = (0, 1);
            }
        }
    }

    /// About the number of bytes that the processor's caches load for an element.
    fn cost(&self) -> usize {
        self.step.unsigned_abs().min(CACHE_LINE)
    }
}

/// Reads a hyperslab into an output with as many elements, if the source lends the variable's bytes and they
/// contain all of it. Otherwise returns `None`, and the read over tiles reports missing elements.
pub(super) fn read(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    dest: &mut dyn Destination,
) -> Option<Result<()>> {
    let bytes = source.mapped_bytes(var)?;
    let v = source.layout().variables.get(var.index())?;
    let walk = Walk::new(v, bytes.len(), slab)?;
    let len = dest.len();
    if slab.count.iter().product::<u64>() != len as u64 {
        return None;
    }
    let work = len.saturating_mul(walk.cost());
    let gather = |first: usize, dest: &mut dyn Destination| {
        let len = dest.len();
        let misfit = dest.gather(&|take| walk.lattices(first, len, take), &bytes);
        misfit.map(|misfit| Misfit { dst: first as u64 + misfit.dst, ..misfit })
    };
    let misfit = if work < PARALLEL_FROM {
        gather(0, dest)
    } else {
        parallel::in_pool(|| {
            let each = len.div_ceil((work / SHARE_LEN).min(parallel::threads() * SHARES));
            let lens: Vec<usize> = (0..len).step_by(each).map(|first| each.min(len - first)).collect();
            let parts = (0..len).step_by(each).zip(dest.split(&lens)).collect();
            let found = parallel::map(parts, |(first, mut part)| gather(first, &mut *part));
            // The first misfit in order of the output.
            found.into_iter().flatten().next()
        })
    };
    Some(misfit.map_or(Ok(()), |misfit| Err(unfit(source, var, slab, &misfit))))
}

/// The place of a variable's first byte, and the length to the end of the last element present. `None` if
/// none is present.
pub(super) fn extent(v: &VarLayout) -> Option<(u64, usize)> {
    let last = v.element_run(v.present.checked_sub(1)?)?;
    let len = (last.offset + v.element_size()).checked_sub(v.begin)?;
    Some((v.begin, usize::try_from(len).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::NcType;

    /// A variable of shorts with `present` elements.
    fn layout(shape: &[u64], record: Option<u64>, present: u64) -> VarLayout {
        let slot = shape[usize::from(record.is_some())..].iter().fold(2_u64, |n, len| n.saturating_mul(*len));
        VarLayout {
            ty: NcType::Short,
            shape: shape.to_vec(),
            begin: 100,
            elements: shape.iter().try_fold(1_u64, |n, len| n.checked_mul(*len)),
            present,
            padding_present: 0,
            is_record: record.is_some(),
            owned: true,
            slot_len: slot,
            padded_len: slot,
            stride: record.unwrap_or(0),
        }
    }

    fn places(v: &VarLayout, slab: &Hyperslab, first: usize, len: usize) -> Option<Vec<usize>> {
        let (_, bytes) = extent(v)?;
        let walk = Walk::new(v, bytes, slab)?;
        let mut found = Vec::new();
        walk.lattices(first, len, &mut |lattice| {
            assert!(lattice.places().map(|(_, to)| to).eq(found.len()..found.len() + lattice.elements()));
            found.extend(lattice.places().map(|(at, _)| at));
            true
        });
        Some(found)
    }

    /// The expected bytes, computed index by index.
    fn expected(v: &VarLayout, slab: &Hyperslab) -> Vec<usize> {
        let total: u64 = slab.count.iter().product();
        (0..total)
            .map(|mut n| {
                let mut flat = 0;
                let mut width = 1;
                for d in (0..slab.rank()).rev() {
                    let i = slab.start[d]
                        .wrapping_add(slab.stride[d].cast_unsigned().wrapping_mul(n % slab.count[d]));
                    n /= slab.count[d];
                    flat += i * width;
                    width *= v.shape[d];
                }
                usize::try_from(v.element_run(flat).unwrap().offset - v.begin).unwrap()
            })
            .collect()
    }

    #[test]
    fn every_place_of_every_share_is_that_of_its_index() {
        for (shape, record) in [
            (vec![4, 3, 5], None),
            (vec![4, 3, 5], Some(64)),
            (vec![4, 3, 5], Some(30)),
            (vec![7], Some(2)),
            (vec![3, 2, 4, 3], None),
            (vec![3, 2, 4, 3], Some(64)),
        ] {
            let v = layout(&shape, record, shape.iter().product());
            let rank = shape.len();
            let mut slabs = vec![Hyperslab::all(&shape)];
            for d in 0..rank {
                let mut slab = Hyperslab::all(&shape);
                (slab.start[d], slab.count[d], slab.stride[d]) = (shape[d] - 1, shape[d].div_ceil(2), -2);
                slabs.push(slab.clone());
                (slab.start[d], slab.count[d], slab.stride[d]) = (shape[d] - 1, shape[d], -1);
                slabs.push(slab.clone());
                (slab.start[d], slab.count[d], slab.stride[d]) = (1, 1, i64::MIN);
                slabs.push(slab);
            }
            for slab in &slabs {
                let wanted = expected(&v, slab);
                for first in 0..wanted.len() {
                    for len in [1, 2, 7, 13, wanted.len() - first] {
                        let len = len.min(wanted.len() - first);
                        let found = places(&v, slab, first, len).unwrap();
                        assert_eq!(
                            found,
                            wanted[first..first + len],
                            "{slab} of {shape:?}, {first} and {len}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_are_one_row() {
        let v = layout(&[4, 3, 5], Some(30), 60);
        let walk = Walk::new(&v, 120, &Hyperslab::all(&v.shape)).unwrap();
        assert_eq!((walk.row, walk.step, walk.outer.len()), (60, 2, 0));
        let v = layout(&[4, 3, 5], Some(32), 60);
        let walk = Walk::new(&v, 126, &Hyperslab::all(&v.shape)).unwrap();
        assert_eq!((walk.row, walk.step, &walk.outer[..]), (15, 2, &[(4, 32)][..]));
    }

    #[test]
    fn what_is_not_there_is_left_to_others() {
        let v = layout(&[4, 3, 5], Some(64), 44);
        let row = |n| Hyperslab::new([n, 0, 0], [1, 3, 5], [1, 1, 1]).unwrap();
        assert!(places(&v, &row(1), 0, 15).is_some() && places(&v, &row(2), 0, 15).is_none());
        assert!(places(&v, &Hyperslab::new([2, 2, 3], [1, 1, 1], [1, 1, 1]).unwrap(), 0, 1).is_some());
        assert!(places(&v, &row(4), 0, 15).is_none(), "outside");
        assert!(
            places(&v, &Hyperslab::new([0, 0, 0], [0, 3, 5], [1, 1, 1]).unwrap(), 0, 0).is_none(),
            "nothing"
        );
        assert!(places(&layout(&[4], None, 0), &Hyperslab::all(&[4]), 0, 4).is_none());
        let huge = layout(&[1 << 62, 1 << 62], None, 10);
        assert!(places(&huge, &Hyperslab::new([1 << 61, 1], [2, 1], [1 << 60, 1]).unwrap(), 0, 1).is_none());
    }
}
