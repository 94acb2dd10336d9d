//! Lattices: elements that are moved in one call. A lattice has planes of rows, all of one shape and at equal
//! distances.

use crate::error::Result;
use nc3z_format::Error as FormatError;
use nc3z_format::plan::copy::ends;
use nc3z_format::plan::{CopyRun, TilePlan};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Planes of rows of elements in bytes, and their places in the output, one plane after the other. Distances
/// may be negative.
#[derive(Clone, Copy)]
pub(crate) struct Lattice {
    /// Byte of the first element.
    pub(crate) at: usize,
    /// Bytes from one element of a row to the next.
    pub(crate) step: isize,
    /// Position of the first element in the output.
    pub(crate) to: usize,
    /// Positions from one element of a row to the next.
    pub(crate) each: isize,
    /// Elements of a row, at least 1.
    pub(crate) len: usize,
    pub(crate) rows: usize,
    /// Bytes from one row to the next.
    pub(crate) apart: isize,
    /// Positions from one row to the next.
    pub(crate) to_apart: isize,
    pub(crate) planes: usize,
    /// Bytes from one plane to the next.
    pub(crate) deep: isize,
}

impl Lattice {
    pub(crate) fn elements(&self) -> usize {
        self.planes.saturating_mul(self.rows).saturating_mul(self.len)
    }

    /// Passes byte and position of each row's first element.
    #[inline]
    fn each_start(&self, mut each: impl FnMut(usize, usize)) {
        let to_deep = self.to_apart.wrapping_mul(self.rows.cast_signed());
        let (mut plane_at, mut plane_to) = (self.at, self.to);
        for _ in 0..self.planes {
            let (mut at, mut to) = (plane_at, plane_to);
            for _ in 0..self.rows {
                each(at, to);
                at = at.wrapping_add_signed(self.apart);
                to = to.wrapping_add_signed(self.to_apart);
            }
            plane_at = plane_at.wrapping_add_signed(self.deep);
            plane_to = plane_to.wrapping_add_signed(to_deep);
        }
    }

    /// Byte and position of each element.
    pub(crate) fn places(self) -> impl Iterator<Item = (usize, usize)> {
        let along = |(at, to): (usize, usize), steps: (isize, isize), len: usize| {
            (0..len.cast_signed()).map(move |i| {
                let (by, each) = (steps.0.wrapping_mul(i), steps.1.wrapping_mul(i));
                (at.wrapping_add_signed(by), to.wrapping_add_signed(each))
            })
        };
        let to_deep = self.to_apart.wrapping_mul(self.rows.cast_signed());
        along((self.at, self.to), (self.deep, to_deep), self.planes)
            .flat_map(move |plane| along(plane, (self.apart, self.to_apart), self.rows))
            .flat_map(move |row| along(row, (self.step, self.each), self.len))
    }

    /// Converts the elements.
    #[inline]
    pub(crate) fn convert<F: Copy + FromBytes + Immutable + KnownLayout + Unaligned, T>(
        &self,
        bytes: &[u8],
        out: &mut [T],
        mut convert: impl FnMut(F) -> T,
    ) {
        let (size, every) = (size_of::<F>(), self.step.unsigned_abs());
        let apart = every / size;
        // Each case has its own loop, so that the compiler sees plain loops.
        match ((self.step < 0) == (self.each < 0), apart) {
            _ if self.each.unsigned_abs() != 1 || !every.is_multiple_of(size) => {
                self.each_start(|mut at, mut to| {
                    for _ in 0..self.len {
                        out[to] = convert(*element::<F>(&bytes[at..]));
                        at = at.wrapping_add_signed(self.step);
                        to = to.wrapping_add_signed(self.each);
                    }
                });
            }
            (true, 1) => self.each_row(bytes, out, |from: &[F], to| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = convert(*from));
            }),
            (false, 1) => self.each_row(bytes, out, |from: &[F], to| {
                to.iter_mut().rev().zip(from).for_each(|(to, from)| *to = convert(*from));
            }),
            (true, _) => self.each_row(bytes, out, |from: &[F], to| {
                to.iter_mut().zip(from.iter().step_by(apart)).for_each(|(to, from)| *to = convert(*from));
            }),
            (false, _) => self.each_row(bytes, out, |from: &[F], to| {
                let to = to.iter_mut().rev();
                to.zip(from.iter().step_by(apart)).for_each(|(to, from)| *to = convert(*from));
            }),
        }
    }

    /// Passes, for each row, the elements from the lowest to the highest that the row touches, and its part
    /// of the output. Distances between elements are multiples of their size. In the output the elements are
    /// adjacent.
    #[inline]
    pub(crate) fn each_row<F: FromBytes + Immutable + KnownLayout + Unaligned, T>(
        &self,
        bytes: &[u8],
        out: &mut [T],
        mut each: impl FnMut(&[F], &mut [T]),
    ) {
        let last = self.len - 1;
        let reach = self.step.unsigned_abs() * last;
        let before = (if self.step < 0 { reach } else { 0 }, if self.each < 0 { last } else { 0 });
        self.each_start(|at, to| {
            let from = &bytes[at - before.0..][..reach + size_of::<F>()];
            let from = <[F]>::ref_from_bytes(from).expect("whole elements");
            each(from, &mut out[to - before.1..][..self.len]);
        });
    }
}

