//! The versions of an archive.

#![expect(unsafe_code, reason = "symbols that C programs call")]

use crate::code::{Failure, Result, call};
use crate::open::{find, nc3z_file};
use crate::pointers::{Sized0, fill, put, put_text, structure};
use nc3z_c_common::Opened;
use nc3z_reader::Version;
use std::ffi::c_char;

/// `nc3z_version_info` of the header.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct nc3z_version_info {
    /// `sizeof(nc3z_version_info)`.
    pub size: usize,
    /// The number of the version.
    pub number: u64,
    /// Bytes of its classic file.
    pub original_len: u64,
    /// Bytes that it added to the archive.
    pub added_len: u64,
}

impl Sized0 for nc3z_version_info {
    const EMPTY: Self =
        nc3z_version_info { size: size_of::<Self>(), number: 0, original_len: 0, added_len: 0 };
}

fn all(file: &Opened) -> Result<Vec<Version>> {
    match file.archive() {
        Some(archive) => Ok(archive.versions(u64::MAX)?),
        None => Err(Failure::not_found("a classic file has no versions; archives have")),
    }
}

/// `nc3z_versions` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_versions(
    file: *const nc3z_file,
    versions: *mut nc3z_version_info,
    capacity: usize,
    count: *mut usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let all = all(&file)?;
        if !versions.is_null() && capacity > 0 {
            // SAFETY: the caller's promise. The first item's size is that of all.
            let size = unsafe {
                structure("versions", versions.cast_const())?;
                versions.cast::<usize>().read_unaligned()
            };
            for (n, version) in all.iter().take(capacity).enumerate() {
                let found = nc3z_version_info {
                    size,
                    number: version.record.number,
                    original_len: version.trailer.original_len,
                    added_len: version.added_len,
                };
                // SAFETY: the caller has room for `capacity` items of this size.
                unsafe {
                    let place = versions.byte_add(n * size);
                    place.cast::<usize>().write_unaligned(size);
                    fill("versions", place, &found)?;
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { put(count, all.len()) };
        Ok(())
    })
}

/// `nc3z_version_text` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_version_text(
    file: *const nc3z_file,
    number: u64,
    which: i32,
    text: *mut c_char,
    capacity: usize,
    text_len: *mut usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let all = all(&file)?;
        let found = all.iter().find(|version| version.record.number == number);
        let record = &found.ok_or_else(|| Failure::not_found(format!("no version {number}")))?.record;
        let words = match which {
            0 => &record.message,
            1 => &record.author,
            2 => &record.time,
            _ => {
                return Err(Failure::invalid(format!(
                    "unknown value {which} of `which`; expected 0, 1 or 2"
                )));
            }
        };
        // SAFETY: the caller's promise.
        unsafe { put_text(text, capacity, text_len, words.as_deref().unwrap_or_default().as_bytes()) };
        Ok(())
    })
}
