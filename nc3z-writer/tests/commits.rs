//! Later states of a file in one archive: each restores to the byte, and unchanged tiles are stored once.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, IndexEntry, SectionEncoding, SectionKind};
use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_reader::source::MemorySource;
use nc3z_reader::verify::{deep, quick};
use nc3z_reader::{Archive, OpenOptions, VersionName};
use nc3z_writer::{
    CommitNote, Committed, Keep, RepairOptions, TagChange, WriterOptions, archive_file, collect_file,
    commit_file, repair_file, tag_version,
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

    fn commit(&self, file: &File) -> Committed {
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
    assert_eq!((done.is_known(), done.version, done.generation), (true, 2, 2));
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
        assert!(e.to_string().contains("generation"), "{e}");
    }
}

#[test]
fn every_flipped_bit_of_a_later_head_is_an_error_and_what_is_repaired_is_the_newest_state() {
    let made = Made::new(&first(), &options());
    made.commit(&second());
    let good = made.bytes();
    let archive = made.open(2);
    let (_, entries) = archive.variable_table().find(ArrayId::HEADS).unwrap();
    let IndexEntry::Stored { offset, len, .. } = entries[0] else { panic!("{entries:?}") };
    let begin = usize::try_from(offset).unwrap();
    for at in (begin..begin + 44 + len as usize).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(Archive::from_source(Arc::new(MemorySource::new(bad)), &<_>::default()).is_err(), "{at}");
    }
    // A tile of the second state is damaged. The rest of that state is saved, and no tile of the first replaces it.
    let new = archive.arrays().variable(archive.variable_id("new").unwrap()).id;
    let Some(offset) = archive.stored_offset(new, 0) else { panic!() };
    let mut bad = good.clone();
    bad[usize::try_from(offset).unwrap() + 60] ^= 1;
    let (damaged, saved) = (made.directory.path().join("bad.nc3z"), made.directory.path().join("saved.nc3z"));
    for (bytes, complete) in [(&good, true), (&bad, false)] {
        std::fs::write(&damaged, bytes).unwrap();
        let options = RepairOptions { force: true, ..RepairOptions::default() };
        let done = repair_file(&damaged, &saved, &options, &()).unwrap();
        assert_eq!(done.lost_tiles == 0, complete);
        let repaired = Archive::open(&saved).unwrap();
        assert_eq!((repaired.trailer().generation, repaired.original_len()), (1, archive.original_len()));
        if complete {
            let mut restored = Vec::new();
            assert!(repaired.restore_to_stream(&mut restored, &()).unwrap().matches_record);
            assert!(restored == second().bytes());
        }
        for name in ["large", "series"].into_iter().filter(|_| complete) {
            let [a, b] =
                [&archive, &repaired].map(|a| a.read_variable_bytes(a.variable_id(name).unwrap()).unwrap());
            assert!(a == b, "{name}");
        }
    }
}

#[test]
fn the_last_block_of_a_later_generation_says_what_it_changes_and_of_what() {
    let made = Made::new(&first(), &options());
    made.commit(&second());
    made.commit(&first());
    let (bytes, archive) = (made.bytes(), made.open(3));
    let read = |generation: u64| {
        let end = usize::try_from(made.open(generation).trailer().blocks_end).unwrap();
        let at = (0..end)
            .rev()
            .step_by(1)
            .filter(|at| at % 8 == 0)
            .find(|&at| bytes[at..].starts_with(b"\xb1NCb"))
            .unwrap();
        let header = bytes[at..].first_chunk().unwrap();
        let (header, _) =
            nc3z_format::archive::BlockHeader::decode(header, &archive.superblock().salt, at as u64).unwrap();
        let payload = &bytes[at + 44..at + 44 + header.stored_len as usize];
        nc3z_format::archive::Commit::read(&header, payload, at as u64).unwrap()
    };
    let (two, three) = (read(2), read(3));
    assert_eq!(
        (two.version, two.base, two.head, two.digest()),
        (2, 1, 2, Some(made.open(2).trailer().sha256))
    );
    assert_eq!((three.version, three.base, three.head, three.changed.len(), three.blocks), (3, 1, 0, 0, 1));
    let new = made.open(2);
    let new = new.arrays().variable(new.variable_id("new").unwrap());
    let runs = &two.changed.iter().find(|(array, _)| *array == new.id).unwrap().1;
    assert_eq!(runs.as_slice(), std::slice::from_ref(&(0..new.tiling.tile_count())));
}

