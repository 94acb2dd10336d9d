//! The content that a repair preserves.

use crate::support::archive_bytes;
use nc3z_format::archive::IndexEntry;
use nc3z_format::codec::ChainSpec;
use nc3z_reader::Archive;
use nc3z_reader::recover::StoredTile;
use nc3z_writer::{BlockRepairOptions, Preset, RepairedDigest, WriterOptions, repair_blocks};
use std::path::Path;

/// The chains of an archive's containers.
fn containers(archive: &Archive) -> Vec<ChainSpec> {
    let mut found = std::collections::BTreeMap::new();
    for info in archive.arrays().iter() {
        for tile in 0..info.tiling.tile_count() {
            if let Ok(IndexEntry::Shared { offset, .. }) = archive.entry(info.id, tile) {
                let container = archive.stored_container(offset).unwrap();
                found.insert(offset, archive.chains()[usize::from(container.chain)].spec().clone());
            }
        }
    }
    found.into_values().collect()
}

#[test]
fn containers_are_carried_over_whole_and_no_archive_grows() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/classic/numeric.nc");
    let original = std::fs::read(file).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("a.nc3z"), dir.path().join("b.nc3z"));
    let bytes = archive_bytes(&original, &WriterOptions::default().with_preset(Preset::Max));
    std::fs::write(&old, &bytes).unwrap();
    let before = Archive::open(&old).unwrap();
    let chains = containers(&before);
    let lzma = |chain: &ChainSpec| chain.as_lzma().is_some();
    assert!(
        chains.iter().any(lzma),
        "the sample has no container of the kind that this is about: {chains:?}"
    );
    let done = repair_blocks(&old, &new, &BlockRepairOptions::default(), &()).unwrap();
    assert_eq!((done.digest, done.lost_tiles), (RepairedDigest::Confirmed, 0));
    let after = Archive::open(&new).unwrap();
    assert_eq!(containers(&after), chains);
    // The metadata record that the archive was repaired, and how.
    let metadata = after.metadata().encode().len() as u64;
    assert!(done.stored_len <= bytes.len() as u64 + metadata, "{} from {}", done.stored_len, bytes.len());
    for info in before.arrays().iter() {
        for tile in 0..info.tiling.tile_count() {
            let [old, new] = [&before, &after].map(|a| a.stored_tile(info.id, tile).unwrap());
            match (old, new) {
                (StoredTile::Shared { bytes: a, .. }, StoredTile::Shared { bytes: b, .. }) => assert!(a == b),
                (StoredTile::Block { payload: a, .. }, StoredTile::Block { payload: b, .. }) => {
                    assert!(a == b);
                }
                (StoredTile::Constant { value: a, .. }, StoredTile::Constant { value: b, .. }) => {
                    assert_eq!(a, b);
                }
                (old, new) => panic!("{old:?} became {new:?}"),
            }
        }
    }
}
