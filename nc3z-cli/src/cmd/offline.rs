//! Inputs whose data are on tape: reading them recalls them.

use crate::args::{OfflineArg, OfflineArgs};
use crate::output::text;
use anyhow::Result;
use nc3z_collections::tree::offline::{Offline, OfflineFiles, sorted};
use std::path::Path;

impl From<OfflineArg> for Offline {
    fn from(arg: OfflineArg) -> Self {
        match arg {
            OfflineArg::Refuse => Offline::Refuse,
            OfflineArg::Skip => Offline::Skip,
            OfflineArg::Last => Offline::Last,
        }
    }
}

/// Refuses offline files, leaves them out, or puts them last. `path_of` returns the path of a file.
pub(super) fn without_recalls<T>(
    files: Vec<T>,
    path_of: impl Fn(&T) -> &Path,
    args: &OfflineArgs,
) -> Result<Vec<T>> {
    let (files, offline) = sorted(files, path_of, args.on_tape.into())?;
    offline.iter().for_each(tell);
    Ok(files)
}

/// Reports files that are left out or read last.
pub(super) fn tell(files: &OfflineFiles) {
    note!("nc3z: {}", text::safe(&files.to_string()));
}