#[test]
fn the_golden_archive_of_two_states_holds_both() {
    let file = "../testdata/archives/v0_1_0/states.later.nc3z";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let digests = [
        "30e800f7b948bad40bf02212b8cc5993708009f2a13db450b413f9fd4312b7f0",
        "a8f4447bf9ca32e152d41c701400765e779cee8354a4d1a9c0dc9544edc0cf6c",
    ];
    for (generation, expected) in (1..).zip(digests) {
        let source = nc3z_reader::source::open(&path, false).unwrap();
        let options = OpenOptions::default().with_generation(generation);
        let archive = Archive::from_source(source, &options).unwrap();
        let restored = archive.restore_to_stream(&mut std::io::sink(), &()).unwrap();
        let found = nc3z_format::bytes::hex(&restored.sha256);
        assert_eq!((found.as_str(), restored.matches_record), (expected, true), "{generation}");
    }
}

#[test]
fn the_golden_archive_of_three_versions_holds_them() {
    let file = "../testdata/archives/v0_1_0/smooth.later.nc3z";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let digests = [
        "1c8f083975a65286923df38e01230fb8c92c90c2a7e407d2d67674fb2b09b6f6",
        "9e7f5c8065bd64e997b44d79264a3c98842d2342e65bc2a7de9fb4db24519e2c",
        "de27d66902bb46973b1858813ce9f8511a84cc9be6a963c983c8df4214649bf6",
    ];
    let open = |version: VersionName| {
        let source = nc3z_reader::source::open(&path, false).unwrap();
        Archive::from_source(source, &OpenOptions::default().with_version(version)).unwrap()
    };
    for (number, expected) in (1..).zip(digests) {
        let restored =
            open(VersionName::Number(number)).restore_to_stream(&mut std::io::sink(), &()).unwrap();
        let found = nc3z_format::bytes::hex(&restored.sha256);
        assert_eq!((found.as_str(), restored.matches_record), (expected, true), "{number}");
    }
    let tagged = open(VersionName::Tag("good".into())).version().unwrap();
    assert_eq!((tagged.number, tagged.message.as_deref()), (2, Some("three values")));
    let newest = open(VersionName::Number(3));
    assert!(newest.chains().iter().any(|chain| chain.needs().base));
    assert_eq!(newest.tags().unwrap(), [("good".to_owned(), 2)].into());
}

#[test]
fn the_archive_of_copies_that_an_older_build_wrote_holds_all_versions() {
    let file = "../testdata/archives/v0_1_0/numeric.later.nc3z";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let digests = [
        "4451b542acf62590beb0aaab4c43f285529124bbf8c4230a557700c90a821bf1",
        "12c9fc94a1c06513c92d43f008959a18d737f67e843adc69bf12f794fb87ee26",
        "11b3c76b7d0947337918b4401fc5af4ac6ccf2d90ad85f95ec3387c48060371d",
    ];
    for (number, expected) in (1..).zip(digests) {
        let source = nc3z_reader::source::open(&path, false).unwrap();
        let options = OpenOptions::default().with_version(VersionName::Number(number));
        let archive = Archive::from_source(source, &options).unwrap();
        let restored = archive.restore_to_stream(&mut std::io::sink(), &()).unwrap();
        assert_eq!(nc3z_format::bytes::hex(&restored.sha256), expected, "{number}");
    }
    let newest = Archive::open(&path).unwrap();
    let sections = newest.sections();
    for kind in [SectionKind::VariableTable, SectionKind::Metadata] {
        assert_eq!(sections.find(kind).unwrap().encoding, SectionEncoding::After);
    }
    // Differences to another array, with a table of values and without, and to the array itself; all are members of
    // a container.
    for (name, others) in [("few_again", 1), ("noise_again", 1), ("ushorts_again", 1), ("shorts", 0)] {
        assert_eq!(differences(&newest, name).2, others, "{name}");
    }
}

