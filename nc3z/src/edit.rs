//! Edits of an archive, and commits of new versions.

use crate::attribute::{Attribute, Values};
use crate::element::{Element, Unfit};
use crate::error::{At, Error, Result};
use crate::options::EditOptions;
use nc3z_format::NcType;
use nc3z_format::classic::Version as Format;
use nc3z_format::selection::{Select, Selection};
use std::fmt;
use std::path::{Path, PathBuf};

/// The description of a version. A text alone is its message. Nothing is added automatically.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitNote {
    /// The description of the change.
    pub message: Option<String>,
    /// The author of the change.
    pub author: Option<String>,
    /// The time of the change.
    pub time: Option<String>,
}

impl CommitNote {
    /// Makes a note with this message.
    pub fn new(message: impl Into<String>) -> Self {
        CommitNote { message: Some(message.into()), ..CommitNote::default() }
    }

    /// Sets the author.
    #[must_use]
    pub fn with_author(mut self, author: impl Into<String>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Sets the time.
    #[must_use]
    pub fn with_time(mut self, time: impl Into<String>) -> Self {
        self.time = Some(time.into());
        self
    }

    fn into_writer(self) -> nc3z_writer::CommitNote {
        nc3z_writer::CommitNote { message: self.message, author: self.author, time: self.time }
    }
}

impl From<&str> for CommitNote {
    fn from(message: &str) -> Self {
        CommitNote::new(message)
    }
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitReport {
    /// The number of the version.
    pub version: u64,
    /// False if the file is already the newest version. Then the archive is unchanged.
    pub is_new: bool,
    /// Tiles that were stored.
    pub new_tiles: u64,
    /// Unchanged tiles, which were not stored again.
    pub kept_tiles: u64,
    /// Bytes of the archive before the commit.
    pub len_before: u64,
    /// Bytes of the archive after the commit.
    pub len_after: u64,
}

impl CommitReport {
    fn new(done: &nc3z_writer::CommitReport) -> Self {
        CommitReport {
            version: done.version,
            is_new: !done.is_unchanged(),
            new_tiles: done.new_tiles,
            kept_tiles: done.kept_tiles,
            len_before: done.stored_len.0,
            len_after: done.stored_len.1,
        }
    }
}

/// Adds a changed classic file to its archive as a new version.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (file, path) = ("../testdata/classic/record_padding.nc", dir.path().join("a.nc3z"));
/// # nc3z::archive(file, &path)?;
/// let done = nc3z::commit(&path, file, "the same file again")?;
/// assert!(!done.is_new && done.version == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `file` is not a classic netCDF file, or has no variable of the archive. Another process changes the archive.
pub fn commit(
    archive: impl AsRef<Path>,
    file: impl AsRef<Path>,
    note: impl Into<CommitNote>,
) -> Result<CommitReport> {
    commit_with(archive, file, note, &EditOptions::default())
}

/// Adds a version with options; see [`commit`].
///
/// # Errors
/// As [`commit`].
pub fn commit_with(
    archive: impl AsRef<Path>,
    file: impl AsRef<Path>,
    note: impl Into<CommitNote>,
    options: &EditOptions,
) -> Result<CommitReport> {
    let (archive, note) = (archive.as_ref(), note.into().into_writer());
    let done = nc3z_writer::commit_file(archive, file.as_ref(), &note, &options.writer, options.monitor());
    Ok(CommitReport::new(&done.at(archive)?))
}

/// An archive that is edited without extracting its file. Changes are staged; [`Edit::commit`] adds them to the archive as
/// a new version.
///
/// The archive is locked as long as this value exists. Other processes can read it.
pub struct Edit {
    inner: nc3z_writer::edit::Edit,
    options: EditOptions,
    path: PathBuf,
}

impl Edit {
    /// Opens the newest version of an archive for edits.
    ///
    /// # Errors
    /// The file is not an archive, or it has lost values. Another process changes it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &EditOptions::default())
    }

