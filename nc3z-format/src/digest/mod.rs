//! Content digests. They cover the content of a classic file and not the arrangement of its bytes (`spec/digest.md`).
//!
//! ```text
//! values of a variable, big-endian, row-major ─▶ branches, leaves of 4 KiB ─▶ Merkle tree ─▶ root of the values
//! type ‖ lengths ‖ elements present ‖ root of the values  ─▶ digest of the variable
//! entry of the file, entry of each variable with its digest ─▶ Merkle tree ─▶ root of the file
//! ```
//! Callers pass the values in pieces of any length, and may hash groups of leaves in other threads.

mod domain;
mod entry;
mod lanes;
mod levels;
mod pieces;
mod proof;
mod record;
mod root;
mod tree;

pub use domain::{collection_root, content_root, root_of_entries, values_digest, variable_digest};
pub use entry::{Entry, EntryDimension};
pub use levels::{
    TREE_MAGIC, TreePlace, encode_tree, fold_nodes, hashes, root_of_values, stored_level, tree_roots,
};
pub use pieces::{Pieces, branch_len};
pub use proof::{fold, nodes};
pub use record::DigestRecord;
pub use root::Root;
pub use tree::{GROUP_LEN, Group, LEAF_LEN, Tree, ValuesHasher, leaf_hash, values_root};

/// A SHA-256 digest.
pub type Hash = [u8; 32];
