//! Packed bundles: small files share what repeats across them. A *group* holds some hundred files. It is an archive like any other, of one
//! classic file, whose arrays are the *columns*: the arrays of one name of all members, one after another, equal ones once. What a member is
//! made of stands in a list: its header, and for each array its column and its place there (`spec/bundle.md`).
//!
//! ```text
//! members ─▶ order (like with like) ─▶ columns ─▶ one classic file ─▶ archive          group: nc3z_members │ nc3z_heads │ columns …
//! member  ◀─ bytes of the original  ◀─ header, and runs of columns  ◀─┘
//! ```
//! A reference leads from a member to a group, and from there nowhere: no circle is possible. Whoever reads a member asks for bytes of
//! its original file; the reader of classic files does the rest.

mod arrays;
mod choose;
mod columns;
mod encode;
mod group;
mod listing;
mod order;
mod original;
mod write;
mod zipped;

pub use group::{Group, PackedMember};
pub use write::{PackOptions, Packed, append_packed, write_packed};

pub(crate) use group::is_group_name;

/// What a text for people that unzip the bundle is called.
pub(crate) const README: &str = "README-nc3z.txt";
/// Where groups are in the bundle.
pub(crate) const DIRECTORY: &str = ".nc3z/packed/";
/// Name of the column with the list of members.
const MEMBERS: &str = "nc3z_members";
/// Name of the column with the headers.
const HEADS: &str = "nc3z_heads";
/// Columns in front of those with arrays.
const OWN_COLUMNS: u32 = 2;
/// The attribute that marks a group, and its value.
const MARK: (&str, &str) = ("nc3z_packed", "1");

#[cfg(test)]
mod tests;
