//! Open files by their numbers.

#![expect(unsafe_code, reason = "netCDF-C hands over pointers")]

use crate::code::{self, BAD_ID, INVALID, READ_ONLY, Result};
use crate::table::NcDispatch;
use nc3z_c_common::{File, Handles, Opened};
use nc3z_reader::OpenOptions;
use nc3z_reader::source::MemorySource;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::sync::Arc;

const WRITE: c_int = 1;
const IN_MEMORY: c_int = 0x8000;
/// `NC_MEMIO_LOCKED`: the memory still belongs to the caller.
const LOCKED: c_int = 1;
/// The bits of a number that identify a file. The other bits identify a group in it.
const FILE_MASK: c_int = !0xFFFF;

pub(crate) struct Entry {
    file: File,
    pub(crate) model: c_int,
    pub(crate) mode: c_int,
    memory: Option<Memory>,
}

/// The caller's memory that a file was opened from. Its bytes were copied.
struct Memory {
    address: usize,
    size: usize,
    locked: bool,
}

#[repr(C)]
struct MemIo {
    size: usize,
    memory: *mut c_void,
    flags: c_int,
}

static FILES: Handles<c_int, Entry> = Handles::empty();

/// Returns the file with this number.
pub(crate) fn find(id: c_int) -> Result<Arc<Entry>> {
    FILES.get(id & FILE_MASK).ok_or(BAD_ID)
}

impl Entry {
    /// Returns the file for this process.
    pub(crate) fn get(&self) -> Result<Arc<Opened>> {
        self.file.get().map_err(|e| code::of_open("opened again", &e))
    }
}

pub(crate) unsafe extern "C" fn open(
    path: *const c_char,
    mode: c_int,
    _base: c_int,
    _hint: *mut usize,
    parameters: *mut c_void,
    table: *const NcDispatch,
    id: c_int,
) -> c_int {
    code::entry(|| {
        if mode & WRITE != 0 {
            return Err(READ_ONLY);
        }
        if path.is_null() || table.is_null() {
            return Err(INVALID);
        }
        // SAFETY: netCDF-C passes a string, and the table that it got from this library.
        let (path, model) = unsafe { (CStr::from_ptr(path), (*table).model) };
        let name = path.to_string_lossy();
        // A program that calls netCDF has no other way to learn of it.
        let file_name = name.clone().into_owned();
        let options = OpenOptions::default().with_read_repair(move |repaired| {
            eprintln!("nc3z: warning: `{file_name}` is {repaired}; `nc3z repair` fixes the file");
        });
        let (file, memory) = if mode & IN_MEMORY != 0 && !parameters.is_null() {
            // SAFETY: with this flag, netCDF-C passes an NC_memio.
            let given = unsafe { &*parameters.cast::<MemIo>() };
            if given.memory.is_null() || isize::try_from(given.size).is_err() {
                return Err(INVALID);
            }
            // SAFETY: the caller of nc_open_mem states the number of bytes.
            let bytes = unsafe { std::slice::from_raw_parts(given.memory.cast::<u8>(), given.size) }.to_vec();
            let memory = Memory {
                address: given.memory.expose_provenance(),
                size: given.size,
                locked: given.flags & LOCKED != 0,
            };
            (File::from_source(Arc::new(MemorySource::new(bytes)), &options), Some(memory))
        } else {
            (File::open(os_str(path).as_ref(), &options), None)
        };
        let file = file.map_err(|e| code::of_open(&name, &e))?;
        FILES.insert(id & FILE_MASK, Entry { file, model, mode, memory });
        Ok(())
    })
}

#[cfg(unix)]
fn os_str(path: &CStr) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path.to_bytes())
}

#[cfg(not(unix))]
fn os_str(path: &CStr) -> &OsStr {
    path.to_str().unwrap_or_default().as_ref()
}

pub(crate) unsafe extern "C" fn close(id: c_int, parameters: *mut c_void) -> c_int {
    code::entry(|| {
        let entry = FILES.remove(id & FILE_MASK).ok_or(BAD_ID)?;
        let Some(memory) = &entry.memory else { return Ok(()) };
        let address = std::ptr::with_exposed_provenance_mut::<c_void>(memory.address);
        if !parameters.is_null() {
            // SAFETY: nc_close_memio passes an NC_memio to fill in.
            let wanted = unsafe { &mut *parameters.cast::<MemIo>() };
            (wanted.size, wanted.memory) = (memory.size, address);
        } else if !memory.locked {
            // SAFETY: memory that is not locked came from malloc, and was handed over.
            unsafe { libc::free(address) };
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn abort(id: c_int) -> c_int {
    // SAFETY: no result is requested.
    unsafe { close(id, std::ptr::null_mut()) }
}
