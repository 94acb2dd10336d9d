//! Attributes, with their values converted.

#![expect(unsafe_code, reason = "netCDF-C hands over pointers")]

use crate::code::{self, BAD_TYPE, NO_ATTRIBUTE, RANGE, Result, TEXT};
use crate::file::find;
use crate::inquire::{int, name_of, nc_type, put, put_name, variable};
use nc3z_c_common::{Fit, convert, find_attribute};
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Header, Version};
use std::ffi::{c_char, c_int, c_void};

const GLOBAL: c_int = -1;

/// Returns the attributes of a variable, or of the file.
fn list(header: &Header, number: c_int) -> Result<&[Attribute]> {
    if number == GLOBAL { Ok(&header.attributes) } else { Ok(&variable(header, number)?.1.attributes) }
}

fn named<'h>(header: &'h Header, number: c_int, name: &[u8]) -> Result<(usize, &'h Attribute)> {
    let all = list(header, number)?;
    let n = find_attribute(all, name).ok_or(NO_ATTRIBUTE)?;
    Ok((n, &all[n]))
}

/// Runs `work` with an attribute and its number.
///
/// # Safety
/// `name` is null or a string.
unsafe fn ask(
    id: c_int,
    number: c_int,
    name: *const c_char,
    work: impl FnOnce(&Header, usize, &Attribute) -> Result,
) -> c_int {
    code::entry(|| {
        let file = find(id)?.get()?;
        list(file.header(), number)?;
        // SAFETY: the caller's promise.
        let name = unsafe { name_of(name)? };
        let (n, attribute) = named(file.header(), number, name)?;
        work(file.header(), n, attribute)
    })
}

pub(crate) unsafe extern "C" fn attribute(
    id: c_int,
    number: c_int,
    name: *const c_char,
    ty: *mut c_int,
    len: *mut usize,
) -> c_int {
    // SAFETY: netCDF-C's string and pointers.
    unsafe {
        ask(id, number, name, |_, _, found| {
            put(ty, c_int::try_from(found.ty.code()).map_err(|_| BAD_TYPE)?);
            put(len, found.count());
            Ok(())
        })
    }
}

pub(crate) unsafe extern "C" fn attribute_id(
    id: c_int,
    number: c_int,
    name: *const c_char,
    found: *mut c_int,
) -> c_int {
    // SAFETY: netCDF-C's string and pointer.
    unsafe {
        ask(id, number, name, |_, n, _| {
            put(found, int(n));
            Ok(())
        })
    }
}

pub(crate) unsafe extern "C" fn attribute_name(
    id: c_int,
    number: c_int,
    n: c_int,
    name: *mut c_char,
) -> c_int {
    code::entry(|| {
        let file = find(id)?.get()?;
        let found = usize::try_from(n).ok().and_then(|n| list(file.header(), number).ok()?.get(n));
        list(file.header(), number)?;
        // SAFETY: netCDF-C's pointer.
        unsafe { put_name(name, &found.ok_or(NO_ATTRIBUTE)?.name) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn values(
    id: c_int,
    number: c_int,
    name: *const c_char,
    out: *mut c_void,
    ty: c_int,
) -> c_int {
    // SAFETY: netCDF-C's string and pointer: room for all values in the wanted type.
    unsafe {
        ask(id, number, name, |header, _, found| {
            if found.count() == 0 || out.is_null() {
                return Ok(());
            }
            let to = if ty == 0 { found.ty } else { nc_type(ty).ok_or(BAD_TYPE)? };
            if (to == NcType::Char) != (found.ty == NcType::Char) {
                return Err(TEXT);
            }
            let from = convert::source_type(found.ty, to, header.version == Version::Cdf5);
            let place = std::slice::from_raw_parts_mut(out.cast::<u8>(), found.count() * to.size());
            match convert::convert(from, &found.values, to, place) {
                Fit::All => Ok(()),
                Fit::NotAll => Err(RANGE),
            }
        })
    }
}
