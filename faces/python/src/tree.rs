//! The files of a tree, as the tool finds them.

use crate::error::Failure;
use nc3z_collections::tree::offline::{Offline, Residency, sorted};
use nc3z_collections::tree::walk::{self, Listed};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Paths, each with a text.
type PathReasons = Vec<(OsString, String)>;

/// Finds the files of a tree in the order of their names, without following links and without opening files whose data are on
/// tape: classic files, with `archives` archives, too. `tape_command` and the list `tape_list` say which these are, as in the tool.
/// Returns the files, those of them whose data are on tape in the order of their recall, other files with their kinds, and what could not
/// be read with the reason.
#[pyfunction]
#[pyo3(signature = (root, archives, tape_command=None, tape_list=None))]
pub(crate) fn files_of_tree(
    py: Python<'_>,
    root: PathBuf,
    archives: bool,
    tape_command: Option<String>,
    tape_list: Option<PathBuf>,
) -> PyResult<(Vec<OsString>, Vec<OsString>, PathReasons, PathReasons)> {
    let wanted: fn(&Path) -> bool = if archives { walk::is_netcdf } else { walk::looks_classic };
    let unfit = |e: nc3z_collections::tree::Error| Failure::Unfit(e.with_causes());
    let names = tape_list.map_or_else(|| Ok(Vec::new()), std::fs::read)?;
    let found = py.detach(|| {
        Residency::new(tape_command.as_deref(), &walk::names_in(&names, false)).set();
        let Listed { files, failures, others, .. } = walk::list(&[root], true, &wanted)?;
        Ok((sorted(files, PathBuf::as_path, Offline::Last)?, failures, others))
    });
    let ((files, last), failures, others) = found.map_err(unfit)?;
    let online = files.len() - last.map_or(0, |last| last.count);
    let offline = files[online..].iter().map(|path| path.clone().into()).collect();
    let others = others.into_iter().map(|other| (other.path.into(), other.kind.to_string())).collect();
    let failures = failures.into_iter().map(|(path, e)| (path.into(), e.with_causes())).collect();
    Ok((files.into_iter().map(Into::into).collect(), offline, others, failures))
}
