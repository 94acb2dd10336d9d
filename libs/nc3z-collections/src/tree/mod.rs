//! Runs over trees of files: which file becomes which, what a run records, and how its result is checked later.
//!
//! [`run()`] archives many files. [`walk`] finds the files of a tree and pairs each with its output. [`Other`] is a file that a run skips, and [`Summary`] counts
//! the results. [`journal`] is the log that a run is resumed from. [`manifest`] reads and writes lists of files with their
//! SHA-256. [`hash`] has digests and roots of files, and checks lists of digests. [`list`] describes a file in one line.
//!
//! This module prints nothing and parses no options. A caller that reports to a person gets values: a [`walk::Notice`], a
//! [`manifest::relist::Notice`], or an [`Error`].

pub mod acl;
pub mod answers;
pub mod campaign;
pub mod code;
mod error;
pub mod estimate;
pub mod hash;
pub mod index;
pub mod journal;
pub mod links;
pub mod list;
pub mod manifest;
pub mod members;
pub mod offline;
pub mod ordered;
mod other;
pub mod output_dirs;
pub mod patterns;
pub mod present;
pub mod recompress;
pub mod refusal;
pub mod removal;
pub mod repair;
pub mod report;
pub mod restore;
pub mod run;
mod sha256;
pub mod shard;
#[cfg(feature = "specification")]
pub mod specification;
mod stamp;
mod summary;
mod sync_batch;
mod table;
pub mod walk;

pub use error::{Error, ErrorKind, Result};
pub use other::{FileKind, Other};
pub use refusal::Refusal;
pub use run::{Inputs, Observer, Options, Report, run, run_jobs};
pub use sha256::sha256_of_file;
pub use stamp::has_changed;
pub use summary::Summary;

/// Returns a path as messages and logs show it: as text, with control characters escaped.
fn shown(path: &std::path::Path) -> String {
    nc3z_look::text::safe(&path.to_string_lossy())
}
