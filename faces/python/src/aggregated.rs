//! Aggregations: files whose variables have their data in other files. Bundles, whose members are read in
//! place.

use crate::source::Settings;
use nc3z_collections::bundle::{Bundle, split_member};
use nc3z_collections::{Error as AggregateError, Missing, Options, as_aggregation};
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, Dataset, Error, OpenOptions, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The place where the fragments of an aggregation are searched, and the settings for reading from a server.
#[derive(Clone)]
pub(crate) struct Place {
    place: nc3z_collections::FragmentBase,
    settings: Settings,
}

impl From<nc3z_collections::FragmentBase> for Place {
    fn from(place: nc3z_collections::FragmentBase) -> Self {
        Place { place, settings: Settings::default() }
    }
}

impl Place {
    /// Memory, which has no directory.
    pub(crate) fn memory() -> Self {
        nc3z_collections::FragmentBase::Memory.into()
    }

    /// The object at a URL.
    pub(crate) fn server(url: String, settings: Settings) -> Self {
        Place { place: nc3z_collections::FragmentBase::Server(url), settings }
    }

    /// Returns true for a member of a bundle.
    pub(crate) fn is_bundle(&self) -> bool {
        matches!(self.place, nc3z_collections::FragmentBase::Bundle(..))
    }

    /// Returns the offset of the file in its bundle, or 0.
    pub(crate) fn offset(&self) -> Result<u64> {
        Ok(self.place.offset()?)
    }

    /// Returns the bytes of a bundle's member as they are in the bundle. None for other files.
    pub(crate) fn as_stored(&self) -> Result<Option<SharedSource>> {
        Ok(self.place.as_stored()?)
    }

    /// Presents an aggregation with the data of its fragments, and any other file unchanged.
    pub(crate) fn present(
        &self,
        dataset: Dataset,
        name: &str,
        reading: Reading,
        open: OpenOptions,
    ) -> Result<Dataset> {
        if reading.as_stored {
            return Ok(dataset);
        }
        let mut options = Options::default();
        options.open = open;
        options.outside = reading.outside;
        options.missing = if reading.fill_missing { Missing::Fill } else { Missing::Refuse };
        let settings = self.settings.clone();
        let open = move |url: &str| open_url(url, &settings).map_err(|e| e.with_causes());
        Ok(self.place.present(dataset, name, Arc::new(open), options)?)
    }

    /// Opens a tree file by its path or URL. On a server the settings of the dataset are used.
    pub(crate) fn open_tree(&self, name: &str) -> Result<SharedSource> {
        if nc3z_remote::is_url(name) {
            return open_url(name, &self.settings);
        }
        source::open(Path::new(name), false)
    }
}

/// Returns the file on disk for a name: for a member, its bundle.
pub(crate) fn on_disk(path: &Path) -> PathBuf {
    split_member(path).map_or_else(|| path.to_owned(), |(bundle, _)| bundle)
}

/// Opens a file on disk or the member of a bundle by position, without the copies in a bundle's index: for
/// commands that check bytes.
pub(crate) fn open_as_stored(path: &Path) -> Result<SharedSource> {
    let (source, place) = open_path(path, false)?;
    Ok(place.as_stored()?.unwrap_or(source))
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

/// Opens a member of the bundle with these bytes.
pub(crate) fn open_member(bundle: SharedSource, name: &str) -> Result<(SharedSource, Place)> {
    with_place(nc3z_collections::FragmentBase::open_member(bundle, "the bundle", name))
}

/// Opens a member of an open bundle. Messages call the bundle `shown`.
pub(crate) fn open_member_of(bundle: &Arc<Bundle>, shown: &str, name: &str) -> Result<(SharedSource, Place)> {
    with_place(nc3z_collections::FragmentBase::member_of(bundle, shown, name))
}

/// Opens a file on disk, or a member of a bundle, by name.
pub(crate) fn open_path(path: &Path, mmap: bool) -> Result<(SharedSource, Place)> {
    with_place(nc3z_collections::FragmentBase::open(path, mmap))
}

/// A member that does not exist is a file that is not found.
fn with_place(
    opened: nc3z_collections::Result<(SharedSource, nc3z_collections::FragmentBase)>,
) -> Result<(SharedSource, Place)> {
    match opened {
        Ok((source, place)) => Ok((source, place.into())),
        Err(AggregateError::NoMember { name, known, .. }) => {
            let words = format!("the bundle has no member `{name}`; it has {known}");
            Err(Error::io("open", None, std::io::Error::new(std::io::ErrorKind::NotFound, words)))
        }
        Err(e) => Err(e.into()),
    }
}

fn open_url(url: &str, settings: &Settings) -> Result<SharedSource> {
    nc3z_remote::open(url, &settings.options_or_default())
}
