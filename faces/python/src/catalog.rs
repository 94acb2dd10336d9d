//! `Catalog`: descriptions of many files, read without the files.

use crate::error::{Failure, exception};
use crate::source::{self, Settings};
use nc3z_collections::Error;
use nc3z_collections::catalog::{self, HeadKind, UNKNOWN_TIME};
use nc3z_format::Limits;
use nc3z_format::bytes::hex;
use nc3z_format::classic::{Header, Layout, Parse, parse_prefix};
use nc3z_reader::{Dataset, OpenOptions};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// An open catalogue.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Catalog")]
pub(crate) struct Catalog {
    catalog: catalog::Catalog,
    name: String,
}

/// A file: name, kind, length, stored length, SHA-256, header, lengths of dimensions, coordinates with all their values, and the time of the last change in nanoseconds since 1970.
type File = (String, &'static str, u64, u64, Option<String>, Py<PyBytes>, Vec<u64>, Coordinates, Option<i64>);
/// The positions of coordinate variables, and their values.
type Coordinates = (Py<PyTuple>, Py<PyTuple>);

/// Converts an error of a catalogue or a bundle with this name.
pub(crate) fn failure(e: Error, name: &str) -> PyErr {
    match e {
        Error::Reader(e) => Failure::from(e).in_file(Some(name)),
        other => exception("CorruptError", format!("{name}: {other}")),
    }
}

/// Lengths of dimensions, with that of records.
fn lengths(header: &Header, header_len: u64, len: u64) -> Vec<u64> {
    let records = Layout::new(header, header_len, len.max(header_len)).map_or(0, |layout| layout.numrecs);
    header.dimensions.iter().map(|d| if d.is_record() { records } else { d.len }).collect()
}

#[pymethods]
impl Catalog {
    #[new]
    #[pyo3(signature = (path, storage_options=None))]
    fn new(py: Python<'_>, path: &Bound<'_, PyAny>, storage_options: Option<Settings>) -> PyResult<Self> {
        let (source, origin, place) = source::open(py, path, storage_options)?;
        let name = origin.name().unwrap_or("the catalogue").to_owned();
        let options = OpenOptions::default().with_version(place.version().cloned());
        let open = || catalog::Catalog::from_dataset(Dataset::from_source(source, &options)?);
        let catalog = py.detach(open).map_err(|e| failure(e, &name))?;
        // The files of a bundle are its members.
        let catalog = if catalog.is_bundle() { catalog.within(&*name) } else { catalog };
        Ok(Catalog { catalog, name })
    }

    /// Returns whether a file on disk is a catalogue.
    #[staticmethod]
    fn is_at(py: Python<'_>, path: std::path::PathBuf) -> bool {
        py.detach(|| catalog::Catalog::is_at(&path))
    }

    /// Returns whether a name is one that catalogues have.
    #[staticmethod]
    fn is_name(name: &str) -> bool {
        catalog::Catalog::is_name(name)
    }

    fn __len__(&self) -> usize {
        self.catalog.len()
    }

    /// The number of its blocks, each of which has some thousand files.
    fn blocks(&self) -> usize {
        self.catalog.blocks().count()
    }

    /// The files of a block. Equal headers of a block are one object.
    fn files(&self, py: Python<'_>, block: usize) -> PyResult<Vec<File>> {
        let found = self.catalog.blocks().nth(block);
        let block =
            found.ok_or_else(|| PyIndexError::new_err(format!("the catalogue has no block {block}")))?;
        let read = || Ok((block.names()?, block.heads()?, block.headers()?, block.coordinates()?));
        let mut files = Vec::with_capacity(block.len());
        let (names, heads, headers, coordinates) =
            py.detach(read).map_err(|e: Error| failure(e, &self.name))?;
        let parse = |bytes: &bytes::Bytes| match parse_prefix(bytes, u64::MAX, &Limits::default()) {
            Ok(Parse::Done(header, len)) => Some((*header, len)),
            _ => None,
        };
        let damaged =
            || exception("CorruptError", format!("{}: the catalogue has a damaged header", self.name));
        let shared: Vec<_> =
            headers.iter().map(|bytes| (parse(bytes), PyBytes::new(py, bytes).unbind())).collect();
        for ((name, (head, number)), known) in names.into_iter().zip(heads).zip(coordinates) {
            let is_view = |header: &nc3z_format::classic::Header| {
                self.catalog.is_bundle() && nc3z_collections::has_aggregations(header)
            };
            let described = shared.get(number).and_then(|(header, _)| header.as_ref());
            // Of other files, and of an aggregation in a bundle, only the name is known.
            if head.kind == HeadKind::File || described.is_some_and(|(header, _)| is_view(header)) {
                let nothing = PyBytes::new(py, b"").unbind();
                let none = (PyTuple::empty(py).unbind(), PyTuple::empty(py).unbind());
                files.push((
                    name,
                    "other file",
                    head.len,
                    head.stored,
                    None,
                    nothing,
                    Vec::new(),
                    none,
                    None,
                ));
                continue;
            }
            let (Some((header, header_len)), bytes) = shared.get(number).ok_or_else(damaged)? else {
                return Err(damaged());
            };
            let whole = || known.iter().filter(|known| known.whole);
            let numbers: Vec<_> = whole().map(|known| known.variable).collect();
            let values: Vec<_> = whole().map(|known| PyBytes::new(py, &known.bytes)).collect();
            let coordinates = (PyTuple::new(py, numbers)?.unbind(), PyTuple::new(py, values)?.unbind());
            let kind = if head.kind == HeadKind::Packed { "packed" } else { head.kind.name() };
            let sha256 = head.sha256.map(|sha256| hex(&sha256));
            let lengths = lengths(header, *header_len, head.len);
            let file = (
                name,
                kind,
                head.len,
                head.stored,
                sha256,
                bytes.clone_ref(py),
                lengths,
                coordinates,
                (head.modified != UNKNOWN_TIME).then_some(head.modified),
            );
            files.push(file);
        }
        Ok(files)
    }

    /// The tiles of a variable: pairs of the number of a file, and an array with a row for each tile: valid values, infinite values,
    /// least, largest. A file that was cut short is left out if it lacks values of the variable: they may be any.
    fn tiles<'py>(&self, py: Python<'py>, variable: &str) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::empty(py);
        for block in self.catalog.blocks() {
            let tiles = py.detach(|| block.tiles(variable)).map_err(|e| failure(e, &self.name))?;
            let Some(tiles) = tiles else { continue };
            let whole = py.detach(|| block.are_whole(&tiles.found)).map_err(|e| failure(e, &self.name))?;
            for (found, is_whole) in tiles.found.iter().zip(whole) {
                let Some(rows) = found.rows.clone().filter(|_| is_whole) else { continue };
                #[expect(clippy::cast_precision_loss, reason = "tiles have fewer than 2^53 values")]
                let row = |n: usize| {
                    let (low, high) = (tiles.min[n].nearest, tiles.max[n].nearest);
                    [tiles.counts[n] as f64, tiles.infinite[n] as f64, low, high]
                };
                let count = rows.len();
                let table: Bound<'py, PyArray1<f64>> = PyArray1::from_iter(py, rows.flat_map(row));
                let table: Bound<'py, PyArray2<f64>> = table.reshape([count, 4])?;
                all.append((block.first() + found.member, table))?;
            }
        }
        Ok(all)
    }
}
