//! Tests packed bundles as a whole: members are restored exactly, also after appending, damage, truncation or
//! forgery.

use super::group::Group;
use super::listing::{self, Place};
use super::*;
use crate::bundle::{Bundle, Bundled};
use nc3z_format::Limits;
use nc3z_format::archive::pack_frame;
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
    let mut head = b"CDF\x01".to_vec();
    head.extend(word(records));
    head.extend([word(10), word(3)].concat());
    for (text, len) in [("time", 0), ("x", 3), ("y", 40)] {
        head.extend(name(text));
        head.extend(word(len));
    }
    head.extend([word(12), word(1)].concat());
    head.extend(name("title"));
    head.extend([word(2), word(4)].concat());
    head.extend(format!("{n:04}").as_bytes());
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

fn options(dir: &Path) -> PackOptions {
    PackOptions { writer: WriterOptions::default(), scratch: dir.to_owned() }
}

impl Tree {
    fn bundled(&self) -> Vec<Bundled> {
        self.files.iter().map(|(b, _)| b.clone()).collect()
    }

    fn pack(&self, files: &[Bundled], name: &str) -> Vec<u8> {
        let path = self.dir.path().join(name);
        let mut out = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let done = write_packed(files, &mut out, &path, &options(self.dir.path()), &|_| true).unwrap();
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
    let bytes = tree.pack(&tree.bundled(), "a.zip");
    assert_eq!(bytes, tree.pack(&tree.bundled(), "b.zip"), "the same files give the same bytes");
    let bundle = open(bytes.clone());
    assert!(bundle.is_indexed() && bundle.is_packed());
    assert_eq!(bundle.groups().collect::<Vec<_>>(), [".nc3z/packed/000000.nc3z"]);
    assert_eq!(bundle.names().len(), 42);
    assert_eq!((bundle.names()[3].as_str(), bundle.names()[41].as_str()), ("d/3.nc", "d/41.nc.nc3z"));
    tree.check(&bundle, 0..40);
    tree.check(&bundle, 41..42);
    assert!(bundle.check().unwrap().is_empty());
    assert!(bundle.offset("d/3.nc").unwrap_err().to_string().contains("packed"));
    assert!(bundle.member("d/99.nc").unwrap().is_none());
    // Separately, each takes about 500 bytes.
    let group = bundle.member(".nc3z/packed/000000.nc3z").unwrap().unwrap().len();
    assert!(group < 40 * 150, "{group}");
    // Any ZIP program lists what the directory has.
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    assert!(zip.by_name(README).is_ok() && zip.by_name("d/40.nc").is_ok());
}

#[test]
fn ranges_of_members_are_those_of_the_files() {
    let tree = tree(some(12));
    let bundle = open(tree.pack(&tree.bundled(), "a.zip"));
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
fn without_an_index_the_groups_tell_what_is_in_them() {
    let tree = tree(some(9));
    let mut bytes = tree.pack(&tree.bundled(), "a.zip");
    let at = bytes.windows(8).position(|w| w == b"nc3zidx2").unwrap();
    bytes[at + 20] ^= 1;
    // The members could be those of an older end, as far as a reader knows.
    let source: SharedSource = Arc::new(MemorySource::new(bytes));
    let e = Bundle::open(source.clone()).err().expect("damaged");
    assert!(e.is_corrupt() && e.to_string().contains("index of the bundle"), "{e}");
    let bundle = Bundle::open_damaged(source).unwrap();
    assert!(!bundle.is_indexed() && bundle.is_packed() && bundle.damage().is_some());
    assert!(bundle.check().unwrap()[0].contains("CRC-32"));
    tree.check(&bundle, 0..9);
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
    let bundle = open(tree.pack(&files, "a.zip"));
    assert_eq!(bundle.names().len(), 6);
    tree.check(&bundle, 0..6);
    // Both a file and its archive: two members of one name.
    files.push(Bundled { name: "d/0.nc".into(), path: tree.files[5].0.path.clone() });
    let path = tree.dir.path().join("twice.zip");
    let mut out = File::create_new(&path).unwrap();
    let e = write_packed(&files, &mut out, &path, &options(tree.dir.path()), &|_| true).unwrap_err();
    assert!(e.to_string().contains("d/0.nc"), "{e}");
}

#[test]
fn files_are_added_and_a_run_that_was_killed_loses_nothing() {
    let tree = tree(some(30));
    let files = tree.bundled();
    let before = tree.pack(&files[..20], "a.zip");
    let path = tree.dir.path().join("a.zip");
    let append = |files: &[Bundled], stop: u64| {
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        let told = std::cell::Cell::new(0_u64);
        append_packed(files, &mut file, &path, &options(tree.dir.path()), &|_| {
            told.set(told.get() + 1);
            told.get() < stop
        })
    };
    let e = append(&files[19..21], u64::MAX).unwrap_err();
    assert!(e.to_string().contains("d/19.nc"), "{e}");
    assert!(append(&files[20..], 3).is_err());
    let done = append(&files[20..], u64::MAX).unwrap();
    assert_eq!((done.members, done.packed), (10, 10));
    let after = std::fs::read(&path).unwrap();
    let bundle = open(after.clone());
    assert_eq!((bundle.names().len(), bundle.groups().len()), (30, 2));
    tree.check(&bundle, 0..30);
    assert!(bundle.check().unwrap().is_empty());
    // At any moment: new bytes are after the old end, and the hint changes last.
    let hint = |bytes: &mut Vec<u8>, from: &[u8]| {
        let at = before.windows(10).position(|w| w == b"nc3z-index").unwrap();
        bytes[at..at + 96].copy_from_slice(&from[at..at + 96]);
    };
    for len in (before.len()..=after.len()).step_by(37).chain([after.len() - 1, after.len()]) {
        let mut torn = after[..len].to_vec();
        hint(&mut torn, &before);
        let bundle = open(torn.clone());
        tree.check(&bundle, 0..20);
        let whole = len == after.len();
        assert_eq!(bundle.names().len(), if whole { 30 } else { 20 }, "{len}");
    }
    // Half of the new bytes, then once more.
    let mut torn = after[..before.len() + 700].to_vec();
    hint(&mut torn, &before);
    std::fs::write(&path, torn).unwrap();
    append(&files[20..], u64::MAX).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), after);
}

