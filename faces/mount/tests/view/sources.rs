//! One archive, and bundles.

use crate::support::{Seen, Source, classic};
use nc3z_mount::view::ROOT;
use nc3z_mount::{NodeKind, View, ViewOptions};
use std::io::{ErrorKind, Write};

#[test]
fn one_archive_is_alone_whatever_is_beside_it() {
    let source = Source::new();
    let original = classic("record_padding.nc");
    source.archive("x.nc.nc3z", &original);
    source.archive("odd", &original);
    source.write("secret", b"s");
    for (archive, name) in [("x.nc.nc3z", "x.nc"), ("odd", "odd")] {
        let seen = Seen::new(&source.path(archive), false);
        assert_eq!(seen.list(""), [name]);
        assert_eq!(seen.bytes(name).unwrap(), original);
        assert_eq!(seen.bytes(&format!(".versions/{name}/1")).unwrap(), original);
        assert_eq!(seen.find("secret").unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn one_archive_may_be_the_root() {
    let source = Source::new();
    let original = classic("record_padding.nc");
    source.archive("x.nc.nc3z", &original);
    let seen = Seen::new(&source.path("x.nc.nc3z"), true);
    let root = seen.view.attr(ROOT).unwrap();
    assert_eq!((root.kind, root.size, root.ino), (NodeKind::File, original.len() as u64, ROOT));
    assert_eq!(seen.bytes("").unwrap(), original);
    // The root still has the state from the beginning.
    source.archive("x.nc.nc3z", &classic("all_types_cdf1.nc"));
    assert_eq!(seen.bytes("").unwrap(), original);
    let of_directory = View::new(source.0.path(), ViewOptions::default().with_file_root(true));
    assert!(of_directory.err().unwrap().to_string().contains("only an archive"));
}

/// A tar of regular files.
fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in members {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..136].copy_from_slice(format!("{:011o} ", bytes.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        header[263..265].copy_from_slice(b"00");
        let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.write_all(&header).unwrap();
        out.write_all(bytes).unwrap();
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

#[test]
fn members_of_a_bundle_are_a_tree() {
    let source = Source::new();
    let original = classic("record_padding.nc");
    source.archive("x.nc.nc3z", &original);
    let archive = std::fs::read(source.path("x.nc.nc3z")).unwrap();
    let members: &[(&str, &[u8])] = &[
        ("2026/01/x.nc.nc3z", &archive),
        ("./2026/note", b"n"),
        ("../escape", b"e"),
        ("2026/note/below", b"b"),
    ];
    source.write("set.tar", &tar(members));
    let seen = Seen::new(&source.path("set.tar"), false);
    assert_eq!(seen.list(""), ["2026"]);
    assert_eq!(seen.list("2026"), ["01", "note"]);
    assert_eq!(seen.list("2026/01"), ["x.nc"]);
    assert_eq!(seen.bytes("2026/01/x.nc").unwrap(), original);
    assert_eq!(seen.bytes("2026/note").unwrap(), b"n");
    assert_eq!(seen.bytes("2026/01/.versions/x.nc/1").unwrap(), original);
    let attr = seen.find("2026/01/x.nc").unwrap();
    assert_eq!((attr.size, attr.mode), (original.len() as u64, 0o644));
    let path = seen.view.archive_path(attr.ino).unwrap().unwrap();
    assert!(path.to_str().unwrap().ends_with("set.tar!/2026/01/x.nc.nc3z"), "{}", path.display());
}

#[test]
fn what_is_no_source_is_refused() {
    let source = Source::new();
    source.write("a", b"neither an archive nor a bundle");
    for path in ["a", "none"] {
        assert!(View::new(&source.path(path), ViewOptions::default()).is_err(), "{path}");
    }
}
