//! The command line: clap types only, no behaviour. One file a command.

mod aggregate;
mod archive;
mod campaign;
mod catalog;
mod cite;
mod collection;
mod command;
mod diff;
mod dump;
mod edit;
mod encode;
mod estimate;
mod filters;
mod find;
mod hash;
pub(crate) mod help;
mod layout;
mod lazy;
#[cfg(feature = "mount")]
mod mount;
mod netcdf_plugin;
mod open;
mod parity;
#[cfg(feature = "plot")]
mod plot;
mod read;
mod recompress;
mod refs;
mod remote;
pub(crate) mod renamed;
mod repair;
mod report;
mod restore;
mod selection;
#[cfg(feature = "serve")]
mod serve;
mod shared;
mod shell;
mod spec;
mod subset;
mod tell;
mod tree;
mod verify;
mod versions;

pub(crate) use aggregate::{AggregateArgs, ConventionArg, FragmentArgs, IdentityArg};
pub(crate) use archive::{ArchiveArgs, DigestArg, EdgeArg, ManifestArg, PresetArg};
pub(crate) use campaign::{PlanArgs, ReconcileArgs, RetireArgs, StatusArgs};
pub(crate) use catalog::{CatalogArgs, StatsArgs};
pub(crate) use cite::{CiteArgs, RecordArg, RootArgs};
pub(crate) use collection::{BundleArgs, ListArgs, OfflineArg, OfflineArgs, ResidencyArgs, set_residency};
pub(crate) use command::Command;
pub(crate) use diff::DiffArgs;
pub(crate) use dump::{DumpArgs, Language};
pub(crate) use edit::{AppendArgs, AttrArgs, EditArgs, PruneArgs, RenameArgs, SetArgs};
pub(crate) use encode::{EncodeArgs, ProfileArg};
pub(crate) use estimate::EstimateArgs;
pub(crate) use filters::FiltersArgs;
pub(crate) use find::FindArgs;
pub(crate) use hash::{HashArgs, OnlyArg};
#[cfg(feature = "mount")]
pub(crate) use mount::MountArgs;
pub(crate) use netcdf_plugin::{NetcdfPluginCommand, PluginInstallArgs, PluginStatusArgs, RunCommandArgs};
pub(crate) use open::{Access, OpenArgs};
pub(crate) use parity::{ParityAddArgs, ParityCommand, ParityFiles, ParityInfoArgs, ParityRemoveArgs};
#[cfg(feature = "plot")]
pub(crate) use plot::PlotArgs;
pub(crate) use read::{FormatArg, ReadArgs};
pub(crate) use recompress::RecompressArgs;
pub(crate) use refs::{RefsArgs, RefsFormat};
pub(crate) use remote::RemoteArgs;
pub(crate) use repair::RepairArgs;
pub(crate) use report::{InfoArgs, NotationArg};
pub(crate) use restore::RestoreArgs;
pub(crate) use selection::SelectionArgs;
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use shared::{DefaultOutputArgs, JsonArgs, OutputArgs, ThreadsArgs};
pub(crate) use shell::{CompletionsArgs, ManArgs};
pub(crate) use spec::SpecArgs;
pub(crate) use subset::SubsetArgs;
pub(crate) use tell::TellArgs;
pub(crate) use tree::{PassedOverArg, PassedOverOfTreeArg, RunArgs, SkipArg};
pub(crate) use verify::VerifyArgs;
pub(crate) use versions::{CommitArgs, EffortArgs, LogArgs, NoteArgs, RevertArgs, TagArgs};

use clap::{Arg, CommandFactory, Parser, ValueEnum};
use std::ffi::OsString;

/// Exact, small, randomly readable archives of classic netCDF files.
#[derive(Debug, Parser)]
#[command(name = "nc3z", version, max_term_width = 100)]
#[command(after_help = "Examples:
  nc3z archive tas.nc                 tas.nc -> tas.nc.nc3z, verified before it is reported
  nc3z restore tas.nc.nc3z -o out.nc  exactly the same bytes
  nc3z info tas.nc.nc3z               its content, and the stored size of each variable
  nc3z archive --recursive data/      a whole tree, file by file

