//! Packed bundles: small files share equal and similar data. A *group* contains about a hundred files. It is
//! an ordinary archive of one classic file, whose arrays are the *columns*: the arrays with the same name of
//! all members, one after another, equal ones only once. Three variables of the group have the column and the
//! place there of each array of each member. Names, headers and checksums of the members are in the table of the
//! bundle (`spec/catalogue.md`, sections 5 and 6).
//!
//! ```text
//! members ─▶ order (like with like) ─▶ columns ─▶ one classic file ─▶ archive     group: member_arrays │ array_column │ array_step │ columns …
//! member  ◀─ bytes of the original  ◀─ header of the table, and runs of columns ◀─┘
//! ```
//! References lead from a member to a group, and no further, so that cycles are impossible. A reader of a
//! member reads bytes of its original file, with the reader of classic files.

mod arrays;
mod choose;
mod columns;
mod encode;
mod listing;
mod lost;
mod order;
mod original;
mod read;
mod write;

pub use lost::LostPart;
pub(crate) use read::PackedRow;
pub use read::{Group, PackedMember};
pub use write::PackOptions;
pub(crate) use write::add;

pub(crate) use encode::of_writer;

/// The names of groups begin with it. No member has such a name.
pub(crate) const DIRECTORY: &str = ".nc3z/packed/";
/// The names of the variables with the places of the members' arrays: the number of arrays of each member, and
/// the column and the first element of each array. They come before the columns.
const LIST: [&str; 3] = ["member_arrays", "array_column", "array_step"];
/// The attribute that marks a group, and its value.
const MARK: (&str, &str) = ("nc3z_packed", "1");

#[cfg(test)]
mod tests;
