//! Inquiries of a file: dimensions, variables, and one root group.

#![expect(unsafe_code, reason = "netCDF-C hands over pointers")]

use crate::code::{self, BAD_DIMENSION, BAD_NAME, BAD_TYPE, INVALID, NO_GROUP, NO_VARIABLE, Result};
use crate::file::find;
use nc3z_c_common::{Opened, c_name, convert, find_attribute, find_dimension, find_variable};
use nc3z_format::NcType;
use nc3z_format::classic::{Header, VarId, Variable, Version};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `NC_MAX_NAME`: callers have room for 256 bytes and a zero.
const NAME_MOST: usize = 256;
const CONTIGUOUS: c_int = 1;
/// `NC_STRING`. Files of the classic model do not have it, but the library knows its name and size.
const STRING: c_int = 12;

/// Writes a value if the caller requests it.
///
/// # Safety
/// `place` is null, or room for the value.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

/// Writes consecutive numbers.
///
/// # Safety
/// `place` is null, or room for all of them.
unsafe fn put_all<T>(place: *mut T, values: impl Iterator<Item = T>) {
    if !place.is_null() {
        for (n, value) in values.enumerate() {
            // SAFETY: the caller's promise.
            unsafe { place.add(n).write(value) };
        }
    }
}

/// Writes a name like the classic layer: cut to the length for which callers have room.
///
/// # Safety
/// `place` is null, or room for `NC_MAX_NAME + 1` bytes.
pub(crate) unsafe fn put_name(place: *mut c_char, name: &[u8]) {
    if place.is_null() {
        return;
    }
    let name = c_name(name);
    let len = name.len().min(NAME_MOST);
    // SAFETY: the caller's promise; `len` is at most NAME_MOST.
    unsafe {
        std::ptr::copy_nonoverlapping(name.as_ptr(), place.cast(), len);
        place.add(len).write(0);
    }
}

