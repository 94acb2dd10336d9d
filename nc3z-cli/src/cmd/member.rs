//! Bundles and their members, opened by name: `set.zip!/a.nc.nc3z`.

use super::{named, url};
use crate::args::OpenArgs;
use crate::output::message::InFileExt;
use anyhow::Result;
use nc3z_collections::bundle::Bundle;
use nc3z_reader::source::SharedSource;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use nc3z::opener::{Damaged, split_member as of};

/// Returns the file on disk for a name: for a member, its bundle.
pub(crate) fn on_disk(path: &Path) -> PathBuf {
    of(path).map_or_else(|| path.to_owned(), |(bundle, _)| bundle)
}

/// Opens a bundle. The last one is kept open, since its members are read one after another, and an
/// aggregation in it refers to others.
pub(crate) fn open(path: &Path, args: &OpenArgs) -> Result<Arc<Bundle>> {
    open_as(path, args, Damaged::Refused)
}

/// Opens a bundle as [`open`] does; a damaged one as `damaged` says.
pub(crate) fn open_as(path: &Path, args: &OpenArgs, damaged: Damaged) -> Result<Arc<Bundle>> {
    let opener = named::opener(path, args).with_damaged(damaged);
    opener.bundle(path).in_file(path)
}

/// Returns the bytes of a member.
pub(crate) fn source(bundle: &Path, name: &str, args: &OpenArgs) -> Result<SharedSource> {
    Ok(open(bundle, args)?.require(name, &url::shown(bundle))?)
}

/// Returns the members of a bundle as names of inputs. None for a file that is not a bundle.
pub(crate) fn members(path: &Path, args: &OpenArgs) -> Result<Option<Vec<PathBuf>>> {
    if !super::unbundle::is_bundle(path) {
        return Ok(None);
    }
    let bundle = open(path, args)?;
    Ok(Some(bundle.names().in_file(path)?.iter().map(|name| inside(path, name)).collect()))
}

/// Returns the name of a member as an input.
pub(crate) fn inside(bundle: &Path, name: &str) -> PathBuf {
    let mut whole = bundle.as_os_str().to_owned();
    whole.push("!/");
    whole.push(name);
    whole.into()
}
