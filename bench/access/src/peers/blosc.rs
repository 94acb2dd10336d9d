//! c-blosc2, the shared library that the Python package ships (`BLOSC2_LIB`). It decodes blocks inside a chunk, and keeps none.

use super::thinned;
use crate::contender::Handle;
use crate::pattern::Slab;
use anyhow::{Context, Result, ensure};
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The functions that are called, as `b2nd.h` declares them.
struct Api {
    open: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int,
    get: unsafe extern "C" fn(*const c_void, *const i64, *const i64, *mut c_void, *const i64, i64) -> c_int,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl Api {
    fn get() -> Result<&'static Api> {
        static API: OnceLock<Result<Api, String>> = OnceLock::new();
        let found = API.get_or_init(|| Api::load().map_err(|e| format!("{e:#}")));
        found.as_ref().map_err(|e| anyhow::anyhow!("{e}"))
    }

    fn load() -> Result<Api> {
        let path = std::env::var("BLOSC2_LIB").context("BLOSC2_LIB names no libblosc2.so")?;
        // SAFETY: the library of that name, whose functions have these types; it stays loaded.
        unsafe {
            let library: &'static Library = Box::leak(Box::new(Library::new(path)?));
            library.get::<unsafe extern "C" fn()>(b"blosc2_init")?();
            let threads = library.get::<unsafe extern "C" fn(i16) -> i16>(b"blosc2_set_nthreads")?;
            let wanted = std::env::var("BLOSC_NTHREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
            threads(wanted);
            Ok(Api {
                open: *library.get(b"b2nd_open")?,
                get: *library.get(b"b2nd_get_slice_cbuffer")?,
                free: *library.get(b"b2nd_free")?,
            })
        }
    }
}

pub struct Blosc {
    api: &'static Api,
    array: *mut c_void,
}

// SAFETY: an array of its own file, used by one thread at a time.
unsafe impl Send for Blosc {}

impl Blosc {
    pub fn open(path: &str) -> Result<Self> {
        let api = Api::get()?;
        let (path, mut array) = (CString::new(path)?, std::ptr::null_mut());
        // SAFETY: a string that ends in zero and a place for a pointer.
        let status = unsafe { (api.open)(path.as_ptr(), &raw mut array) };
        ensure!(status == 0, "b2nd_open said {status}");
        Ok(Blosc { api, array })
    }

    fn solid(&self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        let start: Vec<i64> = slab.start.iter().map(|&s| s as i64).collect();
        let count: Vec<i64> = slab.count.iter().map(|&n| n as i64).collect();
        let stop: Vec<i64> = start.iter().zip(&count).map(|(s, n)| s + n).collect();
        ensure!(count.iter().product::<i64>() == out.len() as i64, "a buffer of another length");
        let bytes = size_of_val(out) as i64;
        // SAFETY: the lists have the array's rank, the buffer the bytes that are said.
        let status = unsafe {
            (self.api.get)(self.array, start.as_ptr(), stop.as_ptr(), out.as_mut_ptr().cast(), count.as_ptr(), bytes)
        };
        ensure!(status == 0, "b2nd_get_slice_cbuffer said {status}");
        Ok(())
    }
}

impl Drop for Blosc {
    fn drop(&mut self) {
        // SAFETY: opened above, freed once.
        unsafe { (self.api.free)(self.array) };
    }
}

impl Handle for Blosc {
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        if slab.is_strided() {
            return thinned(slab, out, |s, buffer| {
                buffer.resize(s.count.iter().product::<u64>() as usize, 0.0);
                self.solid(s, buffer)
            });
        }
        self.solid(slab, out)
    }
}
