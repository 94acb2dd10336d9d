//! Content digests: what a classic file says, not how it is laid out (`spec/digest.md`).
//!
//! ```text
//! values of a variable, big-endian, row-major ─▶ leaves of 1 MiB ─▶ Merkle tree ─▶ root
//! type ‖ lengths ‖ elements present ‖ root    ─▶ digest of the variable
//! dimensions ‖ attributes ‖ variables, each with its digest ─▶ content digest of the file
//! ```
//! Pure: callers bring the values in any pieces, and may hash whole leaves wherever they like.

mod domain;
mod record;
mod tree;

pub use domain::{content_digest, variable_digest};
pub use record::DigestRecord;
pub use tree::{LEAF_LEN, LeafHasher, Tree, ValuesHasher, leaf_hash};

/// A SHA-256 digest.
pub type Hash = [u8; 32];
