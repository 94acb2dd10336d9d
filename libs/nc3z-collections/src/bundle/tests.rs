use super::*;
use nc3z_reader::source::MemorySource;
use std::fs::File;

fn source(bytes: Vec<u8>) -> SharedSource {
    Arc::new(MemorySource::new(bytes))
}

fn content(n: u8) -> Vec<u8> {
    vec![n; 1000 * usize::from(n)]
}

/// A bundle of five files, written to disk and read back.
fn bundle() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<Bundled> = (0..5_u8)
        .map(|n| {
            let path = dir.path().join(format!("{n}"));
            std::fs::write(&path, content(n)).unwrap();
            let date = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            File::options().write(true).open(&path).unwrap().set_modified(date).unwrap();
            Bundled { name: format!("sub/f{n}.nc"), path }
        })
        .collect();
    let out = dir.path().join("out.zip");
    let mut file = File::create_new(&out).unwrap();
    write_bundle(&files, &mut file, &|_| true).unwrap();
    std::fs::read(out).unwrap()
}

fn check(bundle: &Bundle) {
    assert_eq!(bundle.names().len(), 5);
    for n in 0..5_u8 {
        let member = bundle.member(&format!("sub/f{n}.nc")).unwrap().unwrap();
        assert_eq!(member.len(), 1000 * u64::from(n));
        assert_eq!(member.read_at(0, content(n).len()).unwrap(), content(n));
        assert!(member.read_at(1, content(n).len().max(1)).is_err());
    }
    assert!(bundle.member("sub/f9.nc").unwrap().is_none() && bundle.member(index::NAME).unwrap().is_none());
}

#[test]
fn members_are_read_by_the_index_and_without_it() {
    let bytes = bundle();
    assert_eq!(bytes, bundle(), "the same files give the same bytes");
    let indexed = Bundle::open(source(bytes.clone())).unwrap();
    assert!(indexed.is_indexed());
    check(&indexed);
    let Directory::Index(entries) = &indexed.directory else { panic!("an index") };
    // The first has the hint in its padding; small ones have little padding.
    let first = entries.values().map(|e| e.offset).min().unwrap();
    assert!(first == 4096 && entries.values().all(|e| e.offset.is_multiple_of(64)));
    // The index is damaged: the ZIP's own directory is used, if that is asked for.
    let at = bytes.windows(8).position(|w| w == b"nc3zidx2").unwrap();
    let mut damaged = bytes.clone();
    damaged[at + 20] ^= 1;
    assert!(Bundle::open(source(damaged.clone())).err().unwrap().is_corrupt());
    let plain = Bundle::open_damaged(source(damaged)).unwrap();
    assert!(!plain.is_indexed());
    assert_eq!(plain.names().len(), 5);
    for n in 0..5_u8 {
        let member = plain.member(&format!("sub/f{n}.nc")).unwrap().unwrap();
        assert_eq!(member.read_at(0, content(n).len()).unwrap(), content(n));
    }
    // Any byte may be wrong: the result is an answer or an error, never a panic.
    for at in (0..bytes.len()).rev().take(1500).chain((0..bytes.len()).step_by(511)) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 0x55;
        if let Ok(bundle) = Bundle::open(source(hurt)) {
            for name in bundle.names() {
                let _ = bundle.member(name).map(|m| m.map(|m| m.read_at(0, 1).is_ok()));
            }
        }
    }
    for len in [0, 3, 21, 22, 100, bytes.len() - 1] {
        assert!(Bundle::open(source(bytes[..len].to_vec())).is_err());
    }
}

#[test]
fn compressed_members_and_wrong_names_are_refused() {
    let mut inner = std::io::Cursor::new(Vec::new());
    let mut zip = zip::ZipWriter::new(&mut inner);
    zip.start_file(
        "a",
        zip::write::SimpleFileOptions::default().compression_method(CompressionMethod::Stored),
    )
    .unwrap();
    zip.finish().unwrap();
    let mut bytes = inner.into_inner();
    assert!(Bundle::open(source(bytes.clone())).unwrap().member("a").unwrap().is_some());
    // The method of the entry, in both places.
    let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    (bytes[8], bytes[central + 10]) = (8, 8);
    let e = Bundle::open(source(bytes)).unwrap().member("a").err().unwrap().to_string();
    assert!(e.contains("zip -0"), "{e}");
    assert_eq!(inside("a/b", "../c.nc").as_deref(), Some("a/c.nc"));
    assert_eq!((inside("a", "../../c"), inside("", "/etc")), (None, None));
    let mut out = tempfile::tempfile().unwrap();
    for name in ["../a", "/a", "a/../b", "", index::NAME] {
        let file = Bundled { name: name.into(), path: "x".into() };
        assert!(write_bundle(&[file], &mut out, &|_| true).is_err(), "{name}");
    }
}

