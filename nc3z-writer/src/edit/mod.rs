//! Edits the file in an archive without extracting it: attributes, names, dimensions, variables, values. Edits
//! are staged and then committed as a new version. The cost of a commit depends on the size of the change.
//!
//! ```
//! use nc3z_format::{Hyperslab, NcType};
//! use nc3z_writer::{CommitNote, WriterOptions, archive_file, edit::Edit};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("a.nc3z");
//! # archive_file("../testdata/classic/record_padding.nc".as_ref(), &path, &WriterOptions::default(), &())?;
//! let mut edit = Edit::open(&path, &WriterOptions::default())?;
//! edit.set_attribute(Some("a"), "units", NcType::Char, b"K")?;
//! edit.set("a", &Hyperslab::new([1, 0], [1, 5], [1, 1])?, &[0, 7])?;
//! let done = edit.commit(&CommitNote { message: Some("mended".into()), ..CommitNote::default() }, &())?;
//! assert_eq!(done.version, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! The classic form of such a version is canonical. As in files of the netCDF library, the variables follow each other
//! without gaps, each at a multiple of 4. Tiles do not depend on the position of their variable in the file, so no change
//! of the header affects unchanged tiles.

mod append;
mod bands;
mod base;
mod cells;
mod commit;
mod file;
mod fill;
mod header;
pub mod parse;
mod part;
mod preview;
mod values;

pub use append::{AppendPolicy, Appended, Overlap};
pub use fill::FillChange;
pub use header::Owner;
pub use part::PartValues;
pub use preview::Plan;

use crate::error::{Advice, ErrorKind, Result};
use crate::generation::InPlace;
use crate::job::commit::{CommitNote, CommitReport, is_outgrown};
use crate::options::WriterOptions;
use crate::plan::Partition;
use base::SpillFile;
use cells::Cells;
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::classic::{Attribute, DimId, Header, VarId, Version, arrange};
use nc3z_format::selection::{self, AnySelection};
use nc3z_format::tile::element_count;
use nc3z_format::{Error as FormatError, NcType};
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, Dataset, Monitor};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Staged values and decoded tiles may each take 1/`SHARE` of the options' memory.
const SHARE: u64 = 8;
/// Bytes of values that are copied at a time.
const BAND_LEN: u64 = 8 << 20;
/// The tiles of a new record variable are chosen for at least this many records.
const RECORDS_TO_COME: u64 = 1 << 20;

/// One variable of the edited file.
pub(crate) struct Edited {
    /// The archive's variable that it comes from.
    origin: Option<VarId>,
    /// The elements, if an edit has accessed any.
    cells: Option<Cells>,
    /// True if unchanged tiles are taken from the archive's variable.
    keeps_tiles: bool,
    /// Elements that are read from a source by the commit.
    tail: Option<Tail>,
}

/// Elements of a variable in linear tiles, from one of them on, as the bytes of a source.
pub(crate) struct Tail {
    /// The place of its first byte in the flattened array.
    first: u64,
    source: SharedSource,
}

impl Tail {
    /// Copies the bytes of the tail that are in a range of the flattened array.
    fn copy(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (begin, end) = self.within(first, out.len() as u64);
        if begin < end {
            let at = |n: u64| usize::try_from(n - first).expect("inside the range");
            self.source.read_into(begin - self.first, &mut out[at(begin)..at(end)])?;
        }
        Ok(())
    }

    /// Returns the part of a range of bytes that it has; an empty one otherwise.
    fn within(&self, first: u64, len: u64) -> (u64, u64) {
        (first.max(self.first), (first + len).min(self.first + self.source.len()))
    }
}

impl Edited {
    /// Returns the archive's variable whose tiles it keeps.
    fn kept(&self) -> Option<VarId> {
        self.origin.filter(|_| self.keeps_tiles)
    }

    /// Bytes of the flattened array.
    fn read_flat(&self, archive: &Archive, first: u64, out: &mut [u8]) -> Result<()> {
        self.read_staged(archive, first, out)?;
        self.tail.iter().try_for_each(|tail| tail.copy(first, out))
    }

