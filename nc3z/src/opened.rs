//! An input of any kind.

use crate::dataset::Dataset;
use crate::error::{At, Error, Result};
use crate::name::Name;
use crate::opener::{Found, Kind};
use crate::options::OpenOptions;
use std::path::Path;
#[cfg(feature = "collections")]
use std::sync::Arc;

/// The result of [`open_any`].
#[non_exhaustive]
pub enum Opened {
    /// A classic netCDF file.
    Classic(Dataset),
    /// An nc3z archive.
    Archive(Dataset),
    /// An aggregation, with the data of its fragments.
    Aggregation(Dataset),
    /// A bundle of files.
    #[cfg(feature = "collections")]
    Bundle(Bundle),
    /// A catalogue: descriptions of many files.
    #[cfg(feature = "collections")]
    Catalog(Catalog),
    /// A directory.
    Tree(Name),
    /// A file of another kind, and the error that names it.
    Other(Name, Error),
}

/// Opens an input of any kind: the same names as [`crate::open`], and also bundles, catalogues and directories.
///
/// ```
/// use nc3z::Opened;
/// match nc3z::open_any("../testdata/classic")? {
///     Opened::Classic(file) | Opened::Archive(file) | Opened::Aggregation(file) => println!("{file:?}"),
///     Opened::Bundle(bundle) => println!("{} files", bundle.len()),
///     other => println!("{}: {}", other.name(), other.kind()),
/// }
/// # Ok::<(), nc3z::Error>(())
/// ```
///
/// # Errors
/// There is no such input, or it is damaged.
pub fn open_any(name: impl AsRef<Path>) -> Result<Opened> {
    open_any_with(name, &OpenOptions::default())
}

/// Opens an input of any kind with options; see [`open_any`].
///
/// # Errors
/// As [`open_any`].
pub fn open_any_with(name: impl AsRef<Path>, options: &OpenOptions) -> Result<Opened> {
    let name = Name::parse(name)?;
    let shown = name.to_string();
    Ok(match options.opener().open(&name).at(Path::new(&shown))? {
        Found::Dataset(kind, inner) => {
            let dataset = Dataset::new(inner, name);
            match kind {
                Kind::Archive => Opened::Archive(dataset),
                Kind::Aggregation => Opened::Aggregation(dataset),
                _ => Opened::Classic(dataset),
            }
        }
        #[cfg(feature = "collections")]
        Found::Bundle(inner) => Opened::Bundle(Bundle { inner, name, options: options.clone() }),
        #[cfg(feature = "collections")]
        Found::Catalog(inner) => Opened::Catalog(Catalog { inner, name }),
        Found::Tree => Opened::Tree(name),
        Found::Other(e) => Opened::Other(name, Error::from(e).at(Path::new(&shown))),
    })
}

impl Opened {
    /// The name by which it was opened.
    pub fn name(&self) -> &Name {
        match self {
            Opened::Classic(file) | Opened::Archive(file) | Opened::Aggregation(file) => file.name(),
            #[cfg(feature = "collections")]
            Opened::Bundle(bundle) => &bundle.name,
            #[cfg(feature = "collections")]
            Opened::Catalog(catalog) => &catalog.name,
            Opened::Tree(name) | Opened::Other(name, _) => name,
        }
    }

    /// Returns the kind of the input.
    pub fn kind(&self) -> Kind {
        match self {
            Opened::Classic(_) => Kind::Classic,
            Opened::Archive(_) => Kind::Archive,
            Opened::Aggregation(_) => Kind::Aggregation,
            #[cfg(feature = "collections")]
            Opened::Bundle(_) => Kind::Bundle,
            #[cfg(feature = "collections")]
            Opened::Catalog(_) => Kind::Catalog,
            Opened::Tree(_) => Kind::Tree,
            Opened::Other(..) => Kind::Other,
        }
    }
}

/// An open bundle.
#[cfg(feature = "collections")]
#[derive(Clone)]
pub struct Bundle {
    inner: Arc<nc3z_collections::bundle::Bundle>,
    name: Name,
    options: OpenOptions,
}

#[cfg(feature = "collections")]
impl Bundle {
    /// The number of its members.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// True if it has no members.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Returns the names of its members.
    ///
    /// # Errors
    /// The bundle is damaged.
    pub fn names(&self) -> Result<&[String]> {
        let shown = self.name.to_string();
        self.inner.names().map_err(nc3z_reader::Error::from).at(Path::new(&shown))
    }

    /// Opens a member.
    ///
    /// # Errors
    /// There is no such member; as [`crate::open`].
    pub fn open(&self, member: &str) -> Result<Dataset> {
        let name = self.name.with_member(member);
        let shown = name.to_string();
        let opened = self.options.opener().dataset_in(&self.inner, &name).at(Path::new(&shown))?;
        Ok(Dataset::new(opened, name))
    }
}

/// An open catalogue.
#[cfg(feature = "collections")]
pub struct Catalog {
    inner: nc3z_collections::catalog::Catalog,
    name: Name,
}

#[cfg(feature = "collections")]
impl Catalog {
    /// The number of files that it describes.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// True if it describes no file.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Returns the names of the files that it describes.
    ///
    /// # Errors
    /// The catalogue is damaged.
    pub fn names(&self) -> Result<Vec<String>> {
        let shown = self.name.to_string();
        let mut names = Vec::with_capacity(self.len());
        for block in self.inner.blocks() {
            let found = block.names().map_err(nc3z_reader::Error::from);
            names.extend(found.at(Path::new(&shown))?);
        }
        Ok(names)
    }
}
