//! The public calls from outside: the tour, errors, versions, and damage.

#[expect(dead_code, reason = "`main` of the example is for the command line")]
#[path = "../examples/tour.rs"]
mod tour;

use nc3z::{
    Dataset, Edit, EditOptions, ErrorKind, Hyperslab, Monitor, NcType, OpenOptions, RestoreOptions, Values,
    VerifyOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "../testdata/classic/record_padding.nc";

/// Cancels at once.
struct Stop;

impl Monitor for Stop {
    fn is_cancelled(&self) -> bool {
        true
    }
}

fn archived() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("a.nc3z");
    nc3z::archive(FILE, &path).expect("the file is archived");
    (dir, path)
}

#[test]
fn the_tour_restores_the_file_and_changes_two_rows() {
    let dir = tempfile::tempdir().unwrap();
    tour::tour(Path::new(FILE), "a", dir.path()).unwrap();
    assert_eq!(std::fs::read(FILE).unwrap(), std::fs::read(dir.path().join("tour.nc")).unwrap());
    let (old, new) = (nc3z::open(FILE).unwrap(), nc3z::open(dir.path().join("tour.nc3z")).unwrap());
    let rows = |file: &Dataset| {
        let a = file.variable("a").unwrap();
        a.read::<i16>(&a.all()).unwrap()
    };
    let (old, new) = (rows(&old), rows(&new));
    assert_eq!(new[..10], [7; 10]);
    assert_eq!(new[10..], old[10..]);
}

#[test]
fn archives_classic_files_and_memory_read_alike() {
    let (_dir, path) = archived();
    let files = [nc3z::open(FILE), nc3z::open(&path), Dataset::from_bytes(std::fs::read(&path).unwrap())];
    let files = files.map(Result::unwrap);
    assert_eq!(files.each_ref().map(Dataset::is_archive), [false, true, true]);
    let bytes = std::fs::read(FILE).unwrap();
    for file in &files {
        let a = file.variable("a").unwrap();
        assert_eq!((a.dtype(), a.shape()), (NcType::Short, &[40, 5][..]));
        let dimensions = a.dimensions();
        assert_eq!((dimensions[0].len, dimensions[0].is_record, dimensions[1].len), (40, true, 5));
        let row = Hyperslab::new([1, 4], [1, 5], [1, -1]).unwrap();
        assert_eq!(a.read_values(&row).unwrap(), Values::from([25_i16, 24, -32768, 22, 21]));
        let mut original = vec![0; 100];
        file.read_original(7, &mut original).unwrap();
        assert_eq!(original, bytes[7..107]);
    }
}

#[test]
fn requests_are_tuples_or_explicit() {
    let (_dir, path) = archived();
    let a = nc3z::open(&path).unwrap().variable("a").unwrap(); // short a(time=40, x=5)
    let (two, last) = (2_usize, -1);
    assert_eq!(a.read::<i32>((..3, 3)).unwrap(), [3, 24, 45]);
    assert_eq!(a.read::<i32>((two, last)).unwrap(), [46]);
    assert_eq!(a.read::<i32>(&a.select((0..=two, vec![3_u64])).unwrap()).unwrap(), [3, 24, 45]);
    assert_eq!(
        a.read::<i32>((vec![1, 0, 1_u64], vec![true, false, false, false, true])).unwrap(),
        [21, 25, 0, 4, 21, 25]
    );
    assert_eq!(a.read::<i32>(..).unwrap(), a.read::<i32>(&a.all()).unwrap());
    for (error, words) in [
        (a.read::<i32>((..41, 3)).unwrap_err(), "dimension 0 has length 40, asked for 0..41 by 1"),
        (a.read::<i32>((0, 5)).unwrap_err(), "dimension 1 has length 5, asked for index 5"),
        (a.read::<i32>((0,)).unwrap_err(), "1 indices for 2 dimensions"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().ends_with(words), "{error}");
    }
    #[cfg(feature = "ndarray")]
    {
        use ndarray::Axis;
        let whole = a.get::<i32>(..).unwrap();
        assert_eq!(a.get::<i32>((3, ..)).unwrap(), whole.index_axis(Axis(0), 3));
        let rows = a.get::<i32>((vec![4, 39, 4_u64], ..)).unwrap();
        assert_eq!(rows, whole.select(Axis(0), &[4, 39, 4]));
        assert_eq!(a.get::<i32>((0, 4)).unwrap().ndim(), 0);
    }
    let mut edit = Edit::open(&path).unwrap();
    edit.set("a", (vec![5, 3, 5_u64], 0), &[7, 8, 9]).unwrap();
    assert_eq!(edit.get::<i32>("a", (vec![3, 5_u64], 0)).unwrap(), [8, 9]);
}