/// Returns an archive with the commit slots of another state, as after a kill before the slots are written.
fn with_slots_of(bytes: &[u8], before: &[u8]) -> Vec<u8> {
    [&bytes[..112], &before[112..160], &bytes[160..]].concat()
}

/// Returns true if opening reports that a later state was committed. Generation 1 opens.
fn is_told(bytes: &[u8]) -> bool {
    let source = || Arc::new(MemorySource::new(bytes.to_vec()));
    let older = Archive::from_source(source(), &OpenOptions::default().with_older(true)).unwrap();
    assert_eq!(older.trailer().generation, 1);
    match Archive::from_source(source(), &OpenOptions::default()) {
        Ok(archive) => {
            assert_eq!(archive.trailer().generation, 1);
            false
        }
        Err(e) => {
            let words = [
                "committed beyond generation 1",
                "of version 2 is damaged",
                "of version 2 are missing",
                "adds tags or parity to version 1, is damaged",
            ];
            assert!(words.iter().any(|words| e.to_string().contains(words)), "{e}");
            true
        }
    }
}

#[test]
fn a_damaged_last_trailer_never_makes_the_older_state_the_newest_and_a_commit_cut_short_does() {
    let made = Made::new(&first(), &options());
    let before = made.bytes();
    let one = before.len();
    made.commit(&second());
    let good = made.bytes();
    let end = good.len();
    let killed = with_slots_of(&good, &before);
    for bit in 0..128 * 8 {
        for state in [&good, &killed] {
            let mut bad = state.clone();
            bad[end - 128 + bit / 8] ^= 1 << (bit % 8);
            assert!(is_told(&bad), "bit {bit} of the trailer");
        }
    }
    // Whole sectors are lost, including the section table. The commit slot still has the archive's length.
    for lost in [128, 512, 4096] {
        let mut bad = good.clone();
        bad[end - lost..].fill(0);
        assert!(is_told(&bad), "{lost} bytes lost");
    }
    // If the file is cut off, the commit slots show it. If the commit was killed, the old state is valid without an
    // error.
    for len in (one..end).step_by(997).chain([one + 1, one + 59, one + 60, end - 129, end - 128, end - 1]) {
        assert!(is_told(&good[..len]), "{len} of {end} bytes left");
        assert!(!is_told(&killed[..len]), "{len} of {end} bytes written");
    }
    // The commit block repeats the trailer's fields, so the version is rebuilt and confirmed by its SHA-256.
    let (damaged, saved) = (made.directory.path().join("bad.nc3z"), made.directory.path().join("saved.nc3z"));
    let mut bad = good.clone();
    bad[end - 20] ^= 1;
    std::fs::write(&damaged, &bad).unwrap();
    let done = repair_file(&damaged, &saved, &RepairOptions::default(), &()).unwrap();
    assert!(!done.is_older && done.is_complete(), "{:?}", done.notes);
    assert_eq!(done.digest, nc3z_writer::RepairedDigest::Confirmed);
    let mut restored = Vec::new();
    Archive::open(&saved).unwrap().restore_to_stream(&mut restored, &()).unwrap();
    assert!(restored == second().bytes());
    // Without the commit block, the version before is saved and reported as older.
    let block = bad.windows(4).rposition(|bytes| bytes == b"\xb1NCb").unwrap();
    bad[block + 20] ^= 1;
    std::fs::write(&damaged, &bad).unwrap();
    let again = RepairOptions { force: true, ..RepairOptions::default() };
    let done = repair_file(&damaged, &saved, &again, &()).unwrap();
    assert!(done.is_older && !done.is_complete(), "{:?}", done.notes);
    // A commit does not cut off bytes that may be saved.
    let edited = made.directory.path().join("edited.nc");
    std::fs::write(&edited, first().bytes()).unwrap();
    assert!(commit_file(&damaged, &edited, &CommitNote::default(), &options(), &()).is_err());
    assert!(std::fs::read(&damaged).unwrap() == bad);
}

