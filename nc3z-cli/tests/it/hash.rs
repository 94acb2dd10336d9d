//! `nc3z hash`: the same digest for a file and all its archives; checks of lists.

use crate::run::{Dir, assert_snapshot, keys};
use crate::sample;

#[test]
fn archives_have_the_digest_of_their_original() {
    let dir = Dir::with(&[("a.nc", &sample::small())]);
    dir.nc3z(&["archive", "a.nc"]).exits(0);
    dir.nc3z(&["archive", "a.nc", "--preset", "max", "--tile-size", "8", "-o", "b.nc3z"]).exits(0);
    let rows = dir.nc3z(&["hash", "--variables", "--json", "a.nc", "a.nc.nc3z", "b.nc3z"]).exits(0).json();
    for archive in [&rows[1], &rows[2]] {
        for key in ["content", "sha256", "variables", "original_bytes"] {
            assert_eq!(archive[key], rows[0][key], "{key}");
        }
        assert_eq!(archive["recorded_sha256"], rows[0]["sha256"]);
    }
    assert_snapshot("hash-keys.txt", &keys(&rows));
}

#[test]
fn lists_are_taken_back() {
    let dir = Dir::with(&[("a.nc", &sample::small()), ("b.nc", &sample::noisy(3_000_000))]);
    let lines = dir.nc3z(&["hash", "--variables", "a.nc", "b.nc"]).exits(0).out;
    dir.write("list", &lines);
    let checked = dir.nc3z(&["hash", "--check", "list"]).exits(0).text();
    assert_eq!(checked.lines().count(), 2 + 4 + 2 + 2);
    assert!(checked.lines().all(|l| l.ends_with(": OK")), "{checked}");
    dir.write("b.nc", &sample::noisy(3_000_004));
    dir.nc3z(&["hash", "--check", "--quiet", "list"]).exits(1).says("did NOT match");
    dir.nc3z(&["hash", "--check", "a.nc"]).exits(1).says("not a list of digests");
    dir.write("notes", b"nothing to check\n");
    dir.nc3z(&["hash", "--check", "notes"]).exits(1).says("no digest was checked");
}

#[test]
fn variables_of_one_name_are_told_apart_by_their_order() {
    let dir = Dir::with(&[("a.nc", &sample::named(b"x"))]);
    let lines = dir.nc3z(&["hash", "--variables", "a.nc"]).exits(0).out;
    dir.write("list", &lines);
    dir.nc3z(&["hash", "--check", "list"]).exits(0);
}

#[test]
fn names_from_files_are_escaped_and_found_again() {
    let dir = Dir::with(&[("a.nc", &sample::named(b"\x1b[2J\xff)\n"))]);
    let lines = dir.nc3z(&["hash", "--variables", "a.nc"]).exits(0).text();
    assert!(lines.contains("\\x1b[2J\\xff\\x29\\n = "), "{lines}");
    dir.write("list", lines.as_bytes());
    let checked = dir.nc3z(&["hash", "--check", "list"]).exits(0).text();
    assert!(!checked.contains('\x1b'), "{checked}");
}
