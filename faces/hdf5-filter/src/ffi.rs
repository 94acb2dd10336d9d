//! The functions of the library that HDF5 and netCDF-C call: the only `unsafe` code of this crate.
//!
//! HDF5's own functions are needed once, when a dataset is created. They are searched in the libraries that
//! the process has loaded, since a program that loads this library may not make them visible to it (Python
//! packages do not).

#![expect(unsafe_code, reason = "a library that C programs load and call")]

use crate::codec::{decode, encode};
use crate::parameters::{FILTER_ID, NAME, Parameters, RequestedParameters};
use nc3z_num::ElementType;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Hid = i64;
type Hsize = u64;

/// `H5Z_FLAG_REVERSE`.
const REVERSE: c_uint = 0x0100;
const MOST_PARAMETERS: usize = 4 + 32;
/// `H5T_INTEGER`, `H5T_FLOAT`; `H5T_ORDER_BE`; `H5T_SGN_NONE`.
const CLASS_INTEGER: c_int = 0;
const CLASS_FLOAT: c_int = 1;
const ORDER_BIG: c_int = 1;
const SIGN_NONE: c_int = 0;
const NC_EFILTER: c_int = -132;
/// netCDF-C's `NC_ENDIAN_LITTLE`, `NC_ENDIAN_BIG` and `NC_CHUNKED`.
const NC_ENDIAN_LITTLE: c_int = 1;
const NC_ENDIAN_BIG: c_int = 2;
const NC_CHUNKED: c_int = 0;

/// `H5Z_class2_t`.
#[repr(C)]
struct FilterClass {
    version: c_int,
    id: c_int,
    encoder_present: c_uint,
    decoder_present: c_uint,
    name: *const c_char,
    can_apply: Option<unsafe extern "C" fn(Hid, Hid, Hid) -> c_int>,
    set_local: Option<unsafe extern "C" fn(Hid, Hid, Hid) -> c_int>,
    filter: unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize,
}

#[repr(C)]
struct CodecClass {
    version: c_int,
    sort: c_int,
    codecid: *const c_char,
    hdf5id: c_uint,
    initialize: *const c_void,
    finalize: *const c_void,
    to_hdf5: unsafe extern "C" fn(*const c_char, *mut usize, *mut *mut c_uint) -> c_int,
    to_codec: unsafe extern "C" fn(usize, *const c_uint, *mut *mut c_char) -> c_int,
    modify: unsafe extern "C" fn(
        c_int,
        c_int,
        *mut usize,
        *mut *mut c_uint,
        *mut usize,
        *mut *mut c_uint,
    ) -> c_int,
}

// SAFETY: never written; the pointers refer to static strings and functions.
unsafe impl Sync for FilterClass {}
// SAFETY: as above.
unsafe impl Sync for CodecClass {}

const C_NAME: &CStr = c"nc3z.num";
#[expect(clippy::cast_possible_wrap, reason = "a number of the private range")]
const ID: c_int = FILTER_ID as c_int;

static FILTER: FilterClass = FilterClass {
    version: 1,
    id: ID,
    encoder_present: 1,
    decoder_present: 1,
    name: C_NAME.as_ptr(),
    can_apply: Some(can_apply),
    set_local: Some(set_local),
    filter,
};

static CODEC: CodecClass = CodecClass {
    version: 1,
    sort: 1,
    codecid: C_NAME.as_ptr(),
    hdf5id: FILTER_ID,
    initialize: std::ptr::null(),
    finalize: std::ptr::null(),
    to_hdf5,
    to_codec,
    modify: modify_parameters,
};

/// Tells HDF5 the kind of plug-in: a filter.
#[unsafe(no_mangle)]
extern "C" fn H5PLget_plugin_type() -> c_int {
    0
}

/// Returns the filter to HDF5.
#[unsafe(no_mangle)]
extern "C" fn H5PLget_plugin_info() -> *const c_void {
    (&raw const FILTER).cast()
}

/// Returns the codec to netCDF-C.
#[unsafe(no_mangle)]
extern "C" fn NCZ_get_codec_info() -> *const c_void {
    (&raw const CODEC).cast()
}

/// Returns the parameters of a call.
///
/// # Safety
/// `values` is null or points to `count` words.
unsafe fn words<'a>(count: usize, values: *const c_uint) -> &'a [u32] {
    if values.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(values, count) }
}

