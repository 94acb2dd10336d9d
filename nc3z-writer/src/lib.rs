//! Writes nc3z archives: a classic netCDF file in, one proven archive out.
//!
//! ```text
//! source ─▶ plan (tile shapes, chains, shared containers) ─▶ tiles ─▶ encode (parallel) ─▶ writer ─▶ proof ─▶ sync, rename
//! ```
//! The same input and options give the same bytes, whatever the number of threads and the memory.

mod archive;
mod atomic;
mod build;
mod carry;
mod classic;
mod commit;
mod encode;
mod error;
mod estimate;
mod generation;
mod layout;
mod leftovers;
mod options;
pub mod parity;
mod pipeline;
mod plan;
mod quantize;
mod recompress;
mod repair;
mod tiles;
mod wanted;

pub use archive::{Archived, archive_file, archive_open_file, archive_to, archive_to_vec};
pub use atomic::{AtomicFile, is_same_file};
pub use classic::{ClassicValues, Sink, write_classic};
pub use commit::{Committed, commit_file};
pub use error::{Error, ErrorKind, Result};
pub use estimate::{DEFAULT_SAMPLE_LEN, Estimate, PeerEstimate, PresetEstimate, VariableEstimate, estimate};
pub use layout::{ChunkRequest, TileChoice};
pub use leftovers::{TEMPORARY_SUFFIX, is_temporary_name, remove_leftovers};
pub use options::*;
pub use recompress::{LINEAGE, Recompressed, Terms, recompress_file};
pub use repair::{LostTiles, RepairOptions, Repaired, RepairedDigest, repair_file};
pub use wanted::Wanted;
