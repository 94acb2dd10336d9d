//! Inputs of `bundle`, in their order.

use crate::args::BundleArgs;
use crate::cmd::failures::Failures;
use crate::cmd::offline::without_recalls;
use crate::cmd::targets;
use crate::cmd::tree::Other;
use anyhow::{Result, bail};
use nc3z_collections::bundle::Bundled;
use nc3z_collections::tree::members::members;
use nc3z_collections::tree::patterns::Named;
use std::path::PathBuf;

/// The files of a bundle, and those that are left out.
pub(super) struct Inputs {
    /// All files in the order in which they were named or listed, each once, without the output.
    pub(super) files: Vec<Bundled>,
    pub(super) others: Vec<Other>,
    pub(super) failures: Failures,
}

/// Finds the files. Files that cannot be read or named are reported.
pub(super) fn find(args: &BundleArgs) -> Result<Inputs> {
    let mut named = targets::expand(&args.inputs)?;
    if let Some(list) = &args.files_from {
        let names = targets::read_names(list, false)?;
        // A listed relative name is kept with its directories.
        let with_root = |path: PathBuf| Named { root: path.is_relative().then(PathBuf::new), path };
        named.extend(names.into_iter().map(with_root));
    }
    named.iter().try_for_each(|named| crate::cmd::url::refuse(&named.path))?;
    let found = members(named, &args.output)?;
    targets::print(&found.notices);
    let failures: Vec<_> = found.failures.into_iter().map(|(path, e)| (path, e.into())).collect();
    let failures = Failures::new(&failures);
    let files = without_recalls(found.files, |file| &file.path, &args.tape)?;
    if files.is_empty() && failures.len() == 0 {
        let others = Other::words(&found.others).map(|words| format!(": {words}")).unwrap_or_default();
        bail!("none of the named files is an archive or a classic file{others}");
    }
    Ok(Inputs { files, others: found.others, failures })
}
