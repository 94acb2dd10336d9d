//! The help of the tool and of its commands. `--help` has one screen for the tool and at most sixty lines for a command;
//! `--help-all` has everything.

use crate::output::streams::Stdout;
use clap::{Arg, Command};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;

/// A command with a few words about it.
type Entry = (&'static str, &'static str);

/// The groups of commands in the two columns of the main help. Each command is in one of them.
const COLUMNS: [&[(&str, &[Entry])]; 2] = [
    &[
        (
            "Archive and restore",
            &[
                ("archive", "make archives of files"),
                ("restore", "give back the originals"),
                ("recompress", "store archives anew"),
                ("estimate", "predict what is saved"),
            ],
        ),
        (
            "Look",
            &[
                ("info", "content, sizes, layout"),
                ("list", "files of a directory"),
                ("find", "by names, values, places"),
                ("stats", "minimum, maximum, mean"),
                ("read", "values of a variable"),
                ("dump", "CDL, as ncdump prints it"),
                ("plot", "maps, series, profiles"),
                ("subset", "a part as a classic file"),
                ("diff", "compare files, versions"),
            ],
        ),
        (
            "Check and repair",
            &[
                ("verify", "check every byte"),
                ("repair", "save what is intact"),
                ("parity", "redundancy for repairs"),
                ("hash", "digests and manifests"),
                ("cite", "slices with proofs"),
            ],
        ),
        (
            "Campaigns",
            &[
                ("plan", "divide the work"),
                ("status", "done, failed, remaining"),
                ("retire", "give up originals safely"),
                ("reconcile", "compare with a catalogue"),
            ],
        ),
    ],
    &[
        (
            "Edit and versions",
            &[
                ("attr", "set or delete attributes"),
                ("set", "overwrite values"),
                ("append", "add records"),
                ("rename", "variables, dimensions"),
                ("commit", "add an edited file"),
                ("log", "list the versions"),
                ("tag", "name a version"),
                ("revert", "repeat an older version"),
                ("prune", "drop versions"),
            ],
        ),
        (
            "Many files",
            &[
                ("bundle", "many files in one"),
                ("aggregate", "many files as one"),
                ("catalog", "statistics of many files"),
                ("refs", "references for Zarr"),
            ],
        ),
        (
            "Other programs and tools",
            &[
                ("mount", "originals as files"),
                ("serve", "originals by HTTP"),
                ("netcdf-plugin", "archives in netCDF-C"),
                ("filters", "filters and codecs"),
                ("completions", "for a shell"),
                ("man", "manual pages"),
                ("spec", "the format's description"),
                ("help", "of a command"),
            ],
        ),
    ],
];

/// The end of the main help.
const END: &str = "\
`nc3z help COMMAND` shows what a command does, `nc3z COMMAND --help-all` all of
its options, `nc3z --help-all` the commands in sentences. Of all commands:
--color auto|always|never, --plugins, --plugin-path DIR:... (HDF5), --version
Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt archive, 4 only inputs remain
that cannot be archived, 130 stopped by a signal";

/// Columns of the left half of the main help.
const HALF: usize = 40;
/// Columns of the list of all commands, as clap's own part of it has.
const WIDTH: usize = 100;
/// The number of lines of a command's help.
const MOST_LINES: usize = 60;
/// Bytes of a sentence that is cut at its first semicolon.
const LONG: usize = 100;

/// The options that the help of `archive` shows.
const OF_ARCHIVE: [&str; 8] =
    ["output", "recursive", "preset", "tile", "parity", "manifest", "force", "remove_source"];

/// Options that the help of a command leaves to --help-all, if it would have more lines than fit.
const SECONDARY: [&str; 43] = [
    "older",
    "mmap",
    "as_stored",
    "outside",
    "fill_missing",
    "settings",
    "on_tape",
    "memory",
    "parents",
    "quiet",
    "verbose",
    "start",
    "count",
    "stride",
    "edge",
    "chains",
    "profile",
    "tile",
    "tile_size",
    "layout",
    "ignore_missing",
    "either",
    "status",
    "strict",
    "atol",
    "rtol",
    "absolute",
    "no_fingerprints",
    "no_history",
    "contiguous",
    "identity",
    "convention",
    "passed_over",
    "creators",
    "publisher",
    "year",
    "title",
    "doi",
    "url",
    "recompute",
    "fixity_log",
    "no_fixity_log",
    "shard",
];