#[test]
fn members_of_a_tar_are_read_in_place() {
    let mut builder = tar::Builder::new(Vec::new());
    for n in 0..5_u8 {
        let mut header = tar::Header::new_gnu();
        header.set_size(1000 * u64::from(n));
        header.set_cksum();
        builder.append_data(&mut header, format!("sub/f{n}.nc"), &content(n)[..]).unwrap();
    }
    let bytes = builder.into_inner().unwrap();
    let bundle = Bundle::open(source(bytes.clone())).unwrap();
    assert_eq!(bundle.kind(), "tar");
    check(&bundle);
    let opener = Members::beside(Arc::new(bundle), "sub/agg.nc");
    assert!(opener.open_fragment("f1.nc").unwrap().is_some());
    assert!(opener.open_fragment("./../sub/f1.nc").unwrap().is_some());
    assert!(opener.open_fragment("../../x").is_err() && opener.open_fragment("none.nc").is_err());
    for at in (0..bytes.len()).step_by(97) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 0x55;
        let _ = Bundle::open(source(hurt)).map(|b| b.names().len());
    }
}

/// More members than the short end record can count. They are not aligned, to save disk space.
#[test]
fn more_members_than_the_short_form_counts() {
    const MEMBERS: usize = 65_600;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one");
    std::fs::write(&path, b"some bytes").unwrap();
    let files: Vec<Bundled> =
        (0..MEMBERS).map(|n| Bundled { name: format!("m{n}"), path: path.clone() }).collect();
    let out = dir.path().join("out.zip");
    write::write_aligned(&files, 1, &mut File::create_new(&out).unwrap(), &|_| true).unwrap();
    let mut bytes = std::fs::read(&out).unwrap();
    // The long end record and its locator precede the short one, which has no number of members.
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06").unwrap();
    assert_eq!(
        (&bytes[end - 20..end - 16], &bytes[end - 76..end - 72]),
        (&b"PK\x06\x07"[..], &b"PK\x06\x06"[..])
    );
    assert_eq!(bytes[end + 8..end + 12], [0xff; 4]);
    let check = |bytes: Vec<u8>, indexed: bool| {
        let bundle = Bundle::open(source(bytes)).unwrap();
        assert_eq!((bundle.is_indexed(), bundle.names().len()), (indexed, MEMBERS));
        for name in ["m0", "m65535", "m65536", "m65599"] {
            let member = bundle.member(name).unwrap().unwrap();
            assert_eq!(member.read_at(0, 10).unwrap(), &b"some bytes"[..]);
        }
    };
    check(bytes.clone(), true);
    // The offset of the directory is only in the long record.
    bytes[end + 16..end + 20].fill(0xff);
    check(bytes.clone(), true);
    let at = bytes.windows(8).rposition(|w| w == b"nc3zidx2").unwrap();
    bytes[at] ^= 1;
    check(bytes, false);
}

#[test]
fn members_that_are_no_archives_are_checked_by_their_checksums() {
    let bytes = bundle();
    let opened = Bundle::open(source(bytes.clone())).unwrap();
    let checked = opened.check_member("sub/f3.nc", &()).unwrap().unwrap();
    assert!(matches!(checked, MemberCheck::Plain { len: 3000, recorded: Some(a), found } if a == found));
    assert!(checked.is_sound() && checked.to_json("f3").unwrap()["crc32_matches"] == true);
    assert!(opened.check_member("sub/f9.nc", &()).unwrap().is_none());
    let mut hurt = bytes;
    let at = hurt.windows(3000).position(|part| part == content(3)).unwrap();
    hurt[at + 2000] ^= 1;
    let checked = Bundle::open(source(hurt)).unwrap().check_member("sub/f3.nc", &()).unwrap().unwrap();
    assert!(!checked.is_sound());
}

#[test]
fn files_that_are_stored_are_compared_with_their_checksums_on_the_way_out() {
    let bytes = bundle();
    let mut hurt = bytes.clone();
    let at = hurt.windows(3000).position(|part| part == content(3)).unwrap();
    hurt[at + 2000] ^= 1;
    let (sound, hurt) = (Bundle::open(source(bytes)).unwrap(), Bundle::open(source(hurt)).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let options = nc3z_reader::OpenOptions::default();
    for form in [MemberForm::Originals, MemberForm::Archives] {
        let write = |bundle: &Bundle, n: u8| {
            extract(bundle, &format!("sub/f{n}.nc"), dir.path(), true, form, &options)
        };
        for n in 0..5 {
            write(&sound, n).unwrap();
            assert_eq!(std::fs::read(dir.path().join(format!("sub/f{n}.nc"))).unwrap(), content(n));
        }
        let e = write(&hurt, 3).unwrap_err();
        assert!(e.is_corrupt() && e.to_string().contains("CRC-32"), "{e}");
        write(&hurt, 4).unwrap();
    }
}

#[test]
fn a_zip_with_a_name_twice_is_refused() {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for name in ["a", "b"] {
        zip.start_file(name, stored).unwrap();
    }
    let mut bytes = zip.finish().unwrap().into_inner();
    let at = bytes.iter().rposition(|byte| *byte == b'b').unwrap();
    bytes[at] = b'a';
    let e = Bundle::open(source(bytes)).err().unwrap().to_string();
    assert!(e.contains("same name"), "{e}");
}
