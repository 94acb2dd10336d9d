//! What `open` can be given: a path, bytes, or a file object, as a byte source.

use crate::error::Failure;
use bytes::Bytes;
use nc3z_reader::source::{self, ByteSource, MemorySource, SharedSource};
use nc3z_reader::{Error, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a dataset came from: enough to open it again, in another process where that makes sense.
pub(crate) enum Origin {
    /// A file; the path is absolute, and `given` as it was written.
    Path { path: PathBuf, given: String },
    /// Bytes in memory.
    Bytes(Py<PyBytes>),
    /// A file object, which stays in its process.
    Object,
}

impl Origin {
    /// The file's name, where it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Origin::Path { given, .. } => Some(given),
            Origin::Bytes(_) | Origin::Object => None,
        }
    }
}

/// Opens what Python gave.
pub(crate) fn open(py: Python<'_>, from: &Bound<'_, PyAny>) -> PyResult<(SharedSource, Origin)> {
    if let Ok(bytes) = from.cast::<PyBytes>() {
        return from_bytes(bytes);
    }
    if from.is_instance_of::<PyByteArray>() || from.is_instance_of::<PyMemoryView>() {
        // Others may change these; the source may not change.
        let copy = py.import("builtins")?.getattr("bytes")?.call1((from,))?;
        return from_bytes(copy.cast::<PyBytes>()?);
    }
    if from.hasattr("read")? && from.hasattr("seek")? {
        let len = from.call_method1("seek", (0, 2))?.extract()?;
        let object = ObjectSource { object: Mutex::new(from.clone().unbind()), len };
        return Ok((Arc::new(object), Origin::Object));
    }
    let Ok(given) = from.extract::<PathBuf>() else {
        let kind = from.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "cannot open {kind}: a path, bytes, or a binary file object with read() and seek() is needed"
        )));
    };
    let words = given.to_string_lossy().into_owned();
    if words.contains("://") {
        return Err(PyValueError::new_err(format!("{words}: this build opens no URLs")));
    }
    let path = std::path::absolute(&given).unwrap_or(given);
    let opened = py.detach(|| source::open(&path, true));
    let source = opened.map_err(|e| Failure::from(e).in_file(Some(&words)))?;
    Ok((source, Origin::Path { path, given: words }))
}

fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<(SharedSource, Origin)> {
    let held: PyBackedBytes = bytes.extract()?;
    let source = MemorySource::new(Bytes::from_owner(held));
    Ok((Arc::new(source), Origin::Bytes(bytes.clone().unbind())))
}

/// A binary file object. Each read seeks first; one at a time.
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
        // Callers hold no GIL while they wait for this, so whoever has it can get the GIL.
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
                    let words = format!("the file object gave {} bytes of {}", bytes.len(), rest.len());
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
