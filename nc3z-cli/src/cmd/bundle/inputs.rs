//! Inputs of `bundle`: in which order, which of them are offline, and which bundle each goes to.

use crate::args::{BundleArgs, OfflineArg};
use crate::cmd::targets;
use crate::output::table::count;
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::Bundled;
use std::path::{Path, PathBuf};

/// Shorter files may be stored without a block of their own on disk, and are never taken for offline.
const SHORTEST_OFFLINE: u64 = 4096;
/// Endings of names of offline files that are taken from directories: looking into them would recall them.
const ENDINGS: [&str; 5] = ["nc", "cdf", "nc3", "netcdf", "nc3z"];

/// All files in the order in which they were named or listed, each once, without the output.
pub(super) fn files(args: &BundleArgs) -> Result<Vec<Bundled>> {
    let output = args.output.canonicalize().ok();
    let mut named = targets::expand(&args.inputs)?;
    if let Some(list) = &args.files_from {
        let names = targets::read_names(list, false)?;
        named.extend(names.into_iter().map(|path| {
            // A listed relative name is kept with its directories.
            let root = path.is_relative().then(PathBuf::new);
            nc3z_tree::patterns::Named { path, root }
        }));
    }
    let mut files = Vec::new();
    for nc3z_tree::patterns::Named { path: input, root } in named {
        crate::cmd::url::refuse(&input)?;
        let (found, own) = if input.is_dir() {
            (below(&input)?, input.as_path())
        } else {
            (vec![input.clone()], input.parent().unwrap_or(Path::new("")))
        };
        // A file found by a pattern keeps its directories after the first wildcard.
        let root = root.as_deref().unwrap_or(own);
        for path in found {
            if output.is_some() && path.canonicalize().ok() == output {
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let inside = inside.strip_prefix(".").unwrap_or(inside);
            let name =
                inside.to_str().with_context(|| format!("the name `{}` is no UTF-8", path.display()))?;
            files.push(Bundled { name: name.to_owned(), path });
        }
    }
    let files = without_recalls(files, args.offline)?;
    if files.is_empty() {
        bail!("none of the named files is an archive or a classic file");
    }
    Ok(files)
}

/// Archives and classic files below a directory. Offline files are known by their names.
fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let has_ending = |path: &Path| path.extension().is_some_and(|e| ENDINGS.iter().any(|known| e == *known));
    let is_wanted = |path: &Path| if is_offline(path) { has_ending(path) } else { targets::is_netcdf(path) };
    let mut found = targets::list(&[directory.to_owned()], true, &is_wanted)?;
    match found.failures.pop() {
        Some((path, e)) => Err(e.context(format!("`{}`", path.display()))),
        None => Ok(found.files),
    }
}

/// Whether a file has a length and no block on disk: its data are on tape, and reading it recalls them.
#[cfg(unix)]
fn is_offline(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.len() > SHORTEST_OFFLINE && m.blocks() == 0)
}

#[cfg(not(unix))]
fn is_offline(_: &Path) -> bool {
    false
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
