//! Members of bundles: `set.zip!/a.nc.nc3z` is read directly from the bundle, on disk or on a server.

use super::{unbundle, url};
use crate::args::OpenArgs;
use anyhow::{Context, Result};
use nc3z_collections::bundle::{Bundle, split_member, split_name};
use nc3z_reader::source::{self, SharedSource};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Splits the name of a member into bundle and member. At a URL every name with the separator is one.
pub(crate) fn of(path: &Path) -> Option<(PathBuf, String)> {
    if url::of(path).is_some() { split_name(path) } else { split_member(path) }
}

/// Returns the file on disk for a name: for a member, its bundle.
pub(crate) fn on_disk(path: &Path) -> PathBuf {
    of(path).map_or_else(|| path.to_owned(), |(bundle, _)| bundle)
}

/// The way in which a damaged bundle is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damaged {
    /// It is an error.
    Refused,
    /// As far as there is a directory of members, to check them.
    Checked,
    /// As [`Damaged::Checked`]; lost data of members are replaced by fill values.
    Filled,
}

/// Opens a bundle. The last one is kept open, since its members are read one after another, and an
/// aggregation in it refers to others.
pub(crate) fn open(path: &Path, args: &OpenArgs) -> Result<Arc<Bundle>> {
    open_as(path, args, Damaged::Refused)
}

/// Opens a bundle as [`open`] does; a damaged one as `damaged` says.
pub(crate) fn open_as(path: &Path, args: &OpenArgs, damaged: Damaged) -> Result<Arc<Bundle>> {
    static LAST: Mutex<Option<(PathBuf, Damaged, Arc<Bundle>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, bundle)) = last.as_ref().filter(|(known, how, _)| known == path && *how == damaged) {
        return Ok(Arc::clone(bundle));
    }
    let source = match url::of(path) {
        Some(url) => url::open_for(url, args)?,
        None => source::open(path, false)?,
    };
    let opened =
        if damaged == Damaged::Refused { Bundle::open(source) } else { Bundle::open_damaged(source) };
    let bundle = opened.map_err(unbundle::of_aggregate).with_context(|| format!("`{}`", url::shown(path)))?;
    let bundle = Arc::new(if damaged == Damaged::Filled { bundle.filling_lost() } else { bundle });
    *last = Some((path.to_owned(), damaged, Arc::clone(&bundle)));
    Ok(bundle)
}

/// Returns the bytes of a member.
pub(crate) fn source(bundle: &Path, name: &str, args: &OpenArgs) -> Result<SharedSource> {
    Ok(open(bundle, args)?.require(name, &url::shown(bundle))?)
}
