//! Aggregations: files whose variables have their data in other files. Bundles, whose members are read in
//! place.

use nc3z::Name;
use nc3z::opener::Opener;
use nc3z_collections::bundle::Bundle;
use nc3z_collections::{Error as AggregateError, FragmentBase, Missing, Options};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Dataset, Error, ErrorKind, OpenOptions, Result, VersionName};
use std::sync::Arc;

/// The place where the fragments of an aggregation are searched, and the opener with the settings of its store.
#[derive(Clone)]
pub(crate) struct Place {
    base: FragmentBase,
    opener: Opener,
    /// The version that the file's name requests.
    version: Option<VersionName>,
}

impl From<FragmentBase> for Place {
    fn from(base: FragmentBase) -> Self {
        Place { base, opener: Opener::new(OpenOptions::default()), version: None }
    }
}

impl Place {
    /// Memory, which has no directory.
    pub(crate) fn memory() -> Self {
        FragmentBase::Memory.into()
    }

    /// The version that the file's name requests.
    pub(crate) fn version(&self) -> Option<&VersionName> {
        self.version.as_ref()
    }

    /// Returns true for a member of a bundle.
    pub(crate) fn is_bundle(&self) -> bool {
        matches!(self.base, FragmentBase::Bundle(..))
    }

    /// Returns the offset of the file in its bundle, or 0.
    pub(crate) fn offset(&self) -> Result<u64> {
        Ok(self.base.offset()?)
    }

    /// Opens the variables in these bytes as stored, with these options.
    pub(crate) fn open(&self, source: &SharedSource, name: &str, options: OpenOptions) -> Result<Dataset> {
        self.opener.clone().with_options(options).stored_from(Arc::clone(source), &Name::whole(name))
    }

    /// Presents an aggregation with the data of its fragments, and any other file unchanged.
    pub(crate) fn present(
        &self,
        dataset: Dataset,
        name: &str,
        reading: Reading,
        open: OpenOptions,
    ) -> Result<Dataset> {
        let mut options = Options::default();
        options.open = open;
        options.outside = reading.outside;
        options.missing = if reading.fill_missing { Missing::Fill } else { Missing::Refuse };
        let opener = self.opener.clone().with_fragments((!reading.as_stored).then_some(options));
        opener.present_at(dataset, &self.base, name)
    }

    /// Opens a tree file by its path or URL. On a server the settings of the dataset are used.
    pub(crate) fn open_tree(&self, name: &str) -> Result<SharedSource> {
        let opener = self.opener.clone().with_options(OpenOptions::default().with_mmap(false));
        opener.source(&Name::whole(name))
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

/// Splits a name into bundle and member.
pub(crate) fn member_of(name: &str) -> Option<(&str, &str)> {
    name.split_once("!/")
}

/// Opens a member of an open bundle. Messages call the bundle `shown`.
pub(crate) fn open_member_of(bundle: &Arc<Bundle>, shown: &str, name: &str) -> Result<(SharedSource, Place)> {
    let source = bundle.require(name, shown).map_err(|e| not_found(e.into()))?;
    Ok((source, FragmentBase::Bundle(Arc::clone(bundle), name.to_owned()).into()))
}

/// Opens an input by its name.
pub(crate) fn open_name(name: &Name, opener: Opener) -> Result<(SharedSource, Place)> {
    let (source, base) = opener.located(name).map_err(not_found)?;
    let version = name.requested().cloned();
    Ok((source, Place { base, opener, version }))
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
