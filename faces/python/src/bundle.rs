//! `Bundle`: an open bundle. Its members are opened without reading its list again, and share what it has open.

use crate::aggregated::{self, Reading};
use crate::catalog::failure;
use crate::dataset::Dataset;
use crate::error::Failure;
use crate::handle::{Handle, How};
use crate::source::{self, Origin, Settings};
use nc3z_collections::bundle;
use nc3z_reader::{FileName, OpenOptions, VersionName};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// An open bundle of nc3z, ZIP or tar.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Bundle")]
pub(crate) struct Bundle {
    opened: Arc<bundle::Bundle>,
    /// Its name without the version.
    origin: Origin,
    /// The version that its name requests, such as `@1`; empty for the newest.
    version: String,
}

impl Bundle {
    fn shown(&self) -> &str {
        self.origin.name().unwrap_or("the bundle")
    }

    /// The origin of a member.
    fn origin_of(&self, member: &str) -> Origin {
        let version = &self.version;
        match &self.origin {
            Origin::Path { path, given } => Origin::Path {
                path: PathBuf::from(format!("{}{version}!/{member}", path.display())),
                given: format!("{given}!/{member}"),
            },
            Origin::Url { url, shown, settings } => Origin::Url {
                url: format!("{url}{version}!/{member}"),
                shown: format!("{shown}!/{member}"),
                settings: settings.clone(),
            },
            Origin::Bytes(_) | Origin::Object => Origin::Object,
        }
    }
}

#[pymethods]
impl Bundle {
    #[new]
    #[pyo3(signature = (path, storage_options=None))]
    fn new(py: Python<'_>, path: &Bound<'_, PyAny>, storage_options: Option<Settings>) -> PyResult<Self> {
        let (source, origin, place) = source::open(py, path, storage_options)?;
        let version = match place.version() {
            Some(VersionName::Number(number)) => format!("@{number}"),
            Some(VersionName::Tag(tag)) => format!("@{tag}"),
            None => String::new(),
        };
        let options = OpenOptions::default().with_version(place.version().cloned());
        let opened = py.detach(|| bundle::Bundle::open_with(source, &options));
        let bundle = opened.map_err(|e| failure(e, origin.name().unwrap_or("the bundle")))?;
        Ok(Bundle { opened: Arc::new(bundle), origin, version })
    }

    /// Returns whether a local file is a bundle, by its first bytes.
    #[staticmethod]
    fn recognizes(py: Python<'_>, path: PathBuf) -> bool {
        py.detach(|| bundle::Bundle::is_file(&path))
    }

    /// Returns whether a name is one that bundles have.
    #[staticmethod]
    fn is_name(name: &str) -> bool {
        bundle::Bundle::is_name(name)
    }

    /// True if it has a table, which is a catalogue of its members.
    #[getter]
    fn has_table(&self) -> bool {
        self.opened.archive().is_some()
    }

    /// The names of its members, in its order.
    #[getter]
    fn names(&self) -> PyResult<Vec<String>> {
        let names = self.opened.names().map(<[String]>::to_vec);
        names.map_err(|e| failure(e, self.shown()))
    }

    /// Opens a member, whose name may have a version.
    #[expect(clippy::fn_params_excessive_bools, reason = "Python's keyword arguments")]
    fn open(
        &self,
        py: Python<'_>,
        member: &str,
        fill_lost: bool,
        outside: bool,
        fill_missing: bool,
        decode: bool,
    ) -> PyResult<Dataset> {
        let FileName { file, version } = FileName::of_url(member).map_err(Failure::from)?;
        let member = &*file.to_string_lossy();
        let opened = py.detach(|| aggregated::open_member_of(&self.opened, self.shown(), member));
        let (source, place) = opened.map_err(|e| Failure::from(e).in_file(Some(self.shown())))?;
        let reading = Reading { as_stored: false, outside, fill_missing };
        let how = How { version, fill_lost, reading, decode, root: None };
        Ok(Dataset::new(Handle::open(py, source, self.origin_of(member), place, how)?))
    }
}
