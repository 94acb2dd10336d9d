//! Later states of a file in one archive: each restores to the byte, and unchanged tiles are stored once.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod damage;
mod tiles;

use damage::with_slots_of;

use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, IndexEntry, SectionEncoding, SectionKind};
use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_reader::source::MemorySource;
use nc3z_reader::verify::{deep, quick};
use nc3z_reader::{Archive, OpenOptions, VersionName};
use nc3z_writer::{
    BlockRepairOptions, CommitNote, CommitReport, Keep, TagChange, WriterOptions, archive_file, collect_file,
    commit_file, repair_blocks, tag_version,
};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A variable: name, whether it has records, elements (of a record), and its values as numbers.
#[derive(Clone)]
struct Var {
    name: &'static str,
    record: bool,
    len: u64,
    value: fn(u64) -> u32,
}

/// A classic file of floats whose values follow from their positions.
struct File {
    title: &'static str,
    records: u64,
    vars: Vec<Var>,
}

impl File {
    fn header(&self, begins: &[u64]) -> Header {
        let mut dimensions = vec![Dimension { name: b"time".to_vec(), len: 0 }];
        let mut variables = Vec::new();
        for (var, &begin) in self.vars.iter().zip(begins) {
            let inner = DimId(u32::try_from(dimensions.len()).unwrap());
            dimensions.push(Dimension { name: format!("n_{}", var.name).into_bytes(), len: var.len });
            let dimensions = if var.record { vec![DimId(0), inner] } else { vec![inner] };
            let name = var.name.as_bytes().to_vec();
            let (ty, vsize) = (NcType::Float, var.len * 4);
            variables.push(Variable { name, dimensions, attributes: vec![], ty, vsize, begin });
        }
        let title =
            Attribute { name: b"title".to_vec(), ty: NcType::Char, values: self.title.as_bytes().to_vec() };
        let numrecs = NumRecs::Count(self.records);
        Header { version: Version::Cdf2, numrecs, dimensions, attributes: vec![title], variables }
    }

    fn bytes(&self) -> Vec<u8> {
        let len = encode(&self.header(&vec![0; self.vars.len()])).unwrap().len() as u64;
        let mut begins = vec![0; self.vars.len()];
        let mut at = len;
        for record in [false, true] {
            for (var, begin) in self.vars.iter().zip(&mut begins).filter(|(v, _)| v.record == record) {
                *begin = at;
                at += var.len * 4;
            }
        }
        let mut out = encode(&self.header(&begins)).unwrap();
        for var in self.vars.iter().filter(|v| !v.record) {
            out.extend((0..var.len).flat_map(|i| (var.value)(i).to_be_bytes()));
        }
        for record in 0..self.records {
            for var in self.vars.iter().filter(|v| v.record) {
                out.extend((0..var.len).flat_map(|i| (var.value)(record * var.len + i).to_be_bytes()));
            }
        }
        out
    }
}

fn noise(i: u64) -> u32 {
    let i = u32::try_from(i).unwrap();
    (i ^ 0x5bd1_e995).wrapping_mul(2_654_435_761) ^ i.wrapping_mul(40_503)
}

/// The noise with one changed value.
fn mended(i: u64) -> u32 {
    if i == 70_001 { 7 } else { noise(i) }
}

fn steps(i: u64) -> u32 {
    f32::from(u16::try_from(i / 10).unwrap()).to_bits()
}

fn other(i: u64) -> u32 {
    !noise(i)
}

fn unlike(i: u64) -> u32 {
    noise(i + 12_345)
}

const LARGE: Var = Var { name: "large", record: false, len: 100_000, value: noise };
const SMALL: Var = Var { name: "small", record: false, len: 3000, value: steps };
const GONE: Var = Var { name: "gone", record: false, len: 5000, value: other };
const SERIES: Var = Var { name: "series", record: true, len: 700, value: noise };
const NEW: Var = Var { name: "new", record: false, len: 4000, value: unlike };

fn first() -> File {
    File { title: "first", records: 6, vars: vec![LARGE, SMALL, GONE, SERIES] }
}

/// Another attribute, variables in another order, one changed value, a variable added and one removed, one more
/// record.
fn second() -> File {
    let large = Var { value: mended, ..LARGE };
    File { title: "second, and longer than the first", records: 7, vars: vec![SERIES, SMALL, NEW, large] }
}

struct Made {
    directory: TempDir,
    path: PathBuf,
}

