//! The short form of small archives (`spec/archive.md`, section 12): what an archive holds, without what follows from it.
//!
//! A small archive in the long form is half frame: superblock, block headers, index, section table, trailer. All of that follows from a
//! *directory* (the head, one record for each block, checksums of tiles), or, of files that are smallest packed as one, from the classic file itself.
//! The short form is either of them, packed, behind a prefix. [`expand`] gives the archive in the long form, which is what readers, checkers and menders work on.
//!
//! Files, each using only those before it: `prefix`, `plain` and `directory` (which need each other), `whole`, `expand`, `shorten`.

mod directory;
mod expand;
mod plain;
mod prefix;
mod shorten;
mod whole;

pub use expand::{Expanded, Outside, expand};
use prefix::Form;
pub use shorten::{shorten, shorten_whole};

/// Bytes before the content.
pub const SHORT_PREFIX_LEN: usize = 68;
/// The most bytes of an archive in the short form that a reader must take.
pub const SHORT_LEN: usize = 64 << 10;
/// The most bytes of a content, decoded.
const CONTENT_LEN: u64 = 1 << 20;
/// The most index entries of the long form.
const ENTRIES: usize = 1 << 14;

const SECTION: &str = "short form";

/// Whether a file that begins so is an archive in the short form: ten bytes tell.
pub fn is_short(start: &[u8]) -> bool {
    Form::of(start).is_some()
}

/// Whether such a file is the original as a whole.
pub fn is_whole(start: &[u8]) -> bool {
    Form::of(start) == Some(Form::Whole)
}

#[cfg(test)]
mod tests;