As with gzip, `nc3z -t` is `nc3z verify`, `nc3z -d` is `nc3z restore`, and `nc3z -l` is `nc3z list`.

Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt archive, 4 only inputs remain that cannot be archived (`archive` with a log, `status`), 130 stopped by SIGINT, SIGTERM or SIGHUP (no incomplete output is left). \
If a pipe after standard output or standard error is closed, the exit code is the same.")]
pub(crate) struct Cli {
    /// When to colour messages.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Load HDF5 filter plug-ins from the directories of HDF5_PLUGIN_PATH. They run in a process of their
    /// own.
    #[arg(long, global = true)]
    pub(crate) plugins: bool,
    /// Load plug-ins from these directories, which are searched first.
    #[arg(long, global = true, value_name = "DIR:...")]
    pub(crate) plugin_path: Option<OsString>,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The note on the options of all commands, which the main help describes once.
const SHARED_OPTIONS: &str =
    "Options of all commands (--color, --plugins, --plugin-path) are described by `nc3z --help-all`.";

/// Returns the command line. Commands accept the options of all commands, but do not list them in their help.
pub(crate) fn command() -> clap::Command {
    help::grouped(with_shared(Cli::command(), |_| true), true)
}

/// Returns the command line for these words. Only the help of the named command is prepared: preparing all
/// would take a quarter of the instructions of starting a command.
pub(crate) fn command_for(words: &[OsString]) -> clap::Command {
    let is_there = |name: &str| words.iter().skip(1).any(|word| word == name);
    let command = with_shared(Cli::command(), |command| {
        is_there(command.get_name()) || command.get_all_aliases().any(is_there)
    });
    let is_help = words.len() <= 1 || ["-h", "--help", "help"].into_iter().any(is_there);
    if is_help { help::grouped(command, false) } else { command }
}

fn with_shared(command: clap::Command, is_wanted: impl Fn(&clap::Command) -> bool) -> clap::Command {
    let shared: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    command.mut_subcommands(|command| {
        if !is_wanted(&command) {
            return command;
        }
        let help = command.get_after_help().map_or_else(String::new, |help| format!("{help}\n\n"));
        let command = command.after_help(format!("{help}{SHARED_OPTIONS}"));
        command.args(shared.iter().map(|arg| arg.clone().hide(true)))
    })
}

/// Returns whether the command that was named, or its own command, is to report as JSON.
pub(crate) fn is_json(matches: &clap::ArgMatches) -> bool {
    let Some((_, matches)) = matches.subcommand() else { return false };
    matches!(matches.try_get_one::<bool>("json"), Ok(Some(true))) || is_json(matches)
}

/// Returns the words that name the command, such as `parity add`.
pub(crate) fn command_words(matches: &clap::ArgMatches) -> String {
    let Some((name, matches)) = matches.subcommand() else { return String::new() };
    format!("{name} {}", command_words(matches)).trim_end().to_owned()
}

/// Returns whether words that clap refuses ask for JSON.
pub(crate) fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Parses a number of threads. More than 1,024 would only use memory.
fn parse_threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 1024).ok_or_else(|| "expected a number from 0 to 1024".to_owned())
}

/// Parses `4096`, `64KiB`, `1MiB`, `2G`: powers of 1024, as in `dd` and `ls`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return Err(format!("unknown unit `{unit}`; expected B, KiB, MiB or GiB")),
    };
    let number: u64 = number.parse().map_err(|_| "expected a size such as 64KiB or 1MiB".to_owned())?;
    number.checked_mul(1 << shift).filter(|&n| n > 0).ok_or_else(|| format!("`{text}` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    #[test]
    fn command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn options_of_all_commands_are_taken_by_each_and_described_once() {
        let mut command = command();
        command.build();
        for part in command.get_subcommands_mut().filter(|part| part.get_name() != "help") {
            let help = part.render_long_help().to_string();
            assert!(!help.contains("--plugin-path <"), "{help}");
            assert_eq!(help.matches(SHARED_OPTIONS).count(), 1, "{help}");
        }
        assert!(command.render_long_help().to_string().contains("--plugin-path <DIR:...>"));
        for args in [
            ["nc3z", "--color", "never", "info", "x"],
            ["nc3z", "info", "--color", "never", "x"],
            ["nc3z", "checkout", "--color", "never", "x"],
        ] {
            let words = args.map(OsString::from);
            let matches = command_for(&words).try_get_matches_from(words).unwrap();
            assert_eq!(Cli::from_arg_matches(&matches).unwrap().color, Color::Never);
        }
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(parse_size("1MiB"), Ok(1 << 20));
        assert_eq!(parse_size("64k"), Ok(64 << 10));
        assert_eq!(parse_size("7"), Ok(7));
        assert!(parse_size("0").is_err() && parse_size("x").is_err() && parse_size("1MB").is_err());
        assert!(parse_size("99999999999GiB").is_err());
    }
}
