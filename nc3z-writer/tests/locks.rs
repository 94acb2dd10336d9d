//! A change that is reported as done is in the named file, whatever other processes did to the name or the file.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use nc3z_format::NcType;
use nc3z_reader::Monitor;
use nc3z_writer::edit::Edit;
use nc3z_writer::{
    CommitNote, Error, ErrorKind, TagChange, WriterOptions, archive_file, commit_file, parity, tag_version,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use tempfile::TempDir;

/// A file whose archive has the long form.
fn file(seed: u8) -> Vec<u8> {
    let mut bytes = fs::read("../testdata/classic/coads_climatology.cdf").unwrap();
    bytes.iter_mut().rev().take(50_000).step_by(3).for_each(|b| *b ^= seed);
    bytes
}

/// An archive, another one of the same kind, and the file of its next version.
struct Place {
    dir: TempDir,
    path: PathBuf,
    other: PathBuf,
    edited: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        let archived = |name: &str, seed| {
            fs::write(at("a.nc"), file(seed)).unwrap();
            archive_file(&at("a.nc"), &at(name), &WriterOptions::default(), &()).unwrap();
            at(name)
        };
        let (path, other, edited) = (archived("a.nc3z", 0), archived("b.nc3z", 9), at("edited.nc"));
        fs::write(&edited, file(1)).unwrap();
        Place { dir, path, other, edited }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    /// Makes a second name for the archive, which shows the file's later content.
    fn second_name(&self) -> PathBuf {
        let name = self.dir.path().join("second.nc3z");
        fs::hard_link(&self.path, &name).unwrap();
        name
    }
}

/// Does something to a file when a change has begun.
struct Meanwhile<F: Fn() + Sync>(Once, F);

impl<F: Fn() + Sync> Monitor for Meanwhile<F> {
    fn advance(&self, _: u64) {
        self.0.call_once(|| (self.1)());
    }
}

fn is_lost(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::LockLost { .. }) && e.to_string().ends_with("nothing was changed")
}

#[test]
fn an_archive_that_is_replaced_during_a_commit_is_an_error() {
    for away in [false, true] {
        let place = Place::new();
        let (before, second) = (place.bytes(), place.second_name());
        let to = if away { place.dir.path().join("elsewhere.nc3z") } else { place.path.clone() };
        let from = if away { &place.path } else { &place.other };
        let replacing = fs::read(&place.other).unwrap();
        let meanwhile = Meanwhile(Once::new(), || fs::rename(from, &to).unwrap());
        let note = CommitNote::default();
        let done = commit_file(&place.path, &place.edited, &note, &WriterOptions::default(), &meanwhile);
        assert!(meanwhile.0.is_completed() && is_lost(&done.unwrap_err()), "moved away: {away}");
        // The file that took the name is unchanged, and so is the moved archive.
        assert_eq!(fs::read(&second).unwrap(), before);
        assert_eq!(place.path.exists(), !away);
        assert!(away || place.bytes() == replacing);
    }
}

#[test]
fn an_archive_that_is_replaced_before_a_commit_of_edits_is_an_error() {
    for touched in [false, true] {
        let place = Place::new();
        let (before, second) = (place.bytes(), place.second_name());
        let mut edit = Edit::open(&place.path, &WriterOptions::default()).unwrap();
        if touched {
            edit.set_attribute(None, "title", NcType::Char, b"mended").unwrap();
        }
        fs::rename(&place.other, &place.path).unwrap();
        assert!(is_lost(&edit.commit(&CommitNote::default(), &()).unwrap_err()), "touched: {touched}");
        assert_eq!(fs::read(&second).unwrap(), before);
    }
}

#[test]
fn what_another_process_appended_is_not_cut_off() {
    let place = Place::new();
    let mut edit = Edit::open(&place.path, &WriterOptions::default()).unwrap();
    edit.set_attribute(None, "title", NcType::Char, b"mended").unwrap();
    let longer = [place.bytes(), vec![7; 1000]].concat();
    fs::write(&place.path, &longer).unwrap();
    let e = edit.commit(&CommitNote::default(), &()).unwrap_err();
    assert!(is_lost(&e) && e.to_string().contains("another process wrote"), "{e}");
    assert_eq!(place.bytes(), longer);
}

#[test]
fn a_commit_follows_another_of_the_same_edit() {
    let place = Place::new();
    let mut edit = Edit::open(&place.path, &WriterOptions::default()).unwrap();
    for n in 2..5 {
        edit.set_attribute(None, "title", NcType::Char, format!("number {n}").as_bytes()).unwrap();
        assert_eq!(edit.commit(&CommitNote::default(), &()).unwrap().version, n);
    }
}

/// Runs a change of an archive that another process has moved away, and of one whose mode forbids writing.
fn every_change(change: impl Fn(&Path) -> Result<(), Error>) {
    let place = Place::new();
    let mut mode = fs::metadata(&place.path).unwrap().permissions();
    let before = place.bytes();
    mode.set_readonly(true);
    fs::set_permissions(&place.path, mode).unwrap();
    let e = change(&place.path).unwrap_err();
    assert!(e.to_string().contains("open for writing"), "{e}");
    assert_eq!(place.bytes(), before);
}

#[test]
fn files_that_nobody_may_write_are_not_changed_in_place() {
    let options = WriterOptions::default();
    every_change(|path| Edit::open(path, &options).map(drop));
    every_change(|path| tag_version(path, "t", &TagChange::Delete, &options).map(drop));
    every_change(|path| parity::add(path, nc3z_writer::Share::parse("5%").unwrap(), 1 << 20, &()).map(drop));
    every_change(|path| parity::remove(path, &()).map(drop));
    every_change(|path| parity::repair_in_place(path, &()).map(drop));
    every_change(|path| {
        nc3z_writer::collect_file(path, None, &nc3z_writer::Keep::default(), &options, &()).map(drop)
    });
    every_change(|path| {
        let terms = nc3z_writer::ReplacePolicy { drop_history: true, ..Default::default() };
        nc3z_writer::recompress_file(path, None, &options, terms, &()).map(drop)
    });
}
