//! Owners, ACLs and attributes of files, which `plan` and `archive` write and `restore` sets.

use crate::exit::{Exit, of_error};
use crate::output::report_error;
use crate::output::table::count;
use anyhow::Result;
use nc3z_collections::tree::acl::{self, Done};
use std::path::{Path, PathBuf};

/// The largest number of failures that are listed.
const LISTED: usize = 20;

/// Writes the ACLs of all files and directories of `roots` into files in `directory`.
pub(super) fn write(roots: &[PathBuf], directory: &Path) -> Result<Exit> {
    super::outputs::prepare(&directory.join(acl::FILES[0]))?;
    let done = acl::write(roots, directory)?;
    if done.other_acls > 0 {
        let files = count(done.other_acls, "file");
        note!("nc3z: warning: the NFSv4 ACLs of {files} are not in {}", acl::FILES[0]);
    }
    Ok(tell(done))
}

/// Sets those of all files and directories below `root`.
pub(super) fn apply(directory: &Path, root: &Path) -> Result<Exit> {
    Ok(tell(acl::apply(directory, root)?))
}

fn tell(done: Done) -> Exit {
    let more = done.failures.len().saturating_sub(LISTED) as u64;
    let mut worst = Exit::Done;
    for (n, (path, error)) in done.failures.into_iter().enumerate() {
        let error = anyhow::Error::from(error);
        worst = worst.max(of_error(&error));
        if n < LISTED {
            report_error(Some(&path), &error);
        }
    }
    if more > 0 {
        note!("nc3z: and {} more", count(more, "file"));
    }
    worst
}
