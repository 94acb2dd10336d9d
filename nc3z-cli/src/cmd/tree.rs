//! What a run through a tree prints: skipped files, links, and the summary at its end.

use crate::args::{PassedOverArg, SkipArg};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::tells_more;
use nc3z_collections::tree::links;
use nc3z_collections::tree::manifest::relist::{Replaced, relist};
use nc3z_collections::tree::present::Evidence;
use std::path::Path;

pub(crate) use nc3z_collections::tree::{FileKind, Other, Summary};

/// Lists the skipped files, if requested. Returns a failure if they count as one.
pub(crate) fn judge(others: &[Other], arg: Option<PassedOverArg>) -> Exit {
    if arg.is_none() && !tells_more() {
        return Exit::Done;
    }
    for other in others {
        note!("{}: passed over, {}", crate::cmd::shown(&other.path), links::words(other));
    }
    // A link inside the tree loses no data.
    let is_lost = others.iter().any(|other| other.kind != FileKind::InsideLink);
    if arg == Some(PassedOverArg::Fail) && is_lost { Exit::Failed } else { Exit::Done }
}

/// Prints the summary in one line.
pub(crate) fn tell(summary: &Summary) {
    tell!("nc3z: {summary}");
}

/// Prints the summary of a run that keeps what exists: also how to replace it, and how to continue after an
/// interruption.
pub(crate) fn tell_run(summary: &Summary, is_forced: bool) {
    let redo = if summary.kept.0 > 0 { " (--force writes what is there again)" } else { "" };
    tell!("nc3z: {summary}{redo}");
    if interrupted() && summary.not_tried + summary.interrupted > 0 {
        let how = if is_forced { ", with --skip-existing instead of --force," } else { "" };
        note!("nc3z: stopped; the same command{how} continues with the files that are left");
    }
}

/// Returns the test by which an existing output is kept. Without the option it is `header` for a run through
/// many files, unless all are to be replaced.
pub(crate) fn evidence(arg: Option<SkipArg>, is_run: bool, is_forced: bool) -> Option<Evidence> {
    match arg {
        Some(SkipArg::Header) => Some(Evidence::Header),
        Some(SkipArg::Digest) => Some(Evidence::Digest),
        Some(SkipArg::Name) => Some(Evidence::Name),
        None => (is_run && !is_forced).then_some(Evidence::Header),
    }
}

/// Brings the manifests that list changed archives up to date, and prints which; see [`relist`].
pub(crate) fn relisted(replaced: &[Replaced]) -> nc3z_collections::tree::Result<()> {
    relist(replaced, &Progress::new(0, "manifest".to_owned()), &mut |notice| {
        let label = if notice.is_warning() { "warning: " } else { "" };
        note!("nc3z: {label}{notice}");
    })
}

/// Reports a link that is not made again.
pub(super) fn tell_leads_out(link: &Path) {
    note!("{}: a link whose path leads out of the tree; it is not made again", crate::cmd::shown(link));
}