impl Made {
    fn new(file: &File, options: &WriterOptions) -> Self {
        let directory = TempDir::new().unwrap();
        let (input, path) = (directory.path().join("a.nc"), directory.path().join("a.nc3z"));
        std::fs::write(&input, file.bytes()).unwrap();
        archive_file(&input, &path, options, &()).unwrap();
        Made { directory, path }
    }

    fn commit(&self, file: &File) -> CommitReport {
        let edited = self.directory.path().join("edited.nc");
        std::fs::write(&edited, file.bytes()).unwrap();
        let done = commit_file(&self.path, &edited, &CommitNote::default(), &options(), &()).unwrap();
        assert_eq!(done.stored_len.1, std::fs::metadata(&self.path).unwrap().len());
        done
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    fn open(&self, generation: u64) -> Archive {
        let source = Arc::new(MemorySource::new(self.bytes()));
        Archive::from_source(source, &OpenOptions::default().with_generation(generation)).unwrap()
    }

    /// Checks that a generation restores to this file, as a stream, by ranges, and by variables.
    fn holds(&self, generation: u64, file: &File) {
        let archive = self.open(generation);
        let (mut restored, expected) = (Vec::new(), file.bytes());
        assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record, "{generation}");
        assert!(restored == expected, "{generation}");
        assert_eq!(archive.original_len(), expected.len() as u64);
        let mut range = vec![0; expected.len() - 901];
        archive.read_original(900, &mut range).unwrap();
        assert!(range == expected[900..expected.len() - 1]);
        for (i, var) in file.vars.iter().enumerate() {
            let id = archive.variable_id(var.name).unwrap();
            assert_eq!(id.index(), i);
            let n = var.len * if var.record { file.records } else { 1 };
            let values: Vec<u8> = (0..n).flat_map(|i| (var.value)(i).to_be_bytes()).collect();
            assert!(archive.read_variable_bytes(id).unwrap() == values, "{generation}: {}", var.name);
        }
    }

