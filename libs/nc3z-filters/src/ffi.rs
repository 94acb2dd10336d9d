//! Opens libraries and calls them: the only `unsafe` code of this crate. It runs only in the worker process.
//!
//! The structures are those of HDF5's `H5PLextern.h` and `H5Zpublic.h` and of netCDF-C's `netcdf_filter_build.h`.

#![expect(unsafe_code, reason = "this file calls third-party libraries, in a separate process")]

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, Symbol};
use serde_json::{Value, json};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

/// `H5PL_TYPE_FILTER`, `H5Z_CLASS_T_VERS`, `NCZ_CODEC_CLASS_VER` and `NCZ_CODEC_HDF5`.
const PLUGIN_FILTER: c_int = 0;
const CLASS_VERSION: c_int = 1;
const CODEC_VERSION: c_int = 1;
const CODEC_HDF5: c_int = 1;
/// `H5Z_FLAG_REVERSE`.
const REVERSE: c_uint = 0x0100;
/// The maximal number of codecs that a library may list.
const MOST_DEFAULTS: usize = 256;
/// The maximal number of parameters of a conversion.
const MOST_PARAMETERS: usize = 4096;
const MOST_TEXT: usize = 64 << 10;

type FilterFn = unsafe extern "C" fn(
    flags: c_uint,
    cd_nelmts: usize,
    cd_values: *const c_uint,
    nbytes: usize,
    buf_size: *mut usize,
    buf: *mut *mut c_void,
) -> usize;

/// `H5Z_class2_t`.
#[repr(C)]
struct FilterClass {
    version: c_int,
    id: c_int,
    encoder_present: c_uint,
    decoder_present: c_uint,
    name: *const c_char,
    can_apply: *const c_void,
    set_local: *const c_void,
    filter: Option<FilterFn>,
}

#[repr(C)]
struct CodecClass {
    version: c_int,
    sort: c_int,
    codecid: *const c_char,
    hdf5id: c_uint,
    initialize: Option<unsafe extern "C" fn()>,
    finalize: Option<unsafe extern "C" fn()>,
    to_hdf5: Option<unsafe extern "C" fn(*const c_char, *mut usize, *mut *mut c_uint) -> c_int>,
    to_codec: Option<unsafe extern "C" fn(usize, *const c_uint, *mut *mut c_char) -> c_int>,
    modify: *const c_void,
}

pub(crate) struct Opened(Library);

/// Returns a C string, cut if it is too long.
///
/// # Safety
/// `at` is null, or points to a NUL-terminated string that is valid during the call.
unsafe fn text(at: *const c_char) -> Option<String> {
    if at.is_null() {
        return None;
    }
    // SAFETY: the caller's promise. If the library breaks it, this process may end, and its parent reports
    // that.
    let all = unsafe { CStr::from_ptr(at) }.to_bytes();
    Some(String::from_utf8_lossy(&all[..all.len().min(MOST_TEXT)]).into_owned())
}

