//! The crate `zarrs`, with its cache of decoded chunks.

use super::{VARIABLE, thinned};
use crate::contender::{CACHE_BYTES, Handle};
use crate::pattern::Slab;
use anyhow::Result;
use std::sync::Arc;
use zarrs::array::chunk_cache::{ChunkCache, ChunkCacheDecodedLruSizeLimit};
use zarrs::array::{Array, ArraySubset, CodecOptions};
use zarrs::filesystem::FilesystemStore;
use zarrs::storage::ReadableStorageTraits;

pub struct Zarrs {
    cache: Arc<ChunkCacheDecodedLruSizeLimit>,
}

impl Zarrs {
    pub fn open(path: &str) -> Result<Self> {
        let store: Arc<dyn ReadableStorageTraits> = Arc::new(FilesystemStore::new(path)?);
        let array = Arc::new(Array::open(store, &format!("/{VARIABLE}"))?);
        Ok(Zarrs { cache: Arc::new(ChunkCacheDecodedLruSizeLimit::new(array, CACHE_BYTES as u64)) })
    }

    fn solid(&self, slab: &Slab) -> Result<Vec<f32>> {
        let subset = ArraySubset::new_with_start_shape(slab.start.clone(), slab.count.clone())?;
        Ok(self.cache.retrieve_array_subset(&subset, &CodecOptions::default())?)
    }
}

impl Handle for Zarrs {
    fn read(&mut self, slab: &Slab, out: &mut [f32]) -> Result<()> {
        if slab.is_strided() {
            return thinned(slab, out, |s, buffer| {
                *buffer = self.solid(s)?;
                Ok(())
            });
        }
        out.copy_from_slice(&self.solid(slab)?);
        Ok(())
    }

    fn fork(&self) -> Option<Result<Box<dyn Handle>>> {
        Some(Ok(Box::new(Zarrs { cache: Arc::clone(&self.cache) })))
    }
}
