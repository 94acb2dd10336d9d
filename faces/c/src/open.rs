//! Opening and closing.

#![expect(unsafe_code, reason = "symbols that C programs call")]

use crate::code::{Code, Failure, Result, call};
use crate::pointers::{Sized0, buffer, put, structure, text};
use crate::source::{Called, nc3z_source};
use nc3z_c_common::{File, Handles, Opened};
use nc3z_reader::source::MemorySource;
use nc3z_reader::{OpenOptions, VersionName};
use std::ffi::{OsStr, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `nc3z_file` of the header: an opaque type.
#[repr(C)]
pub struct nc3z_file {
    nothing: [u8; 0],
}

/// `nc3z_open_options` of the header.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct nc3z_open_options {
    /// `sizeof(nc3z_open_options)`.
    pub size: usize,
    /// The number of a version; 0 is the newest.
    pub version: u64,
    /// The tag of one, or null.
    pub tag: *const c_char,
    /// True if damaged tiles are read as fill values.
    pub fill_lost: i32,
    /// 0.
    pub reserved: i32,
}

impl Sized0 for nc3z_open_options {
    const EMPTY: Self =
        nc3z_open_options { size: size_of::<Self>(), version: 0, tag: null(), fill_lost: 0, reserved: 0 };
}

static FILES: Handles<usize, File> = Handles::empty();
/// Handles are odd, unlike addresses of objects.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// The file of a handle, for this process.
pub(crate) fn find(file: *const nc3z_file) -> Result<Arc<Opened>> {
    let found = FILES.get(file.addr());
    let found = found.ok_or_else(|| Failure::new(Code::Handle, "not an open handle of this library"))?;
    Ok(found.get()?)
}

/// # Safety
/// As the header says.
unsafe fn options(options: *const nc3z_open_options) -> Result<OpenOptions> {
    // SAFETY: the caller's promise.
    let given = unsafe { structure("options", options)? };
    if given.version > 0 && !given.tag.is_null() {
        return Err(Failure::invalid("options have both a version and a tag"));
    }
    let version = if given.tag.is_null() {
        (given.version > 0).then_some(VersionName::Number(given.version))
    } else {
        // SAFETY: the caller's promise.
        let tag = unsafe { text("tag", given.tag)? };
        Some(VersionName::Tag(String::from_utf8_lossy(tag).into_owned()))
    };
    Ok(OpenOptions::default().with_version(version).with_fill_lost(given.fill_lost != 0))
}

/// Returns a path given by the caller.
///
/// # Safety
/// `path` is null or a string.
pub(crate) unsafe fn path<'a>(what: &str, path: *const c_char) -> Result<&'a Path> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { text(what, path)? };
    #[cfg(unix)]
    let path: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    #[cfg(not(unix))]
    let path: &OsStr =
        std::str::from_utf8(bytes).map_err(|_| Failure::invalid(format!("{what} is not UTF-8")))?.as_ref();
    Ok(Path::new(path))
}

/// Opens a file, and returns a handle.
///
/// # Safety
/// As the header says of `options` and `file`.
unsafe fn open(
    given: *const nc3z_open_options,
    file: *mut *mut nc3z_file,
    open: impl FnOnce(Result<OpenOptions>) -> Result<File>,
) -> i32 {
    call(|| {
        if file.is_null() {
            return Err(Failure::invalid("file is NULL"));
        }
        // SAFETY: the caller's promise.
        unsafe { put(file, null_mut()) };
        // SAFETY: the caller's promise.
        let options = unsafe { options(given) };
        let version = options.as_ref().ok().and_then(|options| options.version().cloned());
        let opened = open(options)?;
        let is_first = matches!(version, None | Some(VersionName::Number(1)));
        if !is_first && opened.get()?.archive().is_none() {
            return Err(Failure::not_found("a classic file has one version; archives have several"));
        }
        let handle = NEXT.fetch_add(2, Ordering::Relaxed);
        FILES.insert(handle, opened);
        // SAFETY: the caller's promise.
        unsafe { put(file, std::ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `nc3z_open` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_open(
    name: *const c_char,
    options: *const nc3z_open_options,
    file: *mut *mut nc3z_file,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { open(options, file, |options| Ok(File::open(path("path", name)?, &options?)?)) }
}

/// `nc3z_open_memory` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_open_memory(
    bytes: *const c_void,
    len: usize,
    options: *const nc3z_open_options,
    file: *mut *mut nc3z_file,
) -> i32 {
    // SAFETY: the caller's promise. The buffer is only read.
    unsafe {
        open(options, file, |options| {
            let bytes: &[u8] = buffer(bytes.cast_mut(), len)?;
            Ok(File::from_source(Arc::new(MemorySource::new(bytes.to_vec())), &options?)?)
        })
    }
}

/// `nc3z_open_source` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_open_source(
    source: *const nc3z_source,
    options: *const nc3z_open_options,
    file: *mut *mut nc3z_file,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        // First, so that it is released whatever is refused.
        let source = Called::new(source);
        open(options, file, |options| Ok(File::from_source(Arc::new(source?), &options?)?))
    }
}

/// `nc3z_close` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nc3z_close(file: *mut nc3z_file) -> i32 {
    call(|| {
        if !file.is_null() && FILES.remove(file.addr()).is_none() {
            return Err(Failure::new(Code::Handle, "not an open handle of this library"));
        }
        Ok(())
    })
}
