//! Every bit of an archive is covered: flipped, it is found, and named by place and owner.

use crate::classic::{Model, Var};
use crate::faulty::{Faulty, Flipped};
use crate::generations::{NamedHead, append_sections, second};
use crate::support::{archive_bytes, exhaustive, paged, small};
use bytes::Bytes;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Head, SectionKind};
use nc3z_format::classic::Version;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::verify::{Examination, Report, Structure, deep, examine, quick};
use nc3z_reader::{Archive, OpenOptions, OriginalDifference, VersionName};
use nc3z_writer::WriterOptions;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

fn check(bytes: Vec<u8>) -> Report {
    let source: SharedSource = Arc::new(MemorySource::new(bytes));
    quick(&source, &OpenOptions::default(), &()).unwrap()
}

/// Flips a bit. The flipped byte must be in a finding, or the archive must be refused as another kind of
/// file.
fn flip(bytes: &Bytes, at: u64, bit: u8) {
    let source: SharedSource = Arc::new(Flipped { bytes: bytes.clone(), at, bit });
    match quick(&source, &OpenOptions::default(), &()) {
        Ok(report) => {
            let named = report.findings.iter().find(|f| f.bytes.contains(&at));
            assert!(named.is_some(), "bit {bit} of byte {at}: {:?}", report.findings);
        }
        // A major version of ours that does not exist: it says what and where.
        Err(e) => assert!(e.is_unsupported() && at < 160, "bit {bit} of byte {at}: {e}"),
    }
}

fn goldens() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/archives/v1_0_0");
    let files = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path());
    let mut all: Vec<_> = files
        .filter(|p| p.extension().is_some_and(|e| e == "nc3z"))
        .map(|p| (p.display().to_string(), std::fs::read(p).unwrap()))
        .collect();
    all.sort();
    assert!(all.len() >= 8);
    all
}

/// An archive of two generations, with blocks, members, constants, and index pages of the first.
fn two_generations() -> Vec<u8> {
    second(&small().1).bytes
}

#[test]
fn sound_archives_are_sound_and_every_block_is_counted() {
    for (name, bytes) in goldens() {
        let report = check(bytes);
        assert!(report.is_sound(), "{name}: {:?}", report.findings);
        // Parity is a generation of its own, as a later state of the file is; two have a version more, `smooth.later` a tag, too.
        let later = match () {
            () if name.contains("smooth.later") => 3,
            () if name.contains("numeric.later") => 2,
            () => u32::from(name.contains(".later.")),
        };
        let generations = 1 + u32::from(report.parity.is_some()) + later;
        assert_eq!(report.parity.is_some(), name.contains("parity"), "{name}");
        assert!(report.blocks > 0 && report.tiles > 0 && report.unchecked == 0);
        assert_eq!(report.generations, generations, "{name}");
    }
    let report = check(two_generations());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.generations, 2);
    assert!(check(paged().1).is_sound());
}

/// With `NC3Z_EXHAUSTIVE=1`, all bits of archives of at most this many bytes are flipped. In longer archives,
/// one bit of each byte.
const ALL_BITS: usize = 100_000;

/// All bits of archives of up to 1,500 bytes; of larger ones, and of those with parity, a bit of all or some bytes. With
/// `NC3Z_EXHAUSTIVE=1` all bits, or a bit of every byte.
#[test]
fn every_flipped_bit_is_named() {
    let exhaustive = exhaustive();
    let mut archives = goldens();
    archives.push(("two generations".into(), two_generations()));
    archives.push(("index pages".into(), paged().1));
    for (name, bytes) in archives {
        let begun = std::time::Instant::now();
        // Debug builds take seconds for what takes milliseconds otherwise: large archives at every 13th byte, and one bit of each
        // byte where parity is computed for each flip.
        let small = bytes.len() < 8_000;
        let step = if exhaustive || small { 1 } else { 13 + bytes.len() / 4_000 };
        let cheap = bytes.len() < 1_500 && !name.contains("parity");
        let all = cheap || (exhaustive && bytes.len() < ALL_BITS);
        let bytes = Bytes::from(bytes);
        (0..bytes.len()).into_par_iter().step_by(step).for_each(|at| {
            let bits = (0..8u8).filter(|&bit| all || usize::from(bit) == at % 8);
            bits.for_each(|bit| flip(&bytes, at as u64, bit));
        });
        let bits = if all { "all bits" } else { "one bit" };
        println!("{name}: {} bytes, every {step}., {bits}, {:?}", bytes.len(), begun.elapsed());
    }
}

