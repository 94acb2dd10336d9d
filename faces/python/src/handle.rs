//! An open file, shared by all Python objects made from it.

use crate::aggregated::{self, Place, Reading};
use crate::error::Failure;
use crate::process;
use crate::source::Origin;
use nc3z::Name;
use nc3z::opener::{Kind, Opener, archive_of};
use nc3z_collections::is_aggregation;
use nc3z_format::bytes::hex;
use nc3z_format::classic::VarId;
use nc3z_format::digest::Root;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Dataset, OpenOptions, VersionName};
use nc3z_remote::PerProcess;
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ffi::CString;
use std::sync::Arc;

/// The options with which it was opened.
#[derive(Clone, Default)]
pub(crate) struct How {
    pub(crate) version: Option<VersionName>,
    pub(crate) fill_lost: bool,
    pub(crate) reading: Reading,
    /// True where decoded values are returned instead of stored ones.
    pub(crate) decode: bool,
    /// The root against which values are checked.
    pub(crate) root: Option<Against>,
}

/// A root, and the path or URL of the tree file for checking it.
#[derive(Clone)]
pub(crate) struct Against {
    pub(crate) root: Root,
    pub(crate) tree: Option<String>,
}

pub(crate) struct Handle {
    opened: PerProcess<Opened>,
    pub(crate) origin: Origin,
    pub(crate) how: How,
    pub(crate) place: Place,
}

/// Reads archives with parity through damage, with a `UserWarning` for each.
pub(crate) fn with_read_repair(options: OpenOptions, name: &str) -> OpenOptions {
    let name = name.to_owned();
    options.with_read_repair(move |repaired| {
        let words = format!("`{name}` is {repaired}; `nc3z repair` fixes the file");
        let words = CString::new(words.replace('\0', "?")).expect("there is no zero byte");
        // All reads have detached from the interpreter.
        Python::attach(|py| {
            if let Err(e) = PyErr::warn(py, &py.get_type::<PyUserWarning>(), &words, 1) {
                e.write_unraisable(py, None);
            }
        });
    })
}

/// Returns the error for bytes that are not of the kind that is needed; see [`Opener::explained`].
pub(crate) fn explained(
    e: nc3z_reader::Error,
    source: &SharedSource,
    name: &str,
    needed: Kind,
) -> nc3z_reader::Error {
    Opener::new(OpenOptions::default()).explained(e, Arc::clone(source), &Name::whole(name), needed)
}

/// The state of one process. A forked child opens the same source again, with its own cache.
struct Opened {
    source: SharedSource,
    dataset: Dataset,
}

impl Opened {
    fn new(source: SharedSource, name: &str, place: &Place, how: &How) -> nc3z_reader::Result<Self> {
        let options = with_read_repair(OpenOptions::default(), name)
            .with_version(how.version.clone())
            .with_fill_lost(how.fill_lost)
            .with_cache(process::cache());
        let dataset = place.open(&source, name, options)?;
        if let Some(against) = &how.root {
            if is_aggregation(&dataset) {
                let words =
                    "the root of an aggregation is over its fragments: open the fragment that has the values";
                return Err(nc3z_format::Error::invalid(words).into());
            }
            let tree = against.tree.as_deref().map(|tree| place.open_tree(tree)).transpose()?;
            let dataset = dataset.verified(&against.root, tree, &())?;
            return Ok(Opened { source, dataset });
        }
        let of_fragments = with_read_repair(OpenOptions::default(), "a fragment")
            .with_fill_lost(how.fill_lost)
            .with_cache(process::cache());
        let dataset = place.present(dataset, name, how.reading, of_fragments)?;
        Ok(Opened { source, dataset })
    }
}

impl Handle {
    pub(crate) fn open(
        py: Python<'_>,
        source: SharedSource,
        origin: Origin,
        place: Place,
        how: How,
    ) -> PyResult<Self> {
        let name = origin.name().unwrap_or("input").to_owned();
        let opened = py.detach(|| Opened::new(source, &name, &place, &how));
        let opened = opened.map_err(|e| Failure::from(e).in_file(origin.name()))?;
        if how.version.is_some() && how.root.is_none() && archive_of(&opened.dataset).is_none() {
            return Err(PyValueError::new_err("a classic file has one version; archives have several"));
        }
        Ok(Handle { opened: PerProcess::new(opened), origin, how, place })
    }

