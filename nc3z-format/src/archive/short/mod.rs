//! The short form of small archives (`spec/archive.md`, section 12): the content of an archive, without the
//! parts that can be computed from it.
//!
//! Half of a small archive in the long form is structure: superblock, block headers, index, section table,
//! trailer. All of this can be computed from a *directory* (the head, one record for each block, checksums of
//! tiles). If a file is smallest when compressed as a whole, it can be computed from the classic file itself.
//! The short form is either of them, compressed, after a prefix. [`expand`] returns the archive in the long
//! form, on which reading, checking and repair work.
//!
//! Files, each using only those before it: `prefix`, `directory`, `whole`, `expand`, `shorten`.

mod directory;
mod expand;
mod prefix;
mod shorten;
mod whole;

pub use expand::{Expanded, Outside, expand};
use prefix::Form;
pub use shorten::{shorten, shorten_whole};

/// Bytes before the content.
pub const SHORT_PREFIX_LEN: usize = 68;
/// Largest number of bytes of an archive in the short form that a reader must accept.
pub const SHORT_LEN: usize = 64 << 10;
/// Largest number of decoded bytes of a content.
const CONTENT_LEN: u64 = 1 << 20;
/// Largest number of index entries of the long form.
const ENTRIES: usize = 1 << 14;

const SECTION: &str = "short form";

/// Returns true if a file with these first ten bytes is an archive in the short form.
pub fn is_short(start: &[u8]) -> bool {
    Form::new(start).is_some()
}

/// Returns true if a file with these first bytes contains the original as a whole.
pub fn is_whole(start: &[u8]) -> bool {
    Form::new(start) == Some(Form::Whole)
}

#[cfg(test)]
mod tests;