unsafe extern "C" fn filter(
    flags: c_uint,
    count: usize,
    values: *const c_uint,
    len: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    // SAFETY: HDF5 passes `count` parameters to filters.
    let Some(parameters) = Parameters::from_words(unsafe { words(count, values) }) else { return 0 };
    // SAFETY: HDF5 passes a buffer with `len` bytes to filters.
    let input = unsafe { std::slice::from_raw_parts((*buffer).cast::<u8>(), len) };
    // No panic is expected; none may cross into C.
    let made = catch_unwind(AssertUnwindSafe(|| {
        if flags & REVERSE == 0 { encode(&parameters, input) } else { decode(&parameters, input) }
    }));
    let Some(made) = made.ok().flatten().filter(|made| !made.is_empty()) else { return 0 };
    // SAFETY: the memory must come from malloc, since HDF5 frees it later.
    let own = unsafe { libc::malloc(made.len()) };
    if own.is_null() {
        return 0;
    }
    // SAFETY: `own` is new and has this length. By HDF5's rules the filter frees the old buffer. Both
    // pointers are HDF5's.
    unsafe {
        std::ptr::copy_nonoverlapping(made.as_ptr(), own.cast(), made.len());
        libc::free(*buffer);
        (*buffer, *size) = (own, made.len());
    }
    made.len()
}

/// The functions of one HDF5 library in the process that `set_local` calls.
struct Hdf5 {
    class_of: unsafe extern "C" fn(Hid) -> c_int,
    size_of: unsafe extern "C" fn(Hid) -> usize,
    order_of: unsafe extern "C" fn(Hid) -> c_int,
    sign_of: unsafe extern "C" fn(Hid) -> c_int,
    chunk_of: unsafe extern "C" fn(Hid, c_int, *mut Hsize) -> c_int,
    filter_by_id: unsafe extern "C" fn(
        Hid,
        c_int,
        *mut c_uint,
        *mut usize,
        *mut c_uint,
        usize,
        *mut c_char,
        *mut c_uint,
    ) -> c_int,
    modify: unsafe extern "C" fn(Hid, c_int, c_uint, usize, *const c_uint) -> c_int,
}

/// Returns all libraries of the process whose file name has this prefix, and the process itself, which may
/// contain one.
fn loaded(prefix: &str) -> Vec<*mut c_void> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, names: *mut c_void) -> c_int {
        // SAFETY: the linker's structure, and the vector that the caller passed.
        let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: the linker's string.
            names.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
        }
        0
    }
    let is_wanted = |name: &&CString| {
        let file = name.to_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
        file.starts_with(prefix.as_bytes())
    };
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback gets the vector that is passed here.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    let handles = names.iter().filter(is_wanted).map(|name| {
        // SAFETY: the library is already loaded: no code runs, and it stays loaded.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }
    });
    handles.filter(|handle| !handle.is_null()).chain([libc::RTLD_DEFAULT]).collect()
}

/// Returns a function of a library, by its name.
fn find(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a handle of a library that stays loaded, or the default one.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

/// Returns all HDF5 libraries of the process: an id belongs to one of them.
fn hdf5_libraries() -> Vec<Hdf5> {
    loaded("libhdf5").into_iter().filter_map(hdf5_functions).collect()
}

fn hdf5_functions(handle: *mut c_void) -> Option<Hdf5> {
    let find = |name: &CStr| find(handle, name);
    // SAFETY: functions of HDF5's public headers, with the types that these declare.
    unsafe {
        Some(Hdf5 {
            class_of: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Hid) -> c_int>(find(
                c"H5Tget_class",
            )?),
            size_of: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Hid) -> usize>(find(
                c"H5Tget_size",
            )?),
            order_of: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Hid) -> c_int>(find(
                c"H5Tget_order",
            )?),
            sign_of: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Hid) -> c_int>(find(
                c"H5Tget_sign",
            )?),
            chunk_of: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Hid, c_int, *mut Hsize) -> c_int>(
                find(c"H5Pget_chunk")?,
            ),
            filter_by_id: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(
                    Hid,
                    c_int,
                    *mut c_uint,
                    *mut usize,
                    *mut c_uint,
                    usize,
                    *mut c_char,
                    *mut c_uint,
                ) -> c_int,
            >(find(c"H5Pget_filter_by_id2")?),
            modify: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(Hid, c_int, c_uint, usize, *const c_uint) -> c_int,
            >(find(c"H5Pmodify_filter")?),
        })
    }
}

