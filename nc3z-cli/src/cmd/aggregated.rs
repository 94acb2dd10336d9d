//! Presents the variables of an aggregation with the data of its fragments.

use super::{member, url};
use crate::args::{FragmentArgs, OpenArgs, RemoteArgs};
use anyhow::Result;
use nc3z_collections::{FragmentBase, Missing, Notes, Options, is_aggregation};
use nc3z_reader::Dataset;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The maximal number of notes that are printed.
const MOST_NOTES: usize = 20;

/// Returns the dataset for a command; `path` is the name by which it was opened.
pub(crate) fn present(dataset: Dataset, path: &Path, args: &OpenArgs) -> Result<Dataset> {
    if args.fragments.as_stored || !is_aggregation(&dataset) {
        return Ok(dataset);
    }
    // Its fragments are in its bundle, on its server, or in its directory.
    let place = match (member::of(path), url::of(path)) {
        (Some((bundle, name)), _) => FragmentBase::Bundle(member::open(&bundle, args)?, name),
        (None, Some(url)) => FragmentBase::Server(url.to_owned()),
        (None, None) => FragmentBase::Disk(path.to_owned()),
    };
    let remote = RemoteArgs { settings: args.remote.settings.clone() };
    let open = move |url: &str| url::open(url, &remote).map_err(|e| crate::output::chain(&e));
    let options = options(&args.fragments, args);
    Ok(place.present(dataset, &url::shown(path), Arc::new(open), options)?)
}

/// Notes that were collected while fragments were read.
fn notes() -> &'static Notes {
    static NOTES: OnceLock<Notes> = OnceLock::new();
    NOTES.get_or_init(Notes::default)
}

/// Prints the notes at the end of a run.
pub(crate) fn tell_notes() {
    let notes = notes().take();
    for what in notes.iter().take(MOST_NOTES) {
        note!("nc3z: note: {}", crate::output::text::safe(what));
    }
    if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|n| *n > 0) {
        note!("nc3z: note: and {more} more like these");
    }
}

/// Returns the options for opening fragments.
pub(crate) fn options(fragments: &FragmentArgs, args: &OpenArgs) -> Options {
    let mut options = Options::default();
    options.open = crate::registry::with_read_repair(args.options(), Path::new("a fragment"));
    options.missing = if fragments.fill_missing { Missing::Fill } else { Missing::Refuse };
    options.outside = fragments.outside;
    options.notes = notes().clone();
    options
}