impl Opened {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: constructors of the library run. They may do anything: the worker process exists for this.
        unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }.map(Opened).map_err(|e| {
            let mut words = e.to_string();
            let mut cause = std::error::Error::source(&e);
            while let Some(next) = cause {
                words = format!("{words}: {next}");
                cause = next.source();
            }
            words
        })
    }

    fn symbol<T>(&self, name: &CStr) -> Option<Symbol<T>> {
        // SAFETY: each caller requests a name with the type that its header declares.
        unsafe { self.0.get(name.to_bytes_with_nul()) }.ok()
    }

    fn filter(&self) -> Option<&FilterClass> {
        let kind: Symbol<unsafe extern "C" fn() -> c_int> = self.symbol(c"H5PLget_plugin_type")?;
        let info: Symbol<unsafe extern "C" fn() -> *const c_void> = self.symbol(c"H5PLget_plugin_info")?;
        // SAFETY: functions without arguments, by the types of H5PLextern.h.
        if unsafe { kind() } != PLUGIN_FILTER {
            return None;
        }
        // SAFETY: as above; a filter plug-in returns a static `H5Z_class2_t`, whose first member is its
        // version.
        let class = unsafe { info().cast::<FilterClass>().as_ref() }?;
        (class.version == CLASS_VERSION).then_some(class)
    }

    fn codec(&self) -> Option<&CodecClass> {
        let info: Symbol<unsafe extern "C" fn() -> *const c_void> = self.symbol(c"NCZ_get_codec_info")?;
        // SAFETY: by the types of netcdf_filter_build.h: a static `NCZ_codec_t`.
        let class = unsafe { info().cast::<CodecClass>().as_ref() }?;
        usable(class).then_some(class)
    }

    fn defaults(&self) -> Vec<&CodecClass> {
        let Some(info) = self.symbol::<unsafe extern "C" fn() -> *const c_void>(c"NCZ_codec_info_defaults")
        else {
            return Vec::new();
        };
        // SAFETY: by the types of netcdf_filter_build.h: a static array of pointers that ends with null.
        let mut at = unsafe { info() }.cast::<*const CodecClass>();
        let mut all = Vec::new();
        while !at.is_null() && all.len() < MOST_DEFAULTS {
            // SAFETY: `at` is not beyond the null that ends the array.
            let Some(class) = (unsafe { (*at).as_ref() }) else { break };
            if usable(class) {
                all.push(class);
            }
            // SAFETY: this element was not the last.
            at = unsafe { at.add(1) };
        }
        all
    }

    /// Describes the exports of the library.
    pub(crate) fn interrogate(&self) -> Value {
        let filter = self.filter().map(|class| {
            // SAFETY: a static string of the library's.
            let name = unsafe { text(class.name) };
            json!({
                "id": class.id.cast_unsigned(), "name": name.unwrap_or_default(), "encodes": class.encoder_present != 0,
                "decodes": class.decoder_present != 0, "sets_local": !class.set_local.is_null(),
            })
        });
        let described = |class: &CodecClass| {
            // SAFETY: a static string of the library's.
            json!({"id": unsafe { text(class.codecid) }.unwrap_or_default(), "hdf5id": class.hdf5id})
        };
        let codec = self.codec().map(described);
        let defaults: Vec<_> = self.defaults().into_iter().map(described).collect();
        json!({"filter": filter, "codec": codec, "defaults": defaults})
    }

    /// Calls the filter, forward or in reverse, with a copy of `input`. Returns at most `most` bytes.
    pub(crate) fn call(
        &self,
        reverse: bool,
        cd_values: &[u32],
        input: &[u8],
        most: usize,
    ) -> Result<Vec<u8>, String> {
        let filter = self.filter().and_then(|class| class.filter).ok_or("it no longer exports a filter")?;
        // SAFETY: HDF5 passes memory from malloc to filters: they may realloc or free it.
        let mut buffer = unsafe { libc::malloc(input.len().max(1)) };
        if buffer.is_null() {
            return Err("no memory".to_owned());
        }
        // SAFETY: the buffer has this length, and is new.
        unsafe { std::ptr::copy_nonoverlapping(input.as_ptr(), buffer.cast(), input.len()) };
        let mut size = input.len();
        let flags = if reverse { REVERSE } else { 0 };
        // SAFETY: the arguments of `H5Z_func_t`: parameters and their number, bytes used, the buffer with its size.
        let len = unsafe {
            filter(flags, cd_values.len(), cd_values.as_ptr(), input.len(), &raw mut size, &raw mut buffer)
        };
        let done = match len {
            0 => Err("it refused".to_owned()),
            _ if buffer.is_null() => Err("it returned no buffer".to_owned()),
            len if len > size => Err(format!("it says {len} bytes, in a buffer of {size}")),
            len if len > most => Err(format!("it made {len} bytes, where at most {most} are expected")),
            // SAFETY: HDF5's rules: the buffer has `size` bytes, and the first `len` are the result.
            len => Ok(unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), len) }.to_vec()),
        };
        // SAFETY: our buffer, or the filter's replacement, from malloc by HDF5's rules.
        unsafe { libc::free(buffer) };
        done
    }

    fn converter(&self, id: &str) -> Option<&CodecClass> {
        let mut all = self.codec().into_iter().chain(self.defaults());
        all.find(|class| {
            // SAFETY: a static string of the library's.
            unsafe { text(class.codecid) }.as_deref() == Some(id)
        })
    }

    /// Converts NumCodecs' JSON of a codec to HDF5's parameters.
    pub(crate) fn to_hdf5(&self, id: &str, codec: &str) -> Result<Vec<u32>, String> {
        let class = self.converter(id).ok_or("it no longer has this codec")?;
        let convert = class.to_hdf5.ok_or("it does not translate from JSON")?;
        let json = CString::new(codec).map_err(|_| "a NUL byte in the JSON")?;
        let (mut count, mut values) = (0_usize, std::ptr::null_mut());
        // SAFETY: the arguments of `NCZ_codec_to_hdf5`.
        let status = unsafe { convert(json.as_ptr(), &raw mut count, &raw mut values) };
        if status != 0 {
            return Err(format!("it does not take this JSON (error {status})"));
        }
        if values.is_null() {
            return if count == 0 { Ok(Vec::new()) } else { Err("it returned no parameters".to_owned()) };
        }
        if count > MOST_PARAMETERS || count > room(values) {
            return Err(format!("it reports {count} parameters, more than it returned"));
        }
        // SAFETY: the converter returns `count` parameters, which the caller frees.
        let all = unsafe { std::slice::from_raw_parts(values, count) }.to_vec();
        // SAFETY: from malloc, and not used any more.
        unsafe { libc::free(values.cast()) };
        Ok(all)
    }

    /// Converts HDF5's parameters to NumCodecs' JSON.
    pub(crate) fn to_codec(&self, id: &str, cd_values: &[u32]) -> Result<String, String> {
        let class = self.converter(id).ok_or("it no longer has this codec")?;
        let convert = class.to_codec.ok_or("it does not translate to JSON")?;
        let mut made: *mut c_char = std::ptr::null_mut();
        // SAFETY: the arguments of `NCZ_hdf5_to_codec`.
        let status = unsafe { convert(cd_values.len(), cd_values.as_ptr(), &raw mut made) };
        // A converter that failed may leave any value in `made`.
        if status != 0 {
            return Err(format!("it does not take these parameters (error {status})"));
        }
        // SAFETY: null, or a string that the converter made.
        let json = unsafe { text(made) };
        // SAFETY: from malloc by the converter's rules, or null; not used any more.
        unsafe { libc::free(made.cast()) };
        json.ok_or_else(|| "it returned no JSON".to_owned())
    }
}

