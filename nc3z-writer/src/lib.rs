//! Writes nc3z archives: a classic netCDF file in, one proven archive out.
//!
//! ```text
//! source ─▶ partition ─▶ gather ─▶ choose, encode (parallel) ─▶ writer ─▶ proof ─▶ sync, rename
//! ```
//! The same input and options give the same bytes, whatever the number of threads and the memory.

mod archive;
mod atomic;
mod choose;
mod classic;
mod encode;
mod error;
mod estimate;
mod gather;
mod layout;
mod options;
pub mod parity;
mod partition;
mod pipeline;
mod quantize;
mod recompress;
mod repair;
mod together;
mod wanted;
mod writer;

pub use archive::{Archived, archive_file, archive_open_file};
pub use atomic::{AtomicFile, is_same_file};
pub use classic::{ClassicValues, Sink, write_classic};
pub use error::{Error, ErrorKind, Result};
pub use estimate::{DEFAULT_SAMPLE_LEN, Estimate, PeerEstimate, PresetEstimate, VariableEstimate, estimate};
pub use layout::{ChunkRequest, TileChoice};
pub use options::*;
pub use recompress::{LINEAGE, Recompressed, Terms, recompress_file};
pub use repair::{LostTiles, RepairOptions, Repaired, RepairedDigest, repair_file};
pub use wanted::Wanted;
