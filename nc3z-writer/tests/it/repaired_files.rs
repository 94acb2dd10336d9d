//! Repairs by the best means that an archive allows.

use nc3z_reader::verify::deep;
use nc3z_reader::{OpenOptions, source};
use nc3z_writer::{
    ParityChoice, RepairNote, RepairObserver, RepairOptions, RepairOutcome, RepairStep, RepairedVersions,
    repair_file, repair_in_place,
};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A copy of a golden archive with damaged bytes.
fn damaged(dir: &Path, name: &str, at: usize, len: usize) -> PathBuf {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/archives/v1_0_0").join(name);
    let mut bytes = std::fs::read(golden).unwrap();
    bytes[at..at + len].iter_mut().for_each(|byte| *byte ^= 0x5A);
    let path = dir.join("damaged.nc3z");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn is_sound(path: &Path) -> bool {
    deep(&source::open(path, false).unwrap(), &OpenOptions::default(), &()).unwrap().is_sound()
}

/// Keeps the steps and the notes.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl RepairObserver for Seen {
    fn monitor(&self, step: RepairStep, _: u64) -> Box<dyn nc3z_reader::Monitor + '_> {
        self.0.lock().unwrap().push(format!("{step:?}"));
        Box::new(())
    }

    fn note(&self, note: RepairNote<'_>) {
        let what = if matches!(note, RepairNote::ParityFailed(_)) { "parity failed" } else { "other" };
        self.0.lock().unwrap().push(what.to_owned());
    }
}

#[test]
fn parity_repairs_what_it_can_and_keeps_or_changes_its_share() {
    let dir = tempfile::tempdir().unwrap();
    let input = damaged(dir.path(), "etopo120.fast.parity.nc3z", 30_000, 1000);
    for (n, parity) in [ParityChoice::Keep, ParityChoice::Without].into_iter().enumerate() {
        let output = dir.path().join(format!("{n}.nc3z"));
        let options = RepairOptions { parity, ..RepairOptions::default() };
        let outcome = repair_file(&input, &output, &options, &()).unwrap();
        assert!(matches!(outcome, RepairOutcome::Parity { .. }) && outcome.is_complete());
        assert!(is_sound(&output));
    }
    let lens = [0, 1].map(|n| dir.path().join(format!("{n}.nc3z")).metadata().unwrap().len());
    assert!(lens[0] > lens[1], "{lens:?}");
    let done = repair_in_place(&input, &()).unwrap().unwrap();
    assert!(done.done.shards > 0 && done.left.unwrap().is_empty());
    assert_eq!(std::fs::read(&input).unwrap(), std::fs::read(dir.path().join("0.nc3z")).unwrap());
}

#[test]
fn without_enough_parity_the_intact_blocks_are_saved() {
    let dir = tempfile::tempdir().unwrap();
    let input = damaged(dir.path(), "etopo120.fast.parity.nc3z", 4000, 45_000);
    let (output, seen) = (dir.path().join("out.nc3z"), Seen::default());
    let outcome = repair_file(&input, &output, &RepairOptions::default(), &seen).unwrap();
    assert!(
        matches!(&outcome, RepairOutcome::Blocks(repaired) if repaired.lost_tiles > 0)
            && !outcome.is_complete()
    );
    assert_eq!(*seen.0.lock().unwrap(), ["Parity", "parity failed", "Versions", "Blocks"]);
    let again = repair_file(&input, &output, &RepairOptions::default(), &()).unwrap_err();
    assert_eq!(again.step, RepairStep::Parity);
    assert!(again.to_string().contains("exists"), "{again}");
}

#[test]
fn complete_versions_are_saved_before_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let input = damaged(dir.path(), "states.later.nc3z", 4000, 40);
    let output = dir.path().join("out.nc3z");
    let outcome = repair_file(&input, &output, &RepairOptions::default(), &()).unwrap();
    let complete = outcome.is_complete();
    match outcome {
        RepairOutcome::Versions(RepairedVersions::Written { done, lost, .. }) => {
            assert!(!done.kept.is_empty() && complete == lost.is_empty());
        }
        RepairOutcome::Blocks(repaired) => assert!(repaired.lost_tiles > 0),
        other => panic!("{other:?}"),
    }
    assert!(is_sound(&output));
    assert!(repair_in_place(&input, &()).unwrap().is_none());
}
