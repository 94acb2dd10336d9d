//! One file for each command, with `run(args)`, as a thin layer over the libraries.

mod acl;
pub(crate) mod aggregate;
pub(crate) mod archive;
pub(crate) mod bundle;
pub(crate) mod campaign;
pub(crate) mod catalog;
pub(crate) mod cite;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod edit;
pub(crate) mod estimate;
mod explain;
mod failures;
pub(crate) mod filters;
pub(crate) mod find;
mod fixity;
pub(crate) mod hash;
pub(crate) mod info;
mod layout;
pub(crate) mod list;
mod manifest;
pub(crate) mod member;
#[cfg(feature = "mount")]
pub(crate) mod mount;
pub(crate) mod named;
pub(crate) mod netcdf_plugin;
mod offline;
pub(crate) mod outputs;
pub(crate) mod parity;
#[cfg(feature = "plot")]
pub(crate) mod plot;
pub(crate) mod read;
pub(crate) mod recompress;
pub(crate) mod refs;
pub(crate) mod repair;
mod report;
pub(crate) mod restore;
pub(crate) mod retire;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod spec;
pub(crate) mod stats;
pub(crate) mod stdin;
pub(crate) mod subset;
pub(crate) mod targets;
mod tree;
mod unbundle;
pub(crate) mod url;
pub(crate) mod verify;
pub(crate) mod versions;
#[cfg(any(feature = "mount", feature = "serve"))]
mod view_log;

use crate::args::OpenArgs;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use anyhow::{Context, Result};
use named::Opens as _;
use nc3z_collections::tree::run;
use nc3z_reader::{Archive, ClassicFile, Dataset, Monitor as _};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Either kind of file, recognized by the first bytes.
#[derive(Clone, Copy)]
pub(crate) enum Input<'d> {
    /// An nc3z archive.
    Archive(&'d Archive),
    /// A classic netCDF file.
    Classic(&'d ClassicFile),
}

/// Returns a name for messages: a URL without user, password and query, and no control characters.
pub(crate) fn shown(path: &Path) -> String {
    crate::output::text::safe(&url::shown(path))
}

/// Adds the name of the file to an error that lacks it.
pub(crate) fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.in_file(path)
}

/// Opens an archive or a classic file as stored, by name.
pub(crate) fn open_input(path: &Path, args: &OpenArgs) -> Result<Dataset> {
    named::of(path)?.open_stored(args)
}

/// Opens an archive, by name.
pub(crate) fn open_archive(path: &Path, args: &OpenArgs) -> Result<Archive> {
    named::of(path)?.open_archive(args)
}

/// Runs `work` in a pool of `threads` threads; 0 means one for each core. One thread is the calling thread.
pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    begin_long_work(threads);
    if threads == 1 { on_this_thread(work) } else { Ok(run::with_threads(threads, work)?) }
}

/// Work on up to this many bytes, decoded, takes less time than other threads take to start and to end.
const SHORT_WORK: u64 = 1 << 20;
/// Few originals are more than this many times as long as their archives.
const USUAL_RATIO: u64 = 8;

/// As [`with_threads`]. Work on at most [`SHORT_WORK`] bytes stays on the calling thread, unless the user wants threads.
pub(crate) fn with_threads_for<T: Send>(
    bytes: u64,
    threads: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T> {
    if bytes <= SHORT_WORK && threads <= 1 { on_this_thread(work) } else { with_threads(threads, work) }
}

/// Returns an estimate of the bytes of the originals of archives. There is none for directories, members and URLs.
pub(crate) fn work_on<'p>(mut archives: impl Iterator<Item = &'p PathBuf>) -> u64 {
    let total = archives.try_fold(0_u64, |total, file| {
        let found = std::fs::metadata(file).ok().filter(Metadata::is_file)?;
        Some(total.saturating_add(found.len().saturating_mul(USUAL_RATIO)))
    });
    total.unwrap_or(u64::MAX)
}

/// Prepares for work that takes more than some milliseconds.
pub(crate) fn begin_long_work(threads: usize) {
    crate::output::signals::end_after_grace();
    crate::heap::set_up(threads);
}

/// Runs `work` in a pool that has only the calling thread.
fn on_this_thread<T>(work: impl FnOnce() -> T) -> Result<T> {
    // A thread stays in its first pool. In this program that pool is always one of this function.
    if rayon::current_thread_index().is_none() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        pool.build().context("start threads")?;
    }
    Ok(work())
}

/// Processes many files at once; see [`nc3z_collections::tree::ordered::in_order`].
pub(crate) fn in_order<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(&J) -> T + Sync,
    emit: impl FnMut(&J, T) -> Result<()> + Send,
) -> Result<()> {
    begin_long_work(if jobs.len() > 1 { 1 } else { threads });
    nc3z_collections::tree::ordered::in_order(jobs, threads, work, emit)
}

/// As [`in_order`], with a bar that counts the files.
pub(crate) fn in_order_counted<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    what: &str,
    work: impl Fn(&J) -> T + Sync,
    emit: impl FnMut(&J, T) -> Result<()> + Send,
) -> Result<()> {
    let progress = Progress::counting(jobs.len(), what);
    let counted = |job: &J| {
        let done = work(job);
        progress.advance(1);
        done
    };
    in_order(jobs, threads, counted, emit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{ThreadId, current};

    #[test]
    fn short_work_and_that_of_one_thread_stay_on_the_calling_thread() {
        let seen = || (current().id(), rayon::current_num_threads());
        let (here, one): (ThreadId, usize) = (current().id(), 1);
        assert_eq!(with_threads_for(SHORT_WORK, 0, seen).unwrap(), (here, one));
        assert_eq!(with_threads(1, seen).unwrap(), (here, one));
        for (bytes, threads) in [(SHORT_WORK + 1, 2), (1, 2)] {
            let (thread, number) = with_threads_for(bytes, threads, seen).unwrap();
            assert!(thread != here && number == 2, "{bytes} bytes, {threads} threads");
        }
        assert_eq!(with_threads_for(1, 0, seen).unwrap(), (here, one));
    }

    #[test]
    fn work_on_archives_that_are_not_files_has_no_limit() {
        let own = PathBuf::from("Cargo.toml");
        let len = std::fs::metadata(&own).unwrap().len();
        assert_eq!(work_on([&own, &own].into_iter()), 2 * USUAL_RATIO * len);
        assert_eq!(work_on([&own, &PathBuf::from("src")].into_iter()), u64::MAX);
        assert_eq!(work_on([&PathBuf::from("https://example.org/a.nc3z")].into_iter()), u64::MAX);
    }
}
