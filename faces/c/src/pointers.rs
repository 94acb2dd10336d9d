//! Reads and writes through the caller's pointers, where they are not null.

#![expect(unsafe_code, reason = "C programs hand over pointers")]

use crate::code::{Code, Failure, Result};
use std::ffi::{CStr, c_char, c_void};

/// Writes a value if the caller requests it.
///
/// # Safety
/// `place` is null, or room for the value.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise. C's structures may be unaligned.
        unsafe { place.write_unaligned(value) };
    }
}

/// Writes a text and a zero, as far as there is room, and the text's full length.
///
/// # Safety
/// `text` is null or has room for `capacity` bytes; `len` is null or room for a length.
pub(crate) unsafe fn put_text(text: *mut c_char, capacity: usize, len: *mut usize, value: &[u8]) {
    if !text.is_null() && capacity > 0 {
        let n = value.len().min(capacity - 1);
        // SAFETY: the caller's promise; `n` is less than `capacity`.
        unsafe {
            std::ptr::copy_nonoverlapping(value.as_ptr(), text.cast(), n);
            text.add(n).write(0);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { put(len, value.len()) };
}

/// Writes consecutive numbers.
///
/// # Safety
/// `place` is null, or room for all of them.
pub(crate) unsafe fn put_all<T>(place: *mut T, values: impl Iterator<Item = T>) {
    if !place.is_null() {
        for (n, value) in values.enumerate() {
            // SAFETY: the caller's promise.
            unsafe { place.add(n).write_unaligned(value) };
        }
    }
}

/// Returns a text given by the caller.
///
/// # Safety
/// `text` is null, or a string that outlives the call.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a [u8]> {
    if text.is_null() {
        return Err(Failure::invalid(format!("{what} is NULL")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Returns a list of `len` numbers, if there is one.
///
/// # Safety
/// `list` is null, or contains `len` numbers.
pub(crate) unsafe fn list<T: Copy>(list: *const T, len: usize) -> Option<Vec<T>> {
    if list.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some((0..len).map(|n| unsafe { list.add(n).read_unaligned() }).collect())
}

/// Returns a buffer to fill. A length of 0 needs no buffer.
///
/// # Safety
/// `out` is null, or room for `len` bytes that nothing else uses meanwhile.
pub(crate) unsafe fn buffer<'a>(out: *mut c_void, len: usize) -> Result<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if out.is_null() {
        return Err(Failure::invalid(format!("the buffer of {len} bytes is NULL")));
    }
    if isize::try_from(len).is_err() {
        return Err(Failure::new(Code::Buffer, format!("a buffer of {len} bytes is too large")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(out.cast(), len) })
}

/// Structures of the header, which begin with their size.
pub(crate) trait Sized0: Copy {
    /// The values for members that the caller does not set.
    const EMPTY: Self;
}

/// Reads a structure of the caller. Members that its version of the header lacks have their values in
/// `EMPTY`.
///
/// # Safety
/// `from` is null, or points to as many bytes as its first member says.
pub(crate) unsafe fn structure<T: Sized0>(what: &str, from: *const T) -> Result<T> {
    let mut value = T::EMPTY;
    if from.is_null() {
        return Ok(value);
    }
    // SAFETY: the caller's promise, for the size too.
    let size = unsafe { from.cast::<usize>().read_unaligned() };
    if size < size_of::<usize>() || size > size_of::<T>() && size > MOST {
        return Err(Failure::invalid(format!("the size of {what} is {size}, expected {}", size_of::<T>())));
    }
    // SAFETY: the smaller of the two sizes.
    unsafe {
        let len = size.min(size_of::<T>());
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast(), len);
    }
    Ok(value)
}

/// The maximal size of a structure in later headers, in bytes. A larger size is an error.
const MOST: usize = 4096;

/// Fills a structure of the caller, as far as its version of the header has the members.
///
/// # Safety
/// As [`structure`]; the bytes may be written.
pub(crate) unsafe fn fill<T: Sized0>(what: &str, to: *mut T, value: &T) -> Result {
    if to.is_null() {
        return Err(Failure::invalid(format!("{what} is NULL")));
    }
    // SAFETY: the caller's promise.
    unsafe { structure(what, to.cast_const())? };
    // SAFETY: the caller's promise, and the size was checked. The size itself stays.
    unsafe {
        let size = to.cast::<usize>().read_unaligned().min(size_of::<T>());
        let skip = size_of::<usize>();
        std::ptr::copy_nonoverlapping(
            (&raw const *value).cast::<u8>().add(skip),
            to.cast::<u8>().add(skip),
            size - skip,
        );
    }
    Ok(())
}
