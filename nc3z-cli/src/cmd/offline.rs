//! Inputs whose data are on tape: reading them recalls them.

use crate::args::OfflineArg;
use crate::output::table::count;
use anyhow::{Result, bail};
use nc3z_tree::members::is_offline;
use std::path::Path;

/// Refuses offline files, leaves them out, or puts them last. `path_of` returns the path of a file.
pub(super) fn without_recalls<T>(
    files: Vec<T>,
    path_of: impl Fn(&T) -> &Path,
    to_do: OfflineArg,
) -> Result<Vec<T>> {
    let (offline, mut online): (Vec<T>, Vec<T>) =
        files.into_iter().partition(|file| is_offline(path_of(file)));
    let Some(first) = offline.first() else { return Ok(online) };
    let (n, first) = (count(offline.len() as u64, "file"), path_of(first).display().to_string());
    match to_do {
        OfflineArg::Refuse => bail!(
            "{n} of the inputs have no data on disk, such as `{first}`: reading them recalls them from tape. Recall them first, or use --offline skip or --offline last"
        ),
        OfflineArg::Skip => note!("nc3z: {n} without data on disk left out, such as {first}"),
        OfflineArg::Last => {
            note!("nc3z: {n} without data on disk are read last, in their order, such as {first}");
            online.extend(offline);
        }
    }
    Ok(online)
}
