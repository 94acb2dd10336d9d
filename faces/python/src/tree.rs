//! The files of a tree, as the tool finds them.

use crate::error::Failure;
use nc3z_collections::tree::offline::is_offline;
use nc3z_collections::tree::walk::{self, Listed};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Paths, each with a text.
type PathReasons = Vec<(OsString, String)>;

/// Finds the files of a tree in the order of their names, without following links and without opening files whose data are on
/// tape: classic files, with `archives` archives, too. Returns these files, those of them whose data are on tape, other files with their
/// kinds, and what could not be read with the reason.
#[pyfunction]
pub(crate) fn files_of_tree(
    py: Python<'_>,
    root: PathBuf,
    archives: bool,
) -> PyResult<(Vec<OsString>, Vec<OsString>, PathReasons, PathReasons)> {
    let wanted: fn(&Path) -> bool = if archives { walk::is_netcdf } else { walk::looks_classic };
    let listed = py.detach(|| walk::list(&[root], true, &wanted));
    let Listed { files, failures, others, .. } = listed.map_err(|e| Failure::Unfit(e.with_causes()))?;
    let offline = files.iter().filter(|path| is_offline(path)).map(|path| path.clone().into()).collect();
    let others = others.into_iter().map(|other| (other.path.into(), other.kind.to_string())).collect();
    let failures = failures.into_iter().map(|(path, e)| (path.into(), e.with_causes())).collect();
    Ok((files.into_iter().map(Into::into).collect(), offline, others, failures))
}
