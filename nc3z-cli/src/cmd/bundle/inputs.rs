//! Inputs of `bundle`: in which order, and which of them are offline.

use crate::args::{BundleArgs, OfflineArg};
use crate::cmd::targets;
use crate::output::table::count;
use anyhow::{Result, bail};
use nc3z_aggregate::bundle::Bundled;
use nc3z_tree::members::{is_offline, members};
use nc3z_tree::patterns::Named;
use std::path::PathBuf;

/// All files in the order in which they were named or listed, each once, without the output.
pub(super) fn files(args: &BundleArgs) -> Result<Vec<Bundled>> {
    let mut named = targets::expand(&args.inputs)?;
    if let Some(list) = &args.files_from {
        let names = targets::read_names(list, false)?;
        // A listed relative name is kept with its directories.
        let with_root = |path: PathBuf| Named { root: path.is_relative().then(PathBuf::new), path };
        named.extend(names.into_iter().map(with_root));
    }
    named.iter().try_for_each(|named| crate::cmd::url::refuse(&named.path))?;
    let mut found = members(named, &args.output)?;
    targets::print(&found.notices);
    if let Some((path, e)) = found.failures.pop() {
        return Err(anyhow::Error::from(e).context(format!("`{}`", path.display())));
    }
    let files = without_recalls(found.files, args.offline)?;
    if files.is_empty() {
        bail!("none of the named files is an archive or a classic file");
    }
    Ok(files)
}

/// Refuses offline files, leaves them out, or puts them last.
fn without_recalls(files: Vec<Bundled>, to_do: OfflineArg) -> Result<Vec<Bundled>> {
    let (offline, mut online): (Vec<Bundled>, Vec<Bundled>) =
        files.into_iter().partition(|file| is_offline(&file.path));
    let Some(first) = offline.first() else { return Ok(online) };
    let (n, first) = (count(offline.len() as u64, "file"), first.path.display().to_string());
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