/// Replaces `--help-all` by `--help`. Returns whether it was there. Words of a program that `netcdf-plugin run` starts are its
/// own.
pub(crate) fn take_all(words: &mut [OsString]) -> bool {
    let run = words.iter().position(|word| word == "run").map_or(words.len(), |at| at + 2);
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len()).min(run).min(words.len());
    let mut is_all = false;
    for word in words[..end].iter_mut().filter(|word| **word == "--help-all") {
        *word = "--help".into();
        is_all = true;
    }
    is_all
}

/// Prints the help of the command that the words name.
pub(crate) fn print(words: &[OsString], is_all: bool) {
    let mut command = if is_all { super::command() } else { super::command_for(words) };
    command.build();
    let mut at = &mut command;
    let mut is_main = true;
    for word in words.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| *word != "help") {
        if at.find_subcommand(word).is_some() {
            at = at.find_subcommand_mut(word).expect("it was found");
            is_main = false;
        }
    }
    let text = match (is_main, is_all) {
        (true, false) => at.render_help(),
        (_, true) => at.render_long_help(),
        (false, false) => of_command(at),
    };
    write(&text);
}

fn write(text: &clap::builder::StyledStr) {
    let mut out = Stdout::results();
    let is_plain = !out.is_terminal() || std::env::var_os("NO_COLOR").is_some();
    let text = if is_plain { text.to_string() } else { text.ansi().to_string() };
    // A closed pipe needs no message.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Returns the help of a command in at most [`MOST_LINES`] lines: the first sentence about each option, and less important
/// options left out where there are many.
fn of_command(command: &mut Command) -> clap::builder::StyledStr {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let about = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let about = about.strip_suffix(super::SHARED_OPTIONS).unwrap_or(&about).trim_end();
    let end = format!("All options, in full: `{name} --help-all`.");
    let end = if about.is_empty() { end } else { format!("{about}\n\n{end}") };
    let is_archive = command.get_name() == "archive";
    let brief = command.clone().after_help(end).mut_args(|arg| {
        let arg = in_one_sentence(arg);
        let is_left_out = is_archive && !arg.is_positional() && !OF_ARCHIVE.contains(&arg.get_id().as_str());
        // The few options that are left need no groups.
        let arg = if is_archive { arg.help_heading(None::<&str>) } else { arg };
        if is_left_out { arg.hide(true) } else { arg }
    });
    let text = brief.clone().render_help();
    if text.to_string().lines().count() <= MOST_LINES {
        return text;
    }
    brief
        .mut_args(|arg| {
            let is_left_out = SECONDARY.contains(&arg.get_id().as_str());
            if is_left_out { arg.hide(true) } else { arg }
        })
        .render_help()
}

/// Returns an option with the first sentence of its help.
fn in_one_sentence(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    let first = help.split_once(". ").map_or(&*help, |(first, _)| first);
    let first =
        if first.len() > LONG { first.split_once("; ").map_or(first, |(first, _)| first) } else { first };
    let first = first.to_owned();
    arg.long_help(None::<&str>).help(first)
}

/// Returns the command line with the groups in its help.
pub(super) fn grouped(command: Command, is_all: bool) -> Command {
    let text = if is_all { sentences(&command) } else { two_columns(&command) };
    let end = if is_all { "Options:\n{options}{after-help}" } else { END };
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{end}\n"
    ))
}