/// Lets the system kill children that plug-ins fork when this process ends for any reason.
pub(crate) fn children_die_with_this_process() {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" fn in_child() {
            let none: libc::c_ulong = 0;
            // SAFETY: a system call with integers, which is allowed after a fork.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, none, none, none) };
        }
        // SAFETY: the function is valid as long as the process.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// Ends this process at once. Buffers are not written, and exit handlers of libraries are not called.
pub(crate) fn leave_now() -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(0) }
}

/// Lets the C allocator return freed memory to the system, if it can.
pub(crate) fn give_freed_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only releases memory that is not in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the number of words that fit into a buffer from malloc, if the system reports it.
fn room(values: *mut c_uint) -> usize {
    #[cfg(target_os = "linux")]
    // SAFETY: not null, and from malloc by the rules of `NCZ_codec_to_hdf5`; otherwise freeing it would crash as well.
    let bytes = unsafe { libc::malloc_usable_size(values.cast()) };
    #[cfg(not(target_os = "linux"))]
    let bytes = {
        let _ = values;
        usize::MAX
    };
    bytes / size_of::<c_uint>()
}

/// Returns whether a codec has a known version and kind, and converts parameters. Initializes it then.
fn usable(class: &CodecClass) -> bool {
    let known = class.version == CODEC_VERSION && class.sort == CODEC_HDF5;
    if let Some(initialize) = class.initialize.filter(|_| known) {
        // SAFETY: a function without arguments, which must be called before the others; calling it twice is
        // harmless.
        unsafe { initialize() };
    }
    known
}
