//! Tests packed bundles as a whole: members are restored exactly, also after appending, damage, truncation or
//! forgery.

use super::listing::{Listing, Place};
use super::read::{Group, PackedRow};
use super::*;
use crate::bundle::{Append, Bundle, BundleOptions, Bundled, write_bundle};
use bytes::Bytes;
use nc3z_format::Limits;
use nc3z_reader::source::{ByteSource, MemorySource, SharedSource};
use nc3z_reader::{ClassicFile, Dataset, OpenOptions};
use nc3z_writer::{WriterOptions, archive_to_vec};
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

fn word(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap().to_be_bytes()
}

fn name(text: &str) -> Vec<u8> {
    let mut out = word(text.len()).to_vec();
    out.extend(text.as_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// A CDF-1 file: `lat` of three floats that are the same in all files, `t(time, x)` as records with two bytes of padding each, and bytes
/// behind its end.
fn file(n: usize, records: usize, tail: &[u8]) -> Vec<u8> {
    titled(&format!("{n:04}"), n, records, tail)
}

/// The file with a title, whose length is a multiple of 4.
fn titled(title: &str, n: usize, records: usize, tail: &[u8]) -> Vec<u8> {
    let mut head = b"CDF\x01".to_vec();
    head.extend(word(records));
    head.extend([word(10), word(3)].concat());
    for (text, len) in [("time", 0), ("x", 3), ("y", 40)] {
        head.extend(name(text));
        head.extend(word(len));
    }
    head.extend([word(12), word(1)].concat());
    head.extend(name("title"));
    head.extend([word(2), word(title.len())].concat());
    head.extend(title.as_bytes());
    head.extend([word(11), word(3)].concat());
    let header_len = head.len() + 32 + (8 + 4 + 4 + 8 + 12) + (4 + 4 + 8 + 8 + 12) + 4 + 8;
    let header_len = header_len.next_multiple_of(4) + 64;
    let variables: [(&str, &[usize], usize, usize, usize); 3] = [
        ("lat", &[2], 5, 160, header_len),
        ("t", &[0, 1], 3, 8, header_len + 160),
        ("u", &[0], 6, 8, header_len + 168),
    ];
    for (text, dims, ty, vsize, begin) in variables {
        head.extend(name(text));
        head.extend(word(dims.len()));
        dims.iter().for_each(|d| head.extend(word(*d)));
        head.extend([[0; 4], [0; 4], word(ty), word(vsize), word(begin)].concat());
    }
    assert!(head.len() <= header_len, "{} {header_len}", head.len());
    head.resize(header_len, b'g');
    for y in 0..40_u16 {
        head.extend(f32::from(y).to_be_bytes());
    }
    for r in 0..records {
        for x in 0..3 {
            head.extend(u16::try_from((n * 7 + r * 3 + x) % 1000).unwrap().to_be_bytes());
        }
        head.extend([0, u8::try_from(r % 7).unwrap()]);
        head.extend((n * 100 + r).to_be_bytes());
    }
    head.extend(tail);
    head
}

struct Tree {
    dir: tempfile::TempDir,
    files: Vec<(Bundled, Vec<u8>)>,
}

fn tree(contents: Vec<Vec<u8>>) -> Tree {
    let dir = tempfile::tempdir().unwrap();
    let files = contents.into_iter().enumerate().map(|(n, bytes)| {
        let path = dir.path().join(format!("{n}.nc"));
        std::fs::write(&path, &bytes).unwrap();
        (Bundled { name: format!("d/{n}.nc"), path }, bytes)
    });
    let files = files.collect();
    Tree { dir, files }
}

fn options(dir: &Path) -> BundleOptions {
    let pack = PackOptions { writer: WriterOptions::default(), scratch: dir.to_owned() };
    BundleOptions { pack: Some(pack), threads: 1, ..BundleOptions::default() }
}

impl Tree {
    fn bundled(&self) -> Vec<Bundled> {
        self.files.iter().map(|(b, _)| b.clone()).collect()
    }

    fn pack(&self, files: &[Bundled], name: &str) -> Vec<u8> {
        let path = self.dir.path().join(name);
        let out = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let done = write_bundle(files, &out, &path, &options(self.dir.path()), &()).unwrap();
        assert_eq!((done.members, done.len), (files.len() as u64, out.metadata().unwrap().len()));
        std::fs::read(path).unwrap()
    }

    fn check(&self, bundle: &Bundle, files: std::ops::Range<usize>) {
        for (bundled, bytes) in &self.files[files] {
            let member = bundle.member(&bundled.name).unwrap().expect("it is there");
            let dataset = Dataset::from_source(member, &OpenOptions::default()).unwrap();
            let mut found = vec![0; bytes.len()];
            dataset.read_bytes(0, &mut found).unwrap();
            assert!(&found == bytes, "{}", bundled.name);
        }
    }
}

fn open(bytes: Vec<u8>) -> Bundle {
    Bundle::open(Arc::new(MemorySource::new(bytes))).unwrap()
}

fn some(n: usize) -> Vec<Vec<u8>> {
    (0..n).map(|n| file(n, 5 + n % 3, if n % 4 == 0 { b"tail" } else { b"" })).collect()
}

#[test]
fn every_file_comes_back_and_the_bundle_is_smaller() {
    let mut contents = some(40);
    contents.push(b"no netCDF file".to_vec());
    contents.push(file(7, 150_000, b""));
    let tree = tree(contents);
    let bytes = tree.pack(&tree.bundled(), "a.bundle.nc3z");
    assert_eq!(bytes, tree.pack(&tree.bundled(), "b.bundle.nc3z"), "the same files give the same bytes");
    let bundle = open(bytes);
    assert!(bundle.is_packed().unwrap());
    assert_eq!(bundle.groups().unwrap(), [".nc3z/packed/000000.nc3z"]);
    let names = bundle.names().unwrap();
    assert_eq!((names.len(), bundle.members_of(0).unwrap().len()), (42, 40));
    assert_eq!((names[3].as_str(), names[41].as_str()), ("d/3.nc", "d/41.nc.nc3z"));
    assert_eq!(bundle.plain_names().unwrap(), ["d/40.nc", "d/41.nc.nc3z"]);
    tree.check(&bundle, 0..40);
    tree.check(&bundle, 41..42);
    assert!(bundle.offset("d/3.nc").unwrap_err().to_string().contains("packed"));
    assert!(bundle.member("d/99.nc").unwrap().is_none());
    // Separately, each takes about 500 bytes.
    let group = bundle.member(".nc3z/packed/000000.nc3z").unwrap().unwrap().len();
    assert!(group < 40 * 150, "{group}");
}

#[test]
fn files_of_more_than_a_group_come_back_whatever_length_is_chosen() {
    let mut seed = 1_u32;
    let mut noise = || {
        let next = |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        };
        (0..60_000).map(next).collect::<Vec<u8>>()
    };
    let tree = tree((0..40).map(|n| file(n, 5, &noise())).collect());
    let bundle = open(tree.pack(&tree.bundled(), "a.bundle.nc3z"));
    tree.check(&bundle, 0..40);
    assert!(!bundle.groups().unwrap().is_empty());
}

#[test]
fn ranges_of_members_are_those_of_the_files() {
    let tree = tree(some(12));
    let bundle = open(tree.pack(&tree.bundled(), "a.bundle.nc3z"));
    let mut seed = 1_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for _ in 0..1000 {
        let (bundled, bytes) = &tree.files[next(12)];
        let member = bundle.packed_member(&bundled.name).unwrap().expect("packed");
        let at = next(bytes.len());
        let len = next(bytes.len() - at + 1);
        assert_eq!(member.read_at(at as u64, len).unwrap()[..], bytes[at..at + len]);
        assert!(member.read_at(at as u64, bytes.len() - at + 1).is_err());
    }
}

#[test]
fn archives_are_packed_as_what_they_restore() {
    let mut tree = tree(some(6));
    for (bundled, bytes) in &mut tree.files[..3] {
        let source: SharedSource = Arc::new(MemorySource::new(bytes.clone()));
        let (archive, _) = archive_to_vec(source, &WriterOptions::default(), &()).unwrap();
        bundled.path.set_extension("nc.nc3z");
        std::fs::write(&bundled.path, archive).unwrap();
    }
    let mut files = tree.bundled();
    files[..3].iter_mut().for_each(|b| b.name.push_str(".nc3z"));
    let bundle = open(tree.pack(&files, "a.bundle.nc3z"));
    assert_eq!(bundle.len(), 6);
    tree.check(&bundle, 0..6);
    // Both a file and its archive: two members of one name.
    files.push(Bundled { name: "d/0.nc".into(), path: tree.files[5].0.path.clone() });
    let path = tree.dir.path().join("twice.bundle.nc3z");
    let out = File::create_new(&path).unwrap();
    let e = write_bundle(&files, &out, &path, &options(tree.dir.path()), &()).unwrap_err();
    assert!(e.to_string().contains("d/0.nc"), "{e}");
}

#[test]
fn files_are_added_as_a_version() {
    let tree = tree(some(30));
    let files = tree.bundled();
    let before = tree.pack(&files[..20], "a.bundle.nc3z");
    let path = tree.dir.path().join("a.bundle.nc3z");
    let e = added(&tree, &files[19..21], "a.bundle.nc3z").unwrap_err();
    assert!(e.to_string().contains("d/19.nc"), "{e}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let append = Append::open(&path).unwrap();
    assert!(append.is_packed());
    let done = append.add(&files[20..], &options(tree.dir.path()), &()).unwrap();
    assert_eq!((done.members, done.packed, done.version), (10, 10, 2));
    let after = std::fs::read(&path).unwrap();
    let bundle = open(after.clone());
    assert_eq!((bundle.len(), bundle.groups().unwrap().len()), (30, 2));
    tree.check(&bundle, 0..30);
    // The older version is still there.
    let first = OpenOptions::default().with_version(nc3z_reader::VersionName::Number(1));
    let bundle = Bundle::open_with(Arc::new(MemorySource::new(after)), &first).unwrap();
    assert_eq!(bundle.len(), 20);
    tree.check(&bundle, 0..20);
}

#[test]
fn a_run_that_was_killed_before_its_commit_leaves_the_bundle() {
    let tree = tree(some(16));
    let (before, after) = grown(&tree, 12);
    // New bytes are behind the old end, and the commit slots at the beginning change last.
    let slots = 4096.min(before.len());
    for len in (before.len()..after.len()).step_by(step(37)) {
        let torn = [&before[..slots], &after[slots..len]].concat();
        let bundle = open(torn);
        assert_eq!(bundle.len(), 12, "{len} of {}", after.len());
        tree.check(&bundle, 0..12);
    }
    // With all of its bytes the new end counts, whatever the slots say.
    assert_eq!(open([&before[..slots], &after[slots..]].concat()).len(), 16);
}

#[test]
fn long_headers_are_in_long_tiles() {
    let title =
        |n: usize| (0..15_000).fold(String::new(), |text, i| text + &format!("{:04}", (i * (n + 7)) % 9973));
    let tree = tree((0..40).map(|n| titled(&title(n), n, 5, b"")).collect());
    let (before, after) = grown(&tree, 38);
    for (bytes, count) in [(before, 38), (after, 40)] {
        let table = Dataset::from_source(Arc::new(MemorySource::new(bytes.clone())), &OpenOptions::default());
        let table = table.unwrap();
        let headers = table.variable("header_bytes").unwrap();
        assert_eq!((headers.shape()[0] > 2 << 20, headers.tiles().unwrap().count()), (true, 2));
        tree.check(&open(bytes), 0..count);
    }
}

/// All cases with `NC3Z_EXHAUSTIVE=1`, otherwise a sample of them.
fn step(sample: usize) -> usize {
    if std::env::var_os("NC3Z_EXHAUSTIVE").is_some() { 1 } else { sample }
}

/// A bundle of some files, and the same one after others were added.
fn grown(tree: &Tree, first: usize) -> (Vec<u8>, Vec<u8>) {
    let files = tree.bundled();
    let before = tree.pack(&files[..first], "grown.bundle.nc3z");
    (before, added(tree, &files[first..], "grown.bundle.nc3z").unwrap())
}

fn added(tree: &Tree, files: &[Bundled], name: &str) -> crate::Result<Vec<u8>> {
    let path = tree.dir.path().join(name);
    Append::open(&path)?.add(files, &options(tree.dir.path()), &())?;
    Ok(std::fs::read(path).unwrap())
}

/// Reads a bundle that may be damaged as a whole: it is refused, or each file comes back or is an error.
fn all_or_errors(tree: &Tree, bytes: Vec<u8>, what: &str) {
    let Ok(bundle) = Bundle::open(Arc::new(MemorySource::new(bytes))) else { return };
    let out = tree.dir.path().join("out");
    for (bundled, right) in &tree.files {
        let found = bundle.member_file(&bundled.name).and_then(|file| {
            let Some(file) = file else {
                // An archive with the name of its original.
                let archive = bundle.member(&bundled.name)?;
                assert!(archive.is_some(), "{what}: `{}` is missing", bundled.name);
                return Ok(false);
            };
            file.write(&out, true).map(|_| true)
        });
        if let Ok(true) = found {
            assert!(&std::fs::read(&out).unwrap() == right, "{what}: `{}`", bundled.name);
        }
    }
}

#[test]
fn a_cut_bundle_is_never_an_older_one() {
    let tree = tree(some(16));
    let (before, after) = grown(&tree, 12);
    for len in (before.len()..after.len()).step_by(step(3)).chain([after.len() - 1]) {
        let e = Bundle::open(Arc::new(MemorySource::new(after[..len].to_vec()))).err();
        assert!(e.as_ref().is_some_and(crate::Error::is_corrupt), "{len}: {e:?}");
    }
    for len in (0..before.len()).step_by(step(97)) {
        assert!(Bundle::open(Arc::new(MemorySource::new(after[..len].to_vec()))).is_err(), "{len}");
    }
}

#[test]
fn a_damaged_bundle_shows_neither_older_members_nor_other_bytes() {
    let mut contents = some(9);
    contents.push(b"no netCDF file, and stored as it is".to_vec());
    let tree = tree(contents);
    let (before, after) = grown(&tree, 6);
    for bit in (0..8 * after.len()).step_by(step(211)) {
        let mut hurt = after.clone();
        hurt[bit / 8] ^= 1 << (bit % 8);
        all_or_errors(&tree, hurt, &format!("bit {bit}"));
    }
    // Sectors that were not written, also at the new end.
    for at in (before.len().next_multiple_of(512) - 512..after.len()).step_by(512) {
        let mut hurt = after.clone();
        let end = hurt.len().min(at + 512);
        hurt[at..end].fill(0);
        all_or_errors(&tree, hurt, &format!("sector at {at}"));
    }
}

#[test]
fn a_file_and_its_archive_are_one_member() {
    let tree = tree(some(2));
    let file = |name: &str, n: usize| Bundled { name: name.into(), path: tree.files[n].0.path.clone() };
    for names in [["x.nc", "x.nc.nc3z"], ["x.nc.nc3z", "x.nc"]] {
        let files = [file("other.nc", 0), file(names[0], 0), file(names[1], 1)];
        let path = tree.dir.path().join("names.bundle.nc3z");
        let out = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let e = write_bundle(&files, &out, &path, &options(tree.dir.path()), &()).unwrap_err();
        assert!(e.to_string().contains("two members would be called `x.nc.nc3z`"), "{e}");
    }
}

#[test]
fn what_is_no_bundle_gets_nothing_added() {
    let tree = tree(some(2));
    let path = tree.dir.path().join("plain.zip");
    crate::bundle::write_zip(&tree.bundled(), &File::create_new(&path).unwrap(), &path, &()).unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(Append::open(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let archive = tree.dir.path().join("a.nc3z");
    nc3z_writer::archive_file(&tree.files[0].0.path, &archive, &WriterOptions::default(), &()).unwrap();
    assert!(Append::open(&archive).is_err());
}

#[test]
fn any_damaged_byte_gives_the_right_bytes_or_an_error() {
    let tree = tree(some(8));
    let bytes = tree.pack(&tree.bundled(), "a.bundle.nc3z");
    for at in (0..bytes.len()).step_by(61) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 0x10;
        let Ok(bundle) = Bundle::open(Arc::new(MemorySource::new(hurt))) else { continue };
        for (bundled, right) in &tree.files {
            // The right bytes or an error.
            if let Ok(Some(member)) = bundle.packed_member(&bundled.name) {
                assert!(member.read_at(0, right.len()).map_or(true, |found| found == right), "{at}");
            }
        }
    }
}

/// A group of four files with another list, and the first of its members by another row of the table.
fn forge(change: &dyn Fn(&mut Vec<Vec<Place>>, &mut PackedRow)) -> crate::Result<super::PackedMember> {
    let mut columns = columns::Columns::default();
    let mut header = Bytes::new();
    let mut len = 0;
    for n in (0..4).rev() {
        let bytes = file(n, 5 + n % 3, if n % 4 == 0 { b"tail" } else { b"" });
        len = bytes.len() as u64;
        let classic =
            ClassicFile::from_source(Arc::new(MemorySource::new(bytes)), &Limits::default()).unwrap();
        columns.add(&classic).unwrap();
        header = Bytes::copy_from_slice(classic.header_bytes());
    }
    let mut row = PackedRow { name: "d/0.nc".into(), number: 3, len, header };
    let mut arranged = columns.arranged();
    let mut places: Vec<_> = (0..4).map(|n| arranged.list.places(n).unwrap().to_vec()).collect();
    change(&mut places, &mut row);
    arranged.list = Listing::default();
    places.into_iter().for_each(|places| arranged.list.push(places));
    let file = arranged.file().unwrap();
    let (archive, _) =
        archive_to_vec(Arc::new(MemorySource::new(file)), &WriterOptions::default(), &()).unwrap();
    Group::open(Arc::new(MemorySource::new(archive)), &OpenOptions::default())?.member(row)
}
#[test]
fn forged_references_are_errors() {
    type Change = Box<dyn Fn(&mut Vec<Vec<Place>>, &mut PackedRow)>;
    assert!(forge(&|_, _| ()).is_ok());
    let place = |column, first| -> Change { Box::new(move |p, _| p[3][0] = Place { column, first }) };
    let cut = |len: usize| -> Change { Box::new(move |_, row| row.header.truncate(len)) };
    let changes: [(Change, &str); 11] = [
        // To the list itself, beyond the columns: no circle can be made.
        (place(0, 0), "column"),
        (place(2, 0), "column"),
        (place(99, 0), "column"),
        (place(3, 1 << 30), "place"),
        (Box::new(|p, _| p[3].swap(0, 1)), "type of its column"),
        (Box::new(|p, _| _ = p[3].pop()), "number of arrays"),
        (Box::new(|_, row| row.number = 4), "number in its group"),
        (cut(100), "header"),
        (cut(0), "header"),
        (Box::new(|_, row| row.header = [&row.header[..], b"more"].concat().into()), "header"),
        (Box::new(|_, row| row.len = 1 << 40), ""),
    ];
    for (change, words) in changes {
        let Err(e) = forge(&*change) else { panic!("{words}: it was taken") };
        assert!(e.to_string().contains(words), "{words}: {e}");
        // The header is that of the bundle: a defect of it is not one of a classic file of the user.
        let crate::Error::Reader(e) = e else { panic!("{words}: {e}") };
        let nc3z_reader::ErrorKind::Format(e) = e.kind() else { panic!("{words}: {e}") };
        assert!(!e.is_of_header() && e.is_corrupt(), "{words}: {e}");
    }
}

#[test]
fn files_without_arrays_are_not_packed() {
    let mut bytes = b"CDF\x01".to_vec();
    bytes.extend([0; 28]);
    let tree = tree(vec![bytes.clone(), bytes]);
    let bundle = open(tree.pack(&tree.bundled(), "a.bundle.nc3z"));
    assert!(!bundle.is_packed().unwrap());
    tree.check(&bundle, 0..2);
}

#[test]
fn a_member_is_compared_with_the_sha256_of_the_table() {
    let tree = tree(some(4));
    let bytes = tree.pack(&tree.bundled(), "a.bundle.nc3z");
    let source = Arc::new(MemorySource::new(bytes));
    let archive = nc3z_reader::Archive::from_source(source, &OpenOptions::default()).unwrap();
    let mut table = vec![0; usize::try_from(archive.original_len()).unwrap()];
    archive.read_original(0, &mut table).unwrap();
    let sums = archive.header().variable(b"file_sha256").unwrap().1.begin;
    table[usize::try_from(sums).unwrap() + 2 * 32 + 5] ^= 1;
    let source = Arc::new(MemorySource::new(table));
    let bundle = open(archive_to_vec(source, &WriterOptions::default(), &()).unwrap().0);
    let out = tree.dir.path().join("out");
    for (number, (bundled, _)) in tree.files.iter().enumerate() {
        let written = bundle.member_file(&bundled.name).unwrap().unwrap().write(&out, true);
        assert_eq!(written.is_err(), number == 2, "{written:?}");
        assert_eq!(bundle.check_member(&bundled.name, &()).is_err(), number == 2);
    }
    let hurt = bundle.hurt_members(".nc3z/packed/000000.nc3z").unwrap();
    assert_eq!(hurt, Some((4, vec!["d/2.nc".to_owned()])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_files_come_back(
        shapes in prop::collection::vec((0_usize..50, 0_usize..9, prop::collection::vec(any::<u8>(), 0..6)), 1..12),
        cuts in prop::collection::vec(0_usize..200, 12),
    ) {
        let contents = shapes.iter().zip(&cuts).map(|((n, records, tail), cut)| {
            let mut bytes = file(*n, *records, tail);
            // Some are cut short: their last values are missing.
            if cut % 3 == 0 {
                bytes.truncate(bytes.len() - cut % 40);
            }
            bytes
        });
        let tree = tree(contents.collect());
        let bundle = open(tree.pack(&tree.bundled(), "a.bundle.nc3z"));
        tree.check(&bundle, 0..tree.files.len());
    }
}