    fn is_sound(&self) {
        let source = nc3z_reader::source::open(&self.path, false).unwrap();
        for check in [quick, deep] {
            let report = check(&source, &OpenOptions::default(), &()).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}

fn options() -> WriterOptions {
    // About two hundred tiles of the large variable: a tree of two levels.
    WriterOptions::default().with_tile_len(2048)
}

fn pages(archive: &Archive) -> u64 {
    let sections = archive.sections().entries();
    sections.iter().filter(|e| e.kind == SectionKind::IndexPages).map(|e| e.len / 4096).sum()
}

#[test]
fn both_states_restore_to_the_byte_and_share_what_is_alike() {
    let made = Made::new(&first(), &options());
    let before = made.bytes();
    let done = made.commit(&second());
    assert_eq!(done.generation, 2);
    assert!(with_slots_of(&made.bytes(), &before).starts_with(&before), "the first generation was touched");
    made.holds(1, &first());
    made.holds(2, &second());
    made.is_sound();
    assert_eq!(made.open(2).trailer().generation, 2);

    let (old, new) = (made.open(1), made.open(2));
    let large = old.arrays().variable(old.variable_id("large").unwrap());
    let again = new.arrays().variable(new.variable_id("large").unwrap());
    assert_eq!(large.id, again.id, "arrays keep their numbers, wherever the variable stands");
    let tiles = large.tiling.tile_count();
    assert!(tiles > 169, "{tiles}");
    let differ = |&tile: &u64| old.entry(large.id, tile).unwrap() != new.entry(large.id, tile).unwrap();
    assert_eq!((0..tiles).filter(differ).count(), 1);
    // Root and one leaf of two are new; the other leaf is the old one.
    assert_eq!((pages(&old), pages(&new)), (3, 2));
    // The new variable has a new number; the removed variable's number is not used again.
    assert_eq!(new.arrays().variable(new.variable_id("new").unwrap()).id, ArrayId::variable(4));
    assert!(new.variable_table().find(ArrayId::variable(2)).is_none());
    // One changed tile, those of the new variable and of one record, header, index.
    let added = made.bytes().len() - before.len();
    assert!(added < 16_000 + 2048 + 2800 + 2 * 4096 + 3500, "{added} bytes added");
}

#[test]
fn states_follow_each_other_and_an_array_may_grow_and_shrink_over_every_border() {
    let made = Made::new(&first(), &options());
    // 512 elements a tile: in the table, in one leaf, in a tree, and back.
    let lens = [100, 16_384, 16_385, 86_528, 86_529, 100_000, 90_000, 86_528, 20_000, 700, 512, 0, 90_000];
    let states: Vec<File> = lens
        .into_iter()
        .map(|len| {
            let vars = vec![Var { len: len + 1, ..LARGE }, SMALL];
            File { title: "grows and shrinks", records: 0, vars }
        })
        .collect();
    for state in &states {
        made.commit(state);
    }
    made.holds(1, &first());
    for (generation, state) in (2..).zip(&states) {
        made.holds(generation, state);
    }
    made.is_sound();
    let last = made.open(2);
    // The variable was removed in generation 2, and its number is not used again.
    assert_eq!(last.next_number(), 4);
}

#[test]
fn a_state_that_is_the_one_before_adds_nothing_and_an_older_one_next_to_nothing() {
    let made = Made::new(&first(), &options());
    made.commit(&second());
    let before = made.bytes().len();
    let done = made.commit(&second());
    assert_eq!((done.is_unchanged(), done.version, done.generation), (true, 2, 2));
    assert_eq!(made.bytes().len(), before);
    // Back to the first state, of which all tiles are known.
    let done = made.commit(&first());
    assert_eq!((done.new_tiles, done.version, done.generation), (0, 3, 3));
    let added = made.bytes().len() - before;
    assert!(added < 600, "{added} bytes");
    for (generation, file) in [(1, first()), (2, second()), (3, first())] {
        made.holds(generation, &file);
    }
    made.is_sound();
}

#[test]
fn chunks_and_containers_and_constants_are_known_again() {
    let zero = Var { name: "zero", record: true, len: 900, value: |_| 0 };
    let mut a = File { title: "a", records: 5, vars: vec![zero.clone(), SERIES, SMALL] };
    let options = WriterOptions::default();
    let made = Made::new(&a, &options);
    a.vars.reverse();
    a.records = 9;
    a.title = "b";
    let done = made.commit(&a);
    assert!(done.kept_tiles > 0);
    made.holds(2, &a);
    made.is_sound();
}

#[test]
fn generations_that_there_are_not_are_named() {
    let made = Made::new(&first(), &options());
    made.commit(&second());
    let source = || Arc::new(MemorySource::new(made.bytes()));
    for wanted in [0, 3, u64::MAX] {
        let e = Archive::from_source(source(), &OpenOptions::default().with_generation(wanted)).unwrap_err();
        assert!(e.to_string().contains(&format!("no commit {wanted};")), "{e}");
    }
}

/// A variant of the file with other values at some positions, selected by `n`.
fn numbered(n: u32) -> File {
    const TITLES: [&str; 3] = ["one title", "another title, longer than that", "a third"];
    fn value(i: u64, n: u32) -> u32 {
        if i % 30_000 == u64::from(n) { n } else { noise(i) }
    }
    // A variable's values are given by a function pointer, so there are only a few different functions.
    const VALUES: [fn(u64) -> u32; 4] = [|i| value(i, 1), |i| value(i, 2), |i| value(i, 3), |i| value(i, 4)];
    let large = Var { value: VALUES[n as usize % 4], ..LARGE };
    File { title: TITLES[n as usize % 3], records: 6, vars: vec![large, SMALL, SERIES] }
}

#[test]
fn any_of_many_versions_is_found_by_number_and_tag() {
    const MANY: u64 = 60;
    let made = Made::new(&numbered(1), &options());
    for n in 2..=MANY {
        let done = made.commit(&numbered(u32::try_from(n).unwrap()));
        assert_eq!((done.version, done.is_unchanged()), (n, false));
        // From the thirteenth on, each file is equal to an earlier one.
        assert!(n < 13 || done.new_tiles == 0, "{n}");
        if n == 20 {
            let change = TagChange::Set { version: None, force: false };
            assert_eq!(tag_version(&made.path, "twenty", &change, &options()).unwrap(), 20);
        }
    }
    let open = |version: VersionName| {
        let source = Arc::new(MemorySource::new(made.bytes()));
        Archive::from_source(source, &OpenOptions::default().with_version(version))
    };
    for n in 1..=MANY {
        let archive = open(VersionName::Number(n)).unwrap();
        assert_eq!(archive.version().unwrap().number, n);
        let mut restored = Vec::new();
        assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record);
        assert!(restored == numbered(u32::try_from(n).unwrap()).bytes(), "{n}");
        // The earlier generations are unchanged.
        assert_eq!(archive.versions(u64::MAX).unwrap().len() as u64, n);
    }
    let tagged = open(VersionName::Tag("twenty".into())).unwrap();
    assert_eq!(tagged.version().unwrap().number, 20);
    for wrong in [VersionName::Number(MANY + 1), VersionName::Tag("none".into())] {
        assert!(open(wrong).is_err());
    }
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(made.bytes()));
    assert!(deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
}
