//! `Journal`: the log of a run over a tree, as the tool writes it.

use crate::error::Failure;
use nc3z_collections::tree::code::Code;
use nc3z_collections::tree::journal;
use nc3z_collections::tree::walk::Job;
use nc3z_collections::tree::{Error, ErrorKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A log that a run is appended to: a line of JSON for each file.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Journal")]
pub(crate) struct Journal {
    log: journal::Journal,
}

fn raised(error: Error) -> PyErr {
    match error.kind() {
        ErrorKind::Io { source, .. } if source.raw_os_error().is_some() => {
            let number = source.raw_os_error().expect("just asked");
            pyo3::exceptions::PyOSError::new_err((number, error.with_causes()))
        }
        _ => Failure::Unfit(error.with_causes()).into(),
    }
}

impl Journal {
    fn append(
        &self,
        py: Python<'_>,
        file: PathBuf,
        archive: Option<PathBuf>,
        state: &str,
        more: Value,
    ) -> PyResult<()> {
        let done = py.detach(|| match archive {
            Some(output) => self.log.add(&Job { input: file, output, name: PathBuf::new() }, state, more),
            None => self.log.add_file(&file, state, more),
        });
        done.map_err(raised)
    }
}

#[pymethods]
impl Journal {
    /// Opens a log, or makes it, and appends the first line of a run for `planned` files.
    #[new]
    fn new(path: PathBuf, root: PathBuf, output: PathBuf, planned: u64) -> PyResult<Self> {
        let about =
            journal::About { inputs: &[root], output: Some(&output), planned, ..journal::About::default() };
        Ok(Journal { log: journal::Journal::open(&path, &about).map_err(raised)? })
    }

    /// Appends the result for a file, with further facts by name.
    #[pyo3(signature = (file, state, archive=None, **facts))]
    fn add(
        &self,
        py: Python<'_>,
        file: PathBuf,
        state: &str,
        archive: Option<PathBuf>,
        facts: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let more = match facts {
            None => json!({}),
            Some(facts) => {
                let text: String = py.import("json")?.call_method1("dumps", (facts,))?.extract()?;
                serde_json::from_str(&text).map_err(|e| PyValueError::new_err(e.to_string()))?
            }
        };
        self.append(py, file, archive, state, more)
    }

    /// Appends a failure. `code` is the stable code of its exception.
    fn failed(
        &self,
        py: Python<'_>,
        file: PathBuf,
        archive: Option<PathBuf>,
        error: &str,
        code: Option<&str>,
    ) -> PyResult<()> {
        let code = Code::named(code.unwrap_or("other"));
        let more = json!({"error": error, "code": code.name, "retry": code.retry});
        self.append(py, file, archive, "failed", more)
    }

    /// Appends the last line of the run: the numbers of files by their states.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.log.end()).map_err(raised)
    }
}
