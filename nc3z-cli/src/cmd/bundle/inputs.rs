//! Inputs of `bundle`, in their order.

use crate::args::BundleArgs;
use crate::cmd::offline::without_recalls;
use crate::cmd::targets;
use anyhow::{Result, bail};
use nc3z_aggregate::bundle::Bundled;
use nc3z_tree::members::members;
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
    let files = without_recalls(found.files, |file| &file.path, args.tape)?;
    if files.is_empty() {
        bail!("none of the named files is an archive or a classic file");
    }
    Ok(files)
}
