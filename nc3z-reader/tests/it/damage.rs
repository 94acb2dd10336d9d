//! Accidents: cut, flipped, swapped, spliced, continued.

use crate::classic::{Model, Var, content};
use crate::support::{archive_bytes, exhaustive, open, paged, restore, small};
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, IndexEntry};
use nc3z_format::classic::Version;
use nc3z_reader::source::{self, MemorySource};
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::WriterOptions;
use std::sync::Arc;

/// Bytes around which cuts and flips are tried one by one; elsewhere in steps that meet each structure.
fn places(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |&i| i < 400 || i + 1500 > len || i % 7 == 0)
}

#[test]
fn samples_have_all_kinds_of_entries() {
    let mut seen = [false; 4];
    for (original, bytes) in [small(), paged()] {
        assert!(restore(bytes.clone()).unwrap() == original);
        let archive = open(bytes).unwrap();
        for row in archive.variable_table().rows() {
            seen[3] |= row.root != 0;
            for tile in 0..row.tile_count {
                match archive.entry(row.array, tile).unwrap() {
                    IndexEntry::Stored { .. } => seen[0] = true,
                    IndexEntry::Shared { .. } => seen[1] = true,
                    IndexEntry::Constant { .. } => seen[2] = true,
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert_eq!(seen, [true; 4], "blocks, members, constants, pages");
}

#[test]
fn every_prefix_is_an_error() {
    for (_, bytes) in [small(), paged()] {
        for len in 0..bytes.len() {
            let Ok(archive) = open(bytes[..len].to_vec()) else { continue };
            panic!("the first {len} of {} bytes opened: {archive:?}", bytes.len());
        }
    }
}

/// Every bit with `NC3Z_EXHAUSTIVE=1`, two of each byte otherwise.
#[test]
fn every_flipped_bit_is_an_error_or_harmless() {
    for (original, bytes) in [small(), paged()] {
        for at in places(bytes.len()) {
            for bit in (0..8).filter(|bit| exhaustive() || (at + bit) % 4 == 0) {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                if let Ok(found) = restore(bad) {
                    assert!(found == original, "bit {bit} of byte {at} gives wrong data");
                }
            }
        }
    }
}

#[test]
fn blocks_in_each_others_place_are_refused() {
    let noise = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Char, &[40_000])]) };
    let bytes = archive_bytes(&noise.build().bytes, &WriterOptions::default().with_tile_len(10_000));
    let archive = open(bytes.clone()).unwrap();
    let place = |tile| match archive.entry(ArrayId::variable(0), tile).unwrap() {
        IndexEntry::Stored { offset, len, .. } => (usize::try_from(offset).unwrap(), 44 + len as usize),
        other => panic!("{other:?}"),
    };
    let ((a, len), (b, other)) = (place(0), place(1));
    assert_eq!(len, other);
    for skip in [0, 44] {
        let mut bad = bytes.clone();
        bad[a + skip..a + len].copy_from_slice(&bytes[b + skip..b + len]);
        bad[b + skip..b + len].copy_from_slice(&bytes[a + skip..a + len]);
        assert!(restore(bad).unwrap_err().is_corrupt());
    }
}

#[test]
fn parts_of_another_archive_are_refused() {
    // The same layout and lengths, other values.
    let make = |fill| {
        let vars = vec![Var::fixed(NcType::Char, &[20_000])];
        let mut original = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vars) }.build().bytes;
        let n = original.len();
        original[n - 20_000..].copy_from_slice(&content(fill, 20_000));
        (archive_bytes(&original, &WriterOptions::default().with_tile_len(10_000)), original)
    };
    let ((a, original), (b, _)) = (make(3), make(8));
    assert_eq!(a.len(), b.len());
    let mut wrong = 0;
    for from in (0..a.len()).step_by(8) {
        for len in [8, 128, 10_048] {
            let to = (from + len).min(a.len());
            let mut bad = a.clone();
            bad[from..to].copy_from_slice(&b[from..to]);
            match restore(bad) {
                Ok(found) => {
                    assert!(found == original, "bytes {from} to {to} of another archive give wrong data");
                }
                Err(_) => wrong += 1,
            }
        }
    }
    assert!(wrong > 100);
}

#[test]
fn archive_inside_an_archive_is_data() {
    let (inner_original, inner) = small();
    let vars = vec![Var::fixed(NcType::Char, &[inner.len() as u64])];
    for cut in [0, 3] {
        let mut original = Model::new(Version::Cdf1, 0, vars.clone()).build().bytes;
        let at = original.len().next_multiple_of(4) - inner.len().next_multiple_of(4);
        original[at..at + inner.len()].copy_from_slice(&inner);
        original.truncate(original.len() - cut);
        // One tile for all: the inner archive is stored unchanged if no codec makes it smaller.
        let outer = archive_bytes(&original, &WriterOptions::default());
        assert!(restore(outer.clone()).unwrap() == original);
        // Behind the trailer, as a torn tail that has a valid trailer of its own, of another salt.
        let followed = [&outer[..], &inner[..]].concat();
        let opened = open(followed.clone()).unwrap();
        assert_eq!(opened.torn_tail(), inner.len() as u64);
        assert!(restore(followed).unwrap() == original);
        assert!(restore(inner.clone()).unwrap() == inner_original);
    }
}

#[test]
fn torn_tails_of_every_length_are_found() {
    let (original, bytes) = paged();
    for fill in [0, 3] {
        let garbage = content(fill, 300);
        for len in 0..=garbage.len() {
            let torn = [&bytes[..], &garbage[..len]].concat();
            let archive = open(torn.clone()).unwrap();
            assert_eq!(archive.torn_tail(), len as u64);
            if len % 50 == 0 {
                assert!(restore(torn).unwrap() == original);
            }
        }
    }
    // Beyond what is read first, and beyond one step of the search.
    for len in [65_536 - 64, 65_536, 1 << 20, (1 << 20) + 4096 - 128, 3 << 20] {
        let torn = [&bytes[..], &content(3, len)[..]].concat();
        assert_eq!(open(torn).unwrap().torn_tail(), len as u64);
    }
}

#[test]
fn memory_file_and_map_give_the_same() {
    let (original, bytes) = small();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc3z");
    std::fs::write(&path, &bytes).unwrap();
    let sources = [
        Arc::new(MemorySource::new(bytes)) as source::SharedSource,
        source::open(&path, true).unwrap(),
        source::open(&path, false).unwrap(),
    ];
    for source in sources {
        let archive = Archive::from_source(source, &OpenOptions::default()).unwrap();
        let mut out = Vec::new();
        archive.restore_to_stream(&mut out, &()).unwrap();
        assert!(out == original);
    }
}