    fn read_staged(&self, archive: &Archive, first: u64, out: &mut [u8]) -> Result<()> {
        match (&self.cells, self.origin) {
            (Some(cells), _) => cells.read_flat(first, out),
            (None, Some(v)) => Ok(archive.read_array_bytes(archive.arrays().variable(v).id, first, out)?),
            (None, None) => unreachable!("new variables have cells before they are read"),
        }
    }
}

/// An archive that is edited. It is locked as long as this value exists; other processes can read it.
pub struct Edit {
    place: InPlace,
    header: Header,
    numrecs: u64,
    variables: Vec<Arc<Edited>>,
    options: WriterOptions,
    spill: SpillFile,
    digest: bool,
    touched: bool,
}

impl Edit {
    /// Opens the newest version of the archive at `path` for edits.
    ///
    /// # Errors
    /// `path` is not an archive, or it has lost tiles. Elements are missing from the file. Another process
    /// changes the archive.
    pub fn open(path: &Path, options: &WriterOptions) -> Result<Self> {
        // The edit has its own cache, because the process's shared cache does not count as the edit's memory.
        let cache = TileCache::new(options.memory / SHARE);
        let place = InPlace::open(path, &options.open_options().with_cache(cache))?;
        let archive = place.archive();
        if archive.trailer().required & REQUIRED_LOST != 0 {
            let what = "an edit of a file whose tiles are lost";
            return Err(FormatError::unsupported("trailer", archive.trailer_offset(), what).into());
        }
        for (place, variable) in archive.layout().variables.iter().zip(&archive.header().variables) {
            if place.elements != Some(place.present) {
                let (name, present) = (variable.name_lossy(), place.present);
                let all = place.elements.map_or("more than 2^64".to_owned(), |n| n.to_string());
                return Err(FormatError::invalid(format!(
                    "variable `{name}` has {present} of its {all} elements in the file, and an edit makes whole files: restore the file, mend it, and commit that"
                ))
                .into());
            }
        }
        let (header, numrecs, variables) = begin(archive);
        let (spill, options) = (SpillFile::default(), options.clone());
        Ok(Edit { place, header, numrecs, variables, options, spill, digest: true, touched: false })
    }

    /// Restores the whole version in a commit to compute its SHA-256 (on by default), which takes as long as a
    /// restore. Without it, the time of a commit depends on the size of the change, and the version has no
    /// recorded SHA-256.
    #[must_use]
    pub fn with_digest(mut self, digest: bool) -> Self {
        self.digest = digest;
        self
    }

