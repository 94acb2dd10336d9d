//! Converts the argument of `open` to a byte source: a path, a URL, bytes, or a file object.

use crate::aggregated::{Place, open_name};
use crate::error::Failure;
use bytes::Bytes;
use nc3z::Name;
use nc3z::opener::{Opener, standard_input};
use nc3z_reader::source::{ByteSource, MemorySource, SharedSource};
use nc3z_reader::{Error, OpenOptions, Result};
use nc3z_remote::RemoteOptions;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyAnyMethods, PyBool, PyByteArray, PyBytes, PyDict, PyMemoryView, PySlice};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The origin of a dataset: enough to open it again, in another process where that is possible.
pub(crate) enum Origin {
    /// A file. The path is absolute; `given` is the path as it was given.
    Path { path: PathBuf, given: String },
    /// An object in a store; `shown` is its URL without secrets.
    Url { url: String, shown: String, settings: Settings },
    /// Bytes in memory.
    Bytes(Py<PyBytes>),
    /// A file object, which stays in its process.
    Object,
}

impl Origin {
    /// The name of the file, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Origin::Path { given, .. } => Some(given),
            Origin::Url { shown, .. } => Some(shown),
            Origin::Bytes(_) | Origin::Object => None,
        }
    }
}

/// Settings of a store by name. `timeout`, `connect_timeout`, `max_retries` and `retry_timeout` apply to all
/// stores.
#[derive(Clone, Default)]
pub(crate) struct Settings(BTreeMap<String, String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Settings {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let mut settings = BTreeMap::new();
        flatten("", object.cast::<PyDict>()?.as_any(), &mut settings)?;
        Ok(Settings(settings))
    }
}

/// Adds settings. Those of a dict in a dict, as fsspec has them, get the names of both: `client_kwargs.region_name`.
fn flatten(prefix: &str, dict: &Bound<'_, PyAny>, settings: &mut BTreeMap<String, String>) -> PyResult<()> {
    for (name, value) in dict.cast::<PyDict>()?.iter() {
        let name = format!("{prefix}{}", name.extract::<String>()?);
        if value.is_instance_of::<PyDict>() {
            flatten(&format!("{name}."), &value, settings)?;
        } else if value.is_instance_of::<PyBool>() {
            // Stores expect `true` for Python's True.
            settings.insert(name, value.str()?.to_string().to_ascii_lowercase());
        } else if !value.is_none() {
            settings.insert(name, value.str()?.to_string());
        }
    }
    Ok(())
}

impl Settings {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the settings as a dict, for a pickle.
    pub(crate) fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.0.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    fn options(&self) -> PyResult<RemoteOptions> {
        let mut settings = self.0.clone();
        let mut number = |name: &str| -> PyResult<Option<f64>> {
            let Some(words) = settings.remove(name) else { return Ok(None) };
            let number = words.parse().ok().filter(|n| (0.0..1e9).contains(n));
            let wrong = || {
                PyValueError::new_err(format!(
                    "storage option {name}: invalid value {words:?}; expected a number"
                ))
            };
            Ok(Some(number.ok_or_else(wrong)?))
        };
        let (request, connect) = (number("timeout")?, number("connect_timeout")?);
        let (retries, within) = (number("max_retries")?, number("retry_timeout")?);
        let seconds = |given: Option<f64>, usual| Duration::from_secs_f64(given.unwrap_or(usual));
        let mut options = RemoteOptions::default();
        if request.is_some() || connect.is_some() {
            options = options.with_timeouts(seconds(request, 60.0), seconds(connect, 10.0));
        }
        if retries.is_some() || within.is_some() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e9")]
            let times = retries.unwrap_or(6.0) as usize;
            options = options.with_retries(times, seconds(within, 120.0));
        }
        Ok(settings.into_iter().fold(options, |options, (name, value)| options.with_setting(name, value)))
    }
}

/// Opens the argument from Python, and returns where fragments of an aggregation are searched.
pub(crate) fn open(
    py: Python<'_>,
    from: &Bound<'_, PyAny>,
    settings: Option<Settings>,
) -> PyResult<(SharedSource, Origin, Place)> {
    open_as(py, from, settings, true)
}

