//! netcdf-c through the crate `netcdf`, which holds one lock around every call.

use super::VARIABLE;
use crate::contender::{CACHE_BYTES, Handle};
use crate::pattern::Slab;
use anyhow::{Context, Result, ensure};
use netcdf::Extent;
use std::sync::Once;

pub struct NetcdfC(netcdf::File);

impl NetcdfC {
    pub fn open(path: &str) -> Result<Self> {
        static CACHE: Once = Once::new();
        let mut status = 0;
        CACHE.call_once(|| {
            // SAFETY: no other thread has called the library yet.
            status = unsafe { netcdf_sys::nc_set_chunk_cache(CACHE_BYTES, 4133, 0.75) };
        });
        ensure!(status == 0, "nc_set_chunk_cache said {status}");
        Ok(NetcdfC(netcdf::open(path)?))
    }
}

impl Handle for NetcdfC {
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        let extents: Vec<Extent> = (0..slab.start.len())
            .map(|d| Extent::SliceCount {
                start: slab.start[d] as usize,
                count: slab.count[d] as usize,
                stride: slab.stride[d] as isize,
            })
            .collect();
        self.0.variable(VARIABLE).context("no variable")?.get_values_into(out, extents)?;
        Ok(())
    }
}
