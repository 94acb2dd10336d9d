//! Support for versions of netCDF-C that do not read `.ncrc` (before 4.10): if this library is preloaded into
//! a program, it registers its table itself. It does so only if `LD_PRELOAD` names it.

#![expect(unsafe_code, reason = "symbols of a program that has libnetcdf")]

use crate::code::log;
use crate::table::{NcDispatch, TABLES};
use std::ffi::{CStr, c_char, c_int};
use std::panic::catch_unwind;

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
        if preloaded.is_some_and(|names| names.to_string_lossy().contains("nc3z_udf")) {
            register();
        }
    });
}

#[cfg(target_os = "linux")]
fn register() {
    // SAFETY: the strings end with a zero; RTLD_DEFAULT always exists.
    let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (define, version) = (find(c"nc_def_user_format"), find(c"nc_inq_libvers"));
    if define.is_null() || version.is_null() {
        // A program without netCDF-C, or one that loads it later.
        return;
    }
    // SAFETY: functions of netcdf.h, with the types that it declares.
    let (define, version) = unsafe {
        (
            std::mem::transmute::<*mut libc::c_void, Define>(define),
            std::mem::transmute::<*mut libc::c_void, Version>(version),
        )
    };
    // SAFETY: the function returns a static string.
    let words = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
    let Some(version) = numbers(&words).filter(|version| *version >= FIRST) else {
        log(&format!(
            "netCDF-C {words} is older than 4.8.1: its table of functions is another, and archives cannot be read"
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
