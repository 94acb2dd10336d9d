//! Random histories of an archive, then damage. A version rebuilt without trailers must be the newest one, and a
//! version that is called complete must be one that existed.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "it/classic.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod classic;

use classic::{Model, Var, content};
use nc3z_format::archive::constants::{SLOTS_AT, TRAILER_LEN};
use nc3z_format::classic::Version;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::source::{FileSource, MemorySource, MmapSource, SharedSource};
use nc3z_reader::verify::quick;
use nc3z_reader::{Archive, OpenOptions, VersionName};
use nc3z_writer::edit::Edit;
use nc3z_writer::{
    BlockRepairOptions, CommitNote, RepairedBlocks, RepairedDigest, RepairedVersions, Share, TagChange,
    WriterOptions, archive_file, commit_file, parity, repair_blocks, repair_versions, tag_version,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of histories in daily runs; `scripts/nightly.sh` sets that of nightly runs.
const BY_DAY: u64 = 8;
/// Histories that failed once. 787: one version, then parity; all trailers lost, and the repair called the version an older one.
const FAILED_ONCE: [u64; 1] = [787];

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// An archive and all its versions.
struct History {
    directory: tempfile::TempDir,
    path: PathBuf,
    /// Version 1 first.
    versions: Vec<Vec<u8>>,
    names: u32,
}

fn restored(path: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    Archive::open(path).unwrap().restore_to_stream(&mut out, &()).unwrap();
    out
}

impl History {
    fn new(random: &mut Random) -> Self {
        let vars = vec![
            Var::fixed(NcType::Short, &[300]),
            Var::record(NcType::Int, &[5]),
            Var::fixed(NcType::Byte, &[3]),
            Var::fixed(NcType::Double, &[12, 4]),
            Var::record(NcType::Byte, &[3]),
        ];
        let fill = u8::try_from(random.below(5)).unwrap();
        let original = Model { fill, ..Model::new(Version::Cdf2, 7, vars) }.build().bytes;
        let directory = tempfile::tempdir().unwrap();
        let (input, path) = (directory.path().join("a.nc"), directory.path().join("a.nc3z"));
        std::fs::write(&input, &original).unwrap();
        let tile_len = [8, 64, 1 << 20][usize::try_from(random.below(3)).unwrap()];
        let options = WriterOptions::default().with_tile_len(tile_len);
        archive_file(&input, &path, &options, &()).unwrap();
        History { directory, path, versions: vec![original], names: 0 }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(9) {
            0 if self.versions.len() > 1 => self.revert(random),
            1 => {
                let set = TagChange::Set { version: None, force: true };
                tag_version(&self.path, "t", &set, &WriterOptions::default()).unwrap();
            }
            2 => {
                let share = Share::parse("5%").unwrap();
                // An archive whose parity covers all of it keeps that parity.
                let _ = parity::add(&self.path, share, 1 << 26, &());
            }
            _ => self.edit(random),
        }
        let now = restored(&self.path);
        let number = usize::try_from(Archive::open(&self.path).unwrap().version().unwrap().number).unwrap();
        if number > self.versions.len() {
            self.versions.push(now);
        } else {
            assert!(now == *self.versions.last().unwrap());
        }
        assert_eq!(number, self.versions.len());
    }

    fn revert(&self, random: &mut Random) {
        let version = usize::try_from(random.below(self.versions.len() as u64)).unwrap();
        let file = self.directory.path().join("older.nc");
        std::fs::write(&file, &self.versions[version]).unwrap();
        commit_file(&self.path, &file, &CommitNote::default(), &WriterOptions::default(), &()).unwrap();
    }

    fn edit(&mut self, random: &mut Random) {
        let mut edit = Edit::open(&self.path, &WriterOptions::default()).unwrap();
        for _ in 0..=random.below(2) {
            self.change(&mut edit, random);
        }
        edit.commit(&CommitNote::default(), &()).unwrap();
    }

    fn change(&mut self, edit: &mut Edit, random: &mut Random) {
        self.names += 1;
        let new = format!("n{}", self.names);
        let count = edit.header().variables.len() as u64;
        let at = usize::try_from(random.below(count)).unwrap();
        let name = String::from_utf8(edit.header().variables[at].name.clone()).unwrap();
        match random.below(7) {
            0 => edit.rename_variable(&name, &new).unwrap(),
            1 => edit.resize_dimension("time", 1 + random.below(20)).unwrap(),
            2 if count > 2 => edit.delete_variable(&name).unwrap(),
            3 => {
                edit.add_variable(&new, NcType::Int, &["time"]).unwrap();
                Self::set(edit, &new, random);
            }
            4 => edit.set_attribute(None, "step", NcType::Int, &self.names.to_be_bytes()).unwrap(),
            5 => {
                let dimension = format!("d_{new}");
                edit.add_dimension(&dimension, 1 + random.below(70)).unwrap();
                edit.add_variable(&new, NcType::Short, &[&dimension]).unwrap();
                Self::set(edit, &new, random);
            }
            _ => Self::set(edit, &name, random),
        }
    }

    /// Sets a part of a variable, or all of it.
    fn set(edit: &mut Edit, name: &str, random: &mut Random) {
        let shape = edit.shape_of(name).unwrap();
        let ty = edit.header().variables.iter().find(|v| v.name == name.as_bytes()).unwrap().ty;
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for &len in &shape {
            if len == 0 {
                return;
            }
            let first = random.below(len);
            start.push(first);
            count.push(1 + random.below(len - first));
        }
        let elements: u64 = count.iter().product();
        let fill = u8::try_from(random.below(5)).unwrap();
        let values = content(fill, usize::try_from(elements).unwrap() * ty.size());
        let stride = vec![1; shape.len()];
        edit.set(name, &Hyperslab { start, count, stride }, &values).unwrap();
    }
}

/// One cut in `EVERY_WAY` is tested with every way to read a file, not only opened.
const EVERY_WAY: usize = 64;

/// Tests cuts in the last two generations: no cut file opens, except by the number of an older version. Every
/// command, Python and readers of URLs open an archive with this function.
fn cuts(history: &History, good: &[u8], ends: &[(usize, usize)], seed: u64) -> usize {
    let step = if std::env::var_os("NC3Z_EXHAUSTIVE").is_some() { 1 } else { 13 };
    let from = ends.get(2).or(ends.last()).map_or(0, |&(at, _)| at + TRAILER_LEN);
    let newest = history.versions.len() as u64;
    // Tags and parity are generations of the same version.
    let same = Archive::open(&history.path).unwrap().generations().unwrap().len() as u64 != newest;
    let mut count = 0;
    for len in (from.min(good.len() - 1)..good.len()).rev().step_by(step) {
        let what = || format!("{seed}: {len} of {} bytes", good.len());
        let source: SharedSource = Arc::new(MemorySource::new(good[..len].to_vec()));
        let error = Archive::from_source(source.clone(), &OpenOptions::default()).err();
        assert!(error.is_some_and(|e| e.is_corrupt()), "{} open", what());
        count += 1;
        newest_slot_damaged(&good[..len], ends, newest, &what());
        if count % EVERY_WAY != 0 {
            continue;
        }
        let report = quick(&source, &OpenOptions::default(), &()).unwrap();
        assert!(!report.is_sound(), "{} are sound", what());
        let path = history.directory.path().join("cut.nc3z");
        std::fs::write(&path, &good[..len]).unwrap();
        let sources: [SharedSource; 3] =
            [source, Arc::new(FileSource::open(&path).unwrap()), Arc::new(MmapSource::open(&path).unwrap())];
        for source in sources {
            let open = |version: Option<u64>| {
                let options = OpenOptions::default().with_version(version.map(VersionName::Number));
                Archive::from_source(source.clone(), &options)
            };
            assert!(open(None).unwrap_err().is_corrupt(), "{} open", what());
            // A named version opens as that version, or gives an error.
            for number in 1..=newest {
                match open(Some(number)) {
                    Ok(archive) => {
                        assert_eq!(archive.version().unwrap().number, number, "{}", what());
                        assert!(number < newest || same, "{}: version {number} opens", what());
                    }
                    Err(e) => assert!(e.is_corrupt(), "{}: {e}", what()),
                }
            }
        }
    }
    count
}

/// Tests a cut archive whose newest slot is damaged, too: it opens as an older version only if it ends where that does, since then
/// nothing shows that there was a later one.
fn newest_slot_damaged(cut: &[u8], ends: &[(usize, usize)], newest: u64, what: &str) {
    let slot = |n: usize| SLOTS_AT + 24 * n..SLOTS_AT + 24 * (n + 1);
    let generation = |n: usize| u32::from_le_bytes(cut[slot(n)][..4].try_into().unwrap());
    let (last, other) = if generation(0) > generation(1) { (0, 1) } else { (1, 0) };
    if generation(other) == 0 {
        return;
    }
    let mut hurt = cut.to_vec();
    hurt[slot(last)][17] ^= 0x55;
    let source: SharedSource = Arc::new(MemorySource::new(hurt));
    match Archive::from_source(source, &OpenOptions::default()) {
        Ok(archive) => {
            let is_end = ends.iter().any(|&(at, _)| at + TRAILER_LEN == cut.len());
            assert!(
                is_end || archive.version().unwrap().number == newest,
                "{what}, newest slot damaged: opens"
            );
        }
        Err(e) => assert!(e.is_corrupt(), "{what}, newest slot damaged: {e}"),
    }
}

/// Returns the offsets of the trailers, the last one first, and the end of each generation's blocks.
fn trailers(path: &Path) -> Vec<(usize, usize)> {
    let place = |at: u64| usize::try_from(at).unwrap();
    let all = Archive::open(path).unwrap().generations().unwrap();
    all.into_iter().map(|(at, trailer)| (place(at), place(trailer.blocks_end))).collect()
}

/// Repairs these bytes. Also returns the rebuilt file, if nothing of it is lost.
fn repaired(history: &History, bytes: &[u8]) -> Option<(RepairedBlocks, Option<Vec<u8>>)> {
    let (bad, good) = (history.directory.path().join("bad.nc3z"), history.directory.path().join("good.nc3z"));
    std::fs::write(&bad, bytes).unwrap();
    let options = BlockRepairOptions { force: true, ..BlockRepairOptions::default() };
    let done = match repair_blocks(&bad, &good, &options, &()) {
        Ok(done) => done,
        Err(e) => {
            assert!(e.is_corrupt(), "{e}");
            return None;
        }
    };
    let file = (done.lost_tiles == 0).then(|| restored(&good));
    Some((done, file))
}

/// Saves all versions of these bytes, as `nc3z repair` does first. Returns whether it reports that as complete;
/// `None` if it would repair only the newest version.
fn check_versions(history: &History, what: &str) -> Option<bool> {
    let (bad, good) = (history.directory.path().join("bad.nc3z"), history.directory.path().join("all.nc3z"));
    let options = WriterOptions::default().with_force(true);
    let saved = match repair_versions(&bad, &good, &options, &()) {
        Ok(saved) => saved,
        Err(e) => {
            assert!(e.is_corrupt(), "{what}: {e}");
            return Some(false);
        }
    };
    let RepairedVersions::Written { done, lost, .. } = saved else { return None };
    for &number in &done.kept {
        let options = OpenOptions::default().with_version(Some(VersionName::Number(number)));
        let source: SharedSource = Arc::new(FileSource::open(&good).unwrap());
        let mut file = Vec::new();
        Archive::from_source(source, &options).unwrap().restore_to_stream(&mut file, &()).unwrap();
        let expected = &history.versions[usize::try_from(number).unwrap() - 1];
        assert!(file == *expected, "{what}: version {number} is another file");
    }
    if lost.is_empty() {
        let newest = restored(&good);
        assert!(history.versions.contains(&newest), "{what}: the newest version is not a version");
    }
    Some(lost.is_empty())
}

/// Checks the report of a repair. Without commit slots, nothing shows the loss of a version of which nothing is
/// left.
fn check(history: &History, bytes: &[u8], what: &str) -> bool {
    let has_slots = bytes[SLOTS_AT..160] != [0; 160 - SLOTS_AT];
    std::fs::write(history.directory.path().join("bad.nc3z"), bytes).unwrap();
    let all = check_versions(history, what);
    let newest = history.versions.last().unwrap();
    if all == Some(true) && has_slots {
        let newest_saved = restored(&history.directory.path().join("all.nc3z"));
        assert!(newest_saved == *newest, "{what}: all versions are saved, but not the newest");
    }
    let Some((done, file)) = repaired(history, bytes) else { return false };
    if done.digest == RepairedDigest::Confirmed || done.digest == RepairedDigest::Recomputed {
        assert!(history.versions.contains(file.as_ref().unwrap()), "{what}: a mixture: {:?}", done.notes);
    }
    if done.is_newest_whole() {
        let is_newest = file.as_ref() == Some(newest);
        let is_one = file.as_ref().is_some_and(|file| history.versions.contains(file));
        assert!(is_newest || (is_one && !has_slots), "{what}: not the newest version: {:?}", done.notes);
    }
    done.is_newest_whole()
}

fn run(seed: u64) -> usize {
    let mut random = Random::new(seed);
    let mut history = History::new(&mut random);
    for _ in 0..3 + random.below(6) {
        history.step(&mut random);
    }
    let good = std::fs::read(&history.path).unwrap();
    if good[9] != 0 {
        // The short form has a single version.
        return 0;
    }
    let ends = trailers(&history.path);
    let zeroed = |bytes: &[u8], places: &[Range<usize>]| {
        let mut bytes = bytes.to_vec();
        places.iter().for_each(|place| bytes[place.clone()].fill(0));
        bytes
    };
    let all: Vec<Range<usize>> = ends.iter().map(|&(at, _)| at..at + TRAILER_LEN).collect();
    let slots = SLOTS_AT..160;
    let no_trailers = zeroed(&good, &all);
    let neither = zeroed(&no_trailers, std::slice::from_ref(&slots));
    // The blocks suffice, with or without commit slots.
    assert!(check(&history, &no_trailers, &format!("{seed}: trailers lost")), "{seed}");
    assert!(check(&history, &neither, &format!("{seed}: trailers and slots lost")), "{seed}");
    let (_, file) = repaired(&history, &neither).unwrap();
    assert!(file.as_ref() == history.versions.last(), "{seed}");
    // The file is cut after the blocks: the newest generation that has blocks is complete.
    let (_, end) = *ends
        .iter()
        .find(|&&(at, end)| ends.iter().all(|&(t, _)| t == at || t + TRAILER_LEN != end))
        .unwrap();
    assert!(check(&history, &good[..end], &format!("{seed}: cut behind the blocks")), "{seed}");
    for n in 0..6 {
        let from = ends.get(1).map_or(0, |&(at, _)| at);
        let len = from + usize::try_from(random.below((good.len() - from) as u64)).unwrap();
        check(&history, &good[..len], &format!("{seed}: cut to {len}"));
        check(
            &history,
            &zeroed(&good, std::slice::from_ref(&slots))[..len],
            &format!("{seed}: no slots, cut to {len}"),
        );
        let at = 160 + usize::try_from(random.below((good.len() - 160) as u64)).unwrap();
        let hole = at..good.len().min(at + 1 + usize::try_from(random.below(300)).unwrap());
        for (name, bytes) in
            [("whole", &good), ("without trailers", &no_trailers), ("without both", &neither)]
        {
            let bad = zeroed(bytes, std::slice::from_ref(&hole));
            check(&history, &bad, &format!("{seed}: {n}, {name}, {hole:?} zeroed"));
        }
    }
    cuts(&history, &good, &ends, seed)
}

#[test]
fn what_is_rebuilt_of_any_history_is_the_newest_version_or_said_not_to_be() {
    let count = std::env::var("NC3Z_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(BY_DAY);
    let first = std::env::var("NC3Z_HISTORY").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let cuts: usize = (first..first + count).chain(FAILED_ONCE).map(run).sum();
    println!("{count} histories, {cuts} cuts");
}
