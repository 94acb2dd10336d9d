//! Reads nc3z archives and classic netCDF files.
//!
//! This crate is an unstable part of the crate `nc3z`. Programs use `nc3z`: this interface may change with any version.
//!
//! [`Dataset`] opens an archive or a classic file, whichever it is; a [`Variable`] of either is read by hyperslab:
//!
//! ```
//! use nc3z_format::Hyperslab;
//! use nc3z_reader::{Dataset, OpenOptions};
//!
//! # let path = "../testdata/classic/record_padding.nc";
//! let dataset = Dataset::open(path, &OpenOptions::default())?;
//! let a = dataset.variable("a")?; // short a(time=40, x=5)
//! // The series of one point, as doubles whatever its type is.
//! let point = Hyperslab::new([0, 3], [40, 1], [1, 1])?;
//! let series: Vec<f64> = a.read(&point)?;
//! assert_eq!(series[..3], [3.0, 24.0, 45.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An [`Archive`] gives the original file back, as a stream, a byte source, or written out with its digest checked:
//!
//! ```
//! use nc3z_reader::{Archive, OpenOptions, source::MemorySource};
//! use std::sync::Arc;
//!
//! # let bytes = std::fs::read("../testdata/archives/v1_0_0/record_padding.default.parity.nc3z")?;
//! let archive = Archive::from_source(Arc::new(MemorySource::new(bytes)), &OpenOptions::default())?;
//! let mut original = Vec::new();
//! let restored = archive.restore_to_stream(&mut original, &())?;
//! assert!(restored.matches_record && original.starts_with(b"CDF"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`verify`] checks every byte, and goes on after damage:
//!
//! ```
//! use nc3z_reader::{OpenOptions, source::{MemorySource, SharedSource}, verify};
//! use std::sync::Arc;
//!
//! # let bytes = std::fs::read("../testdata/archives/v1_0_0/record_padding.default.parity.nc3z")?;
//! let source: SharedSource = Arc::new(MemorySource::new(bytes));
//! let report = verify::deep(&source, &OpenOptions::default(), &())?;
//! assert!(report.is_sound() && report.restored.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a read costs
//!
//! `Archive` is `Clone + Send + Sync`. Every byte it returns has passed its checksums. Opening is O(sections)
//! and checks structure; reading checks the bytes it uses. A read decodes only the tiles that its hyperslab
//! touches ([`Variable::plan`] returns them). Tiles that are in the output as a whole are decoded directly
//! into it. All others pass through a [`cache`] that the process shares. Large requests use several threads.
//! Memory: the output, the cache's budget, and two tiles per thread.
//!
//! Bytes come from a [`source`]. A source with slow requests describes them by its [`source::Reach`]. It is read in windows:
//! the bytes for many tiles are merged into few requests, and one window is decoded while the next is fetched.
//!
//! # Features
//!
//! * `fs`: opening by path, maps, restoring into files. Without it, archives are opened from any byte source.
//! * `parallel`: threads. Without it everything is done by the calling thread.
//! * `ndarray`: reads into arrays of that crate.

mod archive;
mod check;
mod classic;
mod dataset;
pub mod diff;
mod error;
#[cfg(feature = "fs")]
mod file_name;
mod foreign;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod instances;
mod monitor;
mod newest;
mod open;
mod options;
mod parallel;
#[cfg(feature = "parallel")]
mod per_process;
pub mod platform;
mod restore;
mod sections;
pub mod source;
mod tail;
mod tile;
mod tile_location;
mod trailers;
mod verified;
mod versions;

pub use archive::{Archive, BaseTile};
pub use check::{parity, recover, verify};
pub use classic::{ClassicFile, FlatArrays};
pub use dataset::convert::{self, Element};
pub use dataset::{ArraySource, Dataset, Tile, TileIter, Variable};
pub use error::{Error, ErrorKind, Result, code_of_io};
#[cfg(feature = "fs")]
pub use file_name::FileName;
pub use monitor::Monitor;
pub use nc3z_format::archive::Digest;
pub use newest::slots_at;
pub use options::OpenOptions;
#[cfg(feature = "parallel")]
pub use parallel::{PoolEntry, enter_pool_by};
#[cfg(feature = "parallel")]
pub use per_process::PerProcess;
#[cfg(feature = "fs")]
pub use restore::OriginalDifference;
pub use restore::{DigestRequest, Digests, OriginalSource, RestoreReport, RestoreStream};
pub use tile::{Fill, cache};
pub use tile_location::{Slab, TileLocation};
pub use verified::TreeFile;
pub use versions::{Version, VersionName};
