//! Aggregations: files whose variables have their data in other files. Bundles, whose members are read in
//! place.

use crate::source::Settings;
use nc3z_aggregate::bundle::{Bundle, Members, split_member};
use nc3z_aggregate::{Missing, OpenFragment, Options, Urls, as_aggregation, is_aggregation, wrap};
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, Dataset, Error, OpenOptions, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The place where the fragments of an aggregation are searched.
#[derive(Clone)]
pub(crate) enum Beside {
    /// None: the aggregation is not in a directory.
    Nothing,
    /// The directory of the file with this path.
    File(PathBuf),
    /// The bundle; the name is the aggregation's.
    Bundle(Arc<Bundle>, String),
    /// The server of this URL.
    Server { url: String, settings: Settings },
}

impl Beside {
    /// Returns the offset of the file in its bundle, or 0.
    pub(crate) fn offset(&self) -> Result<u64> {
        let Beside::Bundle(bundle, name) = self else { return Ok(0) };
        let missing =
            || Error::io("open", None, std::io::Error::other(format!("the bundle has lost `{name}`")));
        bundle.offset(name)?.ok_or_else(missing)
    }

    /// Returns the bytes of a bundle's member as they are in the bundle. None for other files.
    pub(crate) fn as_stored(&self) -> Result<Option<SharedSource>> {
        let Beside::Bundle(bundle, name) = self else { return Ok(None) };
        Ok(bundle.member_as_stored(name)?)
    }
}

/// Returns the file on disk for a name: for a member, its bundle.
pub(crate) fn on_disk(path: &Path) -> PathBuf {
    split_member(path).map_or_else(|| path.to_owned(), |(bundle, _)| bundle)
}

/// Opens a file on disk or the member of a bundle by position, without the copies in a bundle's index: for
/// commands that check bytes.
pub(crate) fn open_as_stored(path: &Path) -> Result<SharedSource> {
    let Some((bundle, member)) = split_member(path) else {
        return source::open(path, false);
    };
    let (source, bundle) = open_member(source::open(&bundle, false)?, &member)?;
    Ok(bundle.member_as_stored(&member)?.unwrap_or(source))
}

/// Options for reading an aggregation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Read the variables that describe it, without its fragments.
    pub(crate) as_stored: bool,
    /// Fragments may be outside its directory.
    pub(crate) outside: bool,
    /// Return missing values where a fragment does not exist.
    pub(crate) fill_missing: bool,
}

/// Returns the archive that is open, or that an open aggregation is stored in.
pub(crate) fn archive_of(dataset: &Dataset) -> Option<&Archive> {
    dataset.archive().or_else(|| as_aggregation(dataset)?.archive())
}

/// Splits a name into bundle and member.
pub(crate) fn member_of(name: &str) -> Option<(&str, &str)> {
    name.split_once("!/")
}

/// Returns the bytes of a member, and the bundle.
pub(crate) fn open_member(source: SharedSource, name: &str) -> Result<(SharedSource, Arc<Bundle>)> {
    let bundle = Arc::new(Bundle::open(source)?);
    let Some(member) = bundle.member(name)? else {
        let names = bundle.names().iter().take(20).cloned().collect::<Vec<_>>().join(", ");
        let words = format!("the bundle has no member `{name}`; there are {names}");
        return Err(Error::io("open", None, std::io::Error::new(std::io::ErrorKind::NotFound, words)));
    };
    Ok((member, bundle))
}

/// Presents an aggregation with the data of its fragments, and any other file unchanged.
pub(crate) fn present(
    dataset: Dataset,
    name: &str,
    beside: &Beside,
    reading: Reading,
    open: OpenOptions,
) -> Result<Dataset> {
    if reading.as_stored || !is_aggregation(&dataset) {
        return Ok(dataset);
    }
    let mut options = Options::default();
    options.open = open;
    options.outside = reading.outside;
    options.missing = if reading.fill_missing { Missing::Fill } else { Missing::Refuse };
    let (url, settings) = match beside {
        Beside::Server { url, settings } => (Some(url.as_str()), settings.clone()),
        _ => (None, Settings::default()),
    };
    let opener: Arc<dyn OpenFragment> = if let Beside::Bundle(bundle, member) = beside {
        Arc::new(Members::beside(Arc::clone(bundle), member))
    } else {
        let open = move |url: &str| open_url(url, &settings).map_err(|e| e.with_causes());
        Arc::new(Urls::beside(url, reading.outside, Arc::new(open)))
    };
    options.opener = Some(opener);
    let base = if let Beside::File(path) = beside { path.parent() } else { None };
    Ok(wrap(dataset, name, base, &options)?)
}

fn open_url(url: &str, settings: &Settings) -> Result<SharedSource> {
    nc3z_remote::open(url, &settings.options_or_default())
}

/// Opens a tree file by its path or URL. On a server the settings of the dataset are used.
pub(crate) fn open_tree(name: &str, beside: &Beside) -> Result<SharedSource> {
    if !nc3z_remote::is_url(name) {
        return source::open(Path::new(name), false);
    }
    let settings =
        if let Beside::Server { settings, .. } = beside { settings.clone() } else { Settings::default() };
    open_url(name, &settings)
}

/// Opens a file on disk, or a member of a bundle, by name.
pub(crate) fn open_path(path: &Path) -> Result<(SharedSource, Beside)> {
    let Some((bundle, member)) = split_member(path) else {
        return Ok((source::open(path, true)?, Beside::File(path.to_owned())));
    };
    let (source, bundle) = open_member(source::open(&bundle, true)?, &member)?;
    Ok((source, Beside::Bundle(bundle, member)))
}