impl Hdf5 {
    /// Returns the element type of a datatype, and whether it is big-endian.
    fn element(&self, datatype: Hid) -> Option<(ElementType, bool)> {
        // SAFETY: an id. For another library the id is an error.
        let (class, size) = unsafe { ((self.class_of)(datatype), (self.size_of)(datatype)) };
        // SAFETY: as above.
        let is_unsigned = || unsafe { (self.sign_of)(datatype) } == SIGN_NONE;
        let ty = match (class, size) {
            // The codec has no type for half precision: its bits are encoded as 2-byte integers.
            (CLASS_FLOAT, 2) => ElementType::U16,
            (CLASS_FLOAT, 4) => ElementType::F32,
            (CLASS_FLOAT, 8) => ElementType::F64,
            (CLASS_INTEGER, 1) if is_unsigned() => ElementType::U8,
            (CLASS_INTEGER, 1) => ElementType::I8,
            (CLASS_INTEGER, 2) if is_unsigned() => ElementType::U16,
            (CLASS_INTEGER, 2) => ElementType::I16,
            (CLASS_INTEGER, 4) if is_unsigned() => ElementType::U32,
            (CLASS_INTEGER, 4) => ElementType::I32,
            (CLASS_INTEGER, 8) if is_unsigned() => ElementType::U64,
            (CLASS_INTEGER, 8) => ElementType::I64,
            _ => return None,
        };
        // SAFETY: as above.
        Some((ty, unsafe { (self.order_of)(datatype) } == ORDER_BIG))
    }

