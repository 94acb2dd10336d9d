//! Help texts and usage errors.

use crate::run::{Dir, assert_snapshot};

#[test]
fn help_is_as_recorded() {
    let dir = Dir::new();
    let main = dir.nc3z(&["--help"]).exits(0);
    assert_snapshot("help.txt", &main.text());
    let commands = commands(&main.text());
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let ran = dir.nc3z(&[&command, "--help"]).exits(0);
        assert_snapshot(&format!("help-{command}.txt"), &ran.text());
        assert_eq!(ran.err, "");
    }
}

/// Returns the commands that the main help lists, each at the start of its own line.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|l| *l != "Archive and restore:");
    list.take_while(|l| *l != "Options:")
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn usage_errors_exit_with_2() {
    let dir = Dir::with(&[("a.nc", &crate::sample::small())]);
    let wrong: [&[&str]; 9] = [
        &[],
        &["frobnicate"],
        &["archive"],
        &["archive", "--no-such-flag", "a.nc"],
        &["archive", "--tile-size", "0", "a.nc"],
        &["archive", "--tile-size", "1MB", "a.nc"],
        &["archive", "--no-verify", "--remove-source", "a.nc"],
        &["info"],
        &["info", "--layout", "a.nc", "b.nc"],
    ];
    for args in wrong {
        let ran = dir.nc3z(args).exits(2);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}");
    }
    assert_eq!(dir.files(), ["a.nc"]);
}

#[test]
fn colour_is_only_for_those_who_ask() {
    let dir = Dir::new();
    assert!(!dir.nc3z(&["info", "none.nc"]).exits(1).err.contains('\x1b'));
    assert!(dir.nc3z(&["--color", "always", "info", "none.nc"]).exits(1).err.contains('\x1b'));
}
