//! Reading hyperslabs into the caller's memory.

#![expect(unsafe_code, reason = "netCDF-C hands over pointers")]

use crate::code::{self, BAD_TYPE, INVALID, NO_MEMORY, NO_VARIABLE, OUTSIDE, RANGE, Result, TEXT};
use crate::file::find;
use crate::inquire::{nc_type, variable};
use nc3z_c_common::{Asked, Fault, Fit, Opened, Read, check_block, check_mapped, check_strided};
use nc3z_format::NcType;
use nc3z_format::selection::Hyperslab;
use nc3z_reader::Variable;
use std::ffi::{c_int, c_void};

/// The request in C's lists of indices.
struct Lists {
    start: Vec<u64>,
    count: Vec<u64>,
    stride: Vec<i64>,
}

/// Returns a list with one number for each dimension of the variable; `None` if the caller passed null.
///
/// # Safety
/// `list` is null, or contains `rank` numbers.
unsafe fn list<T: Copy>(list: *const T, rank: usize) -> Option<Vec<T>> {
    if list.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some((0..rank).map(|d| unsafe { list.add(d).read() }).collect())
}

impl Lists {
    /// # Safety
    /// Each is null, or contains a number for each dimension.
    unsafe fn new(
        shape: &[u64],
        start: *const usize,
        count: *const usize,
        stride: *const isize,
    ) -> Result<Self> {
        let rank = shape.len();
        // SAFETY: the caller's promise.
        let (start, count, stride) = unsafe { (list(start, rank), list(count, rank), list(stride, rank)) };
        let start = match start {
            Some(start) => start.into_iter().map(|n| n as u64).collect(),
            None if rank > 0 => return Err(OUTSIDE),
            None => Vec::new(),
        };
        let rest = || shape.iter().zip(&start).map(|(len, start)| len.saturating_sub(*start)).collect();
        let count = count.map_or_else(rest, |count| count.into_iter().map(|n| n as u64).collect());
        let stride = stride.map_or_else(|| vec![1; rank], |s| s.into_iter().map(|n| n as i64).collect());
        Ok(Lists { start, count, stride })
    }
}

type Check = fn(&Asked) -> std::result::Result<Hyperslab, Fault>;

/// Checks a request.
///
/// # Safety
/// Each list is null, or contains a number for each dimension.
unsafe fn request(
    file: &Opened,
    number: c_int,
    lists: (*const usize, *const usize, *const isize),
    ty: c_int,
    check: Check,
) -> Result<Read> {
    let (id, header) = variable(file.header(), number)?;
    let v: Variable = file.variable_at(id).ok_or(NO_VARIABLE)?;
    let to = if ty == 0 { v.ty() } else { nc_type(ty).ok_or(BAD_TYPE)? };
    if (to == NcType::Char) != (v.ty() == NcType::Char) {
        return Err(TEXT);
    }
    // SAFETY: the caller's promise.
    let lists = unsafe { Lists::new(v.shape(), lists.0, lists.1, lists.2)? };
    let is_record = file.header().is_record(header);
    let (start, count, stride) = (&lists.start[..], &lists.count[..], &lists.stride[..]);
    let slab = check(&Asked { shape: v.shape(), is_record, start, count, stride });
    let read = slab.and_then(|slab| Read::new(v, slab, to)).map_err(|e| code::of_fault(&e))?;
    // The library's own layer of the classic formats reads missing bytes of a truncated file as zero.
    Ok(read.with_zeros())
}

/// Returns the code of a request after it was read.
fn done(read: std::result::Result<Fit, Fault>) -> Result {
    match read {
        Ok(Fit::All) => Ok(()),
        Ok(Fit::NotAll) => Err(RANGE),
        Err(e) => Err(code::of_fault(&e)),
    }
}

/// Reads consecutive elements into memory.
///
/// # Safety
/// As [`request`]; `out` is room for all elements.
unsafe fn read(
    id: c_int,
    number: c_int,
    lists: (*const usize, *const usize, *const isize),
    out: *mut c_void,
    ty: c_int,
    check: Check,
) -> c_int {
    code::entry(|| {
        let file = find(id)?.get()?;
        // SAFETY: the caller's promise.
        let read = unsafe { request(&file, number, lists, ty, check)? };
        if read.is_empty() {
            return Ok(());
        }
        if out.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller's promise.
        let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), read.len()) };
        done(read.into_buffer(out))
    })
}

pub(crate) unsafe extern "C" fn block(
    id: c_int,
    number: c_int,
    start: *const usize,
    count: *const usize,
    out: *mut c_void,
    ty: c_int,
) -> c_int {
    // SAFETY: netCDF-C's pointers.
    unsafe { read(id, number, (start, count, std::ptr::null()), out, ty, check_block) }
}

