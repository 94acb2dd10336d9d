//! Members of bundles: `set.zip!/a.nc.nc3z` is read directly from the bundle, on disk or on a server.

use super::url;
use crate::args::OpenArgs;
use anyhow::{Context, Result};
use nc3z_aggregate::bundle::{Bundle, split_member, split_name};
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

/// Opens a bundle. The last one is kept open, since its members are read one after another, and an
/// aggregation in it refers to others.
pub(crate) fn open(path: &Path, args: &OpenArgs) -> Result<Arc<Bundle>> {
    open_as(path, args, false)
}

/// Opens a bundle as [`open`] does. With `fill_lost`, its members have fill values in the place of lost data.
pub(crate) fn open_as(path: &Path, args: &OpenArgs, fill_lost: bool) -> Result<Arc<Bundle>> {
    static LAST: Mutex<Option<(PathBuf, Arc<Bundle>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |(known, bundle): &&(PathBuf, Arc<Bundle>)| known == path && bundle.fills_lost() == fill_lost;
    if let Some((_, bundle)) = last.as_ref().filter(is_it) {
        return Ok(Arc::clone(bundle));
    }
    let source = match url::of(path) {
        Some(url) => url::open_for(url, args)?,
        None => source::open(path, false)?,
    };
    let bundle = Bundle::open(source).with_context(|| format!("`{}`", url::shown(path)))?;
    let bundle = Arc::new(if fill_lost { bundle.filling_lost() } else { bundle });
    *last = Some((path.to_owned(), Arc::clone(&bundle)));
    Ok(bundle)
}

/// Returns the bytes of a member.
pub(crate) fn source(bundle: &Path, name: &str, args: &OpenArgs) -> Result<SharedSource> {
    Ok(open(bundle, args)?.require(name, &url::shown(bundle))?)
}
