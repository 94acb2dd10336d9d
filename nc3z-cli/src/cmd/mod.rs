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
use nc3z_reader::{Archive, ClassicFile, Dataset, Monitor as _};
use std::path::Path;

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

/// Runs `work` in a pool of `threads` threads; 0 means one for each core.
pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    crate::heap::set_up(threads);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("start threads")?;
    Ok(pool.install(work))
}

/// Processes many files at once; see [`nc3z_collections::tree::ordered::in_order`].
pub(crate) fn in_order<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(&J) -> T + Sync,
    emit: impl FnMut(&J, T) -> Result<()> + Send,
) -> Result<()> {
    crate::heap::set_up(if jobs.len() > 1 { 1 } else { threads });
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
