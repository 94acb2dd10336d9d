//! If a check reports damage as repairable by parity, a repair succeeds. Otherwise a repair refuses and changes
//! nothing.

use crate::in_place::with_later_generation;
use crate::made::source;
use nc3z_reader::OpenOptions;
use nc3z_reader::verify::quick;
use nc3z_writer::{Share, parity};
use std::path::{Path, PathBuf};

/// Damaged copies of each archive.
fn trials() -> u64 {
    std::env::var("NC3Z_PARITY_TRIALS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

fn golden() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/archives/v1_0_0");
    let files = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let is_small = |path: &PathBuf| path.metadata().unwrap().len() < 100_000;
    let mut found: Vec<_> =
        files.filter(|p| p.extension().is_some_and(|e| e == "nc3z")).filter(is_small).collect();
    found.sort();
    assert!(found.len() > 15);
    found
}

/// Pseudo-random numbers; the same in each run.
struct Pick(u64);

impl Pick {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n.max(1) as u64).unwrap()
    }
}

/// Applies one or two kinds of damage.
fn damage(good: &[u8], pick: &mut Pick) -> Vec<u8> {
    let mut bad = good.to_vec();
    for _ in 0..=pick.below(2) {
        let len = bad.len();
        match pick.below(8) {
            0 => bad[pick.below(len)] ^= 1 << pick.below(8),
            1 => (0..5).for_each(|_| bad[pick.below(len)] ^= 0x55),
            2 => {
                let (at, n) = (pick.below(len), 1 + pick.below(len / 12));
                bad[at..(at + n).min(len)].fill(0);
            }
            3 => bad.truncate(len - pick.below(len / 10)),
            4 => drop(bad.drain(..pick.below(len / 16))),
            5 => bad.extend((0..=pick.below(300)).map(|i| u8::try_from(i % 251).unwrap())),
            6 => bad[len - 1 - pick.below(300.min(len))] ^= 0x10,
            _ => bad[pick.below(600.min(len))] ^= 0x10,
        }
    }
    bad
}

/// Compares the verdict on one damaged archive with the repairs; returns true if it was repairable.
fn compare(bad: &[u8], directory: &Path, what: &str) -> bool {
    let options = OpenOptions::default();
    let (path, out) = (directory.join("bad.nc3z"), directory.join("out.nc3z"));
    let Ok(report) = quick(&source(bad), &options, &()) else { return false };
    if report.is_sound() {
        return false;
    }
    let sound = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        quick(&source(&bytes), &options, &()).is_ok_and(|report| report.is_sound())
    };
    let said = report.parity.as_ref().map_or("no parity".to_owned(), ToString::to_string);
    let verdict = report.parity.filter(|p| !p.is_intact() && p.is_repairable());
    std::fs::write(&path, bad).unwrap();
    let mut accepted = false;
    let to_file = parity::repair_file(&path, &out, true, &(), &mut |repaired| {
        accepted = sound(repaired);
        Ok(accepted)
    });
    let in_place = parity::repair_in_place(&path, &());
    if let Some(parity) = &verdict {
        assert!(matches!(to_file, Ok(Some(_))) && accepted && sound(&out), "{what}: {parity}: {to_file:?}");
        std::fs::remove_file(&out).unwrap();
        if parity.missing == 0 {
            assert!(matches!(in_place, Ok(Some(_))) && sound(&path), "{what}: {parity}: {in_place:?}");
        }
    } else {
        assert!(!accepted && !out.exists(), "{what}: {said}: {to_file:?}");
        assert!(std::fs::read(&path).unwrap() == bad, "{what}: not repairable, and changed");
    }
    verdict.is_some()
}

#[test]
fn what_is_called_repairable_is_repaired_and_nothing_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let (mut repairable, mut others) = (0, 0);
    for (n, file) in (0..).zip(golden()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut goods = vec![std::fs::read(&file).unwrap()];
        if !name.contains(".parity.") {
            let path = dir.join("with.nc3z");
            std::fs::copy(&file, &path).unwrap();
            parity::add(&path, Share::parse("10%").unwrap(), 1 << 26, &()).unwrap();
            goods.push(std::fs::read(&path).unwrap());
        }
        // A later generation that the parity does not cover.
        goods.push(with_later_generation(goods.last().unwrap()));
        for (kind, good) in goods.iter().enumerate() {
            for trial in 0..trials() {
                let bad = damage(good, &mut Pick(n * 1_000_003 + kind as u64 * 7919 + trial));
                let what = format!("{name}, kind {kind}, trial {trial}");
                *(if compare(&bad, dir, &what) { &mut repairable } else { &mut others }) += 1;
            }
        }
    }
    assert!(repairable > 100 && others > 100, "{repairable} repairable, {others} not");
}

#[test]
fn damage_behind_what_parity_covers_is_never_called_repairable() {
    let directory = tempfile::tempdir().unwrap();
    let golden = golden().into_iter().find(|p| p.to_string_lossy().contains("fast.parity")).unwrap();
    let good = with_later_generation(&std::fs::read(golden).unwrap());
    let mut bad = good.clone();
    bad[1000] ^= 1;
    assert!(compare(&bad, directory.path(), "covered"));
    let last = bad.len() - 200;
    bad[last] ^= 1;
    assert!(!compare(&bad, directory.path(), "and not covered"));
    let report = quick(&source(&bad), &OpenOptions::default(), &()).unwrap().parity.unwrap();
    assert!(report.to_string().contains("damaged beyond what its parity covers"), "{report}");
}
