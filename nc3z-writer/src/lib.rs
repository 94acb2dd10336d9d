//! Writes nc3z archives: archives a classic netCDF file and checks that the archive restores it.
//!
//! This crate is an unstable part of the crate `nc3z`. Programs use `nc3z`: this interface may change with any version.
//!
//! ```text
//! source ─▶ plan (tile shapes, chains, shared containers) ─▶ tiles ─▶ executor (encode, parallel) ─▶ writer ─▶ proof ─▶ sync, rename
//! ```
//! The same input and options give the same bytes, whatever the number of threads and the memory.

mod atomic;
mod build;
mod classic;
pub mod edit;
mod encode;
mod error;
mod executor;
mod generation;
mod job;
mod layout;
mod leftovers;
mod options;
pub mod parity;
mod per_variable;
mod plan;
mod platform;
mod scratch;
mod source_digests;
mod tiles;

pub use atomic::{AtomicFile, Attributes, commit_all, is_same_file, refuse_url, remove_temporary_files};
pub use classic::{ClassicValues, Sink, write_classic};
pub use error::{Advice, Error, ErrorKind, Result};
pub use generation::lock as lock_file;
pub use job::archive::{
    ArchiveReport, Prepared, archive_file, archive_into, archive_open_file, archive_source, archive_to,
    archive_to_vec, check_unchanged, prepare_file, publish,
};
pub use job::commit::{CommitNote, CommitReport, commit_file};
pub use job::estimate::{
    DEFAULT_SAMPLE_LEN, Estimate, PeerEstimate, PresetEstimate, VariableEstimate, estimate,
};
pub use job::gc::{Collected, Keep, collect_file};
pub use job::recompress::{Recompressed, ReplacePolicy, recompress_file};
pub use job::repair::blocks::{BlockRepairOptions, LostTiles, RepairedBlocks, RepairedDigest, repair_blocks};
pub use job::repair::versions::{RepairedVersions, repair_versions};
pub use job::repair::{
    RepairError, RepairNote, RepairObserver, RepairOptions, RepairOutcome, RepairStep, RepairedInPlace,
    repair_file, repair_in_place,
};
pub use job::restore::restore_file;
pub use job::revert::revert_file;
pub use job::tag::{TagChange, tag_version};
pub use layout::{ChunkError, ChunkRequest, TileChoice};
pub use leftovers::{TEMPORARY_SUFFIX, is_temporary_name, remove_leftovers};
pub use options::*;
pub use per_variable::PerVariable;
pub use platform::is_being_changed;
