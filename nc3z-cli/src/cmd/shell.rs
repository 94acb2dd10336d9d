//! `nc3z completions` and `nc3z man`: made from the definitions that the command line is read by, so that they say what it does.

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::exit::Exit;
use crate::output::streams::Stdout;
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

/// Completes names of variables and dimensions, which Clap cannot know, of a file on the line.
const NAMES_IN_BASH: &str = include_str!("../../assets/names.bash");

/// Prints a shell's completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "nc3z", &mut script);
    if args.shell == Shell::Bash {
        script.extend_from_slice(NAMES_IN_BASH.as_bytes());
    }
    Stdout::results().write_all(&script)?;
    Ok(Exit::Done)
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
    std::fs::create_dir_all(directory).with_context(|| format!("create `{}`", directory.display()))?;
    write(directory)?;
    Ok(Exit::Done)
}

fn write(directory: &Path) -> Result<()> {
    clap_mangen::generate_to(with_version(command()), directory)
        .with_context(|| format!("write the pages into `{}`", directory.display()))
}

/// The command with the tool's version on the page of each subcommand, without options that would print it.
fn with_version(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        with_version(sub.version(env!("CARGO_PKG_VERSION")).disable_version_flag(true))
    })
}
