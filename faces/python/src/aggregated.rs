//! Aggregations: files whose variables have their data in other files. Bundles, whose members are read in
//! place.

use crate::source::Settings;
use nc3z::Name;
use nc3z::opener::Opener;
use nc3z_collections::bundle::Bundle;
use nc3z_collections::{Error as AggregateError, Missing, Options, as_aggregation};
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, Dataset, Error, ErrorKind, OpenOptions, Result, VersionName};
use std::path::Path;
use std::sync::Arc;

/// The place where the fragments of an aggregation are searched, and the settings for reading from a server.
#[derive(Clone)]
pub(crate) struct Place {
    base: nc3z_collections::FragmentBase,
    settings: Settings,
    /// The version that the file's name requests.
    version: Option<VersionName>,
}

impl From<nc3z_collections::FragmentBase> for Place {
    fn from(place: nc3z_collections::FragmentBase) -> Self {
        Place { base: place, settings: Settings::default(), version: None }
    }
}

impl Place {
    /// Memory, which has no directory.
    pub(crate) fn memory() -> Self {
        nc3z_collections::FragmentBase::Memory.into()
    }

    /// The version that the file's name requests.
    pub(crate) fn version(&self) -> Option<&VersionName> {
        self.version.as_ref()
    }

    /// Returns true for a member of a bundle.
    pub(crate) fn is_bundle(&self) -> bool {
        matches!(self.base, nc3z_collections::FragmentBase::Bundle(..))
    }

    /// Returns the offset of the file in its bundle, or 0.
    pub(crate) fn offset(&self) -> Result<u64> {
        Ok(self.base.offset()?)
    }

    /// Returns the bytes of a bundle's member as they are in the bundle. None for other files.
    pub(crate) fn as_stored(&self) -> Result<Option<SharedSource>> {
        Ok(self.base.as_stored()?)
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
        Ok(self.base.present(dataset, name, Arc::new(open), options)?)
    }

    /// Opens a tree file by its path or URL. On a server the settings of the dataset are used.
    pub(crate) fn open_tree(&self, name: &str) -> Result<SharedSource> {
        if nc3z_remote::is_url(name) {
            return open_url(name, &self.settings);
        }
        source::open(Path::new(name), false)
    }
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

/// Opens a member of an open bundle. Messages call the bundle `shown`.
pub(crate) fn open_member_of(bundle: &Arc<Bundle>, shown: &str, name: &str) -> Result<(SharedSource, Place)> {
    let source = bundle.require(name, shown).map_err(|e| not_found(e.into()))?;
    Ok((source, nc3z_collections::FragmentBase::Bundle(Arc::clone(bundle), name.to_owned()).into()))
}

/// Opens an input by its name.
pub(crate) fn open_name(name: &Name, opener: &Opener, settings: &Settings) -> Result<(SharedSource, Place)> {
    let (source, place) = opener.located(name).map_err(not_found)?;
    let version = name.requested().cloned();
    Ok((source, Place { base: place, settings: settings.clone(), version }))
}

/// A member that does not exist is a file that is not found.
fn not_found(e: Error) -> Error {
    let ErrorKind::Other(other) = e.kind() else { return e };
    match other.downcast_ref() {
        Some(AggregateError::NoMember { name, known, .. }) => {
            let words = format!("the bundle has no member `{name}`; it has {known}");
            Error::io("open", None, std::io::Error::new(std::io::ErrorKind::NotFound, words))
        }
        _ => e,
    }
}

fn open_url(url: &str, settings: &Settings) -> Result<SharedSource> {
    nc3z_remote::open(url, &settings.options_or_default())
}
