//! Generations: whatever is appended to an archive, and the whole of a fresh one, is written here and nowhere else.
//!
//! ```text
//! fresh:   superblock, head copy ─┐
//! on top:  archive as it is ──────┴▶ blocks ▶ index pages ▶ sections ▶ section table ▶ (proof, sync) ▶ trailer, sync
//! ```
//! [`GenerationWriter`] makes the blocks, the index and the sections; [`Ending`] the section table and the trailer, also for generations that
//! have nothing else (parity); [`InPlace`] appends to an archive that others may want to change too.

mod append;
mod blocks;
mod ending;
mod held;
mod index;
mod lineage;
mod medium;
mod short;
mod sink;
pub(crate) mod slots;
mod writer;

pub(crate) use append::{InPlace, append, lock};
pub(crate) use blocks::WholeContainer;
pub(crate) use ending::{Ending, Unsealed, version_number};
pub(crate) use held::Held;
pub(crate) use medium::{Medium, Memory};
pub(crate) use short::{WHOLE, shorten, shorten_whole};
pub(crate) use writer::GenerationWriter;
