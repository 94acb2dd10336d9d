//! Where a file that was opened is an aggregation, its variables are presented with the data of its fragments.

use super::member;
use crate::args::{FragmentArgs, OpenArgs};
use anyhow::Result;
use nc3z_aggregate::{Missing, Options, is_aggregation, wrap};
use nc3z_reader::Dataset;
use std::path::Path;
use std::sync::Arc;

/// The dataset as commands read it; `path` is the name it was opened by.
pub(crate) fn present(dataset: Dataset, path: &Path, args: &OpenArgs) -> Result<Dataset> {
    if args.fragments.as_stored || !is_aggregation(&dataset) {
        return Ok(dataset);
    }
    let mut options = options(&args.fragments, args);
    // Beside it: in its bundle, or in its directory.
    if let Some((bundle, name)) = member::of(path) {
        let bundle = Arc::new(member::open(&bundle)?);
        options.opener = Some(Arc::new(nc3z_aggregate::bundle::Members::beside(bundle, &name)));
        return Ok(wrap(dataset, &path.to_string_lossy(), None, &options)?);
    }
    Ok(wrap(dataset, &path.to_string_lossy(), path.parent(), &options)?)
}

/// How fragments are opened.
pub(crate) fn options(fragments: &FragmentArgs, args: &OpenArgs) -> Options {
    let mut options = Options::default();
    options.open = args.options();
    options.missing = if fragments.fill_missing { Missing::Fill } else { Missing::Refuse };
    options.outside = fragments.outside;
    options
}
