//! Packed bundles: small files share equal and similar data. A *group* contains about a hundred files. It is
//! an ordinary archive of one classic file, whose arrays are the *columns*: the arrays with the same name of
//! all members, one after another, equal ones only once. A list describes each member: its header, and for
//! each array its column and its place there (`spec/bundle.md`).
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
pub(crate) mod zipped;

pub use group::{Group, PackedMember};
pub use lost::LostPart;
pub use write::{PackOptions, Packed, append_packed, write_packed};

pub(crate) use encode::of_writer;
pub(crate) use group::is_group_name;

/// The name of the text for people who unzip the bundle.
pub(crate) const README: &str = "README-nc3z.txt";
/// The directory of the groups in the bundle.
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
