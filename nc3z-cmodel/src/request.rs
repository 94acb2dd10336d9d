//! Start, count and stride, checked in the order of the netCDF library, so that its codes come out. `libsrc/putget.m4` and
//! `libdispatch/dvarget.c` of netcdf-c have the originals.

use crate::Fault;
use nc3z_format::select::Hyperslab;

/// The largest stride that the library takes, and one more (`X_INT_MAX`).
const STRIDE_END: u64 = 2_147_483_647;

/// A request without strides, as `NC3_get_vara` checks it.
///
/// # Errors
/// The library's: coordinates or edges outside the variable.
pub fn check_block(shape: &[u64], is_record: bool, start: &[u64], count: &[u64]) -> Result<Hyperslab, Fault> {
    let dims = || shape.iter().zip(start).zip(count).map(|((len, start), count)| (*len, *start, *count));
    if dims().any(|(len, start, _)| start > len) {
        return Err(Fault::Coordinates);
    }
    let rest = usize::from(is_record);
    if let Some((len, start, count)) = dims().next().filter(|_| is_record)
        && start == len
        && count > 0
    {
        return Err(Fault::Coordinates);
    }
    for (len, start, count) in dims().skip(rest).chain(dims().take(rest)) {
        inside(len, start, count)?;
    }
    Ok(Hyperslab { start: start.to_vec(), count: count.to_vec(), stride: vec![1; shape.len()] })
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
pub fn check_strided(
    shape: &[u64],
    is_record: bool,
    start: &[u64],
    count: &[u64],
    stride: &[i64],
) -> Result<Hyperslab, Fault> {
    for (d, len) in shape.iter().enumerate() {
        inside(*len, start[d], count[d])?;
        if !is_stride(stride[d]) {
            return Err(Fault::Stride);
        }
    }
    strided(shape, is_record, start, count, stride)
}

/// A request with strides and a map of memory, as `NCDEFAULT_get_varm` checks it.
///
/// # Errors
/// As [`check_strided`], in another order.
pub fn check_mapped(
    shape: &[u64],
    is_record: bool,
    start: &[u64],
    count: &[u64],
    stride: &[i64],
) -> Result<Hyperslab, Fault> {
    if !stride.iter().all(|stride| is_stride(*stride)) {
        return Err(Fault::Stride);
    }
    for (d, len) in shape.iter().enumerate().rev() {
        inside(*len, start[d], count[d])?;
    }
    strided(shape, is_record, start, count, stride)
}

fn is_stride(stride: i64) -> bool {
    (1..STRIDE_END).contains(&stride.cast_unsigned())
}

/// The same with the checks that both have in common. Start and count lie in the variable.
fn strided(
    shape: &[u64],
    is_record: bool,
    start: &[u64],
    count: &[u64],
    stride: &[i64],
) -> Result<Hyperslab, Fault> {
    if !count.contains(&0) {
        if stride.iter().all(|stride| *stride == 1) {
            return check_block(shape, is_record, start, count);
        }
        for (d, len) in shape.iter().enumerate() {
            let last = stride[d].cast_unsigned().checked_mul(count[d] - 1);
            let last = last.and_then(|last| last.checked_add(start[d]));
            if last.is_none_or(|last| last >= *len) {
                return Err(Fault::Coordinates);
            }
        }
    }
    Ok(Hyperslab { start: start.to_vec(), count: count.to_vec(), stride: stride.to_vec() })
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
            code(&check_block(&[4, 5], is_record, &start, &count))
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
        assert_eq!(code(&check_block(&[], false, &[], &[])), "ok");
    }

    #[test]
    fn strides_are_positive_and_stay_inside() {
        let of = |start: u64, count: u64, stride: i64| {
            code(&check_strided(&[10], false, &[start], &[count], &[stride]))
        };
        assert_eq!(of(0, 5, 2), "ok");
        assert_eq!(of(1, 4, 3), "coordinates", "1, 4, 7, 10");
        assert_eq!(of(0, 5, 0), "stride");
        assert_eq!(of(0, 5, -1), "stride");
        assert_eq!(of(0, 1, 2_147_483_647), "stride");
        assert_eq!(of(0, 1, 2_147_483_646), "ok");
        assert_eq!(of(0, 0, 7), "ok");
        assert_eq!(of(0, 11, 1), "edge");
        assert_eq!(code(&check_mapped(&[10], false, &[11], &[1], &[0])), "stride", "before coordinates");
    }
}
