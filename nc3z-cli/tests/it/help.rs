//! Help texts and usage errors.

use crate::run::{Dir, assert_snapshot};

#[test]
fn help_is_as_recorded() {
    let dir = Dir::new();
    let main = dir.nc3z(&["--help"]).exits(0).text();
    assert_snapshot("help.txt", &main);
    assert_eq!(dir.nc3z(&["help"]).exits(0).text(), main);
    let all = dir.nc3z(&["--help-all"]).exits(0).text();
    let commands = commands(&all);
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let brief = dir.nc3z(&[&command, "--help"]).exits(0);
        assert_eq!(brief.err, "");
        assert_eq!(dir.nc3z(&["help", &command]).exits(0).text(), brief.text());
        let all = dir.nc3z(&[&command, "--help-all"]).exits(0).text();
        assert!(
            brief.text().contains(&format!("nc3z {command} --help-all")) && all.contains("--color"),
            "{all}"
        );
    }
}

/// Returns the commands in the help, each at the start of its own line.
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
fn former_names_are_usage_errors_that_say_the_new_ones() {
    let dir = Dir::new();
    for (old, new) in [
        (&["layout", "a.nc"][..], "nc3z info --layout"),
        (&["gc", "a.nc3z", "--in-place"], "nc3z prune"),
        (&["help", "manifest"], "nc3z hash --manifest"),
        (&["archive", "--block-size", "1MiB", "a.nc"], "--tile-size"),
        (&["restore", "--generation=1", "a.nc3z"], "NAME@VERSION"),
    ] {
        dir.nc3z(old).exits(2).says(&format!("is now `{new}`"));
    }
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
        &["info", "--layout", "--versions", "a.nc"],
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
