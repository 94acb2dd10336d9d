use super::*;
use nc3z_reader::source::MemorySource;
use std::fs::File;
use zip::CompressionMethod;

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
    let out = dir.path().join("out.bundle.nc3z");
    let file = File::options().read(true).write(true).create_new(true).open(&out).unwrap();
    write_bundle(&files, &file, &out, &BundleOptions::default(), &()).unwrap();
    std::fs::read(out).unwrap()
}

/// The bundle with another byte in `f3`.
fn hurt(mut bytes: Vec<u8>) -> Vec<u8> {
    let place = Bundle::open(source(bytes.clone())).unwrap().place("sub/f3.nc").unwrap().unwrap();
    bytes[usize::try_from(place.offset + place.len / 2).unwrap()] ^= 1;
    bytes
}

fn check(bundle: &Bundle) {
    assert_eq!((bundle.names().unwrap().len(), bundle.len()), (5, 5));
    for n in 0..5_u8 {
        let member = bundle.member(&format!("sub/f{n}.nc")).unwrap().unwrap();
        assert_eq!(member.len(), 1000 * u64::from(n));
        assert_eq!(member.read_at(0, content(n).len()).unwrap(), content(n));
        assert!(member.read_at(1, content(n).len().max(1)).is_err());
    }
    assert!(bundle.member("sub/f9.nc").unwrap().is_none());
}

#[test]
fn members_are_read_from_the_content() {
    let bytes = bundle();
    assert_eq!(bytes, bundle(), "the same files give the same bytes");
    let opened = Bundle::open(source(bytes.clone())).unwrap();
    assert_eq!(opened.kind(), "bundle");
    check(&opened);
    let place = opened.place("sub/f3.nc").unwrap().unwrap();
    assert_eq!((place.len >= 3000, place.packed), (true, false));
    // Any byte may be wrong: the result is an answer or an error, never a panic.
    for at in (0..bytes.len()).step_by(7) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 0x55;
        if let Ok(bundle) = Bundle::open(source(hurt)) {
            for name in bundle.names().unwrap_or_default() {
                let _ = bundle.member(name).map(|m| m.map(|m| m.read_at(0, 1).is_ok()));
            }
        }
    }
    for len in (0..bytes.len()).step_by(11) {
        assert!(Bundle::open(source(bytes[..len].to_vec())).is_err(), "{len}");
    }
}

/// Files of noise, which is stored as it is, over several tiles.
#[test]
fn members_across_tiles_are_read_in_any_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let mut seed = 1_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let contents: Vec<Vec<u8>> = [700_000, 0, 1_500_000, 3, 900_000, 2_000_000]
        .into_iter()
        .map(|len| (0..len).map(|_| u8::try_from(next(256)).unwrap()).collect())
        .collect();
    let bundled = |n: usize| {
        let path = dir.path().join(format!("{n}"));
        std::fs::write(&path, &contents[n]).unwrap();
        Bundled { name: format!("f{n}"), path }
    };
    let out = dir.path().join("out.bundle.nc3z");
    let file = File::options().read(true).write(true).create_new(true).open(&out).unwrap();
    let (first, rest): (Vec<Bundled>, Vec<Bundled>) =
        ((0..4).map(bundled).collect(), (4..6).map(bundled).collect());
    write_bundle(&first, &file, &out, &BundleOptions::default(), &()).unwrap();
    drop(file);
    let done = Append::open(&out).unwrap().add(&rest, &BundleOptions::default(), &()).unwrap();
    assert_eq!((done.members, done.version), (2, 2));
    let bundle = Bundle::open(source(std::fs::read(&out).unwrap())).unwrap();
    let bytes = std::fs::read(&out).unwrap();
    for (n, content) in contents.iter().enumerate() {
        let name = format!("f{n}");
        let member = bundle.member(&name).unwrap().unwrap();
        assert!(member.read_at(0, content.len()).unwrap() == content[..], "{n}");
        for _ in 0..20 {
            let at = next(content.len() + 1);
            let len = next(content.len() - at + 1);
            let ranges = [at as u64..(at + len) as u64, 0..content.len().min(5) as u64];
            let found = member.read_ranges(&ranges).unwrap();
            assert!(found[0] == content[at..at + len] && found[1] == content[..content.len().min(5)]);
        }
        // The places are ranges of the file with these bytes.
        let place = bundle.place(&name).unwrap().unwrap();
        let whole = crate::catalog::Range { offset: 0, len: content.len() as u64 };
        let mut joined: Vec<u8> = Vec::new();
        for range in bundle.places(&place, whole).unwrap() {
            let at = usize::try_from(place.offset.wrapping_add(range.offset)).unwrap();
            joined.extend(&bytes[at..at + usize::try_from(range.len).unwrap()]);
        }
        assert!(joined == *content, "{n}");
        let is_one = place.len == content.len() as u64;
        assert_eq!(bundle.offset(&name).ok(), is_one.then_some(Some(place.offset)), "{n}");
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
    let out = tempfile::tempfile().unwrap();
    for name in ["../a", "/a", "a/../b", "", "a//b", ".nc3z/packed/000000.nc3z"] {
        let file = Bundled { name: name.into(), path: "x".into() };
        let made = write_bundle(&[file], &out, Path::new("x"), &BundleOptions::default(), &());
        assert!(made.unwrap_err().to_string().contains("not a valid name"), "{name}");
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
        let _ = Bundle::open(source(hurt)).map(|b| b.len());
    }
    // Headers are at 0, 512, 2048, 4608 and 8192; the data of the last member end at 12704.
    for (at, said) in [
        (600, ""),
        (1500, "inside `sub/f1.nc`, which needs the bytes up to 2024"),
        (2200, ""),
        (12_000, "inside `sub/f4.nc`, which needs the bytes up to 12704"),
    ] {
        let e = Bundle::open(source(bytes[..at].to_vec())).err().unwrap().to_string();
        assert!(e.contains(&format!("the tar is cut short: it ends at byte {at}")), "{e}");
        assert!(e.contains(said) && e.ends_with("; copy it again"), "{e}");
    }
}

