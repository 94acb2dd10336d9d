//! The crate `netcdf-reader`.

use super::VARIABLE;
use crate::contender::{CACHE_BYTES, Handle};
use crate::pattern::Slab;
use anyhow::Result;
use netcdf_reader::{NcFile, NcOpenOptions, NcSliceInfo, NcSliceInfoElem};
use std::sync::Arc;

pub struct NetcdfRust {
    file: Arc<NcFile>,
    parallel: bool,
}

impl NetcdfRust {
    pub fn open(path: &str, threads: usize) -> Result<Self> {
        let options = NcOpenOptions { chunk_cache_bytes: CACHE_BYTES, ..NcOpenOptions::default() };
        Ok(NetcdfRust { file: Arc::new(NcFile::open_with_options(path, options)?), parallel: threads > 1 })
    }
}

impl Handle for NetcdfRust {
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        let selections = (0..slab.start.len())
            .map(|d| {
                let (start, step) = (slab.start[d], slab.stride[d]);
                NcSliceInfoElem::Slice { start, end: start + (slab.count[d] - 1) * step + 1, step }
            })
            .collect();
        let info = NcSliceInfo { selections };
        let all = if self.parallel {
            self.file.read_variable_slice_parallel::<f32>(VARIABLE, &info)?
        } else {
            self.file.read_variable_slice::<f32>(VARIABLE, &info)?
        };
        out.copy_from_slice(all.as_slice().expect("row-major"));
        Ok(())
    }

    fn fork(&self) -> Option<Result<Box<dyn Handle>>> {
        Some(Ok(Box::new(NetcdfRust { file: Arc::clone(&self.file), parallel: false })))
    }
}
