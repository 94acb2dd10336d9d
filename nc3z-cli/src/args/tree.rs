//! Arguments of commands that process trees and long lists of files.

use super::OfflineArgs;
use super::campaign::{parse_duration, parse_unit};
use clap::{Args, ValueEnum};
use nc3z_collections::tree::walk::Shard;
use std::path::PathBuf;
use std::time::Duration;

/// The action for files of a tree that the command does not process. The summary counts them in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassedOverArg {
    /// List each of them.
    List,
    /// List each of them, and end with exit code 1 if there is any.
    Fail,
}

/// The action for such files, for a command that writes a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassedOverOfTreeArg {
    /// List each of them.
    List,
    /// List each of them, and end with exit code 1 if there is any.
    Fail,
    /// Copy each to the corresponding place in the output directory.
    Copy,
}

/// The test by which an existing archive counts as that of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkipArg {
    /// It is complete and has the source's header and length, and the source is not newer.
    Header,
    /// It is complete, and its stored SHA-256 is the source's.
    Digest,
    /// It has the right name.
    Name,
}

/// The heading of these options in help texts.
const HEADING: &str = "Long runs";

/// The selection of files, and the options for reporting and resuming a long run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Read names of further inputs from a file, one in each line; `-` is standard input. With -o, relative
    /// names are kept in the output directory.
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// Names in --files-from end with a zero byte instead of a line break, as `find -print0` writes them.
    #[arg(help_heading = HEADING, short = '0', long = "null", requires = "files_from")]
    pub(crate) null: bool,
    /// Archive the files of a unit of `nc3z plan`, such as camp/units/00001.list, with their names in the trees,
    /// and append to the log of the unit in camp/logs. Exit code 4: only files failed that will never be
    /// archived as they are.
    #[arg(help_heading = HEADING, long, value_name = "LIST", conflicts_with_all = ["files_from", "log", "shard", "inputs"])]
    pub(crate) unit: Option<PathBuf>,
    /// Process only part I (from 1) of N, by a hash of each file's relative name, so that N runs share the
    /// work.
    #[arg(help_heading = HEADING, long, value_parser = parse_shard, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Skip files whose archive already exists: `header` (a complete archive with this file's header and
    /// length, and the file is not newer), `digest` (the stored SHA-256 is the source's), or `name`. With
    /// --recursive or --files-from, `header` is the default; --force archives all files again.
    #[arg(help_heading = HEADING, long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "header", value_name = "HOW")]
    pub(crate) skip_existing: Option<SkipArg>,
    /// Append a line of JSON for each file when it is done.
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Skip files that a log lists as done and whose archive exists; others are archived again.
    #[arg(help_heading = HEADING, long, value_name = "LOG")]
    pub(crate) resume: Option<PathBuf>,
    /// Start no more files after N of them have failed.
    #[arg(help_heading = HEADING, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_errors: Option<u64>,
    /// Begin no more files after this time, such as 3h or 30m; the exit code is then 130, as after a signal.
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) stop_after: Option<Duration>,
    /// Begin files of at most this many bytes in a second, on average, such as 200MB.
    #[arg(help_heading = HEADING, long, value_name = "SIZE", value_parser = parse_unit)]
    pub(crate) max_rate: Option<u64>,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Only report what would be done.
    #[arg(help_heading = HEADING, long)]
    pub(crate) dry_run: bool,
    /// Action for files of a tree that are not classic netCDF; they are counted in any case.
    #[arg(help_heading = HEADING, long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) passed_over: Option<PassedOverOfTreeArg>,
}

pub(super) fn parse_shard(text: &str) -> Result<Shard, String> {
    let parts =
        text.split_once('/').and_then(|(i, n)| Some((i.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
    match parts {
        Some((index @ 1.., count)) if index <= count => Ok(Shard { index: index - 1, count }),
        _ => Err("expected a part such as 2/5: the second of five".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_count_from_one() {
        assert_eq!(parse_shard("1/1"), Ok(Shard { index: 0, count: 1 }));
        assert_eq!(parse_shard("5/5"), Ok(Shard { index: 4, count: 5 }));
        for bad in ["0/5", "6/5", "1", "1/", "/1", "a/b", "-1/2", "1/0"] {
            assert!(parse_shard(bad).is_err(), "{bad}");
        }
    }
}
