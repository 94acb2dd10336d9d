//! Support for versions of netCDF-C that do not read `.ncrc` (before 4.10): if this library is preloaded into
//! a program, it registers its table itself. It does so only if `LD_PRELOAD` names it.
//!
//! R, Octave, Perl and Python load netCDF-C later, with a module of theirs. Therefore `dlopen` is replaced too (`late`).

#![expect(unsafe_code, reason = "symbols of a program that has libnetcdf")]

use crate::code::log;
use crate::table::{NcDispatch, TABLES};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first eight bytes of an archive, and a zero. netCDF-C compares the bytes before the zero.
const MAGIC: &CStr = c"\x89NC3Z\r\n\x1a";
/// `NC_UDF0` and so on.
const MODE_FLAGS: [c_int; 10] =
    [0x40, 0x80, 0x1_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000, 0x80_0000, 0x100_0000, 0x200_0000];
/// The first version whose table has 79 members, as `major, minor, patch`.
const FIRST: [u32; 3] = [4, 8, 1];
/// The first version with ten slots that work: in 4.10.0, the mode flags of slots 3 to 9 are wrong.
const TEN_SLOTS: [u32; 3] = [4, 10, 1];

type Define = unsafe extern "C" fn(c_int, *const NcDispatch, *const c_char) -> c_int;
type Version = unsafe extern "C" fn() -> *const c_char;

/// Called by the dynamic linker when this library is loaded.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

#[cfg(target_os = "linux")]
extern "C" fn on_load() {
    // Nothing is expected to panic; nothing may cross into the linker.
    let _ = catch_unwind(|| {
        let preloaded = std::env::var_os("LD_PRELOAD");
        if preloaded.is_some_and(|names| names.to_string_lossy().contains("nc3z_netcdf_plugin")) {
            IS_PRELOADED.store(true, Ordering::Relaxed);
            register(libc::RTLD_DEFAULT);
        }
    });
}

/// True once the dynamic linker has preloaded this library.
static IS_PRELOADED: AtomicBool = AtomicBool::new(false);
/// The addresses of the functions that were called: one for each copy of netCDF-C.
static REGISTERED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Registers the table with the netCDF-C that a handle of the dynamic linker leads to, once.
#[cfg(target_os = "linux")]
fn register(handle: *mut c_void) {
    // SAFETY: the strings end with a zero; the handle is open, or RTLD_DEFAULT, which always exists.
    let find = |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) };
    let (define, version) = (find(c"nc_def_user_format"), find(c"nc_inq_libvers"));
    if define.is_null() || version.is_null() {
        // A program without netCDF-C, or one that loads it later.
        return;
    }
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.contains(&define.addr()) {
        return;
    }
    registered.push(define.addr());
    drop(registered);
    // SAFETY: functions of netcdf.h, with the types that it declares.
    let (define, version) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Define>(define),
            std::mem::transmute::<*mut c_void, Version>(version),
        )
    };
    // SAFETY: the function returns a static string.
    let words = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
    let Some(version) = numbers(&words).filter(|version| *version >= FIRST) else {
        log(&format!(
            "netCDF-C {words} is older than 4.8.1: its dispatch table differs, so archives cannot be read"
        ));
        return;
    };
    let slot = wanted_slot().unwrap_or(if version >= TEN_SLOTS { 9 } else { 0 });
    // SAFETY: a static table and a static string.
    let code = unsafe { define(MODE_FLAGS[slot], &raw const TABLES[slot], MAGIC.as_ptr()) };
    log(&format!("registered with netCDF-C {words} as user-defined format {slot}: code {code}"));
}

/// Returns the slot given by `NC3Z_UDF_SLOT`.
fn wanted_slot() -> Option<usize> {
    std::env::var("NC3Z_UDF_SLOT").ok()?.trim().parse().ok().filter(|slot| *slot < MODE_FLAGS.len())
}

