//! Whether a file is still the one that was indexed, by its length and the time of its last change. No file is opened, so that none is
//! recalled from tape.

use crate::bundle::Stamp as FileStamp;
use crate::catalog::{Head, UNKNOWN_TIME};
use nc3z_format::url::is_url;
use std::path::Path;

/// Nanoseconds of a millisecond.
const MILLI: i64 = 1_000_000;

/// The length and the time of the last change of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) len: u64,
    /// Nanoseconds since 1970; [`UNKNOWN_TIME`] where it is not known.
    pub(crate) modified: i64,
}

impl Stamp {
    /// The stamp of a local file. None for others.
    pub(crate) fn new(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let modified = FileStamp::from_metadata(&metadata).nanos().unwrap_or(UNKNOWN_TIME);
        Some(Stamp { len: metadata.len(), modified })
    }
}

/// Returns true if a file of a catalogue has another length or another time than when it was indexed. Its name starts at the current
/// directory, otherwise at that of the catalogue. A file that is not on disk, or whose time the catalogue does not have, is not said to
/// have changed.
pub fn has_changed(catalog: &Path, name: &str, head: &Head) -> bool {
    // A catalogue at a URL names files on its server. A local file of the same name is another file.
    if head.modified == UNKNOWN_TIME || catalog.to_str().is_some_and(is_url) {
        return false;
    }
    let (object, member) =
        name.split_once("!/").map_or((name, None), |(object, member)| (object, Some(member)));
    let beside = || Stamp::new(&catalog.parent()?.join(object));
    let Some(now) = Stamp::new(Path::new(object)).or_else(beside) else { return false };
    // Some copies keep only the seconds, others the milliseconds.
    let (a, b) = (now.modified.div_euclid(MILLI), head.modified.div_euclid(MILLI));
    let is_whole = |ms: i64| ms % 1000 == 0;
    let same_time = a == b || a.div_euclid(1000) == b.div_euclid(1000) && (is_whole(a) || is_whole(b));
    !same_time || member.is_none() && now.len != head.stored
}
