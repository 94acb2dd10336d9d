//! A source whose bytes are read by the caller's functions.

#![expect(unsafe_code, reason = "C programs hand over functions")]

use crate::code::{Failure, Result};
use crate::pointers::{Sized0, structure};
use nc3z_reader::Error;
use nc3z_reader::source::ByteSource;
use std::ffi::c_void;
use std::io;
use std::ptr::null_mut;

/// `nc3z_source` of the header.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct nc3z_source {
    /// `sizeof(nc3z_source)`.
    pub size: usize,
    /// The argument of both functions.
    pub context: *mut c_void,
    /// The number of bytes.
    pub len: u64,
    /// Fills a buffer from an offset.
    pub read: Option<unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> i32>,
    /// Called once at the end.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Sized0 for nc3z_source {
    const EMPTY: Self =
        nc3z_source { size: size_of::<Self>(), context: null_mut(), len: 0, read: None, release: None };
}

/// The functions as a byte source.
pub(crate) struct Called(nc3z_source);

// SAFETY: the header says that several threads may call the functions at once, and that the context is passed
// unchanged.
unsafe impl Send for Called {}
// SAFETY: as above.
unsafe impl Sync for Called {}

impl Called {
    /// # Safety
    /// `given` is null, or a structure as described in the header, whose functions may be called until this
    /// is dropped.
    pub(crate) unsafe fn new(given: *const nc3z_source) -> Result<Self> {
        if given.is_null() {
            return Err(Failure::invalid("source is NULL"));
        }
        // SAFETY: the caller's promise.
        let called = Called(unsafe { structure("source", given)? });
        if called.0.read.is_none() {
            return Err(Failure::invalid("the source's function read is NULL"));
        }
        Ok(called)
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: called once, with the caller's context.
            unsafe { release(self.0.context) };
        }
    }
}

impl ByteSource for Called {
    fn len(&self) -> u64 {
        self.0.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> nc3z_reader::Result<()> {
        let available = self.0.len.saturating_sub(offset);
        if buf.len() as u64 > available {
            let missing = buf.len() as u64 - available;
            return Err(nc3z_format::Error::truncated("file", offset, "read", missing, available).into());
        }
        let Some(read) = self.0.read.filter(|_| !buf.is_empty()) else { return Ok(()) };
        // SAFETY: the caller's function, and room for `buf.len()` bytes.
        let code = unsafe { read(self.0.context, offset, buf.as_mut_ptr().cast(), buf.len()) };
        if code == 0 {
            return Ok(());
        }
        let words = format!("the callback returned {code} for {} bytes from byte {offset}", buf.len());
        Err(Error::io("read", None, io::Error::other(words)))
    }
}