    /// Opens an archive for edits with options; see [`Edit::open`].
    ///
    /// # Errors
    /// As [`Edit::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &EditOptions) -> Result<Self> {
        let path = path.as_ref();
        let inner = nc3z_writer::edit::Edit::open(path, &options.writer).at(path)?;
        Ok(Edit { inner: inner.with_digest(options.digest), options: options.clone(), path: path.to_owned() })
    }

    /// Returns the present length of a variable in each dimension.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn shape(&self, variable: &str) -> Result<Vec<u64>> {
        self.inner.shape_of(variable).at(&self.path)
    }

    /// Returns the external type of a variable.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn dtype(&self, variable: &str) -> Result<NcType> {
        let found = self.inner.header().variable(variable.as_bytes());
        found.map(|(_, found)| found.ty).ok_or_else(|| match self.shape(variable) {
            Err(e) => e,
            Ok(_) => Error::invalid(format!("no variable `{variable}`")),
        })
    }

    /// Reads a request, such as `(..3, 3)`, in its present state, staged changes included; see [`Select`] for requests and [`Element`] for
    /// conversions.
    ///
    /// # Errors
    /// The variable does not exist. The request is outside it. A value does not fit `T`. The archive is damaged.
    pub fn get<T: Element>(&mut self, variable: &str, request: impl Select) -> Result<Vec<T>> {
        let (ty, selection) = (self.dtype(variable)?, self.select(variable, request)?);
        let bytes = self.inner.get(variable, &selection).at(&self.path)?;
        T::decode(&bytes, ty, self.has_unsigned()).map_err(|unfit| self.unfit(unfit, variable, &selection))
    }

    /// Stages values for a request, in row-major order; see [`Select`] and [`Element`]. A single value is written to all elements. Where
    /// an index occurs twice, the last value is kept.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.nc3z");
    /// # nc3z::archive("../testdata/classic/record_padding.nc", &path)?;
    /// let mut edit = nc3z::Edit::open(&path)?; // short a(time=40, x=5)
    /// edit.set("a", (1, ..), &[1.0, 2.0, 3.0, 4.0, 5.0])?;
    /// assert_eq!(edit.get::<i32>("a", (1, ..))?, [1, 2, 3, 4, 5]);
    /// let error = edit.set("a", (1, ..), &[40_000]).unwrap_err();
    /// assert!(error.to_string().ends_with("element [1, 0]: 40000 does not fit short"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The variable does not exist. The request is outside it. A value does not fit the variable's type. The number of
    /// values is wrong.
    pub fn set<T: Element>(&mut self, variable: &str, request: impl Select, values: &[T]) -> Result<()> {
        let selection = self.select(variable, request)?;
        let encoded = T::encode(values, self.dtype(variable)?, self.has_unsigned());
        let bytes = encoded.map_err(|unfit| self.unfit(unfit, variable, &selection))?;
        self.inner.set(variable, &selection, &bytes).at(&self.path)
    }

    /// True if the format of the file has unsigned types.
    fn has_unsigned(&self) -> bool {
        self.inner.header().version == Format::Cdf5
    }

    fn select(&self, variable: &str, request: impl Select) -> Result<Selection> {
        Ok(request.select(&self.shape(variable)?).at(&self.path)?.selection)
    }

    fn unfit(&self, unfit: Unfit, variable: &str, selection: &Selection) -> Error {
        let error = match unfit {
            Unfit::Text(rust) => {
                Error::invalid(format!("variable \"{variable}\" is text (char), which is u8 and not {rust}"))
            }
            Unfit::Value { position, value, wanted } => {
                let index = selection.index_of(position as u64);
                Error::range(format!("variable \"{variable}\""), index, value, wanted)
            }
        };
        error.at(&self.path)
    }

    /// Returns the values of an attribute of a variable, in its present state.
    pub fn attribute(&self, variable: &str, name: &str) -> Option<Values> {
        Some(Attribute::new(self.inner.attribute(Some(variable), name)?).values)
    }

    /// Returns the values of an attribute of the file, in its present state.
    pub fn file_attribute(&self, name: &str) -> Option<Values> {
        Some(Attribute::new(self.inner.attribute(None, name)?).values)
    }

    /// Sets an attribute of a variable: text, a number, or a list of numbers.
    ///
    /// # Errors
    /// The variable does not exist. The file cannot have the name or the type.
    pub fn set_attribute(&mut self, variable: &str, name: &str, values: impl Into<Values>) -> Result<()> {
        let values = values.into();
        self.inner.set_attribute(Some(variable), name, values.dtype(), &values.to_be()).at(&self.path)
    }

    /// Sets an attribute of the file.
    ///
    /// # Errors
    /// The file cannot have the name or the type.
    pub fn set_file_attribute(&mut self, name: &str, values: impl Into<Values>) -> Result<()> {
        let values = values.into();
        self.inner.set_attribute(None, name, values.dtype(), &values.to_be()).at(&self.path)
    }

    /// Deletes an attribute of a variable.
    ///
    /// # Errors
    /// The attribute does not exist.
    pub fn delete_attribute(&mut self, variable: &str, name: &str) -> Result<()> {
        self.inner.delete_attribute(Some(variable), name).at(&self.path)
    }

    /// Deletes an attribute of the file.
    ///
    /// # Errors
    /// The attribute does not exist.
    pub fn delete_file_attribute(&mut self, name: &str) -> Result<()> {
        self.inner.delete_attribute(None, name).at(&self.path)
    }

    /// Renames a variable.
    ///
    /// # Errors
    /// The variable does not exist. The new name is invalid or in use.
    pub fn rename_variable(&mut self, name: &str, new: &str) -> Result<()> {
        self.inner.rename_variable(name, new).at(&self.path)
    }

    /// Renames a dimension.
    ///
    /// # Errors
    /// The dimension does not exist. The new name is invalid or in use.
    pub fn rename_dimension(&mut self, name: &str, new: &str) -> Result<()> {
        self.inner.rename_dimension(name, new).at(&self.path)
    }

    /// Adds a dimension. With length 0, it is the record dimension.
    ///
    /// # Errors
    /// The name is invalid or in use. There is already a record dimension.
    pub fn add_dimension(&mut self, name: &str, len: u64) -> Result<()> {
        self.inner.add_dimension(name, len).at(&self.path)
    }

    /// Adds a variable after the others. Its elements are the fill value until they are set.
    ///
    /// # Errors
    /// The name is invalid or in use. The dimension does not exist. The file cannot have the type.
    pub fn add_variable(&mut self, name: &str, ty: NcType, dimensions: &[&str]) -> Result<()> {
        self.inner.add_variable(name, ty, dimensions).at(&self.path)
    }

    /// Deletes a variable.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn delete_variable(&mut self, name: &str) -> Result<()> {
        self.inner.delete_variable(name).at(&self.path)
    }

    /// Changes the length of a dimension. New elements are the fill value.
    ///
    /// # Errors
    /// The dimension does not exist. The length is 0, and it is not the record dimension. The archive is damaged.
    pub fn resize_dimension(&mut self, name: &str, len: u64) -> Result<()> {
        self.inner.resize_dimension(name, len).at(&self.path)
    }

    /// Adds the staged changes to the archive as a new version. The note is a message or a [`CommitNote`].
    ///
    /// # Errors
    /// The system refuses an operation, or the archive was replaced. Then the archive is unchanged, and the changes stay
    /// staged.
    pub fn commit(&mut self, note: impl Into<CommitNote>) -> Result<CommitReport> {
        let done = self.inner.commit(&note.into().into_writer(), self.options.monitor()).at(&self.path)?;
        Ok(CommitReport::new(&done))
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit").field("path", &self.path).finish_non_exhaustive()
    }
}
