//! Tiles that are coded against tiles of another variable.

use crate::support::archive_bytes;
use nc3z_format::archive::{ArrayId, IndexEntry};
use nc3z_format::classic::VarId;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Archive, OpenOptions, verify};
use nc3z_writer::{BlockRepairOptions, WriterOptions, repair_blocks};
use std::path::Path;
use std::sync::Arc;

/// `testdata/make_handmade.py` says what its variables have in common.
fn original() -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/classic/references.nc");
    std::fs::read(file).unwrap()
}

fn open(bytes: &[u8], options: &OpenOptions) -> Archive {
    Archive::from_source(Arc::new(MemorySource::new(bytes.to_vec())), options).unwrap()
}

fn variable(archive: &Archive, name: &str) -> ArrayId {
    let (id, _) = archive.header().variable(name.as_bytes()).unwrap();
    archive.arrays().variable(id).id
}

/// The variable that the first tile of another refers to.
fn refers_to(archive: &Archive, name: &str) -> Option<String> {
    let array = variable(archive, name);
    let entry = archive.entry(array, 0).unwrap();
    let (IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) = entry else { return None };
    let distance = archive.chains()[usize::from(chain)].needs().reference?.get();
    let other = &archive.header().variables[VarId(array.0 - distance).index()];
    Some(other.name_lossy().into_owned())
}

fn restored(archive: &Archive) -> Vec<u8> {
    let mut out = Vec::new();
    archive.restore_to_stream(&mut out, &()).unwrap();
    out
}

#[test]
fn arrays_that_are_nearly_another_refer_to_it_and_come_back() {
    let original = original();
    let bytes = archive_bytes(&original, &WriterOptions::default());
    let archive = open(&bytes, &OpenOptions::default());
    for name in ["adjusted", "again", "exact"] {
        assert_eq!(refers_to(&archive, name).as_deref(), Some("temp"), "{name}");
    }
    assert_eq!(refers_to(&archive, "temp"), None);
    assert_eq!(refers_to(&archive, "warmer").as_deref(), Some("tenths"));
    // Short tiles share containers with the tiles to which they refer.
    assert_eq!(refers_to(&archive, "b_short").as_deref(), Some("t_short"));
    assert_eq!(restored(&archive), original);
    // One variable alone, by a reader without a cache, and with chunks.
    let plain = WriterOptions::default().with_preset(nc3z_writer::Preset::Fast);
    let plain = archive_bytes(&original, &plain);
    assert!(bytes.len() * 10 < plain.len() * 7, "{} of {}", bytes.len(), plain.len());
    let plain = open(&plain, &OpenOptions::default());
    for info in plain.arrays().iter() {
        for tile in 0..info.tiling.tile_count() {
            let alone = open(&bytes, &OpenOptions::default());
            assert_eq!(alone.read_tile(info.id, tile).unwrap(), plain.read_tile(info.id, tile).unwrap());
        }
    }
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bytes));
    let report = verify::deep(&source, &OpenOptions::default(), &()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn tiles_of_many_sizes_refer_tile_by_tile() {
    let original = original();
    for len in [4000, 9000] {
        let options = WriterOptions::default().with_tile_len(len);
        let bytes = archive_bytes(&original, &options);
        let archive = open(&bytes, &OpenOptions::default());
        assert_eq!(refers_to(&archive, "adjusted").as_deref(), Some("temp"));
        // Doubles of as many bytes are fewer.
        assert_ne!(refers_to(&archive, "exact").as_deref(), Some("temp"));
        assert_eq!(restored(&archive), original);
    }
}

#[test]
fn what_refers_to_a_damaged_tile_is_lost_with_it_and_both_are_named() {
    let original = original();
    let mut bytes = archive_bytes(&original, &WriterOptions::default());
    let archive = open(&bytes, &OpenOptions::default());
    let temp = variable(&archive, "temp");
    let IndexEntry::Stored { offset, len, .. } = archive.entry(temp, 0).unwrap() else {
        panic!("the sample has no block of its own to damage")
    };
    bytes[usize::try_from(offset).unwrap() + 44 + len as usize / 2] ^= 1;
    let damaged = open(&bytes, &OpenOptions::default());
    let dependents: Vec<ArrayId> =
        (damaged.arrays().iter().filter(|info| info.tiling.tile_count() > 0).map(|info| info.id))
            .filter(|&id| id != temp && damaged.read_tile(id, 0).is_err())
            .collect();
    assert!(dependents.len() >= 3, "{dependents:?}");
    let error = damaged.read_tile(variable(&damaged, "adjusted"), 0).unwrap_err();
    assert!(error.is_corrupt(), "{error}");
    let words = error.with_causes();
    assert!(words.contains("\"adjusted\"") && words.contains("\"temp\""), "{words}");
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bytes.clone()));
    let report = verify::deep(&source, &OpenOptions::default(), &()).unwrap();
    let named = |id: ArrayId| report.findings.iter().any(|f| f.places.iter().any(|p| p.array == id));
    assert!(named(temp) && dependents.iter().all(|&id| named(id)), "{report:?}");

    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("a.nc3z"), dir.path().join("b.nc3z"));
    std::fs::write(&old, &bytes).unwrap();
    let done = repair_blocks(&old, &new, &BlockRepairOptions::default(), &()).unwrap();
    assert_eq!(done.lost_tiles, 1 + dependents.len() as u64);
    let lost: Vec<ArrayId> = done.lost.iter().map(|run| run.place.array).collect();
    assert!(lost.contains(&temp) && dependents.iter().all(|id| lost.contains(id)), "{lost:?}");
    let repaired = open(&std::fs::read(&new).unwrap(), &OpenOptions::default());
    let sound = open(&archive_bytes(&original, &WriterOptions::default()), &OpenOptions::default());
    for info in sound.arrays().iter().filter(|info| info.tiling.tile_count() > 0) {
        let read = repaired.read_tile(info.id, 0);
        if lost.contains(&info.id) {
            assert!(read.is_err());
        } else {
            assert_eq!(read.unwrap(), sound.read_tile(info.id, 0).unwrap());
        }
    }
    // Filled values are nothing to refer to.
    let filling = open(&bytes, &OpenOptions::default().with_fill_lost(true));
    restored(&filling);
    restored(&filling);
    let filled: Vec<ArrayId> = filling.filled().keys().map(|(array, _)| *array).collect();
    assert!(dependents.iter().all(|id| filled.contains(id)), "{filled:?}");
}

#[test]
fn every_flipped_byte_of_the_index_of_references_is_survived() {
    let bytes = archive_bytes(&original(), &WriterOptions::default());
    for at in (0..bytes.len()).step_by(bytes.len() / 300) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x11;
        let source = Arc::new(MemorySource::new(damaged));
        let Ok(archive) = Archive::from_source(source, &OpenOptions::default()) else { continue };
        for info in archive.arrays().iter() {
            for tile in 0..info.tiling.tile_count() {
                let _ = archive.read_tile(info.id, tile);
            }
        }
    }
}
