//! Damaged and cut archives of several states, and writers that run at once.

use super::*;
use crate::tiles::differences;

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
        let options = BlockRepairOptions { force: true, ..BlockRepairOptions::default() };
        let done = repair_blocks(&damaged, &saved, &options, &()).unwrap();
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
    assert_eq!((two.version, two.base, two.head, two.digest()), (2, 1, 2, made.open(2).digest().sha256()));
    assert_eq!((three.version, three.base, three.head, three.changed.len(), three.blocks), (3, 1, 0, 0, 1));
    let new = made.open(2);
    let new = new.arrays().variable(new.variable_id("new").unwrap());
    let runs = &two.changed.iter().find(|(array, _)| *array == new.id).unwrap().1;
    assert_eq!(runs.as_slice(), std::slice::from_ref(&(0..new.tiling.tile_count())));
}

#[test]
fn the_golden_archive_of_two_states_holds_both() {
    let file = "../testdata/archives/v1_0_0/states.later.nc3z";
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
    let file = "../testdata/archives/v1_0_0/smooth.later.nc3z";
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
    let file = "../testdata/archives/v1_0_0/numeric.later.nc3z";
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
    // The first three are stored as differences to another array, the last as differences to its own older version.
    for (name, others) in [("few_again", 1), ("noise_again", 1), ("ushorts_again", 1), ("shorts", 0)] {
        assert_eq!(differences(&newest, name).2, others, "{name}");
    }
}

/// Returns an archive with the commit slots of another state, as after a kill before the slots are written.
pub(crate) fn with_slots_of(bytes: &[u8], before: &[u8]) -> Vec<u8> {
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
                "has commits after commit 1",
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
    let unknown = with_slots_of(&good, &[0; 160]);
    for bit in 0..128 * 8 {
        // Without its slot, the commit was not acknowledged, and a loss of power may have left any part of its end. Where slots are
        // empty, as of an archive that was written to a pipe, they do not tell.
        for (state, refused) in [(&good, true), (&killed, false), (&unknown, true)] {
            let mut bad = state.clone();
            bad[end - 128 + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(is_told(&bad), refused, "bit {bit} of the trailer");
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
    let done = repair_blocks(&damaged, &saved, &BlockRepairOptions::default(), &()).unwrap();
    assert!(!done.is_older && done.is_newest_whole(), "{:?}", done.notes);
    // The version before is not in the new archive.
    assert!(done.earlier == 1 && !done.is_complete());
    assert_eq!(done.digest, nc3z_writer::RepairedDigest::Confirmed);
    let mut restored = Vec::new();
    Archive::open(&saved).unwrap().restore_to_stream(&mut restored, &()).unwrap();
    assert!(restored == second().bytes());
    // Without the commit block, the version before is saved and reported as older.
    let block = bad.windows(4).rposition(|bytes| bytes == b"\xb1NCb").unwrap();
    bad[block + 20] ^= 1;
    std::fs::write(&damaged, &bad).unwrap();
    let again = BlockRepairOptions { force: true, ..BlockRepairOptions::default() };
    let done = repair_blocks(&damaged, &saved, &again, &()).unwrap();
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
    let done = repair_blocks(&damaged, &saved, &BlockRepairOptions::default(), &()).unwrap();
    assert_eq!((done.lost_tiles, done.is_complete()), (1, false), "{done:?}");
    // Only the first version's blocks: the salt confirms that they are the whole file.
    std::fs::write(&damaged, &a.bytes()[..bytes.len()]).unwrap();
    let force = BlockRepairOptions { force: true, ..BlockRepairOptions::default() };
    let done = repair_blocks(&damaged, &saved, &force, &()).unwrap();
    assert_eq!(done.digest, nc3z_writer::RepairedDigest::Recomputed);
    a.holds(1, &series(noise));
}
