//! Archives of several versions that lost their end: no older version is mistaken for the newest.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "it/classic.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod classic;

use classic::{Model, Var};
use nc3z_format::NcType;
use nc3z_format::archive::{CommitSlots, Slot, Superblock};
use nc3z_format::classic::Version;
use nc3z_reader::source::{FileSource, MemorySource, MmapSource, SharedSource};
use nc3z_reader::verify::{Structure, quick};
use nc3z_reader::{Archive, ErrorKind, OpenOptions, VersionName};
use nc3z_writer::{
    CommitNote, Share, TagChange, WriterOptions, archive_file, commit_file, parity, tag_version,
};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The offset of the slots, and the bytes of one.
const SLOTS: usize = 112;
const SLOT: usize = 24;

/// An archive that versions are committed to.
struct Made {
    directory: TempDir,
    path: PathBuf,
    original: Vec<u8>,
}

impl Made {
    fn new() -> Self {
        let vars = vec![
            Var::fixed(NcType::Short, &[900]),
            Var::record(NcType::Int, &[5]),
            Var::fixed(NcType::Byte, &[3]),
        ];
        let original = Model { fill: 2, ..Model::new(Version::Cdf1, 6, vars) }.build().bytes;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.nc3z");
        let made = Made { directory, path, original };
        let input = made.write(0);
        archive_file(&input, &made.path, &WriterOptions::default(), &()).unwrap();
        made
    }

