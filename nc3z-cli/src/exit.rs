//! Exit codes.

use crate::output::signals::interrupted;
use nc3z_collections::tree::{self, Refusal};
use std::cmp::Ordering;
use std::process::ExitCode;

/// The result of a run, as reported to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// Something failed; the message gives the reason. For `diff`: the files differ.
    Failed = 1,
    /// A usage error; for `diff`, where 1 means that files differ, also any other failure.
    Refused = 2,
    /// An archive is corrupt.
    Corrupt = 3,
    /// Only inputs failed that will never be archived as they are.
    InputsRefused = 4,
    /// Stopped by SIGINT, SIGTERM or SIGHUP.
    Interrupted = 130,
}

impl Exit {
    /// The order of the codes: the worst of several results is that of the run.
    fn rank(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::InputsRefused => 1,
            Exit::Failed => 2,
            Exit::Refused => 3,
            Exit::Corrupt => 4,
            Exit::Interrupted => 5,
        }
    }
}

impl Ord for Exit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Exit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Exit> for ExitCode {
    fn from(e: Exit) -> Self {
        ExitCode::from(e as u8)
    }
}

/// A usage error that clap cannot find: options that do not go together, or have no effect here.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns the exit code of an error. A failure after a signal counts as interrupted.
pub(crate) fn of_error(e: &anyhow::Error) -> Exit {
    if interrupted() {
        return Exit::Interrupted;
    }
    if e.chain().any(<dyn std::error::Error>::is::<Usage>) {
        return Exit::Refused;
    }
    if let Some(e) = e.chain().find_map(|c| c.downcast_ref::<nc3z_writer::Error>()) {
        return match e.kind() {
            _ if e.is_interrupted() => Exit::Interrupted,
            nc3z_writer::ErrorKind::Read(e) | nc3z_writer::ErrorKind::Source(e) => of_reader(e),
            _ => Exit::Failed,
        };
    }
    let is_damaged = |e: &tree::Error| matches!(e.kind(), tree::ErrorKind::Refused(Refusal::Damaged { .. }));
    if e.chain().filter_map(|c| c.downcast_ref()).any(is_damaged) {
        return Exit::Corrupt;
    }
    // An error of the reader that passed through an aggregation or a bundle is not a cause of its own.
    let reader = e.chain().find_map(|c| match c.downcast_ref::<nc3z_collections::Error>() {
        Some(nc3z_collections::Error::Reader(e)) => Some(e),
        _ => c.downcast_ref::<nc3z_reader::Error>(),
    });
    reader.map_or(Exit::Failed, of_reader)
}

/// Returns the exit code of an error of the reader. A damaged archive is corrupt; a damaged classic file is a
/// failed input.
fn of_reader(e: &nc3z_reader::Error) -> Exit {
    match e {
        e if e.is_interrupted() => Exit::Interrupted,
        e if e.is_corrupt() && !is_classic(e) => Exit::Corrupt,
        _ => Exit::Failed,
    }
}

/// Returns whether an error concerns the header of a classic file, which is not an archive.
fn is_classic(e: &nc3z_reader::Error) -> bool {
    match e.kind() {
        nc3z_reader::ErrorKind::Format(e) => e.is_of_header(),
        _ => false,
    }
}