    /// Completes the filter's parameters. `None` if these ids are not of chunked numbers, or belong to
    /// another library.
    fn set_local(&self, list: Hid, datatype: Hid) -> Option<()> {
        let (ty, big_endian) = self.element(datatype)?;
        let mut lengths: [Hsize; 32] = [0; 32];
        // SAFETY: room for 32 lengths, HDF5's maximum.
        let rank = unsafe { (self.chunk_of)(list, 32, lengths.as_mut_ptr()) };
        let shape = lengths.get(..usize::try_from(rank).ok()?)?.to_vec();
        let (mut flags, mut count, mut values) = (0, MOST_PARAMETERS, [0; MOST_PARAMETERS]);
        // SAFETY: room for `count` parameters; name and configuration are not requested.
        let found = unsafe {
            (self.filter_by_id)(
                list,
                ID,
                &raw mut flags,
                &raw mut count,
                values.as_mut_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        if found < 0 {
            return None;
        }
        // HDF5 returns their number, and fills in as many as fit.
        let RequestedParameters { effort, checksum } = Parameters::wanted(values.get(..count)?)?;
        let words = Parameters { effort, checksum, ty, big_endian, shape }.to_words()?;
        // SAFETY: the number of parameters is passed with them.
        let done = unsafe { (self.modify)(list, ID, flags, words.len(), words.as_ptr()) };
        (done >= 0).then_some(())
    }
}

unsafe extern "C" fn can_apply(_: Hid, datatype: Hid, _: Hid) -> c_int {
    let fits = catch_unwind(|| hdf5_libraries().iter().any(|hdf5| hdf5.element(datatype).is_some()));
    c_int::from(fits.unwrap_or(false))
}

unsafe extern "C" fn set_local(list: Hid, datatype: Hid, _: Hid) -> c_int {
    let done = catch_unwind(|| hdf5_libraries().iter().any(|hdf5| hdf5.set_local(list, datatype).is_some()));
    if done.unwrap_or(false) { 1 } else { -1 }
}

/// Returns a copy that the caller frees.
fn malloced<T: Copy>(items: &[T]) -> *mut T {
    // SAFETY: a new buffer with the length of the copied data; malloc aligns it for all types.
    unsafe {
        let own = libc::malloc(size_of_val(items).max(1)).cast::<T>();
        if !own.is_null() {
            std::ptr::copy_nonoverlapping(items.as_ptr(), own, items.len());
        }
        own
    }
}

/// The functions of one netCDF-C library in the process that [`modify_parameters`] calls.
struct NetCdf {
    ty: Inquire,
    rank: Inquire,
    order: Inquire,
    chunk: InquireChunk,
}

/// Returns a number for a file and a variable in it.
type Inquire = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;
/// Returns the kind of storage, and the lengths of a chunk.
type InquireChunk = unsafe extern "C" fn(c_int, c_int, *mut c_int, *mut usize) -> c_int;

fn netcdf_functions(handle: *mut c_void) -> Option<NetCdf> {
    let find = |name: &CStr| find(handle, name);
    // SAFETY: functions of netCDF-C's public headers, with the types that these declare.
    unsafe {
        Some(NetCdf {
            ty: std::mem::transmute::<*mut c_void, Inquire>(find(c"nc_inq_vartype")?),
            rank: std::mem::transmute::<*mut c_void, Inquire>(find(c"nc_inq_varndims")?),
            order: std::mem::transmute::<*mut c_void, Inquire>(find(c"nc_inq_var_endian")?),
            chunk: std::mem::transmute::<*mut c_void, InquireChunk>(find(c"nc_inq_var_chunking")?),
        })
    }
}

impl NetCdf {
    /// Returns the parameters for chunks of a variable. `None` if they do not contain numbers, or the ids
    /// belong to another library.
    fn parameters(&self, file: c_int, variable: c_int, wanted: RequestedParameters) -> Option<Parameters> {
        let RequestedParameters { effort, checksum } = wanted;
        let inquire = |function: Inquire| {
            let mut found: c_int = 0;
            // SAFETY: two ids, and a pointer for the answer.
            (unsafe { function(file, variable, &raw mut found) } == 0).then_some(found)
        };
        let ty = Parameters::type_of(u32::try_from(inquire(self.ty)?).ok()?)?;
        let big_endian = match inquire(self.order)? {
            NC_ENDIAN_LITTLE => false,
            NC_ENDIAN_BIG => true,
            _ => cfg!(target_endian = "big"),
        };
        let rank = usize::try_from(inquire(self.rank)?).ok()?;
        // More than netCDF-C's maximum.
        let (mut storage, mut lengths): (c_int, [usize; 1024]) = (0, [0; 1024]);
        let lengths = lengths.get_mut(..rank)?;
        // SAFETY: pointers for the kind of storage, and for each length.
        let found = unsafe { (self.chunk)(file, variable, &raw mut storage, lengths.as_mut_ptr()) };
        let shape = lengths.iter().map(|len| *len as u64).collect();
        (found == 0 && storage == NC_CHUNKED).then_some(Parameters {
            effort,
            checksum,
            ty,
            big_endian,
            shape,
        })
    }
}

/// Returns to NCZarr the filter's parameters for chunks of a variable. NCZarr stores them in its metadata,
/// too, for other readers.
unsafe extern "C" fn modify_parameters(
    file: c_int,
    variable: c_int,
    visible_count: *mut usize,
    visible: *mut *mut c_uint,
    working_count: *mut usize,
    working: *mut *mut c_uint,
) -> c_int {
    if visible_count.is_null() || visible.is_null() || working_count.is_null() || working.is_null() {
        return NC_EFILTER;
    }
    // SAFETY: netCDF-C passes `visible_count` parameters.
    let Some(wanted) = Parameters::wanted(unsafe { words(*visible_count, *visible) }) else {
        return NC_EFILTER;
    };
    let made = catch_unwind(|| {
        let mut libraries = loaded("libnetcdf").into_iter().filter_map(netcdf_functions);
        libraries.find_map(|netcdf| netcdf.parameters(file, variable, wanted)?.to_words())
    });
    let Some(made) = made.ok().flatten() else { return NC_EFILTER };
    for (count, place) in [(visible_count, visible), (working_count, working)] {
        // SAFETY: the old parameters came from malloc, and netCDF-C frees the new ones.
        unsafe {
            libc::free((*place).cast());
            (*count, *place) = (made.len(), malloced(&made));
        }
    }
    0
}

unsafe extern "C" fn to_hdf5(json: *const c_char, count: *mut usize, values: *mut *mut c_uint) -> c_int {
    if json.is_null() || count.is_null() || values.is_null() {
        return NC_EFILTER;
    }
    // SAFETY: netCDF-C passes a string.
    let Ok(text) = unsafe { CStr::from_ptr(json) }.to_str() else { return NC_EFILTER };
    let Some(words) = Parameters::from_json(text).and_then(|parameters| parameters.to_words()) else {
        return NC_EFILTER;
    };
    // SAFETY: pointers for the results.
    unsafe { (*count, *values) = (words.len(), malloced(&words)) };
    0
}

unsafe extern "C" fn to_codec(count: usize, values: *const c_uint, json: *mut *mut c_char) -> c_int {
    // SAFETY: netCDF-C passes `count` parameters.
    let Some(parameters) = Parameters::from_words(unsafe { words(count, values) }) else { return NC_EFILTER };
    let Ok(text) = CString::new(parameters.to_json()) else { return NC_EFILTER };
    if json.is_null() {
        return NC_EFILTER;
    }
    // SAFETY: a pointer for the result.
    unsafe { *json = malloced(text.as_bytes_with_nul()).cast() };
    0
}

const _: () = assert!(C_NAME.to_bytes().len() == NAME.len(), "one name");