    /// Returns the dataset for this process.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn dataset(&self) -> PyResult<Arc<impl std::ops::Deref<Target = Dataset>>> {
        self.opened()
    }

    fn opened(&self) -> PyResult<Arc<Opened>> {
        self.opened.get(|parent| {
            let closed = || PyValueError::new_err("the dataset is closed");
            let source = Arc::clone(&parent.ok_or_else(closed)?.source);
            let name = self.origin.name().unwrap_or("input");
            let opened = Opened::new(source, name, &self.place, &self.how);
            opened.map_err(|e| Failure::from(e).in_file(self.origin.name()))
        })
    }

    /// Converts an error of this file to an exception.
    pub(crate) fn failure(&self, e: impl Into<Failure>) -> PyErr {
        e.into().in_file(self.origin.name())
    }

    /// Returns the arguments for opening the file again in another process: source, version, whether losses
    /// are filled, the expected SHA-256, the store's settings, the options for aggregations, whether values
    /// are decoded, and the root that they are checked against.
    ///
    /// # Errors
    /// The dataset was opened from a file object.
    pub(crate) fn to_reopen<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let source = match &self.origin {
            Origin::Path { path, .. } => path.into_pyobject(py)?.str()?.into_any(),
            Origin::Url { url, .. } => url.into_pyobject(py)?.into_any(),
            Origin::Bytes(bytes) => bytes.bind(py).clone().into_any(),
            Origin::Object => {
                let words = "a dataset of a file object stays in its process; opened by path or from bytes, it can be pickled";
                return Err(PyTypeError::new_err(words));
            }
        };
        let settings = match &self.origin {
            Origin::Url { settings, .. } if !settings.is_empty() => Some(settings.dict(py)?),
            _ => None,
        };
        let version = match &self.how.version {
            Some(VersionName::Number(number)) => Some(number.into_pyobject(py)?.into_any()),
            Some(VersionName::Tag(tag)) => Some(tag.into_pyobject(py)?.into_any()),
            None => None,
        };
        let Reading { as_stored, outside, fill_missing } = self.how.reading;
        let reading = (as_stored, outside, fill_missing);
        let root = self.how.root.as_ref().map(|against| (against.root.to_string(), against.tree.clone()));
        (source, version, self.how.fill_lost, self.sha256()?, settings, reading, self.how.decode, root)
            .into_pyobject(py)
    }

    /// A value that changes with the fragments of an aggregated variable; None for other variables.
    pub(crate) fn fragments_state(&self, py: Python<'_>, variable: VarId) -> PyResult<Option<String>> {
        let dataset = self.dataset()?;
        let Some(aggregation) = nc3z_collections::as_aggregation(&dataset) else { return Ok(None) };
        let state = py.detach(|| aggregation.fragments_state(variable).map_err(nc3z_reader::Error::from));
        state.map_err(|e| self.failure(e))
    }

    /// A value that changes with the file's bytes: the SHA-256 on record is in what opens it again; others have the
    /// tag of an object, or length and time of a file.
    pub(crate) fn state(&self) -> PyResult<String> {
        if let Some(identity) = self.identity()? {
            return Ok(identity);
        }
        let Origin::Path { path, .. } = &self.origin else { return Ok(String::new()) };
        // For a member of a bundle, the bundle is looked at.
        let name = path.to_string_lossy();
        let bundle = aggregated::member_of(&name).map(|(bundle, _)| std::path::Path::new(bundle));
        let status = std::fs::metadata(path).or_else(|e| bundle.map_or(Err(e), std::fs::metadata));
        Ok(status.map_or_else(
            |_| String::new(),
            |status| format!("{} {:?}", status.len(), status.modified().ok()),
        ))
    }

    /// The stored SHA-256 of the original, hexadecimal.
    pub(crate) fn sha256(&self) -> PyResult<Option<String>> {
        let dataset = self.dataset()?;
        Ok(archive_of(&dataset).and_then(|archive| archive.digest().sha256()).map(|digest| hex(&digest)))
    }

    /// The identity of a remote object, which changes with its content.
    pub(crate) fn identity(&self) -> PyResult<Option<String>> {
        Ok(self.opened()?.source.identity().map(|identity| identity.to_string()))
    }

    pub(crate) fn close(&self) {
        self.opened.clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.opened.is_empty()
    }
}

impl std::ops::Deref for Opened {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.dataset
    }
}
