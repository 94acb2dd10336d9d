//! Start, count and stride, checked in the order of the netCDF library, so that its codes come out. `libsrc/putget.m4` and
//! `libdispatch/dvarget.c` of netcdf-c have the originals.

use crate::Fault;
use nc3z_format::selection::Hyperslab;

/// The largest stride that the library takes, and one more (`X_INT_MAX`).
const STRIDE_END: u64 = 2_147_483_647;

/// A request for a part of a variable. The lists are as long as the shape.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Lengths of the variable's dimensions.
    pub shape: &'a [u64],
    /// True if the first of them is the record dimension.
    pub is_record: bool,
    /// First index along each dimension.
    pub start: &'a [u64],
    /// Number of indices along each dimension.
    pub count: &'a [u64],
    /// Step from one index to the next; ignored by [`check_block`].
    pub stride: &'a [i64],
}

impl Asked<'_> {
    /// Length, start and count of each dimension.
    fn dimensions(&self) -> impl DoubleEndedIterator<Item = (u64, u64, u64)> + ExactSizeIterator {
        let lists = self.shape.iter().zip(self.start).zip(self.count);
        lists.map(|((len, start), count)| (*len, *start, *count))
    }

    fn slab(&self, stride: Vec<i64>) -> Hyperslab {
        Hyperslab { start: self.start.to_vec(), count: self.count.to_vec(), stride }
    }

    /// The checks that both kinds of strided requests have in common. Start and count are inside the variable.
    fn strided(&self) -> Result<Hyperslab, Fault> {
        if !self.count.contains(&0) {
            if self.stride.iter().all(|stride| *stride == 1) {
                return check_block(self);
            }
            for ((len, start, count), stride) in self.dimensions().zip(self.stride) {
                let last = stride.cast_unsigned().checked_mul(count - 1);
                if last.and_then(|last| last.checked_add(start)).is_none_or(|last| last >= len) {
                    return Err(Fault::Coordinates);
                }
            }
        }
        Ok(self.slab(self.stride.to_vec()))
    }
}

/// A request without strides, as `NC3_get_vara` checks it.
///
/// # Errors
/// The library's: coordinates or edges outside the variable.
pub fn check_block(asked: &Asked) -> Result<Hyperslab, Fault> {
    if asked.dimensions().any(|(len, start, _)| start > len) {
        return Err(Fault::Coordinates);
    }
    let rest = usize::from(asked.is_record);
    if let Some((len, start, count)) = asked.dimensions().next().filter(|_| asked.is_record)
        && start == len
        && count > 0
    {
        return Err(Fault::Coordinates);
    }
    for (len, start, count) in asked.dimensions().skip(rest).chain(asked.dimensions().take(rest)) {
        inside(len, start, count)?;
    }
    Ok(asked.slab(vec![1; asked.shape.len()]))
}

fn inside(len: u64, start: u64, count: u64) -> Result<(), Fault> {
    if start > len || start == len && count > 0 {
        return Err(Fault::Coordinates);
    }
    if count > len - start {
        return Err(Fault::Edge);
    }
    Ok(())
}

/// A request with strides, as `NCDEFAULT_get_vars` checks it.
///
/// # Errors
/// As [`check_block`]; strides that are not positive.
pub fn check_strided(asked: &Asked) -> Result<Hyperslab, Fault> {
    for ((len, start, count), stride) in asked.dimensions().zip(asked.stride) {
        inside(len, start, count)?;
        if !is_stride(*stride) {
            return Err(Fault::Stride);
        }
    }
    asked.strided()
}

/// A request with strides and a map of memory, as `NCDEFAULT_get_varm` checks it.
///
/// # Errors
/// As [`check_strided`], in another order.
pub fn check_mapped(asked: &Asked) -> Result<Hyperslab, Fault> {
    if !asked.stride.iter().all(|stride| is_stride(*stride)) {
        return Err(Fault::Stride);
    }
    for (len, start, count) in asked.dimensions().rev() {
        inside(len, start, count)?;
    }
    asked.strided()
}

fn is_stride(stride: i64) -> bool {
    (1..STRIDE_END).contains(&stride.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: &Result<Hyperslab, Fault>) -> &'static str {
        match result {
            Ok(_) => "ok",
            Err(Fault::Coordinates) => "coordinates",
            Err(Fault::Edge) => "edge",
            Err(Fault::Stride) => "stride",
            Err(_) => "other",
        }
    }

    #[test]
    fn blocks_are_checked_as_the_library_checks_them() {
        let of = |is_record, start: [u64; 2], count: [u64; 2]| {
            code(&check_block(&Asked {
                shape: &[4, 5],
                is_record,
                start: &start,
                count: &count,
                stride: &[],
            }))
        };
        for is_record in [false, true] {
            assert_eq!(of(is_record, [0, 0], [4, 5]), "ok");
            assert_eq!(of(is_record, [4, 5], [0, 0]), "ok", "a start at the end, with nothing to read");
            assert_eq!(of(is_record, [4, 0], [1, 1]), "coordinates");
            assert_eq!(of(is_record, [5, 0], [0, 1]), "coordinates");
            assert_eq!(of(is_record, [0, 6], [1, 0]), "coordinates");
            assert_eq!(of(is_record, [0, 3], [1, 3]), "edge");
            assert_eq!(of(is_record, [3, 0], [u64::MAX, 1]), "edge");
        }
        // The record dimension's edge is looked at last.
        assert_eq!(of(true, [0, 5], [9, 1]), "coordinates");
        assert_eq!(of(false, [0, 5], [9, 1]), "edge");
        let scalar = Asked { shape: &[], is_record: false, start: &[], count: &[], stride: &[] };
        assert_eq!(code(&check_block(&scalar)), "ok");
    }

    #[test]
    fn strides_are_positive_and_stay_inside() {
        let of = |start: u64, count: u64, stride: i64| {
            let (start, count, stride) = (&[start], &[count], &[stride]);
            code(&check_strided(&Asked { shape: &[10], is_record: false, start, count, stride }))
        };
        assert_eq!(of(0, 5, 2), "ok");
        assert_eq!(of(1, 4, 3), "coordinates", "1, 4, 7, 10");
        assert_eq!(of(0, 5, 0), "stride");
        assert_eq!(of(0, 5, -1), "stride");
        assert_eq!(of(0, 1, 2_147_483_647), "stride");
        assert_eq!(of(0, 1, 2_147_483_646), "ok");
        assert_eq!(of(0, 0, 7), "ok");
        assert_eq!(of(0, 11, 1), "edge");
        let both = Asked { shape: &[10], is_record: false, start: &[11], count: &[1], stride: &[0] };
        assert_eq!(code(&check_mapped(&both)), "stride", "before coordinates");
        assert_eq!(code(&check_strided(&both)), "coordinates", "before the stride");
    }
}