#[test]
fn errors_have_a_kind_and_name_the_file() {
    let (dir, path) = archived();
    let kind = |e: nc3z::Error| e.kind();
    let missing = nc3z::open(dir.path().join("none.nc")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert_eq!(missing.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert_eq!(missing.to_string().matches("none.nc").count(), 1, "{missing}");
    assert_eq!(kind(nc3z::archive(FILE, &path).unwrap_err()), ErrorKind::Exists);
    assert_eq!(kind(nc3z::restore(FILE, dir.path().join("b.nc")).unwrap_err()), ErrorKind::Invalid);
    let file = nc3z::open(&path).unwrap();
    let unknown = file.variable("b no such").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Invalid);
    assert!(unknown.to_string().contains("a.nc3z"), "{unknown}");
    let a = file.variable("a").unwrap();
    assert_eq!(kind(a.read::<u8>(&a.all()).unwrap_err()), ErrorKind::Range);
    assert_eq!(kind(a.read::<i32>(&Hyperslab::all(&[41, 5])).unwrap_err()), ErrorKind::Invalid);
    let edit = Edit::open(&path).unwrap();
    assert_eq!(kind(Edit::open(&path).unwrap_err()), ErrorKind::Busy);
    assert_eq!(kind(edit.dtype("no such").unwrap_err()), ErrorKind::Invalid);
}

#[test]
fn versions_tags_and_restores_of_them_agree() {
    let (dir, path) = archived();
    let mut edit = Edit::open(&path).unwrap();
    edit.set("a", &Hyperslab::all(&[40, 5]), &[1.0]).unwrap();
    edit.set_file_attribute("title", "ones").unwrap();
    edit.set_attribute("a", "valid_range", [0_i16, 2]).unwrap();
    assert_eq!(edit.attribute("a", "valid_range"), Some(Values::Short(vec![0, 2])));
    let note = nc3z::CommitNote::new("ones").with_author("someone").with_time("2026-11-26");
    let done = edit.commit(note).unwrap();
    assert!(done.is_new && done.version == 2 && done.len_after > done.len_before);
    drop(edit);

    assert_eq!(nc3z::tag(&path, "first", 1).unwrap(), 1);
    assert!(nc3z::tag(&path, "first", 2).is_err());
    assert_eq!(nc3z::tag_with(&path, "newer", 2, &EditOptions::default().with_move_tag(true)).unwrap(), 2);
    let versions = nc3z::versions(&path).unwrap();
    assert_eq!(versions.iter().map(|v| v.number).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(
        (versions[0].author.as_deref(), &versions[1].tags[..]),
        (Some("someone"), &["first".into()][..])
    );

    let options = RestoreOptions::default().with_version("first");
    let old = dir.path().join("old.nc");
    assert!(nc3z::restore_with(&path, &old, &options).unwrap().matches_record);
    assert_eq!(std::fs::read(&old).unwrap(), std::fs::read(FILE).unwrap());
    assert_eq!(nc3z::restore(&path, &old).unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(nc3z::delete_tag(&path, "newer").unwrap(), 2);
    let new = nc3z::open_with(&path, &OpenOptions::default().with_version(2)).unwrap();
    assert_eq!(new.attribute("title").unwrap().text().unwrap(), "ones");
}

#[test]
fn damage_is_found_and_a_monitor_stops_the_work() {
    let (dir, path) = archived();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = dir.path().join("damaged.nc3z");
    std::fs::write(&damaged, bytes).unwrap();
    for options in [VerifyOptions::default(), VerifyOptions::default().with_quick(true)] {
        assert!(nc3z::verify_with(&path, &options).unwrap().is_sound());
        assert!(!nc3z::verify_with(&damaged, &options).unwrap().findings.is_empty());
    }

    let options = RestoreOptions::default().with_monitor(Arc::new(Stop));
    let target = dir.path().join("stopped.nc");
    assert_eq!(nc3z::restore_with(&path, &target, &options).unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(!target.exists());
}
