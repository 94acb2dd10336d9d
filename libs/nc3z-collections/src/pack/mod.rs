//! Packed bundles: small files share equal and similar data. A *group* contains about a hundred files. It is
//! an ordinary archive of one classic file, whose arrays are the *columns*: the arrays with the same name of
//! all members, one after another, equal ones only once. A list describes each member: its header, and for
//! each array its column and its place there (`spec/catalogue.md`, section 6).
//!
//! ```text
//! members ─▶ order (like with like) ─▶ columns ─▶ one classic file ─▶ archive          group: nc3z_members │ nc3z_heads │ columns …
//! member  ◀─ bytes of the original  ◀─ header, and runs of columns  ◀─┘
//! ```
//! References lead from a member to a group, and no further, so that cycles are impossible. A reader of a
//! member reads bytes of its original file, with the reader of classic files.

mod arrays;
mod choose;
mod columns;
mod encode;
mod group;
mod listing;
mod lost;
mod order;
mod original;
mod write;

pub use group::{Group, PackedMember};
pub use lost::LostPart;
pub use write::PackOptions;
pub(crate) use write::add;

pub(crate) use encode::of_writer;

/// The names of groups begin with it. No member has such a name.
pub(crate) const DIRECTORY: &str = ".nc3z/packed/";
/// Name of the column with the list of members.
const MEMBERS: &str = "nc3z_members";
/// Name of the column with the headers.
const HEADS: &str = "nc3z_heads";
/// The number of columns before those with arrays.
const OWN_COLUMNS: u32 = 2;
/// The attribute that marks a group, and its value.
const MARK: (&str, &str) = ("nc3z_packed", "1");

#[cfg(test)]
mod tests;
