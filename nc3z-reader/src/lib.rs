//! Reads nc3z archives and classic netCDF files.
//!
//! [`Archive`] is `Clone + Send + Sync`; every byte it hands out has passed its checksums. Opening is O(sections) and checks
//! structure; reading checks what it touches; [`verify`] checks everything.
//!
//! # Reading
//!
//! [`Dataset`] opens an archive or a classic file, whichever it is; a [`Variable`] of either is read by hyperslab.
//!
//! ```no_run
//! use nc3z_format::{Hyperslab, select::Span};
//! use nc3z_reader::{Dataset, OpenOptions};
//!
//! let dataset = Dataset::open("tas.nc3z", &OpenOptions::default())?;
//! let tas = dataset.variable("tas")?; // tas(time, lat, lon)
//!
//! // The series of one point, as doubles whatever its type is.
//! let point = Hyperslab::of_spans(tas.shape(), &[Span::of(..), Span::of(90), Span::of(180)])?;
//! let series: Vec<f64> = tas.read(&point)?;
//!
//! // The first map, every second row and column, into a buffer that is used again.
//! let coarse = Hyperslab::of_spans(tas.shape(), &[Span::of(0), Span::of(..).by(2), Span::of(..).by(2)])?;
//! let mut map = vec![0_f32; 90 * 180];
//! tas.read_into(&coarse, &mut map)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A read touches the tiles that its hyperslab meets, and no others ([`Variable::plan`] tells which). They are decoded
//! straight into the output where they land there whole, else by way of a [`cache`] that the process shares; large requests
//! are done by several threads. Memory: the output, the cache's budget, and two tiles a thread.

mod archive;
mod array;
mod block;
mod byteview;
pub mod cache;
mod chunks;
mod classic;
pub mod convert;
mod dataset;
mod digest;
mod error;
mod fill;
mod monitor;
mod open;
pub mod parity;
mod place;
mod rebuild;
mod restore;
pub mod salvage;
pub mod source;
pub mod verify;

pub use archive::{Archive, Digest};
pub use classic::ClassicFile;
pub use convert::Element;
pub use dataset::{ArraySource, Dataset, Tile, TileIter, Variable};
pub use digest::{Digests, Wanted};
pub use error::{Error, ErrorKind, Result};
pub use fill::Fill;
pub use monitor::Monitor;
pub use open::OpenOptions;
pub use place::{Slab, TilePlace};
pub use rebuild::Rebuild;
pub use restore::Restored;