/// Returns a name given by the caller.
///
/// # Safety
/// `name` is null or a string that outlives the call.
pub(crate) unsafe fn name_of<'a>(name: *const c_char) -> Result<&'a [u8]> {
    if name.is_null() {
        return Err(BAD_NAME);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// Converts a count to C's `int`.
pub(crate) fn int(n: usize) -> c_int {
    c_int::try_from(n).unwrap_or(c_int::MAX)
}

/// Returns the variable with this number.
pub(crate) fn variable(header: &Header, id: c_int) -> Result<(VarId, &Variable)> {
    let id = VarId(u32::try_from(id).map_err(|_| NO_VARIABLE)?);
    Ok((id, header.variables.get(id.index()).ok_or(NO_VARIABLE)?))
}

fn unlimited(header: &Header) -> Option<c_int> {
    header.dimensions.iter().position(nc3z_format::classic::Dimension::is_record).map(int)
}

fn length(file: &Opened, dimension: usize) -> Option<u64> {
    let dimension = file.header().dimensions.get(dimension)?;
    Some(if dimension.is_record() { file.records() } else { dimension.len })
}

/// Runs an inquiry of an open file.
fn ask(id: c_int, work: impl FnOnce(&Opened) -> Result) -> c_int {
    code::entry(|| work(&*find(id)?.get()?))
}

pub(crate) unsafe extern "C" fn format(id: c_int, format: *mut c_int) -> c_int {
    ask(id, |file| {
        let kind = match file.header().version {
            Version::Cdf1 => 1,
            Version::Cdf2 => 2,
            Version::Cdf5 => 5,
        };
        // SAFETY: netCDF-C's pointer.
        unsafe { put(format, kind) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn format_extended(id: c_int, format: *mut c_int, mode: *mut c_int) -> c_int {
    code::entry(|| {
        let entry = find(id)?;
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put(format, entry.model);
            put(mode, entry.mode);
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn counts(
    id: c_int,
    dimensions: *mut c_int,
    variables: *mut c_int,
    attributes: *mut c_int,
    record_dimension: *mut c_int,
) -> c_int {
    ask(id, |file| {
        let header = file.header();
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put(dimensions, int(header.dimensions.len()));
            put(variables, int(header.variables.len()));
            put(attributes, int(header.attributes.len()));
            put(record_dimension, unlimited(header).unwrap_or(-1));
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn type_of(_id: c_int, ty: c_int, name: *mut c_char, size: *mut usize) -> c_int {
    code::entry(|| {
        let (words, len) = match nc_type(ty) {
            Some(ty) => (ty.name(), ty.size()),
            None if ty == STRING => ("string", size_of::<*const c_char>()),
            None => return Err(BAD_TYPE),
        };
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put_name(name, words.as_bytes());
            put(size, len);
        }
        Ok(())
    })
}

/// Returns the type with this number.
pub(crate) fn nc_type(ty: c_int) -> Option<NcType> {
    NcType::from_code(u32::try_from(ty).ok()?).ok()
}

pub(crate) unsafe extern "C" fn type_id(_id: c_int, name: *const c_char, ty: *mut c_int) -> c_int {
    code::entry(|| {
        // SAFETY: netCDF-C's string.
        let name = unsafe { name_of(name)? };
        let found = NcType::ALL.iter().find(|ty| ty.name().as_bytes() == name).ok_or(BAD_TYPE)?;
        // SAFETY: netCDF-C's pointer.
        unsafe { put(ty, c_int::try_from(found.code()).map_err(|_| BAD_TYPE)?) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn types_equal(
    _id: c_int,
    a: c_int,
    _other: c_int,
    b: c_int,
    equal: *mut c_int,
) -> c_int {
    code::entry(|| {
        if a <= 0 || b <= 0 {
            return Err(INVALID);
        }
        // SAFETY: netCDF-C's pointer.
        unsafe { put(equal, c_int::from(a == b)) };
        Ok(())
    })
}

/// Writes the number of the object with this name.
///
/// # Safety
/// `name` is null or a string, and `found` null or room for a number.
unsafe fn number_of(
    id: c_int,
    name: *const c_char,
    found: *mut c_int,
    find: fn(&Header, &[u8]) -> Option<usize>,
    missing: c_int,
) -> c_int {
    ask(id, |file| {
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(name)? };
        let number = find(file.header(), name).ok_or(missing)?;
        // SAFETY: the caller's promise.
        unsafe { put(found, int(number)) };
        Ok(())
    })
}

/// Writes the numbers from 0 on, and their count.
///
/// # Safety
/// Each is null, or has room for the result; callers request the count first.
unsafe fn numbers(id: c_int, count: *mut c_int, ids: *mut c_int, of: fn(&Header) -> usize) -> c_int {
    ask(id, |file| {
        let n = int(of(file.header()));
        // SAFETY: the caller's promise.
        unsafe {
            put(count, n);
            put_all(ids, 0..n);
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn dimension_id(id: c_int, name: *const c_char, found: *mut c_int) -> c_int {
    // SAFETY: netCDF-C's string and pointer.
    unsafe { number_of(id, name, found, find_dimension, BAD_DIMENSION) }
}

pub(crate) unsafe extern "C" fn variable_id(id: c_int, name: *const c_char, found: *mut c_int) -> c_int {
    // SAFETY: netCDF-C's string and pointer.
    unsafe { number_of(id, name, found, find_variable, NO_VARIABLE) }
}

pub(crate) unsafe extern "C" fn dimension(
    id: c_int,
    dimension: c_int,
    name: *mut c_char,
    len: *mut usize,
) -> c_int {
    ask(id, |file| {
        let index = usize::try_from(dimension).map_err(|_| BAD_DIMENSION)?;
        let found = file.header().dimensions.get(index).ok_or(BAD_DIMENSION)?;
        let found_len = length(file, index).ok_or(BAD_DIMENSION)?;
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put_name(name, &found.name);
            put(len, usize::try_from(found_len).unwrap_or(usize::MAX));
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn record_dimension(id: c_int, dimension: *mut c_int) -> c_int {
    ask(id, |file| {
        // SAFETY: netCDF-C's pointer.
        unsafe { put(dimension, unlimited(file.header()).unwrap_or(-1)) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn unlimited_dimensions(id: c_int, count: *mut c_int, ids: *mut c_int) -> c_int {
    ask(id, |file| {
        let found = unlimited(file.header());
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put(count, c_int::from(found.is_some()));
            put_all(ids, found.into_iter());
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn variable_all(
    id: c_int,
    number: c_int,
    name: *mut c_char,
    ty: *mut c_int,
    rank: *mut c_int,
    dimensions: *mut c_int,
    attributes: *mut c_int,
    shuffle: *mut c_int,
    deflate: *mut c_int,
    deflate_level: *mut c_int,
    fletcher32: *mut c_int,
    contiguous: *mut c_int,
    _chunks: *mut usize,
    no_fill: *mut c_int,
    fill: *mut c_void,
    endianness: *mut c_int,
    filter: *mut c_uint,
    parameter_count: *mut usize,
    _parameters: *mut c_uint,
) -> c_int {
    ask(id, |file| {
        let (_, v) = variable(file.header(), number)?;
        // SAFETY: netCDF-C's pointers; there is room for a number for each dimension, and for one value of the variable's type.
        unsafe {
            put_name(name, &v.name);
            put(ty, c_int::try_from(v.ty.code()).map_err(|_| BAD_TYPE)?);
            put(rank, int(v.dimensions.len()));
            put_all(dimensions, v.dimensions.iter().map(|d| int(d.index())));
            put(attributes, int(v.attributes.len()));
            for place in [shuffle, deflate, deflate_level, fletcher32, no_fill, endianness] {
                put(place, 0);
            }
            put(contiguous, CONTIGUOUS);
            put(filter, 0);
            put(parameter_count, 0);
            if !fill.is_null() {
                let place = std::slice::from_raw_parts_mut(fill.cast::<u8>(), v.ty.size());
                // The library returns the attribute's bytes, whatever its type. Bytes for which the caller
                // has no room are omitted.
                let own = find_attribute(&v.attributes, b"_FillValue").map(|n| &v.attributes[n]);
                let own = own.filter(|own| own.values.len() <= v.ty.size());
                let (ty, values) = own.map_or((v.ty, v.ty.default_fill()), |own| (own.ty, &own.values));
                let _ = convert::convert(ty, values, ty, place);
            }
        }
        Ok(())
    })
}

/// The root group has all variables.
pub(crate) unsafe extern "C" fn variable_ids(id: c_int, count: *mut c_int, ids: *mut c_int) -> c_int {
    // SAFETY: netCDF-C's pointers.
    unsafe { numbers(id, count, ids, |header| header.variables.len()) }
}

pub(crate) unsafe extern "C" fn dimension_ids(
    id: c_int,
    count: *mut c_int,
    ids: *mut c_int,
    _parents: c_int,
) -> c_int {
    // SAFETY: netCDF-C's pointers.
    unsafe { numbers(id, count, ids, |header| header.dimensions.len()) }
}

/// The root group has neither groups nor user-defined types.
pub(crate) unsafe extern "C" fn none_of(id: c_int, count: *mut c_int, ids: *mut c_int) -> c_int {
    // SAFETY: netCDF-C's pointers.
    unsafe { numbers(id, count, ids, |_| 0) }
}

/// Returns the root group by its name.
pub(crate) unsafe extern "C" fn group_id(id: c_int, name: *const c_char, group: *mut c_int) -> c_int {
    ask(id, |_| {
        if !name.is_null() {
            // SAFETY: netCDF-C's string.
            let name = unsafe { name_of(name)? };
            if !matches!(name, b"" | b"/") {
                return Err(NO_GROUP);
            }
        }
        // SAFETY: netCDF-C's pointer.
        unsafe { put(group, id) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn group_name(id: c_int, name: *mut c_char) -> c_int {
    ask(id, |_| {
        // SAFETY: netCDF-C's pointer.
        unsafe { put_name(name, b"/") };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn group_full_name(id: c_int, len: *mut usize, name: *mut c_char) -> c_int {
    ask(id, |_| {
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put_name(name, b"/");
            put(len, 1);
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn quantization(
    id: c_int,
    number: c_int,
    mode: *mut c_int,
    digits: *mut c_int,
) -> c_int {
    ask(id, |file| {
        variable(file.header(), number)?;
        // SAFETY: netCDF-C's pointers.
        unsafe {
            put(mode, 0);
            put(digits, 0);
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn filter_ids(
    id: c_int,
    number: c_int,
    count: *mut usize,
    _ids: *mut c_uint,
) -> c_int {
    ask(id, |file| {
        variable(file.header(), number)?;
        // SAFETY: netCDF-C's pointer.
        unsafe { put(count, 0) };
        Ok(())
    })
}

/// Nothing is to be done for an open file.
pub(crate) unsafe extern "C" fn nothing(id: c_int) -> c_int {
    code::entry(|| find(id).map(|_| ()))
}