    /// Makes a commit report only its effects (off by default): the archive stays unchanged, and edits stay
    /// staged.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.options.dry_run = dry_run;
        self
    }

    /// Renews parity with the same share in a commit, if the archive has parity (on by default).
    #[must_use]
    pub fn with_parity_renewed(mut self, renewed: bool) -> Self {
        self.options.renew_parity = renewed;
        self
    }

    /// Returns the version that is edited.
    pub fn archive(&self) -> &Archive {
        self.place.archive()
    }

    /// Returns the edited header; offsets and the number of records are the old ones.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the present number of records.
    pub fn records(&self) -> u64 {
        self.numrecs
    }

    /// True if there were edits since the last commit.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// Returns an attribute of a variable, or of the file.
    pub fn attribute(&self, owner: Owner<'_>, name: &str) -> Option<&Attribute> {
        match owner {
            None => self.header.attribute(name.as_bytes()),
            Some(variable) => self.header.variable(variable.as_bytes())?.1.attribute(name.as_bytes()),
        }
    }

    /// Applies an edit of the header that does not change the arrays.
    fn edit_header(&mut self, edit: impl FnOnce(&mut Header) -> nc3z_format::Result<()>) -> Result<()> {
        let mut header = self.header.clone();
        edit(&mut header)?;
        self.touched |= header != self.header;
        self.header = header;
        Ok(())
    }

    /// Refuses a change of the fill value of a variable that grows in this edit.
    fn check_fill(&self, owner: Owner<'_>, name: &str) -> Result<()> {
        let Some(variable) = owner.filter(|_| name == "_FillValue") else { return Ok(()) };
        let at = header::find_variable(&self.header, variable)?;
        let edited = &self.variables[at];
        // Of a tile that a growth only made longer, no fate says that a part of it is new.
        let before = edited.origin.map(|v| &self.place.archive().layout().variables[v.index()].shape);
        let is_longer = |cells: &Cells| {
            before.is_some_and(|before| cells.shape().iter().zip(before).any(|(now, before)| now > before))
        };
        if edited.cells.as_ref().is_some_and(|cells| {
            is_longer(cells) || cells.fates().iter().any(|f| matches!(f, cells::Fate::Fill))
        }) {
            return Err(FormatError::invalid(format!(
                "variable `{variable}` has elements that were not written yet: set `_FillValue` before the variable is added or grows, or commit first"
            ))
            .into());
        }
        Ok(())
    }

    /// Sets an attribute of a variable or of the file, in its present position or after the others. Values are
    /// big-endian.
    ///
    /// # Errors
    /// The variable does not exist. The file cannot have the name or the type. `_FillValue` has another type than
    /// the variable.
    pub fn set_attribute(&mut self, owner: Owner<'_>, name: &str, ty: NcType, values: &[u8]) -> Result<()> {
        self.check_fill(owner, name)?;
        self.edit_header(|h| header::set_attribute(h, owner, name, ty, values.to_vec()))
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// The attribute does not exist.
    pub fn delete_attribute(&mut self, owner: Owner<'_>, name: &str) -> Result<()> {
        self.check_fill(owner, name)?;
        self.edit_header(|h| header::delete_attribute(h, owner, name))
    }

    /// Renames an attribute.
    ///
    /// # Errors
    /// The attribute does not exist, or the new name is invalid or in use.
    pub fn rename_attribute(&mut self, owner: Owner<'_>, name: &str, new: &str) -> Result<()> {
        self.check_fill(owner, name)?;
        self.check_fill(owner, new)?;
        self.edit_header(|h| header::rename_attribute(h, owner, name, new))
    }

    /// Renames a dimension.
    ///
    /// # Errors
    /// The dimension does not exist, or the new name is invalid or in use.
    pub fn rename_dimension(&mut self, name: &str, new: &str) -> Result<()> {
        self.edit_header(|h| header::rename_dimension(h, name, new))
    }

    /// Renames a variable.
    ///
    /// # Errors
    /// The variable does not exist, or the new name is invalid or in use.
    pub fn rename_variable(&mut self, name: &str, new: &str) -> Result<()> {
        self.edit_header(|h| header::rename_variable(h, name, new))
    }

    /// Adds a dimension; with length 0, it is the record dimension.
    ///
    /// # Errors
    /// The name is invalid or in use, or there is already a record dimension.
    pub fn add_dimension(&mut self, name: &str, len: u64) -> Result<()> {
        self.edit_header(|h| header::add_dimension(h, name, len))
    }

    /// Adds a variable after the others. Its elements are the fill value until they are set.
    ///
    /// # Errors
    /// The name is invalid or in use. The file cannot have the type. The dimension does not exist. The record
    /// dimension is not the first one.
    pub fn add_variable(&mut self, name: &str, ty: NcType, dimensions: &[&str]) -> Result<()> {
        self.edit_header(|h| header::add_variable(h, name, ty, dimensions))?;
        self.variables.push(Arc::new(Edited { origin: None, cells: None, keeps_tiles: false, tail: None }));
        Ok(())
    }

    /// Deletes a variable.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn delete_variable(&mut self, name: &str) -> Result<()> {
        let at = header::find_variable(&self.header, name)?;
        self.header.variables.remove(at);
        self.variables.remove(at);
        self.touched = true;
        Ok(())
    }

    /// Changes the kind of the file: CDF-1, -2 or -5.
    ///
    /// # Errors
    /// A variable or an attribute has a type that the kind does not have. Sizes are checked by the commit.
    pub fn set_kind(&mut self, version: Version) -> Result<()> {
        self.edit_header(|h| header::set_kind(h, version))
    }

    /// Changes the length of a dimension; new elements are the fill value. For the record dimension, or the
    /// first dimension of a variable, existing tiles are kept. For another dimension of a variable, all
    /// elements move, and the variable is stored anew.
    ///
    /// # Errors
    /// The dimension does not exist. The length is 0, and it is not the record dimension. A variable would have
    /// more tiles than an edit can have. Data to be read are damaged.
    pub fn resize_dimension(&mut self, name: &str, len: u64) -> Result<()> {
        let id = header::find_dimension(&self.header, name)?;
        if self.header.dimensions[id.index()].is_record() {
            let before = self.numrecs;
            self.check_len(id, len, 0..self.variables.len())?;
            self.numrecs = len;
            self.touched |= before != len;
            return if len < before { self.cut(id) } else { Ok(()) };
        }
        header::check_fixed_len(name, len)?;
        let before = self.header.dimensions[id.index()].len;
        if before == len {
            return Ok(());
        }
        self.check_len(id, len, 0..self.variables.len())?;
        let inner: Vec<usize> = (0..self.header.variables.len())
            .filter(|&at| self.header.variables[at].dimensions.iter().skip(1).any(|d| *d == id))
            .collect();
        // All elements, before they move.
        for &at in &inner {
            self.cells(at)?;
        }
        self.header.dimensions[id.index()].len = len;
        self.touched = true;
        for at in inner {
            let done = self.rearrange(at);
            if done.is_err() {
                self.header.dimensions[id.index()].len = before;
            }
            done?;
        }
        if len < before { self.cut(id) } else { Ok(()) }
    }

    /// Sets the length of a dimension, and returns the former one.
    fn replace_len(&mut self, id: DimId, len: u64) -> u64 {
        let dimension = &mut self.header.dimensions[id.index()];
        std::mem::replace(if dimension.is_record() { &mut self.numrecs } else { &mut dimension.len }, len)
    }

    /// Refuses a length of a dimension with which one of these variables would have more tiles than an edit can
    /// have. Nothing is allocated before this check.
    fn check_len(&mut self, id: DimId, len: u64, mut variables: Range<usize>) -> Result<()> {
        let before = self.replace_len(id, len);
        let done = if len > before { variables.try_for_each(|at| self.check_tiles(id, at)) } else { Ok(()) };
        self.replace_len(id, before);
        done
    }

    /// Refuses a variable that has more tiles than an edit can have, after another length of a dimension.
    fn check_tiles(&self, id: DimId, at: usize) -> Result<()> {
        let (shape, variable) = (self.shape(at), &self.header.variables[at]);
        if !variable.dimensions.contains(&id) {
            return Ok(());
        }
        // A tile has at least one element.
        if element_count(&shape)? <= nc3z_staged::MAX_CHUNKS as u64 {
            return Ok(());
        }
        let is_first = !variable.dimensions.iter().skip(1).any(|d| *d == id);
        let edited = &self.variables[at];
        let done = match (&edited.cells, self.kept_tiles(at, &shape)) {
            (Some(cells), _) if is_first => cells.check_resize(&shape),
            (None, Some(v)) if is_first => {
                let archive = self.place.archive();
                let present = &archive.layout().variables[v.index()].shape;
                cells::check_tiles(&shape, &archive.head().layouts[v.index()], Some(present.as_slice()))
            }
            // A size that the kind of file cannot have is refused by the commit.
            _ => self.new_spec(at).map_or(Ok(()), |spec| cells::check_tiles(&shape, &spec, None)),
        };
        done.map_err(|e| {
            let (dimension, name) = (self.header.dimensions[id.index()].name_lossy(), variable.name_lossy());
            FormatError::invalid(format!(
                "dimension `{dimension}` cannot become so long: for variable `{name}`, {e}"
            ))
            .into()
        })
    }

    /// Returns the archive's variable whose tiles a variable of this shape keeps.
    fn kept_tiles(&self, at: usize, shape: &[u64]) -> Option<VarId> {
        let archive = self.place.archive();
        self.variables[at].origin.filter(|&v| {
            archive.layout().variables[v.index()].owned
                && element_count(shape).is_ok_and(|len| !is_outgrown(archive, v, len))
        })
    }

    /// Shortens the variables whose first dimension became shorter, so that a later growth gives fill values.
    /// Nothing is read.
    fn cut(&mut self, id: DimId) -> Result<()> {
        for at in 0..self.variables.len() {
            if self.header.variables[at].dimensions.first() == Some(&id) {
                self.cells(at)?;
            }
        }
        Ok(())
    }

    /// Copies a variable's elements to an array of another shape.
    fn rearrange(&mut self, at: usize) -> Result<()> {
        let shape = self.shape(at);
        let mut new = Cells::full(&shape, &self.new_spec(at)?, self.header.variables[at].fill_value())?;
        let old = self.variables[at].cells.as_ref().expect("the caller has seen to that");
        let both: Vec<u64> = old.shape().iter().zip(&shape).map(|(a, b)| *a.min(b)).collect();
        let total = element_count(&both)?;
        let band = (BAND_LEN / self.header.variables[at].ty.size() as u64).max(1);
        for first in (0..total).step_by(usize::try_from(band).unwrap_or(usize::MAX)) {
            for slab in selection::boxes(&both, first, total.min(first + band)) {
                let slab = AnySelection::from(&slab);
                new.set(&slab, &old.get(&slab)?, &self.spill, self.budget())?;
            }
        }
        let edited = self.edited(at);
        if edited.tail.is_some() {
            let why = "its elements are read from a source: commit before its shape changes".to_owned();
            return refuse("resize", why);
        }
        (edited.cells, edited.keeps_tiles) = (Some(new), false);
        self.spill_if_full()
    }

    /// Returns the present lengths of a variable.
    fn shape(&self, at: usize) -> Vec<u64> {
        let of = |len| if len == 0 { self.numrecs } else { len };
        self.header.variables[at].dimensions.iter().map(|&d| of(self.header.dim_len(d))).collect()
    }

    /// Returns the present lengths of a variable.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn shape_of(&self, variable: &str) -> Result<Vec<u64>> {
        Ok(self.shape(header::find_variable(&self.header, variable)?))
    }

    fn edited(&mut self, at: usize) -> &mut Edited {
        Arc::get_mut(&mut self.variables[at]).expect("only a commit shares them, and it is over")
    }

    /// Returns the tile layout of a variable that the archive does not have.
    fn new_spec(&self, at: usize) -> Result<TileLayoutSpec> {
        let is_record = self.header.is_record(&self.header.variables[at]);
        let numrecs = if is_record { self.numrecs.max(RECORDS_TO_COME) } else { self.numrecs };
        let new =
            arrange(self.header.clone(), numrecs).or_else(|_| arrange(self.header.clone(), self.numrecs))?;
        Ok(Partition::new(&new.header, &new.layout, &self.options)?.variables.swap_remove(at))
    }

    /// Returns the elements of a variable with its present lengths.
    fn cells(&mut self, at: usize) -> Result<&mut Cells> {
        let (shape, fill) = (self.shape(at), self.header.variables[at].fill_value().to_vec());
        if self.variables[at].cells.is_none() {
            let archive = self.place.archive().clone();
            let origin = self.variables[at].origin;
            let kept = self.kept_tiles(at, &shape);
            let cells = match (kept, origin) {
                (Some(v), _) => {
                    let spec = &archive.head().layouts[v.index()];
                    Cells::over(&archive, archive.arrays().variable(v).id, spec, &fill)?
                }
                (None, Some(v)) => self.copied(&archive, at, v, &fill)?,
                (None, None) => Cells::full(&shape, &self.new_spec(at)?, &fill)?,
            };
            let edited = self.edited(at);
            (edited.cells, edited.keeps_tiles) = (Some(cells), kept.is_some());
        }
        let budget = self.budget();
        let edited =
            Arc::get_mut(&mut self.variables[at]).expect("only a commit shares them, and it is over");
        let cells = edited.cells.as_mut().expect("made above");
        if cells.shape().first() != shape.first() {
            cells.set_len_filled(shape[0], &fill, &self.spill, budget)?;
        }
        Ok(cells)
    }

    /// Returns a copy of an archive's variable, in new tiles.
    fn copied(&self, archive: &Archive, at: usize, v: VarId, fill: &[u8]) -> Result<Cells> {
        let dataset = Dataset::from(archive.clone());
        let variable = dataset.variable_at(v).expect("it is the archive's own");
        let mut cells = Cells::full(variable.shape(), &self.new_spec(at)?, fill)?;
        let total = element_count(variable.shape())?;
        let band = BAND_LEN / fill.len() as u64;
        if variable.shape().is_empty() {
            let all = variable.all();
            cells.set(&AnySelection::from(&all), &variable.read_bytes(&all)?, &self.spill, self.budget())?;
            return Ok(cells);
        }
        for first in (0..total).step_by(usize::try_from(band).unwrap_or(usize::MAX)) {
            for slab in selection::boxes(variable.shape(), first, total.min(first + band)) {
                cells.set(
                    &AnySelection::from(&slab),
                    &variable.read_bytes(&slab)?,
                    &self.spill,
                    self.budget(),
                )?;
            }
        }
        Ok(cells)
    }

    /// Limit for the bytes of staged values in memory.
    fn budget(&self) -> u64 {
        self.options.memory / SHARE
    }

    fn spill_if_full(&mut self) -> Result<()> {
        let staged: u64 = self.variables.iter().filter_map(|v| v.cells.as_ref()).map(Cells::staged_len).sum();
        if staged <= self.budget() {
            return Ok(());
        }
        for variable in &mut self.variables {
            let edited = Arc::get_mut(variable).expect("only a commit shares them, and it is over");
            if let Some(cells) = &mut edited.cells {
                cells.spill(&self.spill)?;
            }
        }
        Ok(())
    }

    /// Commits the edits as a new version. The edit continues from there, with nothing staged.
    ///
    /// # Errors
    /// An edit does not fit the kind of file. The note is too long. The check of the new version failed. The
    /// system refuses an operation. Then the archive is unchanged, and the edits are still staged.
    pub fn commit(&mut self, note: &CommitNote, monitor: &dyn Monitor) -> Result<CommitReport> {
        note.check()?;
        let done = commit::commit(self, note, monitor)?;
        if self.options.dry_run {
            return Ok(done);
        }
        if !done.is_unchanged() {
            self.place.reload()?;
        }
        (self.header, self.numrecs, self.variables) = begin(self.place.archive());
        self.spill = SpillFile::default();
        self.touched = false;
        Ok(done)
    }

    /// Releases the lock and drops staged edits.
    pub fn close(self) {}
}

impl std::fmt::Debug for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edit").field("path", &self.place.path()).finish_non_exhaustive()
    }
}

/// Returns the state before any edit.
fn begin(archive: &Archive) -> (Header, u64, Vec<Arc<Edited>>) {
    let header = archive.header().clone();
    let edited = |(v, _)| Arc::new(Edited { origin: Some(v), cells: None, keeps_tiles: true, tail: None });
    let variables = archive.header().variables().map(edited).collect();
    (header, archive.layout().numrecs, variables)
}

/// Refuses an option with the reason.
fn refuse<T>(option: &'static str, why: String) -> Result<T> {
    Err(ErrorKind::Option { option, why, advice: None }.into())
}

/// Refuses records, with what would let them through.
fn refuse_records<T>(why: String, advice: Advice) -> Result<T> {
    Err(ErrorKind::Option { option: "append", why, advice: Some(advice) }.into())
}
