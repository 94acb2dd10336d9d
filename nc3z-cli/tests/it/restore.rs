//! `nc3z restore`: exactly the same bytes, or an error.

use crate::run::Dir;
use crate::sample;

/// A directory with `a.nc3z`, whose original is returned too.
fn archived(original: Vec<u8>) -> (Dir, Vec<u8>) {
    let dir = Dir::new();
    dir.nc3z_with_input(&["archive", "-", "-o", "a.nc3z"], &original).exits(0);
    (dir, original)
}

#[test]
fn default_name_is_without_the_suffix() {
    let (dir, original) = archived(sample::small());
    dir.nc3z(&["restore", "a.nc3z"]).exits(0).says("a.nc3z -> a").says("SHA-256 as recorded");
    assert_eq!(dir.read("a"), original);
    dir.nc3z(&["restore", "--mmap", "a.nc3z", "-o", "b"]).exits(0);
    assert_eq!(dir.read("b"), original);
}

#[test]
fn archive_of_another_name_needs_an_output() {
    let (dir, original) = archived(sample::small());
    std::fs::rename(dir.path("a.nc3z"), dir.path("odd")).unwrap();
    dir.nc3z(&["restore", "odd"]).exits(1).says("-o");
    dir.nc3z(&["restore", "odd", "-o", "b.nc"]).exits(0);
    assert_eq!(dir.read("b.nc"), original);
}

#[test]
fn existing_target_is_kept_without_force() {
    let (dir, original) = archived(sample::small());
    dir.write("a", b"precious");
    dir.nc3z(&["restore", "a.nc3z"]).exits(1).says("`a` exists");
    assert_eq!(dir.read("a"), b"precious");
    dir.nc3z(&["restore", "--force", "a.nc3z"]).exits(0);
    assert_eq!(dir.read("a"), original);
}

#[test]
fn corrupt_archive_exits_with_3_and_leaves_nothing() {
    let (dir, _) = archived(sample::noisy(100_000));
    let whole = dir.read("a.nc3z");
    let damage = [(20, "corrupt "), (whole.len() / 2, "corrupt "), (whole.len() - 1, "is damaged")];
    for (at, message) in damage {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        dir.write("bad.nc3z", &bytes);
        dir.nc3z(&["restore", "bad.nc3z"]).exits(3).says(message);
        assert_eq!(dir.files(), ["a.nc3z", "bad.nc3z"], "byte {at}");
    }
    for len in [9, 200, whole.len() - 8] {
        dir.write("bad.nc3z", &whole[..len]);
        dir.nc3z(&["restore", "bad.nc3z"]).exits(3);
        assert_eq!(dir.files(), ["a.nc3z", "bad.nc3z"], "{len} bytes");
    }
}

#[test]
fn classic_file_is_no_archive() {
    let dir = Dir::with(&[("a.nc3z", &sample::small())]);
    dir.nc3z(&["restore", "a.nc3z"]).exits(1).says("classic netCDF");
    assert_eq!(dir.files(), ["a.nc3z"]);
}

#[test]
fn worst_failure_gives_the_exit_code() {
    let (dir, _) = archived(sample::small());
    let mut bytes = dir.read("a.nc3z");
    bytes[20] ^= 1;
    dir.write("bad.nc3z", &bytes);
    let ran =
        dir.nc3z(&["restore", "none.nc3z", "bad.nc3z", "a.nc3z"]).exits(3).says("2 of 3 archives failed");
    assert!(ran.err.ends_with("  none.nc3z\n  bad.nc3z\n"), "{}", ran.err);
    assert_eq!(dir.files(), ["a", "a.nc3z", "bad.nc3z"]);
}
