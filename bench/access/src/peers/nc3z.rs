//! `nc3z-reader`, on archives and on classic files.

use super::VARIABLE;
use crate::contender::Handle;
use crate::pattern::Slab;
use anyhow::Result;
use nc3z_format::selection::Hyperslab;
use nc3z_reader::cache::TileCache;
use nc3z_reader::{Dataset, OpenOptions, Variable};

pub struct Nc3z(Variable);

impl Nc3z {
    pub fn open(path: &str, cache_bytes: usize) -> Result<Self> {
        let options = OpenOptions::default().with_cache(TileCache::new(cache_bytes as u64));
        Ok(Nc3z(Dataset::open(path, &options)?.variable(VARIABLE)?))
    }
}

impl Handle for Nc3z {
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        let stride: Vec<i64> = slab.stride.iter().map(|&s| s as i64).collect();
        Ok(self.0.read_into(&Hyperslab::new(&slab.start[..], &slab.count[..], &stride[..])?, out)?)
    }

    fn fork(&self) -> Option<Result<Box<dyn Handle>>> {
        Some(Ok(Box::new(Nc3z(self.0.clone()))))
    }
}