/// 10,000 random places of an archive of 50 MB with `NC3Z_EXHAUSTIVE=1`; fewer of a smaller one otherwise.
#[test]
fn random_places_of_a_large_archive_are_named() {
    let (elements, places) = if exhaustive() { (52_000_000, 10_000) } else { (1_500_000, 60) };
    let vars = vec![Var::fixed(NcType::Char, &[elements]), Var::record(NcType::Short, &[300])];
    let original = Model { fill: 3, tail: 5, ..Model::new(Version::Cdf2, 100, vars) }.build().bytes;
    let bytes = archive_bytes(&original, &WriterOptions::default().with_tile_len(300_000));
    assert!(bytes.len() as u64 > elements);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let places: Vec<(u64, u8)> =
        (0..places).map(|_| (next() % bytes.len() as u64, (next() % 8) as u8)).collect();
    let bytes = Bytes::from(bytes);
    let begun = std::time::Instant::now();
    // One flip changes one structure: what is looked at is the finding, of the whole archive each time.
    places.par_iter().for_each(|&(at, bit)| flip(&bytes, at, bit));
    println!("{} places of {} bytes, {:?}", places.len(), bytes.len(), begun.elapsed());
}

#[test]
fn damage_is_given_in_the_users_coordinates() {
    let vars = vec![Var::fixed(NcType::Short, &[40, 50, 60])];
    let original = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vars) }.build().bytes;
    // Tiles of four planes of 3,000 elements.
    let bytes = archive_bytes(&original, &WriterOptions::default().with_tile_len(24_000));
    let source: SharedSource = Arc::new(MemorySource::new(bytes.clone()));
    let archive = nc3z_reader::Archive::from_source(source, &OpenOptions::default()).unwrap();
    let offset = archive.stored_offset(ArrayId::variable(0), 3).unwrap();
    // In the payload, and in the header, where only the index knows whose it was.
    for skip in [60, 20] {
        let mut bad = bytes.clone();
        bad[usize::try_from(offset).unwrap() + skip] ^= 1;
        let report = check(bad);
        assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
        let [place] = &report.findings[0].places[..] else { panic!("{:?}", report.findings) };
        assert_eq!((place.array, place.tiles.clone()), (ArrayId::variable(0), 3..4));
        assert_eq!(place.slabs.len(), 1);
        assert_eq!(
            (&place.slabs[0].start[..], &place.slabs[0].count[..]),
            (&[12, 0, 0][..], &[4, 50, 60][..])
        );
        let begin = original.len() as u64 - 240_000 + 3 * 24_000;
        assert_eq!(place.original, Some(begin..begin + 24_000));
    }
}

#[test]
fn a_lost_index_page_names_its_tiles() {
    let (_, bytes) = paged();
    let source: SharedSource = Arc::new(MemorySource::new(bytes.clone()));
    let archive = nc3z_reader::Archive::from_source(source, &OpenOptions::default()).unwrap();
    let row = *archive.variable_table().rows().iter().find(|r| r.root != 0).unwrap();
    let mut bad = bytes;
    bad[usize::try_from(row.root).unwrap() + 100] ^= 4;
    let report = check(bad);
    assert_eq!(report.findings[0].structure, Structure::IndexPage);
    assert_eq!(report.findings[0].places[0].tiles, 0..row.tile_count);
}

#[test]
fn sectors_that_cannot_be_read_are_named_and_the_rest_is_checked() {
    let vars = vec![Var::fixed(NcType::Char, &[400_000])];
    let original = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vars) }.build().bytes;
    let bytes = archive_bytes(&original, &WriterOptions::default().with_tile_len(40_000));
    let blocks = check(bytes.clone()).blocks;
    for at in (0..bytes.len() as u64).step_by(4096) {
        let bad = at..at + 512;
        let source: SharedSource = Arc::new(Faulty { bytes: bytes.clone(), bad });
        let report = quick(&source, &OpenOptions::default(), &()).unwrap();
        let named = report.findings.iter().any(|f| f.bytes.start < at + 512 && at < f.bytes.end);
        assert!(named, "sector at {at}: {:?}", report.findings);
        assert!(report.blocks + 2 >= blocks, "sector at {at}: {} of {blocks} blocks", report.blocks);
    }
}

#[test]
fn deep_checks_decode_and_rebuild_the_digest() {
    let (_, bytes) = small();
    let source: SharedSource = Arc::new(MemorySource::new(bytes.clone()));
    let report = deep(&source, &OpenOptions::default(), &()).unwrap();
    assert!(report.is_sound() && report.restored.as_ref().is_some_and(|r| r.matches_record));
    // A record that is not the original's: sound by all checksums.
    let mut bad = bytes;
    let at = bad.len() - 128;
    bad[at + 80] ^= 1;
    let salt = nc3z_format::archive::Salt(bad[16..24].try_into().unwrap());
    let crc = salt.crc(at as u64, &bad[at..at + 120]);
    bad[at + 120..at + 124].copy_from_slice(&crc.to_le_bytes());
    let source: SharedSource = Arc::new(MemorySource::new(bad.clone()));
    assert!(check(bad).is_sound());
    let report = deep(&source, &OpenOptions::default(), &()).unwrap();
    assert_eq!(report.findings[0].structure, Structure::Original);
}

