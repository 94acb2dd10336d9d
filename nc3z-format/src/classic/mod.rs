//! The classic netCDF formats (CDF-1, CDF-2, CDF-5): header model, grammar, encoder, and where each byte lives.
//!
//! ```text
//!  0 ─ header ─┬─ fixed variables, gaps ─┬─ record 0 ─┬─ record 1 ─┬─ ... ─┬─ tail ─ end
//! ```
//!
//! [`parse()`] turns header bytes into a [`Header`]; [`Layout::new`] turns a header and a file length into the place
//! of every byte of the file. Nothing here reads a file: callers bring bytes and lengths.

pub mod arrange;
pub mod encode;
mod foreign;
pub mod header;
mod history;
pub mod layout;
pub mod parse;
mod regions;
mod related;
mod warning;

pub use arrange::{Arrangement, arrange};
pub use encode::encode;
pub use foreign::{Foreign, sniff};
pub use header::{Attribute, DimId, Dimension, Header, NumRecs, VarId, Variable, Version};
pub use layout::{Layout, RecordPlace, Records, Run, Slot, VarLayout};
pub use parse::{Parse, Parsed, parse, parse_prefix};
pub use regions::{Gaps, Segment, SegmentKind};
pub use related::with_related;
pub use warning::Warning;
