//! c-blosc2 through the crate `blosc2`. It decodes blocks inside a chunk, and keeps none.

use super::thinned;
use crate::contender::Handle;
use crate::pattern::Slab;
use anyhow::{Result, anyhow};
use blosc2::nd::Ndarray;
use std::path::Path;

/// Opened, read and dropped by one thread at a time.
struct Moved(Ndarray);

// SAFETY: an array of its own file, which c-blosc2 lets any one thread use.
unsafe impl Send for Moved {}

pub struct Blosc(Moved);

impl Blosc {
    pub fn open(path: &str) -> Result<Self> {
        Ok(Blosc(Moved(Ndarray::open(Path::new(path)).map_err(|e| anyhow!("{e:?}"))?)))
    }
}

impl Handle for Blosc {
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        let solid = |s: &Slab| {
            let ranges: Vec<_> =
                s.start.iter().zip(&s.count).map(|(&a, &n)| a as usize..(a + n) as usize).collect();
            self.0.0.slice_items::<f32>(&ranges).map_err(|e| anyhow!("{e:?}"))
        };
        if slab.is_strided() {
            return thinned(slab, out, |s, buffer| {
                *buffer = solid(s)?;
                Ok(())
            });
        }
        out.copy_from_slice(&solid(slab)?);
        Ok(())
    }
}
