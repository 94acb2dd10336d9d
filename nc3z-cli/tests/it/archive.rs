//! `nc3z archive`: names, refusals, files that are kept and files that remain.

use crate::run::{Dir, assert_snapshot};
use crate::sample;

#[test]
fn default_name_is_the_input_with_the_suffix() {
    let dir = Dir::with(&[("in/a.nc", &sample::small())]);
    dir.nc3z(&["archive", "in/a.nc"]).exits(0).says("in/a.nc -> in/a.nc.nc3z").says("verified");
    assert_eq!(dir.files(), ["in/a.nc", "in/a.nc.nc3z"]);
    assert_eq!(dir.read("in/a.nc"), sample::small());
}

#[test]
fn output_is_a_file_or_a_directory() {
    let dir = Dir::with(&[("a.nc", &sample::small()), ("out/keep", b"")]);
    dir.nc3z(&["archive", "a.nc", "-o", "b"]).exits(0);
    dir.nc3z(&["archive", "a.nc", "-o", "out"]).exits(0);
    assert_eq!(dir.files(), ["a.nc", "b", "out/a.nc.nc3z", "out/keep"]);
    assert_eq!(dir.read("b"), dir.read("out/a.nc.nc3z"));
}

#[test]
fn refused_input_exits_with_1_says_what_it_is_and_leaves_nothing() {
    let whole = sample::small();
    let mut bad_tag = whole.clone();
    bad_tag[11] = 0xEE;
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "the file is empty"),
        ("text", b"hello, I am no netCDF file", "this is text"),
        ("hdf5", b"\x89HDF\r\n\x1a\n________________", "HDF5"),
        ("short", &whole[..50], "cut short"),
        ("tag", &bad_tag, "byte 8"),
    ];
    let mut messages = String::new();
    for (name, bytes, words) in cases {
        let dir = Dir::with(&[(name, bytes)]);
        let ran = dir.nc3z(&["archive", name]).exits(1).says(words);
        assert_eq!(dir.files(), [name]);
        assert!(ran.out.is_empty());
        messages += &ran.err;
    }
    assert_snapshot("refused.txt", &messages);
}

#[test]
fn missing_input_is_one_failure_among_others() {
    let dir = Dir::with(&[("a.nc", &sample::small()), ("b.nc", &sample::noisy(64))]);
    let ran = dir.nc3z(&["archive", "a.nc", "none.nc", "b.nc"]).exits(1).says("1 of 3 files failed");
    assert!(ran.err.ends_with("  none.nc\n"), "{}", ran.err);
    assert_eq!(dir.files(), ["a.nc", "a.nc.nc3z", "b.nc", "b.nc.nc3z"]);
}

#[test]
fn existing_target_is_kept_without_force() {
    let dir = Dir::with(&[("a.nc", &sample::small()), ("a.nc.nc3z", b"precious")]);
    dir.nc3z(&["archive", "a.nc"]).exits(1).says("`a.nc.nc3z` exists").says("--force");
    assert_eq!(dir.read("a.nc.nc3z"), b"precious");
    dir.nc3z(&["archive", "--force", "a.nc"]).exits(0);
    assert!(dir.read("a.nc.nc3z").starts_with(b"\x89NC3Z"));
    assert_eq!(dir.files(), ["a.nc", "a.nc.nc3z"]);
}

#[test]
fn input_is_never_its_own_output() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "--force", "a.nc", "-o", "a.nc"]).exits(1).says("same file");
    assert_eq!(dir.read("a.nc"), sample::small());
}

#[test]
fn remove_source_deletes_what_was_proven_and_nothing_else() {
    let dir = Dir::with(&[("a.nc", &sample::small()), ("bad.nc", b"CDF\x01 but no more")]);
    dir.nc3z(&["archive", "--remove-source", "a.nc", "bad.nc"]).exits(1);
    assert_eq!(dir.files(), ["a.nc.nc3z", "bad.nc"]);
    dir.nc3z(&["restore", "a.nc.nc3z"]).exits(0);
    assert_eq!(dir.read("a.nc"), sample::small());
    // The target exists: nothing was verified, so the source must not be removed.
    dir.nc3z(&["archive", "--remove-source", "a.nc"]).exits(1);
    assert_eq!(dir.read("a.nc"), sample::small());
}

#[test]
fn pipes_carry_files_both_ways() {
    let dir = Dir::new();
    let original = sample::noisy(5000);
    let archived = dir.nc3z_with_input(&["archive", "-", "-o", "-"], &original).exits(0);
    assert!(archived.out.starts_with(b"\x89NC3Z"));
    dir.nc3z_with_input(&["archive", "-", "-o", "a.nc3z"], &original).exits(0);
    assert_eq!(dir.read("a.nc3z"), archived.out);
    assert_eq!(dir.nc3z(&["restore", "a.nc3z", "-o", "-"]).exits(0).out, original);
    dir.nc3z_with_input(&["archive", "-", "x.nc"], &original).exits(1).says("`-` must be the only input");
    dir.nc3z_with_input(&["archive", "-", "-o", "b.nc3z"], b"no netCDF").exits(1).says("text");
    assert_eq!(dir.files(), ["a.nc3z"]);
}

#[test]
fn archive_does_not_depend_on_threads_or_memory() {
    let dir = Dir::with(&[("a.nc", &sample::noisy(300_000))]);
    dir.nc3z(&["archive", "a.nc", "--tile-size", "16KiB", "--threads", "1", "-o", "one"]).exits(0);
    dir.nc3z(&[
        "archive",
        "a.nc",
        "--tile-size",
        "16KiB",
        "--threads",
        "4",
        "--memory",
        "32MiB",
        "-o",
        "four",
    ])
    .exits(0);
    assert_eq!(dir.read("one"), dir.read("four"));
}