/// The groups side by side, with a few words about each command that this build has.
fn two_columns(command: &Command) -> String {
    let columns = COLUMNS.map(|groups| {
        let width = groups.iter().flat_map(|(_, entries)| *entries).map(|(name, _)| name.len()).max();
        let width = width.unwrap_or(0) + 1;
        let mut lines = Vec::new();
        for (heading, entries) in groups {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push((*heading).to_owned());
            let there =
                entries.iter().filter(|(name, _)| *name == "help" || command.find_subcommand(name).is_some());
            lines.extend(there.map(|(name, words)| format!("  {name:width$}{words}")));
        }
        lines
    });
    let mut text = String::new();
    for n in 0..columns[0].len().max(columns[1].len()) {
        let [left, right] = [0, 1].map(|column: usize| columns[column].get(n).map_or("", String::as_str));
        let line = format!("{left:HALF$}{right}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push('\n');
    text
}

/// The groups one after another, with the description of each command.
fn sentences(command: &Command) -> String {
    let groups = || COLUMNS.iter().flat_map(|groups| groups.iter());
    let names = groups().flat_map(|(_, entries)| entries.iter().map(|(name, _)| name.len()));
    let indent = names.max().unwrap_or(0) + 4;
    let mut text = String::new();
    for (heading, entries) in groups() {
        let _ = writeln!(text, "{heading}:");
        for (name, _) in *entries {
            let about = match command.find_subcommand(name) {
                Some(found) => described(found),
                None if *name == "help" => "Print the help of the tool, or of a command".to_owned(),
                // Left out of this build.
                None => continue,
            };
            put(&mut text, name, &about, indent);
        }
        text.push('\n');
    }
    text
}

/// The description of a command, with its other names.
fn described(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let other: Vec<&str> = command.get_visible_aliases().collect();
    if other.is_empty() { about } else { format!("{about} [alias: {}]", other.join(", ")) }
}

/// Appends a line for a command, broken between words.
fn put(text: &mut String, name: &str, about: &str, indent: usize) {
    text.push_str("  ");
    text.push_str(name);
    text.push_str(&" ".repeat(indent - 2 - name.len()));
    let mut column = indent;
    for (number, word) in about.split(' ').enumerate() {
        if number > 0 && column + 1 + word.chars().count() > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if number > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.chars().count();
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn each_command_is_in_one_group() {
        let entries = COLUMNS.iter().flat_map(|groups| groups.iter().flat_map(|(_, entries)| entries.iter()));
        let mut grouped: Vec<&str> = entries.map(|(name, _)| *name).collect();
        let command = super::super::Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut all: Vec<&str> = shown.map(Command::get_name).collect();
        all.push("help");
        grouped.sort_unstable();
        all.sort_unstable();
        grouped.retain(|name| all.contains(name));
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_main_help_fits_a_screen_of_40_lines_and_80_columns() {
        let text = super::super::command_for(&["nc3z".into(), "help".into()]).render_help().to_string();
        assert!(text.lines().count() <= 40, "{}\n{text}", text.lines().count());
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= 80, "{longest}\n{text}");
    }

    #[test]
    fn the_help_of_a_command_has_at_most_60_lines_and_help_all_each_option() {
        let mut main = super::super::command();
        main.build();
        let mut long = Vec::new();
        let parts: Vec<String> = main.get_subcommands().map(|part| part.get_name().to_owned()).collect();
        for name in parts.iter().filter(|name| *name != "help") {
            let part = main.find_subcommand_mut(name).unwrap();
            let all: Vec<&mut Command> =
                if part.has_subcommands() { part.get_subcommands_mut().collect() } else { vec![part] };
            for command in all.into_iter().filter(|command| command.get_name() != "help") {
                let text = of_command(command).to_string();
                if text.lines().count() > MOST_LINES {
                    long.push(format!("{} {}", text.lines().count(), command.get_bin_name().unwrap()));
                }
                let all = command.render_long_help().to_string();
                let options = command.get_arguments().filter(|arg| !arg.is_hide_set());
                for option in options.filter_map(Arg::get_long) {
                    assert!(all.contains(&format!("--{option}")), "{name} --{option}");
                }
            }
        }
        assert!(long.is_empty(), "{long:?}");
        let archive = of_command(main.find_subcommand_mut("archive").unwrap()).to_string();
        let options = archive.lines().filter(|line| line.trim_start().starts_with('-')).count();
        assert_eq!(options, OF_ARCHIVE.len(), "{archive}");
    }
}