/// The first element of the bytes.
pub(crate) fn element<F: FromBytes + Immutable + KnownLayout + Unaligned>(bytes: &[u8]) -> &F {
    F::ref_from_prefix(bytes).expect("lattices are made for bytes that hold them").0
}

/// An element and its place, or `None` if one of the slices lacks it.
#[inline]
pub(crate) fn both<'s, 'o, S, T>(
    src: u64,
    from: &'s [S],
    dst: u64,
    to: &'o mut [T],
) -> Option<(&'s S, &'o mut T)> {
    let (src, dst) = (usize::try_from(src).ok()?, usize::try_from(dst).ok()?);
    Some((from.get(src)?, to.get_mut(dst)?))
}

/// Passes a tile's elements of `size` bytes in lattices, until the callback stops it. The bytes begin with
/// the tile's element `first`; `lens` are the numbers of elements in the bytes and in the output.
pub(crate) fn of_tile(
    tile: &TilePlan<'_>,
    first: u64,
    size: usize,
    lens: (usize, usize),
    take: &mut dyn FnMut(&Lattice) -> bool,
) -> Result<()> {
    let mut runs = tile.runs();
    let Some(run) = runs.next() else { return Ok(()) };
    let mut alike = Alike::new(run);
    for run in runs {
        if !alike.add(&run) {
            if !alike.give(first, size, lens, take)? {
                return Ok(());
            }
            alike = Alike::new(run);
        }
    }
    alike.give(first, size, lens, take)?;
    Ok(())
}

/// Runs that differ only in their places, at equal distances.
struct Alike {
    first: CopyRun,
    runs: u64,
    /// Source and destination of the last run.
    last: (u64, u64),
    /// Distance from one run to the next in source and destination, modulo 2^64.
    apart: (u64, u64),
}

impl Alike {
    #[inline]
    fn new(run: CopyRun) -> Alike {
        Alike { first: run, runs: 1, last: (run.src, run.dst), apart: (0, 0) }
    }

    /// Adds the next run if it continues the series.
    #[inline]
    fn add(&mut self, run: &CopyRun) -> bool {
        let CopyRun { len, src_step, dst_step, .. } = self.first;
        let apart = (run.src.wrapping_sub(self.last.0), run.dst.wrapping_sub(self.last.1));
        if (run.len, run.src_step, run.dst_step) != (len, src_step, dst_step)
            || (self.runs > 1 && apart != self.apart)
        {
            return false;
        }
        (self.last, self.apart) = ((run.src, run.dst), apart);
        self.runs += 1;
        true
    }

