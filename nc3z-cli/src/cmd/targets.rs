//! Which file becomes which ([`nc3z_collections::tree::walk`]), with the walk's notices printed.

use super::{member, url};
use crate::output::progress::while_working;
use crate::output::signals::while_blocked;
use anyhow::Result;
use nc3z_collections::tree::ErrorKind;
use nc3z_collections::tree::patterns::Named;
use nc3z_collections::tree::walk::{self, Notice};
use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) use nc3z_collections::tree::walk::{
    Job, Naming, SUFFIX, archive_name, first_bytes, is_archive_name, is_directory_name, is_netcdf,
    looks_classic, restored_name,
};

/// The files of a run, with the errors as this tool reports them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) jobs: Vec<Job>,
    pub(crate) failures: Vec<(PathBuf, anyhow::Error)>,
    pub(crate) others: Vec<nc3z_collections::tree::Other>,
    /// True if an input was a directory, so that the run ends with a summary.
    pub(crate) is_tree: bool,
}

/// The files that a command reads, with the errors as this tool reports them.
pub(crate) struct Listed {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) failures: Vec<(PathBuf, anyhow::Error)>,
    pub(crate) others: Vec<nc3z_collections::tree::Other>,
}

/// Pairs inputs with outputs; see [`walk::pair`].
pub(crate) fn pair(
    inputs: &[PathBuf],
    output: Option<&Path>,
    recursive: bool,
    naming: &Naming<'_>,
) -> Result<Found> {
    let found = while_working("find files", || walk::pair(inputs, output, recursive, naming))?;
    print(&found.notices);
    let failures = wrapped(found.failures);
    Ok(Found { jobs: found.jobs, failures, others: found.others, is_tree: found.is_tree })
}

/// Returns the named archives, and with `recursive` those of directories. Without `output`, each is its own output.
pub(crate) fn archives(inputs: &[PathBuf], output: Option<&Path>, recursive: bool) -> Result<Found> {
    let keep = |p: &Path| Ok(p.to_owned());
    pair(inputs, output, recursive, &Naming { rename: &keep, wanted: &is_archive_name })
}

/// Returns the named files, and with `recursive` those of directories that are to be processed.
pub(crate) fn list(inputs: &[PathBuf], recursive: bool, wanted: &dyn Fn(&Path) -> bool) -> Result<Listed> {
    let found = while_working("find files", || walk::list(inputs, recursive, wanted))?;
    print(&found.notices);
    Ok(Listed { files: found.files, failures: wrapped(found.failures), others: found.others })
}

/// Returns archives and classic files below a directory, sorted by name.
pub(crate) fn netcdf_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = list(&[directory.to_owned()], true, &is_netcdf)?;
    match found.failures.pop() {
        Some((path, e)) => Err(e.context(format!("`{}`", path.display()))),
        None => Ok(found.files),
    }
}

/// Replaces patterns by the matching files; see [`nc3z_collections::tree::patterns`].
pub(crate) fn expand(inputs: &[PathBuf]) -> Result<Vec<Named>> {
    let is_name = |path: &Path| url::of(path).is_some() || member::of(path).is_some();
    Ok(nc3z_collections::tree::patterns::expand(inputs, &is_name)?)
}

/// Reads a list of names from a file or, with the name `-`, from standard input.
pub(crate) fn read_names(list: &Path, null: bool) -> nc3z_collections::tree::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    // The list may be a pipe. Until it is read, nothing is written.
    while_blocked(|| {
        if list.as_os_str() == "-" {
            return std::io::stdin().lock().read_to_end(&mut bytes);
        }
        std::fs::File::open(list)?.read_to_end(&mut bytes)
    })
    .map_err(|source| ErrorKind::Io {
        what: format!("read the list of files `{}`", list.display()),
        source,
    })?;
    Ok(walk::names_in(&bytes, null))
}

fn wrapped(failures: Vec<(PathBuf, nc3z_collections::tree::Error)>) -> Vec<(PathBuf, anyhow::Error)> {
    failures.into_iter().map(|(path, e)| (path, e.into())).collect()
}

pub(super) fn print(notices: &[Notice]) {
    for notice in notices {
        note!("nc3z: warning: {}: {}", crate::cmd::shown(&notice.path), notice.what);
    }
}
