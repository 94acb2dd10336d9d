//! What a run through a tree prints: skipped files, links, and the summary at its end.

use super::places;
use crate::args::OthersArg;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::tells_more;
use anyhow::Result;
use nc3z_tree::links::{self, Made};
use nc3z_tree::manifest::relist::{Replaced, relist};
use std::path::{Path, PathBuf};

pub(crate) use nc3z_tree::{FileKind, Other, Summary};

/// Lists the skipped files, if requested. Returns a failure if they count as one.
pub(crate) fn judge(others: &[Other], arg: Option<OthersArg>) -> Exit {
    if arg.is_none() && !tells_more() {
        return Exit::Done;
    }
    for other in others {
        note!("{}: passed over, {}", crate::cmd::shown(&other.path), links::words(other));
    }
    // A link inside the tree loses no data.
    let is_lost = others.iter().any(|other| other.kind != FileKind::InsideLink);
    if arg == Some(OthersArg::Fail) && is_lost { Exit::Failed } else { Exit::Done }
}

/// Prints the summary in one line.
pub(crate) fn tell(summary: &Summary) {
    tell!("nc3z: {summary}");
}

/// Makes a link again and counts it; see [`links::make`].
pub(crate) fn make_link(
    other: &Other,
    to: &Path,
    rename: &dyn Fn(&Path) -> nc3z_tree::Result<PathBuf>,
    force: bool,
    summary: &mut Summary,
) -> Result<()> {
    match links::make(other, to, rename, force, &places::make)? {
        Made::New => summary.link_made(),
        Made::Present => summary.link_present(),
        _ => tell_leads_out(&other.path),
    }
    Ok(())
}

/// Brings the manifests that list changed archives up to date, and prints which; see [`relist`].
pub(crate) fn relisted(replaced: &[Replaced]) -> nc3z_tree::Result<()> {
    relist(replaced, &Progress::new(0, String::new()), &mut |notice| {
        let label = if notice.is_warning() { "warning: " } else { "" };
        note!("nc3z: {label}{notice}");
    })
}

/// Reports a link that is not made again.
pub(super) fn tell_leads_out(link: &Path) {
    note!("{}: a link whose path leads out of the tree; it is not made again", crate::cmd::shown(link));
}
