//! The short form of small archives (`spec/archive.md`, section 12): what an archive holds, without what follows from it.
//!
//! A small archive in the long form is half frame: superblock, block headers, index, section table, trailer. All of that follows from a
//! *directory* (the head, one record for each block, one checksum for each tile of a container), which the short form stores as one zstd
//! frame behind a prefix. [`expand`] gives the archive in the long form, which is what readers, checkers and menders work on.

mod directory;
mod expand;
mod shorten;

use super::constants::MAGIC;
pub use expand::{Expanded, expand};
pub use shorten::shorten;

/// Bytes before the directory.
pub const SHORT_PREFIX_LEN: usize = 68;
/// The most bytes of an archive in the short form that a reader must take.
pub const SHORT_LEN: usize = 64 << 10;
/// The version field: major version 0, form 1.
const VERSION: [u8; 2] = [0, 1];
/// What a person sees who looks at the first bytes.
const TEXT: &[u8; 16] = b"netCDF in nc3z\r\n";
/// The most bytes of a directory, decoded.
const DIRECTORY_LEN: u64 = 1 << 20;
/// The most index entries of the long form.
const ENTRIES: usize = 1 << 14;

const SECTION: &str = "short form";

/// Whether a file that begins so is an archive in the short form: ten bytes tell.
pub fn is_short(start: &[u8]) -> bool {
    start.starts_with(&MAGIC) && start[MAGIC.len()..].starts_with(&VERSION)
}

#[cfg(test)]
mod tests;
