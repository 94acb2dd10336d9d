//! Archives that get new versions, or are replaced, truncated, damaged or removed while a view shows them.

use crate::support::{Seen, Source, classic};
use nc3z_mount::view::Handle;
use nc3z_writer::{CommitNote, TagChange, WriterOptions, commit_file, tag_version};
use std::io::ErrorKind;

const NAME: &str = "x.nc";
const ARCHIVE: &str = "x.nc.nc3z";

fn edited(original: &[u8]) -> Vec<u8> {
    let mut edited = original.to_vec();
    let last = edited.len() - 2;
    edited[last] ^= 1;
    edited
}

fn commit(source: &Source, edited: &[u8]) {
    let other = Source::new();
    other.write("e.nc", edited);
    let options = WriterOptions::default();
    commit_file(&source.path(ARCHIVE), &other.path("e.nc"), &CommitNote::default(), &options, &()).unwrap();
}

/// Reads everything from a handle, in requests like the kernel's.
fn all(seen: &Seen, handle: &Handle) -> std::io::Result<Vec<u8>> {
    let (mut all, mut part) = (Vec::new(), vec![0; 4096]);
    loop {
        match handle.read(&seen.view, all.len() as u64, &mut part)? {
            0 => return Ok(all),
            n => all.extend_from_slice(&part[..n]),
        }
    }
}

#[test]
fn commits_appear_as_versions_and_what_is_open_stays_as_it_was() {
    let source = Source::new();
    let original = classic("coads_climatology.cdf");
    source.archive(ARCHIVE, &original);
    let seen = source.view();
    let before = seen.find(NAME).unwrap();
    let handle = seen.view.open(before.ino).unwrap();
    assert_eq!(seen.list(".versions/x.nc"), ["1"]);
    let edited = edited(&original);
    commit(&source, &edited);
    tag_version(
        &source.path(ARCHIVE),
        "good",
        &TagChange::Set { version: None, force: false },
        &WriterOptions::default(),
    )
    .unwrap();
    // The kernel, which still knows the number, must look the name up again.
    assert_eq!(seen.view.open(before.ino).err().unwrap().kind(), ErrorKind::StaleNetworkFileHandle);
    let after = seen.find(NAME).unwrap();
    assert_ne!(before.ino, after.ino);
    assert_eq!(seen.bytes(NAME).unwrap(), edited);
    assert_eq!(all(&seen, &handle).unwrap(), original);
    assert_eq!(seen.list(".versions/x.nc"), ["1", "2", "good"]);
    assert_eq!(seen.bytes(".versions/x.nc/1").unwrap(), original);
    assert_eq!(seen.bytes(".versions/x.nc/2").unwrap(), edited);
    let tag = seen.find(".versions/x.nc/good").unwrap();
    assert_eq!(seen.view.link(tag.ino).unwrap(), std::path::Path::new("2"));
    for none in ["0", "3", "01", "+1", "bad"] {
        let path = format!(".versions/x.nc/{none}");
        assert_eq!(seen.find(&path).unwrap_err().kind(), ErrorKind::NotFound, "{none}");
    }
}

#[test]
fn another_archive_of_the_name_has_another_number_while_the_first_is_known() {
    let source = Source::new();
    let (first, second) = (classic("record_padding.nc"), classic("all_types_cdf1.nc"));
    source.archive(ARCHIVE, &first);
    let seen = source.view();
    let before = seen.find(NAME).unwrap();
    let handle = seen.view.open(before.ino).unwrap();
    source.archive(ARCHIVE, &second);
    assert_eq!(seen.view.open(before.ino).err().unwrap().kind(), ErrorKind::StaleNetworkFileHandle);
    let after = seen.find(NAME).unwrap();
    assert!(before.ino != after.ino && after.size == second.len() as u64);
    assert_eq!(seen.bytes(NAME).unwrap(), second);
    assert_eq!(all(&seen, &handle).unwrap(), first);
    // The file is the same, so its number belongs to the previous content.
    let copy = std::fs::read(source.path(ARCHIVE)).unwrap();
    source.archive(ARCHIVE, &first);
    let other = std::fs::read(source.path(ARCHIVE)).unwrap();
    let seen = source.view();
    let before = seen.find(NAME).unwrap();
    std::fs::write(source.path(ARCHIVE), copy).unwrap();
    assert_ne!(seen.find(NAME).unwrap().ino, before.ino);
    assert_eq!(seen.bytes(NAME).unwrap(), second);
    std::fs::write(source.path(ARCHIVE), other).unwrap();
    assert_eq!(seen.find(NAME).unwrap().ino, before.ino);
}

#[test]
fn a_tile_that_is_damaged_is_an_error_for_its_bytes_alone() {
    let source = Source::new();
    let original = classic("coads_climatology.cdf");
    source.archive(ARCHIVE, &original);
    let path = source.path(ARCHIVE);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&path, bytes).unwrap();
    let seen = source.view();
    let handle = seen.view.open(seen.find(NAME).unwrap().ino).unwrap();
    let mut failed = Vec::new();
    for (n, expected) in original.chunks(512).enumerate() {
        let mut out = [0; 512];
        match handle.read(&seen.view, n as u64 * 512, &mut out) {
            Ok(len) => assert_eq!(&out[..len], expected, "{n}"),
            Err(_) => failed.push(n),
        }
    }
    // One of the seven variables, in all twelve records.
    let share = failed.len() * 512 * 7;
    assert!(share > original.len() * 9 / 10 && share < original.len() * 12 / 10, "{} parts", failed.len());
    let told = seen.told();
    assert!(told.len() == 1 && told[0].starts_with("damaged ") && !told[0].contains('?'), "{told:?}");
}

#[test]
fn a_file_that_is_cut_short_gives_errors_and_never_other_bytes() {
    let source = Source::new();
    let original = classic("coads_climatology.cdf");
    source.archive(ARCHIVE, &original);
    let seen = source.view();
    let handle = seen.view.open(seen.find(NAME).unwrap().ino).unwrap();
    let file = std::fs::File::options().write(true).open(source.path(ARCHIVE)).unwrap();
    file.set_len(700_000).unwrap();
    let (mut good, mut bad) = (0, 0);
    for (n, expected) in original.chunks(4096).enumerate() {
        let mut out = [0; 4096];
        match handle.read(&seen.view, n as u64 * 4096, &mut out) {
            Ok(len) => {
                assert_eq!(&out[..len], expected, "{n}");
                good += 1;
            }
            Err(_) => bad += 1,
        }
    }
    assert!(good > 0 && bad > 0, "{good} good, {bad} bad");
    assert!(seen.find(NAME).is_err());
    assert!(seen.told().contains(&format!("unopened {ARCHIVE}")));
}

#[test]
fn an_archive_that_is_removed_is_read_by_who_has_it_open() {
    let source = Source::new();
    let original = classic("record_padding.nc");
    source.archive(ARCHIVE, &original);
    let seen = source.view();
    let ino = seen.find(NAME).unwrap().ino;
    let handle = seen.view.open(ino).unwrap();
    std::fs::remove_file(source.path(ARCHIVE)).unwrap();
    assert_eq!(seen.find(NAME).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(seen.view.open(ino).err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(all(&seen, &handle).unwrap(), original);
}

#[test]
fn what_is_no_archive_is_an_error_that_is_told_once() {
    let source = Source::new();
    source.write(ARCHIVE, b"no archive at all");
    let seen = source.view();
    assert_eq!(seen.list(""), [NAME]);
    assert!(seen.find(NAME).is_err() && seen.find(NAME).is_err());
    assert_eq!(seen.told(), [format!("unopened {ARCHIVE}")]);
}