/// More members than the short end record of a ZIP counts.
#[test]
fn bundles_and_zips_of_many_members() {
    const MEMBERS: usize = 65_600;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one");
    std::fs::write(&path, b"some bytes").unwrap();
    let files: Vec<Bundled> =
        (0..MEMBERS).map(|n| Bundled { name: format!("m{n}"), path: path.clone() }).collect();
    let check = |name: &str| {
        let bundle = Bundle::open(source(std::fs::read(dir.path().join(name)).unwrap())).unwrap();
        assert_eq!(bundle.len(), MEMBERS);
        for name in ["m0", "m65535", "m65536", "m65599"].iter().cycle().take(20) {
            let member = bundle.member(name).unwrap().unwrap();
            assert_eq!(member.read_at(0, 10).unwrap(), &b"some bytes"[..]);
            assert!(bundle.member("m65600").unwrap().is_none());
        }
    };
    let file = |name: &str| {
        File::options().read(true).write(true).create_new(true).open(dir.path().join(name)).unwrap()
    };
    write_zip(&files, &file("a.zip"), Path::new("a.zip"), &()).unwrap();
    check("a.zip");
    write_bundle(&files, &file("a.nc3z"), Path::new("a.nc3z"), &BundleOptions::default(), &()).unwrap();
    check("a.nc3z");
}

#[test]
fn members_that_are_no_archives_are_checked_by_their_checksums() {
    let bytes = bundle();
    let opened = Bundle::open(source(bytes.clone())).unwrap();
    let checked = opened.check_member("sub/f3.nc", &()).unwrap().unwrap();
    assert!(matches!(checked, MemberCheck::Plain { len: 3000, recorded: Some(a), found } if a == found));
    assert!(checked.is_sound() && checked.to_json("f3").unwrap()["crc32_matches"] == true);
    assert!(opened.check_member("sub/f9.nc", &()).unwrap().is_none());
    let hurt = Bundle::open(source(hurt(bytes))).unwrap();
    assert!(hurt.check_member("sub/f3.nc", &()).map_or(true, |found| !found.unwrap().is_sound()));
}

#[test]
fn files_that_are_stored_are_compared_with_their_checksums_on_the_way_out() {
    let bytes = bundle();
    let (sound, hurt) =
        (Bundle::open(source(bytes.clone())).unwrap(), Bundle::open(source(hurt(bytes))).unwrap());
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
        assert!(e.is_corrupt(), "{e}");
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
