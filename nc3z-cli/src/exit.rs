//! Exit codes: one enum, used everywhere.

use crate::output::progress::interrupted;
use crate::output::words::is_header;
use std::process::ExitCode;

/// How a run ended, as the shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All done.
    Done = 0,
    /// Something failed; the message says what. Of `diff`: the files differ.
    Failed = 1,
    /// Usage; of `diff`, whose 1 says that files differ, also all that failed.
    Refused = 2,
    /// An archive is corrupt.
    Corrupt = 3,
    /// Stopped by SIGINT, SIGTERM or SIGHUP.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(e: Exit) -> Self {
        ExitCode::from(e as u8)
    }
}

/// The exit code that an error asks for. What fails after a signal was stopped by it.
pub(crate) fn of_error(e: &anyhow::Error) -> Exit {
    if interrupted() {
        return Exit::Interrupted;
    }
    if let Some(e) = e.chain().find_map(|c| c.downcast_ref::<nc3z_writer::Error>()) {
        return match e.kind() {
            _ if e.is_interrupted() => Exit::Interrupted,
            nc3z_writer::ErrorKind::Read(e) => of_reader(e),
            _ => Exit::Failed,
        };
    }
    // An error of the reader that passed through an aggregation or a bundle is not a cause of its own.
    let reader = e.chain().find_map(|c| match c.downcast_ref::<nc3z_aggregate::Error>() {
        Some(nc3z_aggregate::Error::Reader(e)) => Some(e),
        _ => c.downcast_ref::<nc3z_reader::Error>(),
    });
    reader.map_or(Exit::Failed, of_reader)
}

/// The exit code of what the reader reports: a damaged archive is corrupt, a damaged classic file is an input that fails.
fn of_reader(e: &nc3z_reader::Error) -> Exit {
    match e {
        e if e.is_interrupted() => Exit::Interrupted,
        e if e.is_corrupt() && !is_classic(e) => Exit::Corrupt,
        _ => Exit::Failed,
    }
}

/// Whether an error is about the header of a classic file, which is no archive.
fn is_classic(e: &nc3z_reader::Error) -> bool {
    match e.kind() {
        nc3z_reader::ErrorKind::Format(e) => e.location().is_some_and(|l| is_header(&l.section)),
        _ => false,
    }
}
