//! Edits of the file that an archive holds, without the file: attributes, names, dimensions, variables, values. What is edited is staged, and committed as a new
//! version, which costs what was changed.
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
//! The classic form of such a version is canonical, as the netCDF library lays files out: the variables one after another, each on a multiple of 4, no gaps. Tiles
//! know nothing of where their variable stands in the file, so that those that did not change are kept whatever becomes of the header.

mod append;
mod bands;
mod base;
mod cells;
mod commit;
mod file;
mod header;
mod picks;
mod plans;
mod values;

pub use append::{AppendPolicy, Appended, Overlap};
pub use header::Owner;
pub use picks::{Pick, Picks};
pub use plans::Plan;

use crate::error::{ErrorKind, Result};
use crate::generation::InPlace;
use crate::job::commit::{CommitNote, Committed, is_outgrown};
use crate::options::WriterOptions;
use crate::plan::Partition;
use base::SpillFile;
use cells::Cells;
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::classic::{Attribute, DimId, Header, VarId, Version, arrange};
use nc3z_format::tile::element_count;
use nc3z_format::{Error as FormatError, NcType, runs};
use nc3z_reader::cache::TileCache;
use nc3z_reader::{Archive, Dataset, Monitor};
use std::path::Path;
use std::sync::Arc;

/// The part of the options' memory that staged values may take, and the part that decoded tiles may take.
const SHARE: u64 = 8;
/// Bytes of values that are copied at a time.
const BAND_LEN: u64 = 8 << 20;
/// Records that the tiles of a new record variable are chosen for, at least.
const RECORDS_TO_COME: u64 = 1 << 20;

/// One variable of the edited file.
pub(crate) struct Edited {
    /// The variable of the archive that it comes from.
    origin: Option<VarId>,
    /// Its elements, once something of them is to change.
    cells: Option<Cells>,
    /// Whether its tiles are those of the archive's variable, but for those that change.
    keeps_tiles: bool,
}

impl Edited {
    /// The variable of the archive whose tiles it keeps.
    fn kept(&self) -> Option<VarId> {
        self.origin.filter(|_| self.keeps_tiles)
    }

    /// Bytes of the flattened array.
    fn read_flat(&self, archive: &Archive, first: u64, out: &mut [u8]) -> Result<()> {
        match (&self.cells, self.origin) {
            (Some(cells), _) => cells.read_flat(first, out),
            (None, Some(v)) => Ok(archive.read_array_bytes(archive.arrays().variable(v).id, first, out)?),
            (None, None) => unreachable!("new variables have cells before they are read"),
        }
    }
}

