//! The commands in groups, as the main help lists them.

/// The groups with their headings, in the order of the help. Each command is in one of them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Archive and restore", &["archive", "restore", "recompress", "estimate"]),
    ("Look", &["info", "list", "find", "stats", "read", "dump", "plot", "subset", "diff"]),
    ("Edit and versions", &["attr", "set", "append", "rename", "commit", "log", "tag", "revert", "prune"]),
    ("Check and repair", &["verify", "repair", "parity", "hash", "cite"]),
    ("Collections", &["bundle", "aggregate", "catalog", "refs"]),
    ("Campaigns", &["plan", "status", "retire", "reconcile"]),
    (
        "Other programs and tools",
        &["mount", "serve", "netcdf-plugin", "filters", "completions", "man", "spec", "help"],
    ),
];

/// Columns of the help, as clap's own part of it has.
const WIDTH: usize = 100;

/// Returns the command line with the groups in its help. Preparing them reads the descriptions of all commands, so it is
/// done only for the help.
pub(super) fn grouped(command: clap::Command) -> clap::Command {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let indent = names.map(|name| name.len()).max().unwrap_or(0) + 4;
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text.push_str(heading);
        text.push_str(":\n");
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(found) => described(found),
                None if *name == "help" => "Print this message, or the help of a command".to_owned(),
                // Left out of this build.
                None => continue,
            };
            put(&mut text, name, &about, indent);
        }
        text.push('\n');
    }
    command.help_template(format!("{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"))
}

/// The description of a command, with its other names.
fn described(command: &clap::Command) -> String {
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
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = super::super::Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut all: Vec<&str> = shown.map(clap::Command::get_name).collect();
        all.push("help");
        grouped.sort_unstable();
        all.sort_unstable();
        grouped.retain(|name| all.contains(name));
        assert_eq!(grouped, all);
    }
}
