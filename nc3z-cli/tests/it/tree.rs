//! `--recursive`: trees keep their structure, failures are reported at the end.

use crate::run::Dir;
use crate::sample;

fn tree() -> Dir {
    Dir::with(&[
        ("data/a.nc", &sample::small()),
        ("data/deep/er/b.nc", &sample::noisy(100)),
        ("data/deep/notes.txt", b"left alone"),
        ("data/deep/tiny", b"x"),
    ])
}

#[test]
fn tree_is_kept_there_and_back() {
    let dir = tree();
    dir.nc3z(&["archive", "--recursive", "data", "-o", "out"]).exits(0);
    let archives = dir.files().into_iter().filter(|f| f.starts_with("out/")).collect::<Vec<_>>();
    assert_eq!(archives, ["out/a.nc.nc3z", "out/deep/er/b.nc.nc3z"]);
    dir.nc3z(&["restore", "--recursive", "out", "-o", "back"]).exits(0);
    assert_eq!(dir.read("back/a.nc"), sample::small());
    assert_eq!(dir.read("back/deep/er/b.nc"), sample::noisy(100));
}

#[test]
fn archives_stand_beside_their_files_without_an_output() {
    let dir = tree();
    dir.nc3z(&["archive", "-r", "data"]).exits(0);
    assert!(dir.files().contains(&"data/deep/er/b.nc.nc3z".to_owned()));
    // A second run finds the existing archives and changes nothing.
    let ran = dir.nc3z(&["archive", "-r", "data"]).exits(0).says("0 archived, 2 already there");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn failures_are_told_at_the_end_and_stop_nothing() {
    let dir = tree();
    dir.write("data/deep/bad.nc", &sample::small()[..40]);
    let ran = dir.nc3z(&["archive", "-r", "data", "-o", "out"]).exits(1).says("1 of 3 files failed");
    assert!(ran.err.ends_with("  data/deep/bad.nc\n"), "{}", ran.err);
    let archives = dir.files().into_iter().filter(|f| f.starts_with("out/")).collect::<Vec<_>>();
    assert_eq!(archives, ["out/a.nc.nc3z", "out/deep/er/b.nc.nc3z"]);
}

#[test]
fn slash_at_the_end_makes_a_directory() {
    let dir = tree();
    dir.nc3z(&["archive", "data/a.nc", "-o", "store/"]).exits(0);
    dir.nc3z(&["restore", "store/a.nc.nc3z", "-o", "back/"]).exits(0);
    assert_eq!(dir.read("back/a.nc"), sample::small());
}

#[test]
fn several_inputs_do_not_go_into_the_name_of_an_archive() {
    let dir = tree();
    let before = dir.files();
    dir.nc3z(&["archive", "data/a.nc", "data/deep/er/b.nc", "-o", "two.nc3z"])
        .exits(1)
        .says("need a directory");
    dir.nc3z(&["archive", "-r", "data", "-o", "two.nc3z"]).exits(1).says("need a directory");
    assert_eq!(dir.files(), before);
    dir.nc3z(&["archive", "data/a.nc", "data/deep/er/b.nc", "-o", "two.nc3z/"]).exits(0);
    assert_eq!(dir.nc3z(&["verify", "-r", "two.nc3z"]).exits(0).text().lines().count(), 3);
}

#[test]
fn directory_without_recursive_is_refused() {
    let dir = tree();
    let before = dir.files();
    dir.nc3z(&["archive", "data"]).exits(1).says("--recursive");
    dir.nc3z(&["restore", "data"]).exits(1).says("--recursive");
    assert_eq!(dir.files(), before);
}

#[test]
fn links_out_of_the_tree_are_told_of_and_left_alone() {
    use std::os::unix::fs::symlink;
    let dir = tree();
    dir.write("elsewhere/out.nc", &sample::small());
    dir.nc3z(&["archive", "elsewhere/out.nc"]).exits(0);
    symlink("../elsewhere/out.nc", dir.path("data/file.nc")).unwrap();
    symlink("../elsewhere", dir.path("data/directory")).unwrap();
    symlink("../elsewhere/out.nc.nc3z", dir.path("data/file.nc3z")).unwrap();
    symlink("../../data", dir.path("data/deep/loop")).unwrap();
    symlink("a.nc", dir.path("data/same.nc")).unwrap();
    let ran = dir.nc3z(&["archive", "-r", "data", "-o", "out"]).exits(0);
    let archives = dir.files().into_iter().filter(|f| f.starts_with("out/")).collect::<Vec<_>>();
    assert_eq!(archives, ["out/a.nc.nc3z", "out/deep/er/b.nc.nc3z"]);
    assert_eq!(ran.err.matches("leads out of the tree").count(), 2, "{}", ran.err);
    // A link in the output would refer to a file outside the tree, which must not be replaced.
    let before = dir.read("elsewhere/out.nc.nc3z");
    dir.nc3z(&["recompress", "-r", "--preset", "max", "data"])
        .exits(0)
        .says("data/file.nc3z: a link that leads out");
    assert_eq!(dir.read("elsewhere/out.nc.nc3z"), before);
    dir.nc3z(&["restore", "-r", "data", "-o", "back"]).exits(0);
    assert!(!dir.path("back").exists());
    assert_eq!(dir.nc3z(&["hash", "-r", "data"]).exits(0).text().lines().count(), 4);
    // A link that the user names is followed.
    symlink("data", dir.path("link")).unwrap();
    dir.nc3z(&["archive", "-r", "link", "-o", "too"]).exits(0);
    assert_eq!(dir.read("too/a.nc.nc3z"), dir.read("out/a.nc.nc3z"));
}

#[test]
fn link_in_the_tree_to_a_file_without_the_ending_is_taken() {
    let dir = tree();
    dir.nc3z(&["archive", "data/a.nc", "-o", "store/blob"]).exits(1).says("--parents");
    dir.nc3z(&["archive", "--parents", "data/a.nc", "-o", "store/blob"]).exits(0);
    std::os::unix::fs::symlink("blob", dir.path("store/a.nc.nc3z")).unwrap();
    dir.nc3z(&["restore", "-r", "store", "-o", "back"]).exits(0);
    assert_eq!(dir.read("back/a.nc"), sample::small());
}