    /// Returns all runs as a lattice. Fails if one leaves the bytes or the output.
    #[inline]
    fn give(
        &self,
        first: u64,
        size: usize,
        (src_len, dst_len): (usize, usize),
        take: &mut dyn FnMut(&Lattice) -> bool,
    ) -> Result<bool> {
        let run = from(self.first, first)?;
        let (src, dst) = ends(&run, src_len, dst_len)?;
        if self.runs > 1 {
            self.check_last(&run, first, (src_len, dst_len))?;
        }
        // The steps of a single element have no effect, and may have any value.
        let (every, each) = if run.len == 1 { (1, 1) } else { (run.src_step, run.dst_step) };
        let bytes = |n: u64| signed(n.cast_signed()) * size.cast_signed();
        Ok(take(&Lattice {
            at: src.start() * size,
            step: bytes(every),
            to: if run.dst_step < 0 { *dst.end() } else { *dst.start() },
            each: signed(each),
            len: unsigned(run.len),
            rows: unsigned(self.runs),
            apart: bytes(self.apart.0),
            to_apart: signed(self.apart.1.cast_signed()),
            planes: 1,
            deep: 0,
        }))
    }

    /// Checks the last run. Fails if it leaves the bytes or the output. The first run, `run`, has been
    /// checked.
    fn check_last(&self, run: &CopyRun, first: u64, (src_len, dst_len): (usize, usize)) -> Result<()> {
        let last = from(CopyRun { src: self.last.0, dst: self.last.1, ..self.first }, first)?;
        ends(&last, src_len, dst_len)?;
        // If nothing wraps, all other runs are between the first and the last.
        let goes = |at: u64, apart: u64| {
            at.checked_add_signed(apart.cast_signed().checked_mul(i64::try_from(self.runs - 1).ok()?)?)
        };
        if goes(run.src, self.apart.0).and(goes(run.dst, self.apart.1)).is_some() {
            return Ok(());
        }
        Err(FormatError::invalid(format!("{} copy runs from ({run}) to ({last})", self.runs)).into())
    }
}

/// The run in bytes that begin with the tile's element `first`.
#[inline]
pub(crate) fn from(run: CopyRun, first: u64) -> Result<CopyRun> {
    let src = run.src.checked_sub(first);
    let src =
        src.ok_or_else(|| FormatError::invalid(format!("copy run ({run}) in elements from {first} on")))?;
    Ok(CopyRun { src, ..run })
}

/// A distance between elements that are in memory.
fn signed(n: i64) -> isize {
    isize::try_from(n).expect("a distance in memory")
}

/// A number of elements that are in memory.
fn unsigned(n: u64) -> usize {
    usize::try_from(n).expect("a number of elements in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(runs: &[CopyRun], size: usize, lens: (usize, usize)) -> Result<Vec<(usize, usize)>> {
        let mut alike = Alike::new(runs[0]);
        for run in &runs[1..] {
            assert!(alike.add(run));
        }
        let mut places = Vec::new();
        alike.give(10, size, lens, &mut |lattice| {
            places.extend(lattice.places());
            true
        })?;
        Ok(places)
    }

    fn run(src: u64, dst: u64) -> CopyRun {
        CopyRun { src, dst, len: 3, src_step: 2, dst_step: 1 }
    }

    #[test]
    fn runs_alike_are_one_lattice() {
        let runs = [run(10, 0), run(20, 3), run(30, 6)];
        let places = given(&runs, 4, (25, 9)).unwrap();
        let expected = [0, 2, 4, 10, 12, 14, 20, 22, 24].iter().enumerate().map(|(to, at)| (at * 4, to));
        assert_eq!(places, expected.collect::<Vec<_>>());
    }

    #[test]
    fn runs_that_leave_bytes_or_output_are_refused() {
        // The last by one element of the bytes, by one of the output; the first, which begins before the bytes.
        assert!(given(&[run(10, 0), run(20, 3), run(30, 6)], 4, (24, 9)).is_err());
        assert!(given(&[run(10, 0), run(20, 3), run(30, 6)], 4, (25, 8)).is_err());
        assert!(given(&[run(9, 0), run(10, 3)], 4, (25, 8)).is_err());
        // The first and the last are inside, the others wrap at the end of 64 bits.
        let half = 1 << 63;
        assert!(given(&[run(10, 0), run(10 + half, 3), run(10, 6)], 4, (25, 9)).is_err());
        assert!(given(&[run(10, 0), run(20, half), run(30, 0)], 4, (25, 9)).is_err());
    }
}
