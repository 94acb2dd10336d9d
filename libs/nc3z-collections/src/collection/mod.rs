//! Many files as the datasets that they are parts of, read without a file that describes them: what Python's `open_collection` shows.
//!
//! * [`Scan`]: header and coordinates of each file ([`Member`]). Files with equal ones share them.
//! * [`groups`]: which files are parts of one dataset ([`Group`]), and where each of them is. [`merged`]: which groups are.
//! * [`Head`]: a variable of a file, and what decides whether variables of two files are one.
//! * [`Form`]: the type and the unit in which a variable of several files is read.
//!
//! An aggregation (`build`) is written once and read by other programs. So it keeps the units of its first file and has a fill
//! value. A collection is read by xarray, which decodes single files by the same rules as [`Decoding::declared`]. Types are joined
//! alike in both.
//!
//! [`Decoding::declared`]: nc3z_format::decode_value::Decoding::declared

mod form;
mod group;
mod head;
mod line;
mod merge;
mod schema;
#[cfg(test)]
mod tests;

pub use crate::master::conform::Since;
pub use form::Form;
pub use group::{Group, groups, without_records};
pub use head::{Head, c_names};
pub use merge::{difference, merged, names};
pub use schema::{Member, Scan};
