//! Exact, small, randomly readable archives of classic netCDF files.
//!
//! An archive restores the original file byte by byte. Values are read from an archive and from a classic file by the same calls.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let (source, target) = ("../testdata/classic/record_padding.nc", dir.path().join("a.nc3z"));
//! nc3z::archive(source, &target)?;
//! let a = nc3z::open(&target)?.variable("a")?; // short a(time=40, x=5)
//! let series: Vec<f64> = a.read((..3, 3))?;
//! assert_eq!(series, [3.0, 24.0, 45.0]);
//! nc3z::restore(&target, dir.path().join("a.nc"))?;
//! # assert_eq!(std::fs::read(source)?, std::fs::read(dir.path().join("a.nc"))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Change values and attributes. A commit adds a version to the archive; older versions stay readable:
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("a.nc3z");
//! # nc3z::archive("../testdata/classic/record_padding.nc", &path)?;
//! let mut edit = nc3z::Edit::open(&path)?;
//! edit.set("a", (1, ..2), &[7, 8])?;
//! edit.set_attribute("a", "units", "K")?;
//! assert_eq!(edit.commit("corrected row 1")?.version, 2);
//! let old = nc3z::open_with(&path, &nc3z::OpenOptions::default().with_version(1))?;
//! assert!(old.variable("a")?.attribute("units").is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Check every byte of an archive:
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("a.nc3z");
//! # nc3z::archive("../testdata/classic/record_padding.nc", &path)?;
//! let report = nc3z::verify(&path)?;
//! assert!(report.is_sound() && report.is_complete());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A name is a path, a URL, a member of a bundle, or `-`. An aggregation is read like a file, and values are decoded on request:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> { Ok(()) }
//! fn first_day(name: &str) -> nc3z::Result<(Option<String>, Vec<f64>)> {
//!     let file = nc3z::open(name)?; // "tas.nc.nc3z@2", "https://host/tas.nc.nc3z", "set.zip!/tas.nc", "all-years.nc"
//!     let (time, tas) = (file.variable("time")?, file.variable("tas")?);
//!     let first = time.read_times([0])?;
//!     Ok((first[0].clone(), tas.read_decoded(..)?))
//! }
//! ```
//!
//! # Conventions
//!
//! * Each call with a path has a form with options: [`open`] and [`open_with`], [`archive()`] and [`archive_with`].
//! * Values are native numbers. Types are converted by the rules of the netCDF library; see [`Element`].
//! * All calls return one [`Error`]. [`Error::kind`] returns its category, its text says what happened and where.
//! * Output files appear complete or not at all. An existing file is replaced only with `with_force(true)`.
//!
//! # Features
//!
//! * `collections` (on by default): bundles, aggregations and catalogues.
//! * `remote`: names that are URLs (`https`, `s3`, `gs`, `az`).
//! * `ndarray`: `Variable::get` returns an array of the `ndarray` crate.
//!
//! The crates `nc3z-reader`, `nc3z-writer`, `nc3z-format` and `nc3z-num` are the unstable parts of this crate.

mod archive;
mod attribute;
mod dataset;
mod edit;
mod element;
mod error;
mod name;
mod opened;
#[doc(hidden)]
pub mod opener;
mod options;
mod restore;
mod verify;
mod version;

pub use archive::{ArchiveReport, archive, archive_with};
pub use attribute::{Attribute, Values};
pub use dataset::{Dataset, Dimension, Variable, open, open_with};
pub use edit::{CommitNote, CommitReport, Edit, commit, commit_with};
pub use element::Element;
pub use error::{Error, ErrorKind, Result};
pub use name::Name;
pub use nc3z_format::NcType;
pub use nc3z_format::selection::{Hyperslab, Index, Segment, Select, Selected, Selection, Span};
pub use nc3z_reader::Monitor;
pub use nc3z_writer::Preset;
#[cfg(feature = "collections")]
pub use opened::{Bundle, Catalog};
pub use opened::{Opened, open_any, open_any_with};
pub use opener::Kind;
pub use options::{ArchiveOptions, EditOptions, OpenOptions, RestoreOptions, VerifyOptions};
pub use restore::{RestoreReport, restore, restore_with};
pub use verify::{Finding, VerifyReport, verify, verify_with};
pub use version::{
    Version, VersionName, delete_tag, delete_tag_with, tag, tag_with, versions, versions_with,
};
