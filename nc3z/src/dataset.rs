//! Open files and their variables.

use crate::attribute::{Attribute, Values};
use crate::element::Element;
use crate::error::{At, Error, Result};
use crate::name::Name;
use crate::options::OpenOptions;
use nc3z_format::NcType;
use nc3z_format::decode_value::{Decoding, Value};
use nc3z_format::selection::{AnySelection, Hyperslab, Select, Selected, Selection};
use nc3z_reader::Archive;
use nc3z_reader::source::MemorySource;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens an archive, a classic netCDF file or an aggregation by name: a path, a URL (feature `remote`), a member of a bundle
/// (`set.zip!/tas.nc`), `-` for standard input; behind an archive, a version (`tas.nc.nc3z@2`). The first bytes of the file decide which
/// kind it is. An aggregation is presented with the data of its fragments.
///
/// # Errors
/// The input cannot be read. It is damaged. It has no variables: the error names its kind, such as a bundle; see [`crate::open_any`].
pub fn open(name: impl AsRef<Path>) -> Result<Dataset> {
    open_with(name, &OpenOptions::default())
}

/// Opens an input with options; see [`open`].
///
/// # Errors
/// As [`open`]. The archive does not have the requested version.
pub fn open_with(name: impl AsRef<Path>, options: &OpenOptions) -> Result<Dataset> {
    let name = Name::parse(name)?;
    let shown = name.to_string();
    let inner = options.opener().dataset(&name).at(Path::new(&shown))?;
    Ok(Dataset::new(inner, name))
}

pub(crate) fn open_archive(path: &Path, options: &OpenOptions) -> Result<Archive> {
    let file = options.opener().stored(&Name::parse(path)?)?;
    file.archive().cloned().ok_or_else(|| Error::invalid("this is a classic netCDF file, not an archive"))
}

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dimension {
    /// The name of the dimension.
    pub name: String,
    /// Its length; for the record dimension, the number of records.
    pub len: u64,
    /// True for the record dimension, which can grow.
    pub is_record: bool,
}

impl Dimension {
    fn new(dimension: &nc3z_format::classic::Dimension, records: u64) -> Self {
        let is_record = dimension.is_record();
        let len = if is_record { records } else { dimension.len };
        Dimension { name: dimension.name_lossy().into_owned(), len, is_record }
    }
}

/// An open archive or classic file. Clones share the open file. Any number of threads may read it.
#[derive(Clone)]
pub struct Dataset {
    inner: nc3z_reader::Dataset,
    name: Name,
    /// The name without secrets, for errors.
    path: PathBuf,
}

impl Dataset {
    pub(crate) fn new(inner: nc3z_reader::Dataset, name: Name) -> Self {
        Dataset { inner, path: name.to_string().into(), name }
    }

    /// Opens a file; the same as [`open`].
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(name: impl AsRef<Path>) -> Result<Self> {
        open(name)
    }

    /// Opens a file with options; the same as [`open_with`].
    ///
    /// # Errors
    /// As [`open_with`].
    pub fn open_with(name: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        open_with(name, options)
    }