/// An archive that is being edited. It is locked as long as this lives; others can read it.
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
    /// No archive, or one with lost tiles; a file of which elements are missing; another process changes the archive.
    pub fn open(path: &Path, options: &WriterOptions) -> Result<Self> {
        // A cache of its own: what the process keeps for readers is no part of an edit's memory.
        let cache = TileCache::new(options.memory / SHARE);
        let place = InPlace::open_as_it_is(path, &options.open_options().with_cache(cache))?;
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

    /// Whether a commit rebuilds the whole version for its SHA-256, which takes as long as a restore; it does unless said otherwise. Without it, a commit costs what
    /// was changed, and the version has no SHA-256 on record.
    #[must_use]
    pub fn with_digest(mut self, digest: bool) -> Self {
        self.digest = digest;
        self
    }

    /// Whether a commit only finds out what it would do: the archive stays as it is, and what was edited stays staged.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.options.dry_run = dry_run;
        self
    }

    /// Whether a commit makes parity of the same share anew, where the archive has parity; it does unless said otherwise.
    #[must_use]
    pub fn with_parity_renewed(mut self, renewed: bool) -> Self {
        self.options.renew_parity = renewed;
        self
    }

    /// The version that is edited.
    pub fn archive(&self) -> &Archive {
        self.place.archive()
    }

    /// The header as it is now; offsets and the number of records are those before.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The number of records as it is now.
    pub fn records(&self) -> u64 {
        self.numrecs
    }

    /// Whether anything was edited since the last commit.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// An attribute of a variable, or of the file.
    pub fn attribute(&self, owner: Owner<'_>, name: &str) -> Option<&Attribute> {
        match owner {
            None => self.header.attribute(name.as_bytes()),
            Some(variable) => self.header.variable(variable.as_bytes())?.1.attribute(name.as_bytes()),
        }
    }

    /// Carries out an edit of the header that leaves the arrays as they are.
    fn edit_header(&mut self, edit: impl FnOnce(&mut Header) -> nc3z_format::Result<()>) -> Result<()> {
        let mut header = self.header.clone();
        edit(&mut header)?;
        self.touched |= header != self.header;
        self.header = header;
        Ok(())
    }

    /// The fill value of a variable that grows in this edit stays what it was.
    fn check_fill(&self, owner: Owner<'_>, name: &str) -> Result<()> {
        let Some(variable) = owner.filter(|_| name == "_FillValue") else { return Ok(()) };
        let at = header::find_variable(&self.header, variable)?;
        if self.variables[at]
            .cells
            .as_ref()
            .is_some_and(|cells| cells.fates().iter().any(|f| matches!(f, cells::Fate::Fill)))
        {
            return Err(FormatError::invalid(format!(
                "variable `{variable}` has elements that were not written yet: set `_FillValue` before the variable is added or grows, or commit first"
            ))
            .into());
        }
        Ok(())
    }

    /// Sets an attribute of a variable or of the file, in its place or behind the others. Values are big-endian.
    ///
    /// # Errors
    /// No such variable; a name or a type that the file cannot have; `_FillValue` of another type than the variable.
    pub fn set_attribute(&mut self, owner: Owner<'_>, name: &str, ty: NcType, values: &[u8]) -> Result<()> {
        self.check_fill(owner, name)?;
        self.edit_header(|h| header::set_attribute(h, owner, name, ty, values.to_vec()))
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// There is none.
    pub fn delete_attribute(&mut self, owner: Owner<'_>, name: &str) -> Result<()> {
        self.check_fill(owner, name)?;
        self.edit_header(|h| header::delete_attribute(h, owner, name))
    }

    /// Renames an attribute.
    ///
    /// # Errors
    /// There is none; a name that it cannot have, or that another one has.
    pub fn rename_attribute(&mut self, owner: Owner<'_>, name: &str, new: &str) -> Result<()> {
        self.check_fill(owner, name)?;
        self.check_fill(owner, new)?;
        self.edit_header(|h| header::rename_attribute(h, owner, name, new))
    }

    /// Renames a dimension.
    ///
    /// # Errors
    /// There is none; a name that it cannot have, or that another one has.
    pub fn rename_dimension(&mut self, name: &str, new: &str) -> Result<()> {
        self.edit_header(|h| header::rename_dimension(h, name, new))
    }

    /// Renames a variable.
    ///
    /// # Errors
    /// There is none; a name that it cannot have, or that another one has.
    pub fn rename_variable(&mut self, name: &str, new: &str) -> Result<()> {
        self.edit_header(|h| header::rename_variable(h, name, new))
    }

    /// Adds a dimension; of length 0 it is the record dimension.
    ///
    /// # Errors
    /// A name that it cannot have, or that another one has; a second record dimension.
    pub fn add_dimension(&mut self, name: &str, len: u64) -> Result<()> {
        self.edit_header(|h| header::add_dimension(h, name, len))
    }

    /// Adds a variable behind the others; it holds the fill value until something is set.
    ///
    /// # Errors
    /// A name that it cannot have, or that another one has; a type that the file cannot have; no such dimension; the record dimension in another place than the first.
    pub fn add_variable(&mut self, name: &str, ty: NcType, dimensions: &[&str]) -> Result<()> {
        self.edit_header(|h| header::add_variable(h, name, ty, dimensions))?;
        self.variables.push(Arc::new(Edited { origin: None, cells: None, keeps_tiles: false }));
        Ok(())
    }

    /// Deletes a variable.
    ///
    /// # Errors
    /// There is none.
    pub fn delete_variable(&mut self, name: &str) -> Result<()> {
        let at = header::find_variable(&self.header, name)?;
        self.header.variables.remove(at);
        self.variables.remove(at);
        self.touched = true;
        Ok(())
    }

    /// Makes the file one of another kind: CDF-1, -2 or -5.
    ///
    /// # Errors
    /// A variable or an attribute of a type that the kind does not have. What is too large for it is told by the commit.
    pub fn set_kind(&mut self, version: Version) -> Result<()> {
        self.edit_header(|h| header::set_kind(h, version))
    }

    /// Makes a dimension longer or shorter; new elements are the fill value. Of the record dimension, or the first one of a variable, what is there keeps its tiles. Where
    /// another dimension of a variable changes, all its elements get new places, and all of it is stored anew.
    ///
    /// # Errors
    /// There is no such dimension; a length of 0 where it is not the record dimension; damage of what has to be read.
    pub fn resize_dimension(&mut self, name: &str, len: u64) -> Result<()> {
        let id = header::find_dimension(&self.header, name)?;
        if self.header.dimensions[id.index()].is_record() {
            let before = std::mem::replace(&mut self.numrecs, len);
            self.touched |= before != len;
            return if len < before { self.cut(id) } else { Ok(()) };
        }
        header::check_fixed_len(name, len)?;
        let before = self.header.dimensions[id.index()].len;
        if before == len {
            return Ok(());
        }
        let inner: Vec<usize> = (0..self.header.variables.len())
            .filter(|&at| self.header.variables[at].dimensions.iter().skip(1).any(|d| *d == id))
            .collect();
        // As they are before, all of it.
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

    /// Cuts the variables whose first dimension became shorter, so that it may grow again without what they had there. Nothing is read for it.
    fn cut(&mut self, id: DimId) -> Result<()> {
        for at in 0..self.variables.len() {
            if self.header.variables[at].dimensions.first() == Some(&id) {
                self.cells(at)?;
            }
        }
        Ok(())
    }

    /// Puts a variable's elements into an array of another shape.
    fn rearrange(&mut self, at: usize) -> Result<()> {
        let shape = self.shape(at);
        let mut new = Cells::full(&shape, &self.new_spec(at)?, self.header.variables[at].fill_value())?;
        let old = self.variables[at].cells.as_ref().expect("the caller has seen to that");
        let both: Vec<u64> = old.shape().iter().zip(&shape).map(|(a, b)| *a.min(b)).collect();
        let total = element_count(&both)?;
        let band = (BAND_LEN / self.header.variables[at].ty.size() as u64).max(1);
        for first in (0..total).step_by(usize::try_from(band).unwrap_or(usize::MAX)) {
            for slab in runs::boxes(&both, first, total.min(first + band)) {
                let slab = Picks::from(&slab);
                new.set(&slab, &old.get(&slab)?, &self.spill, self.budget())?;
            }
        }
        let edited = self.edited(at);
        (edited.cells, edited.keeps_tiles) = (Some(new), false);
        self.spill_if_full()
    }

    /// Lengths of a variable as they are now.
    fn shape(&self, at: usize) -> Vec<u64> {
        let of = |len| if len == 0 { self.numrecs } else { len };
        self.header.variables[at].dimensions.iter().map(|&d| of(self.header.dim_len(d))).collect()
    }

    /// Lengths of a variable as they are now.
    ///
    /// # Errors
    /// There is no such variable.
    pub fn shape_of(&self, variable: &str) -> Result<Vec<u64>> {
        Ok(self.shape(header::find_variable(&self.header, variable)?))
    }

    fn edited(&mut self, at: usize) -> &mut Edited {
        Arc::get_mut(&mut self.variables[at]).expect("only a commit shares them, and it is over")
    }

    /// How a variable is cut that the archive does not have.
    fn new_spec(&self, at: usize) -> Result<TileLayoutSpec> {
        let is_record = self.header.is_record(&self.header.variables[at]);
        let numrecs = if is_record { self.numrecs.max(RECORDS_TO_COME) } else { self.numrecs };
        let new =
            arrange(self.header.clone(), numrecs).or_else(|_| arrange(self.header.clone(), self.numrecs))?;
        Ok(Partition::new(&new.header, &new.layout, &self.options)?.variables.swap_remove(at))
    }

    /// The elements of a variable, of the lengths that it has now.
    fn cells(&mut self, at: usize) -> Result<&mut Cells> {
        let (shape, fill) = (self.shape(at), self.header.variables[at].fill_value().to_vec());
        if self.variables[at].cells.is_none() {
            let archive = self.place.archive().clone();
            let origin = self.variables[at].origin;
            let kept = origin.filter(|&v| {
                archive.layout().variables[v.index()].owned
                    && element_count(&shape).is_ok_and(|len| !is_outgrown(&archive, v, len))
            });
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
        let edited = self.edited(at);
        let cells = edited.cells.as_mut().expect("made above");
        if cells.shape().first() != shape.first() {
            cells.set_len(shape[0])?;
        }
        Ok(cells)
    }

    /// A copy of a variable of the archive, in tiles of its own.
    fn copied(&self, archive: &Archive, at: usize, v: VarId, fill: &[u8]) -> Result<Cells> {
        let dataset = Dataset::from(archive.clone());
        let variable = dataset.variable_at(v).expect("it is the archive's own");
        let mut cells = Cells::full(variable.shape(), &self.new_spec(at)?, fill)?;
        let total = element_count(variable.shape())?;
        let band = BAND_LEN / fill.len() as u64;
        if variable.shape().is_empty() {
            let all = variable.all();
            cells.set(&Picks::from(&all), &variable.read_bytes(&all)?, &self.spill, self.budget())?;
            return Ok(cells);
        }
        for first in (0..total).step_by(usize::try_from(band).unwrap_or(usize::MAX)) {
            for slab in runs::boxes(variable.shape(), first, total.min(first + band)) {
                cells.set(&Picks::from(&slab), &variable.read_bytes(&slab)?, &self.spill, self.budget())?;
            }
        }
        Ok(cells)
    }

    /// Bytes that staged values may take in memory.
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

    /// Commits what was edited as a new version. The edit goes on from there, with nothing staged.
    ///
    /// # Errors
    /// What does not fit the kind of file; words that are too long; the proof failed; the system refuses. The archive is then what it was, and what was edited is still
    /// staged.
    pub fn commit(&mut self, note: &CommitNote, monitor: &dyn Monitor) -> Result<Committed> {
        note.check()?;
        let done = commit::commit(self, note, monitor)?;
        if self.options.dry_run {
            return Ok(done);
        }
        if !done.is_known() {
            self.place.reload()?;
        }
        (self.header, self.numrecs, self.variables) = begin(self.place.archive());
        self.spill = SpillFile::default();
        self.touched = false;
        Ok(done)
    }

    /// Lets go of the lock and of what is staged.
    pub fn close(self) {}
}

impl std::fmt::Debug for Edit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edit").field("path", &self.place.path()).finish_non_exhaustive()
    }
}

/// Nothing edited yet.
fn begin(archive: &Archive) -> (Header, u64, Vec<Arc<Edited>>) {
    let header = archive.header().clone();
    let edited = |(v, _)| Arc::new(Edited { origin: Some(v), cells: None, keeps_tiles: true });
    let variables = archive.header().variables().map(edited).collect();
    (header, archive.layout().numrecs, variables)
}

/// Refuses an option with the reason.
fn refuse<T>(option: &'static str, why: String) -> Result<T> {
    Err(ErrorKind::Option { option, why }.into())
}