    fn write(&self, version: u8) -> PathBuf {
        let mut bytes = self.original.clone();
        let at = bytes.len() - 200;
        bytes[at..at + 20].fill(version);
        let path = self.directory.path().join("edited.nc");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Existing parity is not renewed.
    fn commit(&self, version: u8) {
        let input = self.write(version);
        let options = WriterOptions::default().with_parity_renewed(false);
        commit_file(&self.path, &input, &CommitNote::default(), &options, &()).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }
}

fn source(bytes: &[u8]) -> SharedSource {
    Arc::new(MemorySource::new(bytes.to_vec()))
}

fn open(bytes: &[u8], version: Option<u64>) -> nc3z_reader::Result<Archive> {
    let options = OpenOptions::default().with_version(version.map(VersionName::Number));
    Archive::from_source(source(bytes), &options)
}

fn slots(bytes: &[u8]) -> CommitSlots {
    let start: &[u8; 160] = bytes.first_chunk().unwrap();
    Superblock::decode(start).unwrap().slots
}

/// The generations that the slots name.
fn named(bytes: &[u8]) -> [u32; 2] {
    slots(bytes).0.map(|slot| if let Slot::Whole(slot) = slot { slot.generation } else { 0 })
}

#[test]
fn every_cut_of_the_last_generations_is_an_error_that_says_what_is_lost_and_what_is_not() {
    let made = Made::new();
    let mut ends = vec![0];
    for version in 1..4 {
        made.commit(version);
        ends.push(made.bytes().len());
    }
    let whole = made.bytes();
    assert_eq!(named(&whole), [4, 3]);
    let first = open(&whole, Some(1)).unwrap().trailer().archive_len;
    ends[0] = usize::try_from(first).unwrap();
    for len in ends[0] - 128..whole.len() {
        let cut = &whole[..len];
        let error = open(cut, None).unwrap_err();
        assert!(error.is_corrupt(), "{len}: {error}");
        let left = ends.iter().filter(|&&end| end <= len).count();
        let ErrorKind::NewestLost { version: 4, whole: named, archive_len, .. } = error.kind() else {
            panic!("{len}: {error}");
        };
        assert_eq!((named.unwrap_or(0) as usize, *archive_len), (left, whole.len() as u64), "{len}");
        let missing = format!("the last {} bytes of version 4 are missing", whole.len() - len);
        assert!(error.to_string().contains(&missing), "{error}");
        for version in 1..=4 {
            let found = open(cut, Some(version as u64));
            assert_eq!(found.is_ok(), version <= left, "version {version} of {len} bytes");
            if let Err(error) = found {
                assert!(error.is_corrupt(), "{error}");
            }
        }
        let older = OpenOptions::default().with_older(true);
        assert_eq!(Archive::from_source(source(cut), &older).is_ok(), left > 0);
    }
    let report = quick(&source(&whole[..ends[2]]), &OpenOptions::default(), &()).unwrap();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert_eq!(report.findings[0].structure, Structure::Tail);
    // If the only version is cut, nothing opens.
    let one = Made::new();
    tag_version(&one.path, "t", &TagChange::Set { version: None, force: false }, &WriterOptions::default())
        .unwrap();
    let long = one.bytes();
    for len in 288..long.len() {
        assert!(open(&long[..len], None).unwrap_err().is_corrupt(), "{len}");
    }
}

#[test]
fn a_commit_that_was_killed_before_its_slot_counts_and_the_next_one_mends_the_slot() {
    let made = Made::new();
    made.commit(1);
    let before = made.bytes();
    made.commit(2);
    let after = made.bytes();
    assert_eq!((named(&before), named(&after)), ([2, 1], [2, 3]));
    // Any mixture of the old and the new slots, as after a kill, except for a slot without its trailer.
    let mut killed = after.clone();
    killed[SLOTS..SLOTS + 2 * SLOT].copy_from_slice(&before[SLOTS..SLOTS + 2 * SLOT]);
    assert_eq!(open(&killed, None).unwrap().version().unwrap().number, 3);
    assert!(quick(&source(&killed), &OpenOptions::default(), &()).unwrap().is_sound());
    // An unfinished commit hides nothing, wherever it stopped.
    for len in before.len()..after.len() {
        let found = open(&killed[..len], None).map(|archive| archive.version().unwrap().number);
        assert_eq!(found.unwrap(), 2, "{len}");
    }
    std::fs::write(&made.path, &killed).unwrap();
    made.commit(3);
    assert_eq!(named(&made.bytes()), [4, 3]);
    let mut torn = killed;
    torn.truncate(after.len() - 1);
    std::fs::write(&made.path, &torn).unwrap();
    made.commit(2);
    assert_eq!(made.bytes(), after);
}

#[test]
fn a_damaged_slot_is_found_and_two_leave_only_what_is_asked_for() {
    let made = Made::new();
    made.commit(1);
    made.commit(2);
    let good = made.bytes();
    for damaged in [vec![0], vec![1], vec![0, 1]] {
        let mut bad = good.clone();
        damaged.iter().for_each(|slot| bad[SLOTS + SLOT * slot + 9] ^= 4);
        let report = quick(&source(&bad), &OpenOptions::default(), &()).unwrap();
        let found = report.findings.iter().any(|finding| finding.structure == Structure::CommitSlots);
        assert!(found, "{:?}", report.findings);
        assert_eq!(open(&bad, None).is_ok(), damaged.len() == 1);
        assert_eq!(open(&bad, Some(2)).unwrap().version().unwrap().number, 2);
        std::fs::write(&made.path, &bad).unwrap();
        let input = made.write(3);
        let done = commit_file(&made.path, &input, &CommitNote::default(), &WriterOptions::default(), &());
        assert_eq!(done.is_ok(), damaged.len() == 1);
        assert_eq!(named(&made.bytes()), if done.is_ok() { [4, 3] } else { [0, 0] });
    }
    // A slot that names another trailer at the same place.
    let mut other = Superblock::decode(good.first_chunk::<160>().unwrap()).unwrap();
    other.slots.0.iter_mut().for_each(|slot| {
        if let Slot::Whole(slot) = slot {
            slot.trailer_crc ^= 1;
        }
    });
    let mut bad = good.clone();
    bad[..160].copy_from_slice(&other.encode());
    assert!(open(&bad, None).unwrap_err().is_corrupt() && open(&bad, Some(3)).is_ok());
    // Without slots the last trailer is used, as for an archive that was written forward only.
    let mut none = good;
    none[SLOTS..SLOTS + 2 * SLOT].fill(0);
    assert_eq!(open(&none, None).unwrap().version().unwrap().number, 3);
    assert!(quick(&source(&none), &OpenOptions::default(), &()).unwrap().is_sound());
}

#[test]
fn an_archive_that_grows_while_it_is_opened_is_the_version_that_it_was() {
    let made = Made::new();
    made.commit(1);
    let [file, map]: [SharedSource; 2] =
        [Arc::new(FileSource::open(&made.path).unwrap()), Arc::new(MmapSource::open(&made.path).unwrap())];
    made.commit(2);
    for source in [file, map] {
        let archive = Archive::from_source(source, &OpenOptions::default()).unwrap();
        assert_eq!(archive.version().unwrap().number, 2);
    }
    assert_eq!(Archive::open(&made.path).unwrap().version().unwrap().number, 3);
}

#[test]
fn parity_and_tags_have_slots_and_taking_parity_away_sets_them_back() {
    let made = Made::new();
    made.commit(1);
    let before = made.bytes();
    let share = Share::parse("5%").unwrap();
    parity::add(&made.path, share, 1 << 28, &()).unwrap();
    let with = made.bytes();
    assert_eq!((named(&before), named(&with)), ([2, 1], [2, 3]));
    // The end of the parity is lost, but not the version.
    let cut = &with[..with.len() - 1];
    let error = open(cut, None).unwrap_err().to_string();
    assert!(
        error.contains("adds tags or parity to version 2") && error.contains("version 2 is whole"),
        "{error}"
    );
    assert!(open(cut, Some(2)).is_ok());
    for bytes in [&with[..], cut] {
        std::fs::write(&made.path, bytes).unwrap();
        parity::remove(&made.path, &()).unwrap();
        assert_eq!(made.bytes(), before);
    }
    // Removing parity does not remove a lost version after it.
    std::fs::write(&made.path, &with).unwrap();
    made.commit(2);
    let bytes = made.bytes();
    for end in [with.len() - 1, with.len()] {
        std::fs::write(&made.path, &bytes[..end]).unwrap();
        assert!(parity::remove(&made.path, &()).is_err());
        assert_eq!(made.bytes(), &bytes[..end]);
    }
    // Parity repairs an archive with a later commit, and the slots are correct afterwards.
    for damaged in [60..70, 0..160, SLOTS..SLOTS + 2 * SLOT, 100..300] {
        let mut bad = bytes.clone();
        bad[damaged.clone()].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(&made.path, &bad).unwrap();
        parity::repair_in_place(&made.path, &()).unwrap();
        assert_eq!(made.bytes(), bytes, "{damaged:?}");
    }
}