/// Parses the numbers at the start of a version such as `4.9.0 of Jan 1 2023`.
fn numbers(words: &str) -> Option<[u32; 3]> {
    let digits = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    };
    let mut parts = words.trim_start_matches('"').split('.');
    Some([digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?])
}

/// Registers with copies of netCDF-C that a program loads while it runs. They need not be visible to other libraries.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(test)))]
mod late {
    use super::{IS_PRELOADED, register};
    use std::arch::naked_asm;
    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};

    type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

    /// Takes the place of the linker's `dlopen` in a program that this library is preloaded into.
    ///
    /// It jumps to the function that [`target`] chooses, and leaves no frame: if a name has no slash, the linker searches
    /// the directories of the library that calls it.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
        #[cfg(target_arch = "x86_64")]
        naked_asm!(
            "push rdi", "push rsi", "sub rsp, 8", "call {target}", "add rsp, 8", "pop rsi", "pop rdi", "jmp rax",
            target = sym target
        );
        #[cfg(target_arch = "aarch64")]
        naked_asm!(
            "stp x29, x30, [sp, #-32]!", "stp x0, x1, [sp, #16]", "bl {target}", "mov x16, x0", "ldp x0, x1, [sp, #16]",
            "ldp x29, x30, [sp], #32", "br x16",
            target = sym target
        );
    }

    /// Returns the function that opens a library of this name.
    extern "C" fn target(name: *const c_char) -> Open {
        // SAFETY: `dlopen` takes null or a string.
        let is_path = || !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes().contains(&b'/');
        if IS_PRELOADED.load(Ordering::Relaxed) && is_path() { open_path } else { linkers() }
    }

    fn linkers() -> Open {
        static FOUND: AtomicUsize = AtomicUsize::new(0);
        let mut found = std::ptr::with_exposed_provenance_mut::<c_void>(FOUND.load(Ordering::Relaxed));
        if found.is_null() {
            // SAFETY: the string ends with a zero.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) };
            FOUND.store(found.expose_provenance(), Ordering::Relaxed);
        }
        if found.is_null() {
            return no_library;
        }
        // SAFETY: a function of this type.
        unsafe { std::mem::transmute::<*mut c_void, Open>(found) }
    }

    /// The function of a program without a dynamic linker.
    unsafe extern "C" fn no_library(_: *const c_char, _: c_int) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe extern "C" fn open_path(name: *const c_char, flags: c_int) -> *mut c_void {
        // SAFETY: as the caller's.
        let handle = unsafe { linkers()(name, flags) };
        if !handle.is_null() {
            let _ = catch_unwind(register_all);
        }
        handle
    }

    fn register_all() {
        let mut libraries: Vec<CString> = Vec::new();
        // SAFETY: the callback gets the list that it expects, and ends before the list does.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut libraries).cast()) };
        for library in libraries {
            // SAFETY: a string; the library is open already.
            let handle = unsafe { linkers()(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
            if !handle.is_null() {
                register(handle);
                // SAFETY: it was opened above.
                unsafe { libc::dlclose(handle) };
            }
        }
    }

    /// Adds a library to the list if its name is one of netCDF-C. Python packages have copies with longer names.
    unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
        // SAFETY: the linker passes its description of a library, with a string, and the list of `register_all`.
        let (name, list) = unsafe { (CStr::from_ptr((*info).dlpi_name), &mut *list.cast::<Vec<CString>>()) };
        let file = name.to_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
        if file.starts_with(b"libnetcdf") {
            list.push(name.to_owned());
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_library_are_read() {
        assert_eq!(numbers("4.9.0 of Feb  3 2023 10:26:33 $"), Some([4, 9, 0]));
        assert_eq!(numbers("4.10.1-rc1 of ..."), Some([4, 10, 1]));
        assert_eq!(numbers("\"4.8.1\" of"), Some([4, 8, 1]));
        assert!(numbers("four").is_none());
        assert!([4, 10, 0] > FIRST && [4, 10, 0] < TEN_SLOTS && [4, 7, 4] < FIRST);
    }
}
