//! The directories of this run's outputs ([`nc3z_tree::places`]), with a note of each file that was removed from them.

use anyhow::Result;
use nc3z_tree::places::{self, Places};
use std::path::{Path, PathBuf};

pub(crate) use nc3z_tree::places::check;

static PLACES: Places = Places::new();

/// The directories of this run.
pub(crate) fn all() -> &'static Places {
    &PLACES
}

/// Creates the directory of an output, and removes temporary files of killed runs from it.
pub(crate) fn prepare(output: &Path) -> Result<()> {
    Ok(make(output)?)
}

/// The same, for links.
pub(super) fn make(output: &Path) -> nc3z_tree::Result<()> {
    print(&PLACES.prepare(output)?);
    Ok(())
}

/// Removes the temporary files that killed runs left anywhere in a tree.
pub(crate) fn clean(root: &Path) {
    print(&places::clean(root));
}

/// Removes the directories that this run created and wrote nothing to.
pub(crate) fn remove_empty() {
    PLACES.remove_empty();
}

pub(super) fn print(removed: &[PathBuf]) {
    for path in removed {
        note!("nc3z: removed {}, left by a run that was killed", crate::cmd::shown(path));
    }
}
