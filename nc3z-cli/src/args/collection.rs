//! Arguments of `bundle` and `list`.

use super::parity::parse_share;
use super::tree::{PassedOverArg, parse_shard};
use super::{FragmentArgs, JsonArgs, OutputArgs, PresetArg, RemoteArgs, TellArgs, ThreadsArgs, parse_size};
use clap::{Args, ValueEnum};
use nc3z_collections::tree::offline::Residency;
use nc3z_collections::tree::walk::Shard;
use nc3z_writer::Share;
use std::path::PathBuf;

/// The treatment of files that have no data on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OfflineArg {
    /// Fail before anything is read.
    Refuse,
    /// Leave them out, and report their number.
    Skip,
    /// Read them after all others, in the order in which they are listed.
    Last,
}

/// The options for files whose data are on tape.
#[derive(Debug, Args)]
pub(crate) struct OfflineArgs {
    /// What to do with files whose data are on tape (longer than 4 KiB, no blocks on disk): reading them recalls them.
    #[arg(long, value_enum, default_value_t = OfflineArg::Refuse, value_name = "WHAT")]
    pub(crate) on_tape: OfflineArg,
    #[command(flatten)]
    _residency: ResidencyArgs,
}

/// The options that say which files are on tape. [`set_residency`] uses them, before files are found.
#[derive(Debug, Args)]
pub(crate) struct ResidencyArgs {
    /// A command that prints `released`, `migrated`, `OFL` or `offline` for a file on tape, such as 'lfs hsm_state {}';
    /// {} is the name of the file. It decides instead of the blocks on disk. No shell runs it.
    #[arg(long = "tape-command", value_name = "COMMAND", hide_short_help = true)]
    _command: Option<String>,
    /// A list of files on tape, one in each line, in the order of their recall, which --on-tape last keeps.
    #[arg(long = "tape-list", value_name = "FILE", hide_short_help = true)]
    _list: Option<PathBuf>,
}

/// Takes the options that say which files are on tape from the arguments of a command.
///
/// # Errors
/// The list cannot be read.
pub(crate) fn set_residency(matches: &clap::ArgMatches) -> anyhow::Result<()> {
    let Some((_, command)) = matches.subcommand() else { return Ok(()) };
    set_residency(command)?;
    let by_command = command.try_get_one::<String>("_command").ok().flatten();
    let list = command.try_get_one::<PathBuf>("_list").ok().flatten();
    if by_command.is_none() && list.is_none() {
        return Ok(());
    }
    let listed = list.map_or_else(|| Ok(Vec::new()), |list| crate::cmd::targets::read_names(list, false))?;
    Residency::new(by_command.map(String::as_str), &listed).set();
    Ok(())
}

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Directories, of which archives and classic files are taken; single files; or quoted patterns such as
    /// 'data/**/*.nc'. Names in the bundle start at the first wildcard of a pattern. With --extract, one bundle: of nc3z,
    /// a ZIP or a tar.
    #[arg(required_unless_present = "files_from")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The bundle to write, NAME.bundle.nc3z; `-` is standard output. With --extract, the directory to write to.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Write each member of a bundle as an archive of its own. Other files are copied.
    #[arg(
        long,
        conflicts_with_all = [
            "files_from", "target_size", "skip_existing", "shard", "on_tape", "passed_over", "json", "with_spec", "pack", "append",
            "preset", "parity", "zip", "statistics",
        ]
    )]
    pub(crate) extract: bool,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    /// Read names of further inputs from a file, one in each line, and put them into the bundle in that order, such as
    /// the order on a tape; `-` is standard input. Relative names keep their directories.
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// Write several bundles, NAME-000.bundle.nc3z, NAME-001.bundle.nc3z and so on, whose inputs have at most SIZE bytes (KiB, MiB or
    /// GiB). They end where the directory changes, if that is in the second half.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "append")]
    pub(crate) target_size: Option<u64>,
    /// Keep bundles that are there, if they have these files by name and length, and no file is newer. So the same command
    /// continues an interrupted run. Another bundle of that name is an error.
    #[arg(long, conflicts_with_all = ["append", "force"])]
    pub(crate) skip_existing: bool,
    /// Write only part I (from 1) of N: a run of files in their order, of about as many bytes as each other part. With
    /// --target-size, those of the numbered bundles that are this part's share. N runs with the same inputs share the work.
    #[arg(long, value_parser = parse_shard, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Action for files of directories that are neither archives nor classic files; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) passed_over: Option<PassedOverArg>,
    /// Machine-readable output: bundles, files that were passed over by kind, and files that failed.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also put the specification of the format into the bundle, in nc3z-specification/.
    #[arg(long)]
    pub(crate) with_spec: bool,
    /// Share what repeats across files of at most 1 MiB. Classic files are archived on the way; `restore -r` gives them back, `--extract`
    /// an archive of each.
    #[arg(long)]
    pub(crate) pack: bool,
    /// Add files to a bundle that is there, as a new version. They are packed if others are. An interrupted run leaves the bundle as
    /// it was.
    #[arg(long, conflicts_with_all = ["force", "parity"])]
    pub(crate) append: bool,
    /// With --pack or --append: trade size against time [default: default].
    #[arg(long, value_enum, value_name = "PRESET")]
    pub(crate) preset: Option<PresetArg>,
    /// Add redundancy that repairs losses of this share of the sectors of the bundle, such as 5%.
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    pub(crate) parity: Option<Share>,
    /// Also compute the statistics of all variables, with which `find --where` and `stats` answer at once. All values are read.
    #[arg(long)]
    pub(crate) statistics: bool,
    /// Write a plain ZIP without compression instead, for other programs.
    #[arg(long, conflicts_with_all = ["pack", "append", "parity", "statistics", "preset"])]
    pub(crate) zip: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Archives, classic files, bundles, aggregations, catalogues; directories, with all files below them; quoted
    /// patterns such as 'data/**/*.nc'.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Print all columns at their full width. Otherwise lines fit the terminal; in pipes and files, $COLUMNS or 80.
    #[arg(long, conflicts_with = "json")]
    pub(crate) wide: bool,
    /// Write a page about one directory instead: a map of sizes, the ratios, the largest variables, the unreadable files;
    /// `-` is standard output. It is a single HTML file that loads nothing and runs no scripts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "wide", "as_stored", "outside", "fill_missing"])]
    pub(crate) html: Option<PathBuf>,
    /// Overwrite an existing file of --html.
    #[arg(short, long, requires = "html")]
    pub(crate) force: bool,
    /// Create missing directories in the name of the file of --html.
    #[arg(long, requires = "html")]
    pub(crate) parents: bool,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}
