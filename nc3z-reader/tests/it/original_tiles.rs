//! Which tiles a range of the original is made of.

use crate::support::stored_bytes;
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::WriterOptions;
use std::path::Path;
use std::sync::Arc;

/// With the tiles that are named in the cache, a read decodes none.
#[test]
fn a_range_is_made_of_the_tiles_that_are_named() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/classic");
    for name in ["record_padding.nc", "all_types_cdf5.nc", "references.nc", "coads_climatology.cdf"] {
        let original = std::fs::read(directory.join(name)).unwrap();
        let bytes = stored_bytes(&original, &WriterOptions::default().with_tile_len(4096));
        let cache = TileCache::new(64 << 20);
        let options = OpenOptions::default().with_cache(cache.clone());
        let archive = Archive::from_source(Arc::new(MemorySource::new(bytes)), &options).unwrap();
        let len = original.len();
        for n in 0..40 {
            let from = len * n / 40;
            let to = (from + [1, 9, 700, 40_000][n % 4]).min(len);
            cache.clear();
            for (array, tile) in archive.tiles_of_original(from as u64..to as u64).unwrap() {
                archive.cached_tile(array, tile).unwrap();
            }
            let before = cache.stats().decoded_bytes;
            let mut out = vec![0; to - from];
            archive.read_original(from as u64, &mut out).unwrap();
            assert_eq!(out, original[from..to], "{name} {from}..{to}");
            // But tiles inside the output are decoded there.
            let most = if to - from < 4096 { before } else { before + (to - from) as u64 };
            assert!(cache.stats().decoded_bytes <= most, "{name} {from}..{to}");
        }
        assert!(archive.tiles_of_original(len as u64..u64::MAX).unwrap().is_empty());
    }
}