#[test]
fn parity_that_lost_its_trailer_is_told_and_the_version_opens_by_number() {
    let made = Made::new(&first(), &options());
    let share = nc3z_writer::Share::parse("5%").unwrap();
    nc3z_writer::parity::add(&made.path, share, 1 << 28, &()).unwrap();
    let mut bytes = made.bytes();
    let end = bytes.len();
    bytes[end - 30] ^= 4;
    assert!(is_told(&bytes));
    let version = OpenOptions::default().with_version(VersionName::Number(1));
    Archive::from_source(Arc::new(MemorySource::new(bytes)), &version).unwrap();
}

#[test]
fn of_thirty_at_once_one_adds_parity() {
    let made = Made::new(&first(), &options());
    let share = nc3z_writer::Share::parse("5%").unwrap();
    let results: Vec<_> = std::thread::scope(|scope| {
        let add = || nc3z_writer::parity::add(&made.path, share, 1 << 26, &());
        let threads: Vec<_> = (0..30).map(|_| scope.spawn(add)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1);
    for e in results.into_iter().filter_map(Result::err) {
        let words = e.to_string();
        assert!(words.contains("another process") || words.contains("already"), "{words}");
    }
    made.is_sound();
    made.holds(2, &first());
}

#[test]
fn blocks_of_another_file_of_the_series_are_never_taken_for_ones_own() {
    let series = |value| File { title: "of a series", records: 0, vars: vec![Var { value, ..LARGE }] };
    let options = WriterOptions::default().with_tile_len(40_000);
    let others: [fn(u64) -> u32; 5] = [
        |i| if i == 70_001 { 7 } else { noise(i) },
        |i| if i == 70_001 { noise(i) ^ 1 } else { noise(i) },
        |i| if i == 70_002 { noise(i) ^ 0x80 } else { noise(i) },
        |i| if i == 70_003 { noise(i) ^ 0x4000 } else { noise(i) },
        |i| if i == 70_004 { noise(i + 1) } else { noise(i) },
    ];
    let a = Made::new(&series(noise), &options);
    let mine = a.open(1);
    let id = ArrayId::variable(0);
    let mut bytes = a.bytes();
    let mixed = others.into_iter().any(|value| {
        let b = Made::new(&series(value), &options);
        let (theirs, strange) = (b.open(1), b.bytes());
        assert_eq!(mine.header_bytes(), theirs.header_bytes());
        assert_eq!(mine.original_len(), theirs.original_len());
        let [x, y] = [&mine, &theirs].map(|archive| archive.entry(id, 7).unwrap());
        let (IndexEntry::Stored { offset, len, .. }, IndexEntry::Stored { offset: o, len: l, .. }) = (x, y)
        else {
            return false;
        };
        let at = usize::try_from(offset).unwrap();
        let range = at..at + 44 + len as usize;
        if (offset, len) == (o, l) {
            bytes[range.clone()].copy_from_slice(&strange[range]);
        }
        (offset, len) == (o, l)
    });
    assert!(mixed, "the samples have no block of the same place and length");
    bytes.truncate(usize::try_from(mine.trailer().blocks_end).unwrap());
    let (damaged, saved) = (a.directory.path().join("bad.nc3z"), a.directory.path().join("saved.nc3z"));
    std::fs::write(&damaged, &bytes).unwrap();
    let done = repair_file(&damaged, &saved, &RepairOptions::default(), &()).unwrap();
    assert_eq!((done.lost_tiles, done.is_complete()), (1, false), "{done:?}");
    // Only the first version's blocks: the salt confirms that they are the whole file.
    std::fs::write(&damaged, &a.bytes()[..bytes.len()]).unwrap();
    let force = RepairOptions { force: true, ..RepairOptions::default() };
    let done = repair_file(&damaged, &saved, &force, &()).unwrap();
    assert_eq!(done.digest, nc3z_writer::RepairedDigest::Recomputed);
    a.holds(1, &series(noise));
}

/// A variant of the file with other values at some positions, selected by `n`.
fn numbered(n: u32) -> File {
    const TITLES: [&str; 3] = ["one title", "another title, longer than that", "a third"];
    fn value(i: u64, n: u32) -> u32 {
        if i % 30_000 == u64::from(n) { n } else { noise(i) }
    }
    // Values are functions: a few of them serve for all numbers.
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
        assert_eq!((done.version, done.is_known()), (n, false));
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

#[test]
fn a_changed_value_costs_its_difference_and_a_repair_keeps_it() {
    let made = Made::new(&first(), &options().with_tile_len(64 << 10));
    let changed = |value| File { vars: vec![Var { value, ..LARGE }, SMALL, GONE, SERIES], ..first() };
    let again: fn(u64) -> u32 = |i| if i == 70_002 { 9 } else { mended(i) };
    made.commit(&changed(mended));
    let before = made.bytes().len();
    made.commit(&changed(again));
    assert!(made.bytes().len() - before < 1500, "{}", made.bytes().len() - before);
    made.holds(1, &first());
    made.holds(2, &changed(mended));
    made.holds(3, &changed(again));
    let newest = made.open(3);
    let is_base = |archive: &Archive| {
        let id = archive.arrays().variable(archive.variable_id("large").unwrap()).id;
        let tiles = archive.arrays().get(id).unwrap().tiling.tile_count();
        (0..tiles)
            .filter_map(|tile| match archive.entry(id, tile).unwrap() {
                IndexEntry::Stored { chain, .. } => Some(archive.chains()[usize::from(chain)].needs().base),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(is_base(&newest).iter().filter(|base| **base).count(), 1);
    let saved = made.directory.path().join("saved.nc3z");
    let done = repair_file(&made.path, &saved, &RepairOptions::default(), &()).unwrap();
    assert!(done.is_complete(), "{:?}", done.notes);
    let source = Arc::new(MemorySource::new(std::fs::read(&saved).unwrap()));
    let archive = Archive::from_source(source, &OpenOptions::default()).unwrap();
    assert!(is_base(&archive).iter().all(|base| !base));
    let mut restored = Vec::new();
    assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record);
    assert!(restored == changed(again).bytes());

    // The older tile is lost. The tiles coded against it are lost in every version, and no others.
    let id = newest.arrays().variable(newest.variable_id("large").unwrap()).id;
    let tile = u64::try_from(is_base(&newest).iter().position(|base| *base).unwrap()).unwrap();
    let IndexEntry::Stored { offset, .. } = made.open(1).entry(id, tile).unwrap() else { panic!() };
    let mut bad = made.bytes();
    bad[usize::try_from(offset).unwrap() + 100] ^= 1;
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bad));
    let archive = Archive::from_source(Arc::clone(&source), &OpenOptions::default()).unwrap();
    let e = archive.read_tile(id, tile).unwrap_err();
    assert!(e.is_corrupt() && e.to_string().contains("older tile"), "{e}");
    assert!(!deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
    assert!(
        archive
            .variable_id("small")
            .is_ok_and(|v| archive.read_tile(archive.arrays().variable(v).id, 0).is_ok())
    );
}

/// Returns the number of a variable's tiles that are coded against older ones, how many of them are members of
/// containers, and how many refer to another array's tile.
fn differences(archive: &Archive, name: &str) -> (usize, usize, usize) {
    let id = archive.arrays().variable(archive.variable_id(name).unwrap()).id;
    let (mut all, mut packed, mut others) = (0, 0, 0);
    for tile in 0..archive.arrays().get(id).unwrap().tiling.tile_count() {
        let (IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) =
            archive.entry(id, tile).unwrap()
        else {
            continue;
        };
        if archive.chains()[usize::from(chain)].needs().base {
            all += 1;
            packed += usize::from(matches!(archive.entry(id, tile).unwrap(), IndexEntry::Shared { .. }));
            others += usize::from(archive.base_tile(id, tile).unwrap().unwrap().array != id);
        }
    }
    (all, packed, others)
}

/// Forty numbers that recur without order: stored by a table of values.
fn recurring(i: u64) -> u32 {
    noise(u64::from(noise(i) % 40))
}

fn recurring_but_one(i: u64) -> u32 {
    if i == 500 { recurring(501) } else { recurring(i) }
}

#[test]
fn what_another_array_holds_is_not_stored_again_even_if_that_one_goes() {
    let large = || options().with_tile_len(64 << 10);
    let table = Var { name: "table", record: false, len: 30_000, value: recurring };
    let source = File { title: "first", records: 6, vars: vec![LARGE, table.clone(), SERIES] };
    let made = Made::new(&source, &large());
    let one = made.open(1);
    assert!(one.chains().iter().any(|chain| chain.needs().dictionary.is_some()), "a table of values");
    let copies = [Var { name: "copy", ..LARGE }, Var { name: "again", ..table.clone() }];
    let with_copies = File { vars: [&source.vars[..], &copies].concat(), ..first() };
    let before = made.bytes().len();
    made.commit(&with_copies);
    let added = made.bytes().len() - before;
    assert!(added < 3000, "{added} bytes for copies of {} bytes", (100_000 + 30_000) * 4);
    let two = made.open(2);
    let tiles = one.arrays().variable(one.variable_id("large").unwrap()).tiling.tile_count();
    let tiles = usize::try_from(tiles).unwrap();
    assert_eq!(differences(&two, "copy"), (tiles, tiles, tiles));
    // The sources are removed, and the copies are edited. They still refer to the first stored tiles, whose table
    // of values remains.
    let edited = [
        Var { name: "copy", value: mended, ..LARGE },
        Var { name: "again", value: recurring_but_one, ..table },
        SERIES,
    ];
    let alone = File { title: "alone", records: 6, vars: edited.to_vec() };
    let before = made.bytes().len();
    made.commit(&alone);
    let added = made.bytes().len() - before;
    assert!(added < 3000, "{added} bytes");
    for (generation, file) in [(1, &source), (2, &with_copies), (3, &alone)] {
        made.holds(generation, file);
    }
    assert_eq!(differences(&made.open(3), "copy"), (tiles, tiles, tiles));
    made.is_sound();
    let saved = made.directory.path().join("saved.nc3z");
    let done = repair_file(&made.path, &saved, &RepairOptions::default(), &()).unwrap();
    assert!(done.is_complete(), "{:?}", done.notes);
    for keep in [vec![], vec![VersionName::Number(2)], vec![VersionName::Number(1)]] {
        let kept = made.directory.path().join(format!("kept{}.nc3z", keep.len()));
        let options = WriterOptions::default().with_force(true);
        collect_file(&made.path, Some(&kept), &Keep { versions: &keep, tagged: false }, &options, &())
            .unwrap();
        let source: nc3z_reader::source::SharedSource = nc3z_reader::source::open(&kept, false).unwrap();
        assert!(deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
        let archive = Archive::from_source(source, &OpenOptions::default()).unwrap();
        let mut restored = Vec::new();
        assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record);
        assert!(restored == alone.bytes());
    }
}

#[test]
fn short_tiles_are_coded_against_what_they_replace_too() {
    // Tiles of 2 KiB, in containers.
    let one_value: fn(u64) -> u32 = |i| if i == 700 { 3 } else { noise(i) };
    let some_values: fn(u64) -> u32 = |i| if i % 5000 == 700 { 5 } else { noise(i) };
    let file = |value| File { vars: vec![Var { len: 15_000, value, ..LARGE }, SMALL], ..first() };
    let made = Made::new(&file(noise), &options());
    let mut before = made.bytes().len();
    for (generation, value, most) in
        [(2, one_value, 700), (3, some_values, 1000), (4, noise as fn(u64) -> u32, 1000)]
    {
        made.commit(&file(value));
        let added = made.bytes().len() - before;
        assert!(added < most, "{added} bytes in generation {generation}");
        before = made.bytes().len();
        made.holds(generation, &file(value));
    }
    // A single one has its own block; several share a container.
    assert_eq!(differences(&made.open(2), "large"), (1, 0, 0));
    let (all, packed, _) = differences(&made.open(3), "large");
    assert_eq!((all, packed), (3, 3));
    made.holds(1, &file(noise));
    made.is_sound();
    let saved = made.directory.path().join("saved.nc3z");
    let done = repair_file(&made.path, &saved, &RepairOptions::default(), &()).unwrap();
    assert!(done.is_complete(), "{:?}", done.notes);
    let source: nc3z_reader::source::SharedSource = nc3z_reader::source::open(&saved, false).unwrap();
    assert!(deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
}

#[test]
fn a_rewritten_tile_stands_alone_so_that_later_ones_can_be_coded_against_it() {
    let made = Made::new(&first(), &options().with_tile_len(64 << 10));
    let changed = |value| File { vars: vec![Var { value, ..LARGE }, SMALL, GONE, SERIES], ..first() };
    let rewritten: fn(u64) -> u32 = |i| if i < 17_000 { unlike(i) } else { noise(i) };
    let mended: fn(u64) -> u32 = |i| match i {
        16_000 => 7,
        0..17_000 => unlike(i),
        _ => noise(i),
    };
    made.commit(&changed(rewritten));
    let before = made.bytes().len();
    made.commit(&changed(mended));
    let added = made.bytes().len() - before;
    assert!(added < 2000, "{added} bytes for one value");
    made.holds(2, &changed(rewritten));
    made.holds(3, &changed(mended));
    made.is_sound();
}

#[test]
fn sections_continue_those_of_the_generation_before_as_long_as_that_pays() {
    let made = Made::new(&numbered(0), &options());
    let mut encodings = Vec::new();
    for n in 1..12 {
        made.commit(&numbered(n));
        let archive = made.open(u64::from(n) + 1);
        let section = archive.sections().find(SectionKind::Metadata).unwrap();
        encodings.push(section.encoding);
    }
    assert!(encodings.contains(&SectionEncoding::After), "{encodings:?}");
    for n in 0..12 {
        made.holds(u64::from(n) + 1, &numbered(n));
    }
    made.is_sound();
    // Damage of a section that others continue is always found, and no wrong data are read.
    let newest = made.open(12);
    let (older, _) = newest.whole_section(SectionKind::Metadata, 1 << 20).unwrap();
    assert!(newest.sections().find(SectionKind::Metadata).unwrap().offset > older.offset);
    for at in older.offset..older.offset + older.len {
        let mut bad = made.bytes();
        bad[usize::try_from(at).unwrap()] ^= 1;
        let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bad));
        assert!(Archive::from_source(Arc::clone(&source), &OpenOptions::default()).is_err());
        assert!(!quick(&source, &OpenOptions::default(), &()).unwrap().findings.is_empty());
    }
}

#[test]
fn a_short_archive_does_not_swell_when_it_gets_a_second_version() {
    // The short form compresses its directory instead of containers.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let vars: Vec<Var> =
        names.iter().map(|&name| Var { name, record: false, len: 1500, value: recurring }).collect();
    let file = |title| File { title, records: 0, vars: vars.clone() };
    let made = Made::new(&file("first"), &WriterOptions::default());
    let short = made.bytes().len();
    assert!(Archive::open(&made.path).unwrap().is_short(), "{short} bytes");
    made.commit(&file("second"));
    let long = made.bytes().len();
    assert!(long < short + short / 4 + 4000, "{short} bytes, then {long}");
    made.holds(1, &file("first"));
    made.holds(2, &file("second"));
    made.is_sound();
}
