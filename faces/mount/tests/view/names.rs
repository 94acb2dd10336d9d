//! Names, numbers and attributes.

use crate::support::{Source, classic};
use nc3z_mount::NodeKind;
use nc3z_mount::view::ROOT;
use std::io::ErrorKind;

#[test]
fn archives_are_seen_as_their_originals_and_other_files_as_they_are() {
    let source = Source::new();
    let original = classic("record_padding.nc");
    source.archive("a/x.nc.nc3z", &original);
    source.write("a/readme.txt", b"hello");
    let seen = source.view();
    assert_eq!(seen.list(""), ["a"]);
    assert_eq!(seen.list("a"), ["readme.txt", "x.nc"]);
    assert_eq!(seen.bytes("a/x.nc").unwrap(), original);
    assert_eq!(seen.bytes("a/readme.txt").unwrap(), b"hello");
    assert_eq!(seen.find("a/x.nc.nc3z").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(seen.find("a/y").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(seen.find("a/x.nc/y").unwrap_err().kind(), ErrorKind::NotADirectory);
    assert!(seen.told().is_empty());
}

#[test]
fn every_range_is_the_originals_and_the_end_is_short() {
    let source = Source::new();
    let original = classic("all_types_cdf5.nc");
    source.archive("x.nc.nc3z", &original);
    let seen = source.view();
    let handle = seen.view.open(seen.find("x.nc").unwrap().ino).unwrap();
    for from in (0..original.len() + 20).step_by(7) {
        for len in [1, 4, 33, 700] {
            let mut out = vec![0; len];
            let n = handle.read(&seen.view, from as u64, &mut out).unwrap();
            let expected = original.get(from..(from + len).min(original.len())).unwrap_or_default();
            assert_eq!(&out[..n], expected, "{from}+{len}");
        }
    }
    assert_eq!(handle.read(&seen.view, u64::MAX, &mut [0; 9]).unwrap(), 0);
}

#[test]
fn a_plain_file_wins_and_the_archive_is_told_once() {
    let source = Source::new();
    source.archive("x.nc.nc3z", &classic("record_padding.nc"));
    source.write("x.nc", b"plain");
    let seen = source.view();
    assert_eq!((seen.list(""), seen.list("")), (vec!["x.nc".to_owned()], vec!["x.nc".to_owned()]));
    assert_eq!(seen.bytes("x.nc").unwrap(), b"plain");
    assert_eq!(seen.told(), ["hidden x.nc.nc3z"]);
}

#[test]
fn size_is_the_originals_and_the_rest_the_archives() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let source = Source::new();
    let original = classic("coads_climatology.cdf");
    source.archive("x.nc.nc3z", &original);
    let path = source.path("x.nc.nc3z");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let meta = path.metadata().unwrap();
    let seen = source.view();
    let attr = seen.find("x.nc").unwrap();
    assert_eq!((attr.kind, attr.size, attr.is_fixed), (NodeKind::File, original.len() as u64, true));
    assert_eq!((attr.mode, attr.uid, attr.blocks), (0o640, meta.uid(), meta.blocks()));
    assert_eq!(attr.modified, meta.modified().unwrap());
    assert_eq!(seen.view.archive_path(attr.ino).unwrap(), Some(path.canonicalize().unwrap()));
}

#[test]
fn numbers_are_the_same_in_the_next_mount_and_in_listings() {
    let source = Source::new();
    source.archive("a/x.nc.nc3z", &classic("record_padding.nc"));
    source.write("a/y", b"");
    for name in ["a", "a/x.nc", "a/y", "a/.versions", "a/.versions/x.nc", "a/.versions/x.nc/1"] {
        let numbers = [source.view(), source.view()].map(|seen| seen.find(name).unwrap().ino);
        assert_eq!(numbers[0], numbers[1], "{name}");
        let seen = source.view();
        let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
        let listed = seen.view.list(seen.find(parent).unwrap().ino).unwrap();
        let listed = listed.into_iter().find(|entry| entry.name == last);
        // Deliberately not listed.
        assert_eq!(listed.map(|entry| entry.ino), (last != ".versions").then_some(numbers[0]), "{name}");
    }
}

#[test]
fn numbers_that_are_forgotten_take_no_memory() {
    let source = Source::new();
    source.archive("x.nc.nc3z", &classic("record_padding.nc"));
    let seen = source.view();
    let numbers = [(); 3].map(|()| seen.find("x.nc").unwrap().ino);
    let ino = numbers[0];
    assert_eq!(numbers, [ino; 3]);
    seen.view.forget(ino, 2);
    assert!(seen.view.attr(ino).is_ok());
    seen.view.forget(ino, 1);
    assert_eq!(seen.view.attr(ino).unwrap_err().kind(), ErrorKind::StaleNetworkFileHandle);
    assert_eq!(seen.view.numbers(), 1);
}

#[test]
fn links_lead_to_originals() {
    let source = Source::new();
    let original = classic("record_padding.nc");
    source.archive("a/x.nc.nc3z", &original);
    for (target, link) in [("a/x.nc.nc3z", "y.nc.nc3z"), ("a/x.nc.nc3z", "z"), ("nowhere.nc3z", "w.nc3z")] {
        std::os::unix::fs::symlink(target, source.path(link)).unwrap();
    }
    let seen = source.view();
    assert_eq!(seen.list(""), ["a", "w.nc3z", "y.nc", "z"]);
    // A link with an archive's name that refers to an archive counts as an archive.
    assert_eq!(seen.bytes("y.nc").unwrap(), original);
    let z = seen.find("z").unwrap();
    assert_eq!((z.kind, seen.view.link(z.ino).unwrap()), (NodeKind::Link, "a/x.nc".into()));
}

#[test]
fn paths_are_no_names() {
    let source = Source::new();
    source.write("a/b", b"");
    let view = source.view().view;
    for name in ["..", ".", "a/b", "/etc", ""] {
        assert_eq!(view.lookup(ROOT, name.as_ref()).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
    }
}