#[test]
fn an_interrupted_second_append_loses_nothing() {
    let tree = tree(some(40));
    let files = tree.bundled();
    let path = tree.dir.path().join("a.zip");
    std::fs::write(&path, tree.pack(&files[..20], "b.zip")).unwrap();
    let append = |files: &[Bundled]| {
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        append_packed(files, &mut file, &path, &options(tree.dir.path()), &|_| true).unwrap();
        std::fs::read(&path).unwrap()
    };
    let first = std::fs::read(&path).unwrap();
    let second = append(&files[20..30]);
    let third = append(&files[30..]);
    let at = first.windows(10).position(|w| w == b"nc3z-index").unwrap();
    assert_ne!(first[at..at + 96], second[at..at + 96]);
    // The hint of the second end is on disk before anything is written behind it, although the run that wrote that end may not
    // have come to its hint.
    let torn = |len: usize| [&second[..], &third[second.len()..len]].concat();
    for len in (second.len() + 1..third.len()).step_by(61) {
        let bundle = open(torn(len));
        tree.check(&bundle, 0..30);
        assert_eq!(bundle.names().len(), 30, "{len}");
    }
    let mut unhinted = second.clone();
    unhinted[at..at + 96].copy_from_slice(&first[at..at + 96]);
    std::fs::write(&path, &unhinted).unwrap();
    assert_eq!(append(&files[30..]), third);
    std::fs::write(&path, &unhinted).unwrap();
    let mut file = File::options().read(true).write(true).open(&path).unwrap();
    let stopped = append_packed(&files[30..], &mut file, &path, &options(tree.dir.path()), &|_| false);
    assert!(stopped.is_err());
    let bundle = open(std::fs::read(&path).unwrap());
    assert_eq!(bundle.names().len(), 30);
}

/// All cases with `NC3Z_EXHAUSTIVE=1`, otherwise a sample of them.
fn step(sample: usize) -> usize {
    if std::env::var_os("NC3Z_EXHAUSTIVE").is_some() { 1 } else { sample }
}

/// A bundle of some files, and the same one after others were added.
fn grown(tree: &Tree, first: usize) -> (Vec<u8>, Vec<u8>) {
    let files = tree.bundled();
    let before = tree.pack(&files[..first], "grown.zip");
    (before, added(tree, &files[first..], "grown.zip").unwrap())
}