pub(crate) unsafe extern "C" fn strided(
    id: c_int,
    number: c_int,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    out: *mut c_void,
    ty: c_int,
) -> c_int {
    // SAFETY: netCDF-C's pointers.
    unsafe { read(id, number, (start, count, stride), out, ty, check_strided) }
}

/// The positions of elements: a step for each dimension, in elements of the output.
struct Places {
    count: Vec<usize>,
    step: Vec<isize>,
    index: Vec<usize>,
    /// The position of the next element, counted from the lowest.
    next: isize,
}

impl Places {
    /// Returns the positions, the distance of the lowest one from the first, and their span; `None` if they
    /// do not fit into memory.
    fn new(count: &[usize], step: &[isize]) -> Option<(Places, isize, usize)> {
        let (mut low, mut high) = (0_isize, 0_isize);
        for (count, step) in count.iter().zip(step) {
            let reach = step.checked_mul(isize::try_from(*count).ok()?.checked_sub(1)?)?;
            if reach < 0 {
                low = low.checked_add(reach)?;
            } else {
                high = high.checked_add(reach)?;
            }
        }
        let span = usize::try_from(high.checked_sub(low)?).ok()?.checked_add(1)?;
        let places = Places {
            count: count.to_vec(),
            step: step.to_vec(),
            index: vec![0; count.len()],
            next: low.checked_neg()?,
        };
        Some((places, low, span))
    }

    fn next(&mut self) -> usize {
        let here = self.next;
        for d in (0..self.count.len()).rev() {
            self.index[d] += 1;
            // The position after the last one may be outside the address space: the next step subtracts from
            // it, and it is never used.
            self.next = self.next.wrapping_add(self.step[d]);
            if self.index[d] < self.count[d] {
                break;
            }
            // Back to the start of this dimension. Its range was checked.
            self.next = self.next.wrapping_sub(self.step[d].wrapping_mul(self.count[d].cast_signed()));
            self.index[d] = 0;
        }
        usize::try_from(here).unwrap_or(usize::MAX)
    }
}

pub(crate) unsafe extern "C" fn mapped(
    id: c_int,
    number: c_int,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    map: *const isize,
    out: *mut c_void,
    ty: c_int,
) -> c_int {
    code::entry(|| {
        let file = find(id)?.get()?;
        // SAFETY: netCDF-C's pointers.
        let read = unsafe { request(&file, number, (start, count, stride), ty, check_mapped)? };
        if read.is_empty() {
            return Ok(());
        }
        if out.is_null() {
            return Err(INVALID);
        }
        let counts = read.counts().ok_or(NO_MEMORY)?;
        // SAFETY: netCDF-C's pointer.
        let steps = unsafe { list(map, counts.len()) };
        let Some((steps, size)) = steps.map(|steps| (steps, read.len() / read.elements())) else {
            // SAFETY: without a map, elements are consecutive.
            let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), read.len()) };
            return done(read.into_buffer(out));
        };
        let (mut places, low, span) = Places::new(&counts, &steps).ok_or(INVALID)?;
        let bytes = span.checked_mul(size).filter(|n| isize::try_from(*n).is_ok()).ok_or(INVALID)?;
        let reach = low.checked_mul(size.cast_signed()).ok_or(INVALID)?;
        // SAFETY: the caller's map says that its memory extends from the lowest position to the highest.
        let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>().offset(reach), bytes) };
        done(read.scattered(out, &mut || places.next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_map() {
        let of = |count: &[usize], step: &[isize]| {
            let (mut places, low, span) = Places::new(count, step).unwrap();
            let all: Vec<usize> = (0..count.iter().product()).map(|_| places.next()).collect();
            (all, low, span)
        };
        assert_eq!(of(&[2, 3], &[3, 1]), ((0..6).collect(), 0, 6));
        assert_eq!(of(&[2, 3], &[1, 2]), (vec![0, 2, 4, 1, 3, 5], 0, 6), "transposed");
        assert_eq!(of(&[3], &[-2]), (vec![4, 2, 0], -4, 5), "backwards");
        assert_eq!(of(&[], &[]), (vec![0], 0, 1));
        assert!(Places::new(&[3, 3], &[isize::MAX, 1]).is_none());
        // One step beyond the last position leaves the address space.
        let far = isize::MAX / 2 + 1;
        assert_eq!(of(&[2, 2], &[1, far]).0, [0, far.cast_unsigned(), 1, far.cast_unsigned() + 1]);
    }
}