#[test]
fn a_file_without_its_beginning_is_still_walked() {
    let vars = vec![Var::fixed(NcType::Char, &[400_000])];
    let original = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vars) }.build().bytes;
    let bytes = archive_bytes(&original, &WriterOptions::default().with_tile_len(40_000));
    let blocks = check(bytes.clone()).blocks;
    for cut in [1, 160, 60_003] {
        let report = check(bytes[cut..].to_vec());
        assert_eq!(report.findings[0].bytes, 0..cut as u64);
        assert!(report.blocks + 2 >= blocks, "{cut}: {} of {blocks} blocks", report.blocks);
        assert!(report.findings.len() <= 3, "{cut}: {:?}", report.findings);
    }
}

/// Every prefix with `NC3Z_EXHAUSTIVE=1`; every seventh, and all that lack less than 300 bytes, otherwise.
#[test]
fn no_prefix_and_no_tail_is_sound() {
    for bytes in [small().1, paged().1, two_generations()] {
        let first = bytes.len();
        // The first generation of two is an archive of its own.
        let whole = |len: usize| {
            let source: SharedSource = Arc::new(MemorySource::new(bytes[..len].to_vec()));
            nc3z_reader::Archive::from_source(source, &OpenOptions::default())
                .is_ok_and(|a| a.torn_tail() == 0)
        };
        for len in (0..first).filter(|len| exhaustive() || len % 7 == 0 || len + 300 > first) {
            // So little of an archive that it may be any file's beginning is refused.
            let source: SharedSource = Arc::new(MemorySource::new(bytes[..len].to_vec()));
            let sound = quick(&source, &OpenOptions::default(), &()).is_ok_and(|report| report.is_sound());
            assert_eq!(sound, whole(len), "the first {len} bytes");
        }
        for tail in [1, 7, 8, 128, 1000] {
            let report = check([&bytes[..], &vec![0; tail][..]].concat());
            assert_eq!(report.findings[0].structure, Structure::Tail);
        }
    }
}

#[test]
fn a_head_that_says_something_else_is_found_in_every_generation() {
    let (_, first) = small();
    let archive = crate::support::open(first.clone()).unwrap();
    let head = archive.head().clone();
    let place = archive.sections().find(SectionKind::Head).unwrap().clone();
    let other = Head { gap_tile_len: head.gap_tile_len + 1, ..head.clone() };
    // The second generation has its own; the third names that of the first again.
    for (own, sound) in [(head, true), (other, false)] {
        let second = append_sections(&first, NamedHead::Own(own.encode()));
        let report = check(append_sections(&second, NamedHead::At(place.clone())));
        assert_eq!(report.is_sound(), sound, "{:?}", report.findings);
        let words = "it differs from the head copy after the superblock";
        let named = report.findings.iter().filter(|f| f.message == words).count();
        assert_eq!(named, usize::from(!sound), "{:?}", report.findings);
    }
}

#[test]
fn a_version_is_checked_as_thoroughly_as_requested() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/archives/v1_0_0/states.later.nc3z");
    let source = nc3z_reader::source::open(&path, false).unwrap();
    let run = |what: &Examination| examine(&source, what, &OpenOptions::default(), &());
    let plain = run(&Examination::default()).unwrap();
    assert!(plain.report.is_sound() && plain.report.restored.is_none() && plain.older.is_empty());
    let all = run(&Examination { all_versions: true, ..Examination::default() }).unwrap();
    assert!(all.report.restored.is_some() && all.archive.is_some());
    assert!(!all.older.is_empty() && all.older.iter().all(|(_, done)| done.is_ok()));
    let first = Examination { version: Some(VersionName::Number(1)), deep: true, ..Examination::default() };
    let first = run(&first).unwrap();
    assert_eq!(first.report.restored, all.older.last().map(|(_, done)| done.as_ref().unwrap().clone()));
    let none = Examination { version: Some(VersionName::Number(99)), ..Examination::default() };
    assert!(run(&none).is_err());
}

#[test]
fn the_first_difference_from_a_file_is_found() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
    let archive = Archive::open(&golden.join("archives/v1_0_0/numeric.default.nc3z")).unwrap();
    let mut bytes = std::fs::read(golden.join("classic/numeric.nc")).unwrap();
    let compare = |bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        archive.compare_original(&file, Path::new("numeric.nc"), &()).unwrap()
    };
    assert_eq!(compare(&bytes), None);
    bytes[100_000] ^= 1;
    assert_eq!(compare(&bytes), Some(OriginalDifference::Byte(100_000)));
    bytes.push(0);
    let original = archive.original_len();
    assert_eq!(compare(&bytes), Some(OriginalDifference::Length { file: original + 1, original }));
}