fn added(tree: &Tree, files: &[Bundled], name: &str) -> crate::Result<Vec<u8>> {
    let path = tree.dir.path().join(name);
    let mut file = File::options().read(true).write(true).open(&path).unwrap();
    append_packed(files, &mut file, &path, &options(tree.dir.path()), &|_| true)?;
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
    // The intact members can still be read.
    let cut: SharedSource = Arc::new(MemorySource::new(after[..after.len() - 1].to_vec()));
    let bundle = Bundle::open_damaged(cut).unwrap();
    assert_eq!(bundle.names().len(), 12);
    tree.check(&bundle, 0..12);
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
fn files_are_added_to_what_the_index_says() {
    let tree = tree(some(8));
    let files = tree.bundled();
    let before = tree.pack(&files[..6], "a.zip");
    let list = before.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let right = added(&tree, &files[6..], "a.zip").unwrap();
    for bit in (8 * list..8 * before.len()).step_by(step(37)) {
        let mut hurt = before.clone();
        hurt[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(tree.dir.path().join("a.zip"), hurt).unwrap();
        // A bundle whose index cannot be found gets nothing added.
        let Ok(bytes) = added(&tree, &files[6..], "a.zip") else { continue };
        let list = before.len()..;
        assert!(bytes[list.clone()] == right[list], "bit {bit}: the new list is that of a sound bundle");
        let bundle = open(bytes);
        tree.check(&bundle, 0..8);
        assert_eq!(bundle.check().unwrap(), [""; 0]);
    }
}

#[test]
fn a_zip_that_is_added_is_never_taken_for_the_bundle() {
    let mut contents = some(6);
    contents.push(contents[0].clone());
    let mut tree = tree(contents);
    let inner = tree.pack(&tree.bundled()[..3], "inner.zip");
    let (bundled, bytes) = &mut tree.files[6];
    std::fs::write(&bundled.path, &inner).unwrap();
    (*bytes).clone_from(&inner);
    let (before, after) = grown(&tree, 6);
    let at = before.windows(10).position(|w| w == b"nc3z-index").unwrap();
    let inside = after.windows(inner.len()).position(|w| w == inner).unwrap();
    let ends = [inside + inner.len(), inside + inner.len() - 1];
    for len in (before.len()..after.len()).step_by(step(53)).chain(ends) {
        let mut torn = after[..len].to_vec();
        torn[at..at + 96].copy_from_slice(&before[at..at + 96]);
        let bundle = open(torn);
        assert_eq!(bundle.names().len(), 6, "{len}");
        tree.check(&bundle, 0..6);
        assert!(Bundle::open(Arc::new(MemorySource::new(after[..len].to_vec()))).is_err(), "{len}");
    }
}

#[test]
fn a_damaged_hint_does_not_hide_the_bundle() {
    let tree = tree(some(5));
    let (_, after) = grown(&tree, 3);
    let at = after.windows(10).position(|w| w == b"nc3z-index").unwrap();
    for bit in (8 * at..8 * (at + 60)).step_by(step(3)) {
        let mut hurt = after.clone();
        hurt[bit / 8] ^= 1 << (bit % 8);
        let bundle = open(hurt);
        assert_eq!(bundle.names().len(), 5, "bit {bit}");
        tree.check(&bundle, 0..5);
    }
}

#[test]
fn a_file_and_its_archive_are_one_member() {
    let tree = tree(some(2));
    let file = |name: &str, n: usize| Bundled { name: name.into(), path: tree.files[n].0.path.clone() };
    for names in [["x.nc", "x.nc.nc3z"], ["x.nc.nc3z", "x.nc"]] {
        let files = [file("other.nc", 0), file(names[0], 0), file(names[1], 1)];
        let path = tree.dir.path().join("names.zip");
        let mut out = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let e = write_packed(&files, &mut out, &path, &options(tree.dir.path()), &|_| true).unwrap_err();
        assert!(e.to_string().contains("two members would be called `x.nc.nc3z`"), "{e}");
    }
}

#[test]
fn what_is_no_packed_bundle_gets_nothing_added() {
    let tree = tree(some(2));
    let path = tree.dir.path().join("plain.zip");
    let mut out = File::create_new(&path).unwrap();
    crate::bundle::write_bundle(&tree.bundled(), &mut out, &|_| true).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut file = File::options().read(true).write(true).open(&path).unwrap();
    let more = [Bundled { name: "more.nc".into(), path: tree.files[0].0.path.clone() }];
    assert!(append_packed(&more, &mut file, &path, &options(tree.dir.path()), &|_| true).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn damage_of_a_shared_block_names_who_it_hurts() {
    let tree = tree(some(8));
    let bundle = open(tree.pack(&tree.bundled(), "a.zip"));
    let group = bundle.group(0).unwrap();
    let header = group.archive().header();
    let column =
        |name: &str| nc3z_format::archive::ArrayId::variable(header.variable(name.as_bytes()).unwrap().0.0);
    assert_eq!(group.hurt_by(column(HEADS), 0).unwrap().len(), 8);
    // `lat` is one piece, which all members share.
    let short = header.variables.iter().position(|v| v.name == b"nc3z_short_float").unwrap();
    let id = nc3z_format::archive::ArrayId::variable(u32::try_from(short).unwrap());
    assert_eq!(group.hurt_by(id, 0).unwrap().len(), 8);
    // Of the bytes behind the end, two files have some; the gap behind the header has all.
    let bytes = bundle.source().read_at(0, usize::try_from(bundle.source().len()).unwrap()).unwrap().to_vec();
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

/// The group of a bundle with another list.
fn forge(bytes: &[u8], change: &dyn Fn(&mut listing::Listing)) -> crate::Result<Group> {
    let bundle = open(bytes.to_vec());
    let source = bundle.member(".nc3z/packed/000000.nc3z").unwrap().unwrap();
    let archive = nc3z_reader::Archive::from_source(source, &OpenOptions::default()).unwrap();
    let mut original = vec![0; usize::try_from(archive.original_len()).unwrap()];
    archive.read_original(0, &mut original).unwrap();
    let classic =
        ClassicFile::from_source(Arc::new(MemorySource::new(original)), &Limits::default()).unwrap();
    let len = classic.layout().variables[0].present;
    let mut list = vec![0; usize::try_from(len).unwrap()];
    classic.read_array_bytes(nc3z_format::archive::ArrayId::variable(0), 0, &mut list).unwrap();
    let mut list = listing::decode(&nc3z_format::archive::unpack(&list, 1 << 20).unwrap(), u64::MAX).unwrap();
    change(&mut list);
    let list = pack_frame(&listing::encode(&list)).unwrap();
    let mut heads = vec![0; usize::try_from(classic.layout().variables[1].present).unwrap()];
    classic.read_array_bytes(nc3z_format::archive::ArrayId::variable(1), 0, &mut heads).unwrap();
    let mut columns = columns::Columns::default();
    for n in 0..4 {
        let source = Arc::new(MemorySource::new(file(n, 5 + n % 3, if n % 4 == 0 { b"tail" } else { b"" })));
        columns.add(&ClassicFile::from_source(source, &Limits::default()).unwrap()).unwrap();
    }
    let file = columns.arranged().file(list, heads).unwrap();
    let (archive, _) =
        archive_to_vec(Arc::new(MemorySource::new(file)), &WriterOptions::default(), &()).unwrap();
    Group::open(Arc::new(MemorySource::new(archive)), &OpenOptions::default())
}

#[test]
fn forged_references_are_errors() {
    let tree = tree(some(4));
    let bytes = tree.pack(&tree.bundled(), "a.zip");
    let member = |group: crate::Result<Group>| Arc::new(group?).member(0);
    assert!(member(forge(&bytes, &|_| ())).unwrap().is_some());
    let place =
        |column, first| move |l: &mut listing::Listing| l.members[0].places[0] = Place { column, first };
    for (change, words) in [
        // To the list itself, to the headers, beyond the columns: no circle can be made.
        (Box::new(place(0, 0)) as Box<dyn Fn(&mut listing::Listing)>, "column"),
        (Box::new(place(1, 0)), "column"),
        (Box::new(place(99, 0)), "column"),
        (Box::new(place(2, 1 << 50)), "place"),
        (Box::new(|l| l.members[0].places.swap(0, 1)), "type of its column"),
        (Box::new(|l| _ = l.members[0].places.pop()), "number of arrays"),
        (Box::new(|l| l.members[0].header_len = 100), "header"),
        (Box::new(|l| l.members[0].header_len = 1 << 40), "end"),
        (Box::new(|l| l.frames[0].decoded = 1 << 40), "limit"),
        (Box::new(|l| l.frames[0].stored = 1 << 40), "end of a frame"),
        (Box::new(|l| l.members[0].len = 1 << 40), ""),
    ] {
        match member(forge(&bytes, &*change)) {
            Err(e) => {
                assert!(e.to_string().contains(words), "{words}: {e}");
                // The header is that of the bundle: a defect of it is not one of a classic file of the user.
                let crate::Error::Reader(e) = e else { panic!("{words}: {e}") };
                let nc3z_reader::ErrorKind::Format(e) = e.kind() else { panic!("{words}: {e}") };
                assert!(!e.is_of_header() && (e.is_corrupt() || words == "limit"), "{words}: {e}");
            }
            // Longer than it is: the gap is then longer than its column.
            Ok(_) => panic!("{words}: it was taken"),
        }
    }
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
        let bundle = open(tree.pack(&tree.bundled(), "a.zip"));
        tree.check(&bundle, 0..tree.files.len());
    }
}
