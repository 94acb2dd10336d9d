//! Reads nc3z archives and classic netCDF files.
//!
//! [`Archive`] is `Clone + Send + Sync`; every byte it hands out has passed its checksums. Opening is O(sections) and checks
//! structure; reading checks what it touches; [`verify`] checks everything.

mod archive;
mod array;
mod block;
mod byteview;
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