/// Opens the argument from Python: files through a memory map, or by position.
pub(crate) fn open_as(
    py: Python<'_>,
    from: &Bound<'_, PyAny>,
    settings: Option<Settings>,
    mapped: bool,
) -> PyResult<(SharedSource, Origin, Place)> {
    let settings = settings.unwrap_or_default();
    let is_url = from.extract::<String>().is_ok_and(|text| nc3z_remote::is_url(&text));
    if !is_url && !settings.is_empty() {
        return Err(PyTypeError::new_err("storage_options are for URLs: https, s3, gs, az"));
    }
    if let Ok(bytes) = from.cast::<PyBytes>() {
        return from_bytes(bytes);
    }
    if from.is_instance_of::<PyByteArray>() || from.is_instance_of::<PyMemoryView>() {
        // Other code may change this memory, but a source must not change. Therefore it is copied.
        let copy = py.import("builtins")?.getattr("bytes")?.call1((from,))?;
        return from_bytes(copy.cast::<PyBytes>()?);
    }
    if from.hasattr("read")? && from.hasattr("seek")? {
        let len = from.call_method1("seek", (0, 2))?.extract()?;
        let object = ObjectSource { object: Mutex::new(from.clone().unbind()), len };
        return Ok((Arc::new(object), Origin::Object, Place::memory()));
    }
    let Ok(given) = from.extract::<PathBuf>() else {
        let kind = from.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "cannot open {kind}: expected a path, a URL, bytes, or a binary file object with read() and seek()"
        )));
    };
    let words = given.to_string_lossy().into_owned();
    if !is_url && words.contains("://") {
        let url = nc3z_format::url::cut(&words);
        let words = format!("{url}: unsupported URL scheme; expected https, http, s3, gs or az");
        return Err(PyValueError::new_err(words));
    }
    if words == "-" {
        let source = py.detach(standard_input).map_err(Failure::from)?;
        return Ok((source, Origin::Object, Place::memory()));
    }
    let path = if is_url { given } else { std::path::absolute(&given).unwrap_or(given) };
    let shown = nc3z_remote::shown(&words);
    let name = Name::from_path(&path).map_err(|e| Failure::from(e).in_file(Some(&shown)))?;
    let opener = Opener::new(OpenOptions::default().with_mmap(mapped)).with_remote(settings.options()?);
    let opened = py.detach(|| open_name(&name, opener));
    let (source, place) = opened.map_err(|e| Failure::from(e).in_file(Some(&shown)))?;
    let path = name.without_version();
    let origin = if is_url {
        Origin::Url { url: path.to_string_lossy().into_owned(), shown, settings }
    } else {
        Origin::Path { path, given: words }
    };
    Ok((source, origin, place))
}

/// Returns whether a local name is that of a member of a bundle, or of a version.
#[pyfunction]
pub(crate) fn names_part(path: PathBuf) -> bool {
    Name::from_path(&path).is_ok_and(|name| name.member().is_some() || name.requested().is_some())
}

/// Returns a name without its version.
#[pyfunction]
pub(crate) fn without_version(path: PathBuf) -> OsString {
    Name::from_path(&path).map_or(path, |name| name.without_version()).into_os_string()
}

fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<(SharedSource, Origin, Place)> {
    let held: PyBackedBytes = bytes.extract()?;
    let source = MemorySource::new(Bytes::from_owner(held));
    Ok((Arc::new(source), Origin::Bytes(bytes.clone().unbind()), Place::memory()))
}

/// Memory of a Python object: of `bytes`, of a `memoryview`. Each read copies its bytes while the GIL is
/// held. The whole memory is never copied at once.
pub(crate) struct BufferSource {
    /// Bytes, one dimension.
    view: Py<PyMemoryView>,
    len: u64,
}

impl BufferSource {
    pub(crate) fn new(lender: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = PyMemoryView::from(lender)?.call_method1("cast", ("B",))?.cast_into::<PyMemoryView>()?;
        Ok(BufferSource { len: view.len()? as u64, view: view.unbind() })
    }

    fn copy(&self, py: Python<'_>, range: Range<u64>, buf: &mut [u8]) -> PyResult<()> {
        let (first, end) = (isize::try_from(range.start)?, isize::try_from(range.end)?);
        let part = self.view.bind(py).get_item(PySlice::new(py, first, end, 1))?;
        PyBuffer::<u8>::get(&part)?.copy_to_slice(py, buf)
    }
}

impl ByteSource for BufferSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (wanted, left) = (buf.len() as u64, self.len.saturating_sub(offset));
        if wanted > left {
            return Err(nc3z_format::Error::truncated("file", offset, "read", wanted - left, left).into());
        }
        Python::attach(|py| self.copy(py, offset..offset + wanted, buf))
            .map_err(|e| Error::io("read", None, io::Error::other(e)))
    }
}

/// A binary file object. Each read seeks first. Reads are executed one at a time.
struct ObjectSource {
    object: Mutex<Py<PyAny>>,
    len: u64,
}

impl ByteSource for ObjectSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let available = self.len.saturating_sub(offset);
        if buf.len() as u64 > available {
            let missing = buf.len() as u64 - available;
            return Err(nc3z_format::Error::truncated("file", offset, "read", missing, available).into());
        }
        // Callers do not hold the GIL while they wait for this lock. Therefore the holder of the lock can
        // always get the GIL.
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        Python::attach(|py| {
            let object = object.bind(py);
            object.call_method1("seek", (offset,))?;
            let mut filled = 0;
            while filled < buf.len() {
                let read = object.call_method1("read", (buf.len() - filled,))?;
                let bytes: PyBackedBytes = read.extract()?;
                let rest = &mut buf[filled..];
                if bytes.is_empty() || bytes.len() > rest.len() {
                    let words = format!("the file object returned {} of {} bytes", bytes.len(), rest.len());
                    return Ok(Err(io::Error::new(io::ErrorKind::UnexpectedEof, words)));
                }
                rest[..bytes.len()].copy_from_slice(&bytes);
                filled += bytes.len();
            }
            Ok(Ok(()))
        })
        .unwrap_or_else(|e: PyErr| Err(io::Error::other(e)))
        .map_err(|e| Error::io("read", None, e))
    }
}
