//! Generations: this module alone writes new archives and everything that is appended to archives.
//!
//! ```text
//! fresh:   superblock, head copy ─┐
//! on top:  archive as it is ──────┴▶ blocks ▶ index pages ▶ sections ▶ section table ▶ (proof, sync) ▶ trailer, sync
//! ```
//! [`GenerationWriter`] writes the blocks, the index and the sections. [`Ending`] writes the section table and the
//! trailer, also for generations without other content (parity). [`InPlace`] appends to an archive that other
//! processes may want to change too.

mod append;
mod blocks;
mod ending;
mod index;
mod lineage;
mod locked;
mod medium;
mod short;
mod sink;
pub(crate) mod slots;
mod writer;

pub use append::lock;
pub(crate) use append::{InPlace, append};
pub(crate) use blocks::WholeContainer;
pub(crate) use ending::{Ending, Unsealed, version_number};
pub(crate) use locked::LockedArchive;
pub(crate) use medium::{Medium, Memory};
pub(crate) use short::{shorten, shorten_whole};
pub(crate) use writer::GenerationWriter;
