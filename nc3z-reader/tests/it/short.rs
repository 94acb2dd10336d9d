//! Archives in the short form: opened, checked, damaged, cut and repaired as others are.

use crate::classic::{Model, Var};
use crate::support::{exhaustive, open, restore, stored_bytes};
use nc3z_format::NcType;
use nc3z_format::archive::short::{expand, is_short};
use nc3z_format::classic::Version;
use nc3z_reader::recover::RecoverOptions;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::verify::{Report, Structure, deep};
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::WriterOptions;
use std::sync::Arc;

fn source(bytes: &[u8]) -> SharedSource {
    Arc::new(MemorySource::new(bytes.to_vec()))
}

fn check(bytes: &[u8]) -> Report {
    deep(&source(bytes), &OpenOptions::default(), &()).unwrap()
}

/// A file with noise, stored after the directory, and with constants and short arrays, stored in the
/// directory.
fn made() -> (Vec<u8>, Vec<u8>) {
    let mut vars = vec![
        Var::fixed(NcType::Char, &[8_600]),
        Var::record(NcType::Short, &[3]),
        Var::record(NcType::Byte, &[2]),
    ];
    // A head that is too long to be stored twice.
    vars.extend((0..30).map(|n| Var::fixed(NcType::Int, &[2 + n])));
    let mut original = Model { fill: 3, tail: 9, ..Model::new(Version::Cdf2, 40, vars) }.build().bytes;
    let records = original.len() - 300;
    original[records..records + 200].fill(7);
    // With an explicit tile length there are tiles, and the file is not compressed as a whole.
    let bytes = stored_bytes(&original, &WriterOptions::default().with_tile_len(1 << 20));
    assert!(is_short(&bytes));
    (original, bytes)
}

#[test]
fn it_restores_and_is_sound_and_says_how_long_it_is() {
    let (original, bytes) = made();
    assert_eq!(restore(bytes.clone()).unwrap(), original);
    let report = check(&bytes);
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.stored_len, bytes.len() as u64);
    let archive = open(bytes.clone()).unwrap();
    assert!(archive.is_short());
    assert_eq!((archive.stored_len(), archive.torn_tail()), (bytes.len() as u64, 0));
    let long = open(expand(&bytes).unwrap().bytes).unwrap();
    assert!(!long.is_short() && long.stored_len() > archive.stored_len());
}

#[test]
fn a_file_as_a_whole_restores_and_all_damage_to_it_is_found() {
    let (original, by_tiles) = made();
    // Text that recurs, which is smaller as a whole.
    let text: Vec<u8> = original.iter().map(|b| b % 4 + b'a').collect();
    let values = original.len() - 9_000;
    let original = [&original[..values], &text[values..]].concat();
    let bytes = stored_bytes(&original, &WriterOptions::default());
    assert_eq!((by_tiles[9], bytes[9]), (1, 2));
    let (by_tiles, whole) = (open(by_tiles).unwrap(), open(bytes.clone()).unwrap());
    assert!(by_tiles.is_short() && !by_tiles.is_whole() && whole.is_short() && whole.is_whole());
    // All of the original has all of the archive for its share.
    assert_eq!(whole.share_of_whole(original.len() as u64), Some(bytes.len() as u64));
    assert_eq!(restore(bytes.clone()).unwrap(), original);
    let report = check(&bytes);
    assert!(report.is_sound(), "{:?}", report.findings);
    for at in (0..bytes.len()).step_by(if exhaustive() { 1 } else { 7 }) {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(open(bad).is_err(), "{at}");
    }
    assert!(open(bytes[..bytes.len() - 1].to_vec()).is_err());
    let longer = check(&[&bytes[..], b"more"].concat());
    assert!(longer.findings[0].message.contains("4 bytes after the end"), "{:?}", longer.findings);
}

#[test]
fn every_flipped_bit_is_found_and_its_place_in_the_file_is_named() {
    let (_, bytes) = made();
    for at in (0..bytes.len()).step_by(if exhaustive() { 1 } else { 7 }) {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        match nc3z_reader::verify::quick(&source(&bad), &OpenOptions::default(), &()) {
            Ok(report) => {
                let named = report.findings.iter().any(|f| f.bytes.contains(&(at as u64)));
                assert!(named, "byte {at}: {:?}", report.findings);
            }
            Err(e) => assert!(e.is_unsupported() && at < 12, "byte {at}: {e}"),
        }
    }
}

#[test]
fn damage_behind_the_directory_costs_its_tile_alone() {
    let (original, mut bytes) = made();
    let at = bytes.len() - 5;
    bytes[at] ^= 1;
    let e = restore(bytes.clone()).unwrap_err().to_string();
    assert!(e.contains("CRC"), "{e}");
    let options =
        RecoverOptions { open: OpenOptions::default().with_fill_lost(true), ..RecoverOptions::default() };
    let (archive, _) = Archive::recover(&source(&bytes), &options, &()).unwrap();
    let mut filled = Vec::new();
    archive.restore_to_stream(&mut filled, &()).unwrap();
    let differ: Vec<usize> = (0..original.len()).filter(|&i| original[i] != filled[i]).collect();
    assert!(!differ.is_empty());
    let (first, last) = (differ[0], differ[differ.len() - 1]);
    assert!(last - first < 8_600, "{first} to {last}");
}

#[test]
fn a_damaged_directory_is_refused_and_named() {
    let (_, mut bytes) = made();
    bytes[100] ^= 4;
    assert!(open(bytes.clone()).unwrap_err().to_string().contains("short form"));
    let report = check(&bytes);
    assert_eq!(report.findings[0].structure, Structure::ShortForm);
    assert!(Archive::recover(&source(&bytes), &RecoverOptions::default(), &()).is_err());
}

#[test]
fn bytes_too_few_or_too_many_at_the_end_are_named() {
    let (original, bytes) = made();
    let cut = check(&bytes[..bytes.len() - 3]);
    assert!(cut.findings.iter().any(|f| f.message.contains("last 3 bytes")), "{:?}", cut.findings);
    assert!(cut.findings.iter().any(|f| f.structure == Structure::Block));
    let e = open(bytes[..bytes.len() - 3].to_vec()).unwrap_err().to_string();
    assert!(e.contains("3 more"), "{e}");
    let longer = [&bytes[..], b"more"].concat();
    let report = check(&longer);
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(report.findings[0].message.contains("4 bytes after the end"));
    assert_eq!(open(longer.clone()).unwrap().torn_tail(), 4);
    assert_eq!(restore(longer).unwrap(), original);
}

/// Every prefix with `NC3Z_EXHAUSTIVE=1`, every third otherwise.
#[test]
fn no_prefix_panics_and_none_but_the_whole_restores() {
    let (_, bytes) = made();
    for len in (0..bytes.len()).rev().step_by(if exhaustive() { 1 } else { 3 }) {
        assert!(restore(bytes[..len].to_vec()).is_err(), "{len}");
    }
}
