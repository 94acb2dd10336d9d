//! What a run through a tree prints: skipped files, links, and the summary at its end.

use crate::args::OthersArg;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::tells_more;
use nc3z_tree::links;
use nc3z_tree::manifest::relist::{Replaced, relist};
use std::path::Path;

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