    /// Opens an archive or a classic netCDF file that is in memory.
    ///
    /// # Errors
    /// As [`open`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_bytes_with(bytes, &OpenOptions::default())
    }

    /// Opens a file in memory with options; see [`Dataset::from_bytes`].
    ///
    /// # Errors
    /// As [`open_with`].
    pub fn from_bytes_with(bytes: impl Into<Vec<u8>>, options: &OpenOptions) -> Result<Self> {
        let path = Path::new("file in memory");
        let source = Arc::new(MemorySource::new(bytes.into()));
        let inner = nc3z_reader::Dataset::from_source(source, &options.reader).at(path)?;
        Ok(Dataset::new(inner, Name::whole(path)))
    }

    /// The name by which it was opened.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// True for an archive, false for a classic file and for an aggregation.
    pub fn is_archive(&self) -> bool {
        self.inner.archive().is_some()
    }

    /// Returns the dimensions, in stored order.
    pub fn dimensions(&self) -> Vec<Dimension> {
        let records = self.inner.records();
        self.inner.dimensions().iter().map(|dimension| Dimension::new(dimension, records)).collect()
    }

    /// Returns the attributes of the file, in stored order.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.inner.attributes().iter().map(Attribute::new).collect()
    }

    /// Returns the values of an attribute of the file.
    pub fn attribute(&self, name: &str) -> Option<Values> {
        let found = self.inner.header().attribute(name.as_bytes())?;
        Some(Attribute::new(found).values)
    }

    /// Returns the variables, in stored order.
    pub fn variables(&self) -> Vec<Variable> {
        self.inner.variables().map(|inner| self.with(inner)).collect()
    }

    /// Returns a variable by its name.
    ///
    /// # Errors
    /// The variable does not exist. The error lists the variables of the file.
    pub fn variable(&self, name: &str) -> Result<Variable> {
        Ok(self.with(self.inner.variable(name).at(&self.path)?))
    }

    fn with(&self, inner: nc3z_reader::Variable) -> Variable {
        Variable { inner, records: self.inner.records(), path: self.path.clone() }
    }

    /// Returns the length of the classic file in bytes.
    pub fn original_len(&self) -> u64 {
        self.inner.original_len()
    }

    /// Fills `out` with the bytes of the classic file from `offset`.
    ///
    /// # Errors
    /// The range is outside the file. The archive is damaged.
    pub fn read_original(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.inner.read_bytes(offset, out).at(&self.path)
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A variable of an open file.
#[derive(Clone)]
pub struct Variable {
    inner: nc3z_reader::Variable,
    records: u64,
    path: PathBuf,
}

impl Variable {
    /// Returns the name. Bytes that are not UTF-8 become U+FFFD.
    pub fn name(&self) -> Cow<'_, str> {
        self.inner.name()
    }

    /// Returns the external type.
    pub fn dtype(&self) -> NcType {
        self.inner.ty()
    }

    /// Returns the length in each dimension, the slowest dimension first.
    pub fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    /// Returns the dimensions, the slowest first.
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.inner.dimensions().map(|dimension| Dimension::new(dimension, self.records)).collect()
    }

    /// Returns the attributes, in stored order.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.inner.attributes().iter().map(Attribute::new).collect()
    }

    /// Returns the values of an attribute.
    pub fn attribute(&self, name: &str) -> Option<Values> {
        Some(Attribute::new(self.inner.attribute(name)?).values)
    }

    /// Returns the hyperslab of all elements.
    pub fn all(&self) -> Hyperslab {
        self.inner.all()
    }

    /// Resolves a request: `..`, or an index, a range, a list or a mask for each dimension; see [`Select`]. The result can be read
    /// several times.
    ///
    /// ```
    /// # let file = nc3z::open("../testdata/classic/record_padding.nc")?;
    /// let a = file.variable("a")?; // short a(time=40, x=5)
    /// let column = a.select((..3, 3))?;
    /// assert_eq!(a.read::<i32>(&column)?, [3, 24, 45]);
    /// # Ok::<(), nc3z::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of items and dimensions differ. An index is outside its dimension. A stride is 0.
    pub fn select(&self, request: impl Select) -> Result<Selection> {
        Ok(self.resolved(request)?.selection)
    }

    fn resolved(&self, request: impl Select) -> Result<Selected> {
        request.select(self.shape()).at(&self.path)
    }

    fn any(&self, request: impl Select) -> Result<AnySelection<'static>> {
        Ok(AnySelection::Grid(self.select(request)?))
    }

    fn bytes(&self, request: impl Select) -> Result<Vec<u8>> {
        self.inner.gather_bytes(&self.any(request)?).at(&self.path)
    }

    /// Reads a request as numbers of `T`, in row-major order; see [`Element`] for conversions. A request is written as in the
    /// `netcdf` crate, `(..3, 3)`, or explicitly as a [`Hyperslab`] or [`Selection`]; see [`Select`].
    ///
    /// ```
    /// # let file = nc3z::open("../testdata/classic/record_padding.nc")?;
    /// use nc3z::{Hyperslab, Span};
    /// let a = file.variable("a")?; // short a(time=40, x=5)
    /// assert_eq!(a.read::<i32>((..3, 3))?, [3, 24, 45]);
    /// assert_eq!(a.read::<i32>(&Hyperslab::new([0, 3], [3, 1], [1, 1])?)?, [3, 24, 45]);
    /// assert_eq!(a.read::<i32>((Span::new(..3).by(-2), vec![3, 0_u64]))?, [45, 42, 3, 0]);
    /// # Ok::<(), nc3z::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::select`]. A value does not fit `T`. The file does not contain all elements, or it is damaged.
    pub fn read<T: Element>(&self, request: impl Select) -> Result<Vec<T>> {
        self.inner.gather(&self.any(request)?).at(&self.path)
    }

    /// Reads a request into a buffer, which has one value for each element.
    ///
    /// # Errors
    /// As [`Variable::read`]. The buffer has another length than the request.
    pub fn read_into<T: Element>(&self, request: impl Select, out: &mut [T]) -> Result<()> {
        self.inner.gather_into(&self.any(request)?, out).at(&self.path)
    }

    /// Reads a request as values of the variable's own type.
    ///
    /// # Errors
    /// As [`Variable::read`].
    pub fn read_values(&self, request: impl Select) -> Result<Values> {
        Ok(Values::from_be(self.dtype(), &self.bytes(request)?))
    }

    /// Reads a request as numbers by the conventions of CF: unpacked with `scale_factor` and `add_offset`, NaN in place of missing
    /// values. Times stay numbers in their units; see [`Variable::read_times`].
    ///
    /// ```
    /// # let file = nc3z::open("../testdata/classic/record_padding.nc")?;
    /// let a = file.variable("a")?; // short a(time=40, x=5), without attributes: -32768 is a value
    /// let row = a.read_decoded((0, 1..4))?;
    /// assert_eq!(row, [1.0, -32768.0, 3.0]);
    /// # Ok::<(), nc3z::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::read`].
    pub fn read_decoded(&self, request: impl Select) -> Result<Vec<f64>> {
        Ok(self.decoding().numbers(&self.bytes(request)?))
    }

    /// Reads a request of times since a date as text in the form of ISO 8601, in the calendar of the variable; None for a missing
    /// time.
    ///
    /// # Errors
    /// As [`Variable::read`]. The units are not a time since a date.
    pub fn read_times(&self, request: impl Select) -> Result<Vec<Option<String>>> {
        let decoding = self.decoding();
        if decoding.time().is_none() {
            let words =
                format!("the variable `{}` has no times: its units are not a time since a date", self.name());
            return Err(Error::invalid(words).at(&self.path));
        }
        let bytes = self.bytes(request)?;
        let items = bytes.chunks_exact(self.dtype().size());
        Ok(items
            .map(|item| match decoding.value(item) {
                Value::Time(moment) => Some(moment.iso()),
                _ => None,
            })
            .collect())
    }

    fn decoding(&self) -> Decoding {
        Decoding::new(self.inner.source().header(), self.inner.header())
    }

    /// Reads a request into an array of the `ndarray` crate. It has the dimensions of the variable, without those for which the request
    /// has a single index.
    ///
    /// ```
    /// # let file = nc3z::open("../testdata/classic/record_padding.nc")?;
    /// let a = file.variable("a")?; // short a(time=40, x=5)
    /// assert_eq!(a.get::<f64>(..)?.shape(), [40, 5]);
    /// assert_eq!(a.get::<i32>((..3, 3))?, ndarray::arr1(&[3, 24, 45]).into_dyn());
    /// # Ok::<(), nc3z::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::read`].
    #[cfg(feature = "ndarray")]
    pub fn get<T: Element>(&self, request: impl Select) -> Result<ndarray::ArrayD<T>> {
        let selected = self.resolved(request)?;
        // Each count is at most the number of values read, unless some other count is 0.
        let in_memory = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let shape: Vec<usize> = selected.shape().into_iter().map(in_memory).collect();
        let values = self.read(&selected.selection)?;
        ndarray::ArrayD::from_shape_vec(shape, values)
            .map_err(|e| Error::invalid(e.to_string()).at(&self.path))
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
