//! `nc3z completions` and `nc3z man`: made from the definitions of the command line, so that they always
//! agree with it.

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::exit::Exit;
use crate::output::streams::Stdout;
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// Completion of names of variables and dimensions of a file on the line, which Clap does not know.
const NAMES_IN_BASH: &str = include_str!("../../assets/names.bash");
const NAMES_IN_FISH: &str = include_str!("../../assets/names.fish");
const NAMES_IN_ZSH: &str = include_str!("../../assets/names.zsh");
/// Finds names in the output of `nc3z dump -h`, in each of these scripts.
const NAMES: &str = include_str!("../../assets/names.awk");

/// The options whose value is a name: of variables (`v`) and of dimensions (`d`).
const OPTIONS: [(&str, char); 4] = [("variable", 'v'), ("variables", 'v'), ("dim", 'd'), ("dimension", 'd')];

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "nc3z", &mut script);
    let script = String::from_utf8(script).context("completions are text")?;
    let with =
        |script: &str, names: &str| format!("{script}{}", names.replace("NAMES_AWK", NAMES.trim_end()));
    let script = match args.shell {
        Shell::Bash => with(&script, NAMES_IN_BASH),
        Shell::Fish => with(&script, NAMES_IN_FISH) + &names_of_options(),
        Shell::Zsh => in_zsh(&script, with)?,
        _ => script,
    };
    Stdout::results().write_all(script.as_bytes())?;
    Ok(Exit::Done)
}

/// The function for zsh tries names first, then Clap's completions. A file of completions is the body of that
/// function when it is called for the first time. Therefore Clap's last line, which calls it, must stay the
/// last one.
fn in_zsh(script: &str, with: impl Fn(&str, &str) -> String) -> Result<String> {
    let end = script.rfind("\nif [ \"$funcstack[1]\"").context("the end of Clap's script for zsh")?;
    let (clap, end) = script.split_at(end);
    Ok(with(&clap.replacen("\n_nc3z() {", "\n_nc3z_all() {", 1), NAMES_IN_ZSH) + end)
}

/// Returns, for fish, the options of each command whose value is a name.
fn names_of_options() -> String {
    let (mut lines, mut command) = (String::new(), command());
    // Clap adds the options of commands when it builds them.
    command.build();
    for sub in command.get_subcommands() {
        for arg in sub.get_arguments().filter(|arg| arg.get_action().takes_values()) {
            let Some((long, kind)) = OPTIONS.iter().find(|(long, _)| arg.get_long() == Some(long)) else {
                continue;
            };
            let short = arg.get_short().map_or_else(String::new, |short| format!(" -s {short}"));
            let _ = writeln!(
                lines,
                "complete -c nc3z -n \"__fish_nc3z_using_subcommand {}\"{short} -l {long} -r -f -a \"({})\"",
                sub.get_name(),
                if *kind == 'v' { "__nc3z_names_in_list" } else { "__nc3z_names d" }
            );
        }
    }
    lines
}

/// Prints or writes man pages.
pub(crate) fn man(args: &ManArgs) -> Result<Exit> {
    let Some(directory) = &args.output else {
        let directory = tempfile::tempdir().context("create a temporary directory")?;
        write(directory.path())?;
        let page = std::fs::read(directory.path().join("nc3z.1")).context("read the page")?;
        Stdout::results().write_all(&page)?;
        return Ok(Exit::Done);
    };
    super::outputs::check(Some(directory), true)?;
    std::fs::create_dir_all(directory).with_context(|| format!("create `{}`", directory.display()))?;
    write(directory)?;
    Ok(Exit::Done)
}

fn write(directory: &Path) -> Result<()> {
    let made = tempfile::tempdir().context("create a temporary directory")?;
    clap_mangen::generate_to(with_version(command()), made.path()).context("make the pages")?;
    let pages = std::fs::read_dir(made.path()).context("read the pages")?;
    for page in pages {
        let page = page.context("read the pages")?;
        let text = std::fs::read_to_string(page.path()).context("read a page")?;
        let path = directory.join(page.file_name());
        std::fs::write(&path, of_tool(&text)).with_context(|| format!("write `{}`", path.display()))?;
    }
    Ok(())
}

/// Returns a page whose header names the tool: Clap names the command there.
fn of_tool(page: &str) -> String {
    let (mut out, source) = (String::with_capacity(page.len()), nc3z_format::SOFTWARE);
    for line in page.split_inclusive('\n') {
        match line.strip_prefix(".TH ").and_then(|header| header.split_once('"')) {
            Some((title, _)) => {
                let _ = writeln!(out, ".TH {title}\"{source}\"");
            }
            None => out.push_str(line),
        }
    }
    out
}

/// Returns the command with the tool's version on the page of each subcommand, without options that would
/// print it.
fn with_version(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        with_version(sub.version(env!("CARGO_PKG_VERSION")).disable_version_flag(true))
    })
}
