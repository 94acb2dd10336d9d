//! Slices that can be cited and verified (`spec/proof.md`).
//!
//! ```text
//! dataset + tree file + hyperslabs ─▶ make ─▶ Proof (JSON, beside the slice)
//! slice + Proof + root ─▶ check ─▶ Proven: which hyperslab of which variable the values are
//! dataset, root, version, slice ─▶ Citation ─▶ BibTeX | DataCite | RO-Crate | PROV
//! ```
//! A proof has the root's entry for each variable (name, type, dimensions, attributes) and the hashes that
//! lead from the values to the root. Checking needs no dataset and no network, and the maker of the proof
//! need not be trusted.

mod about;
mod check;
mod csv;
mod error;
mod leaves;
mod make;
mod once;
mod plan;
mod proof;
mod record;
mod slice;
mod widen;

pub use about::Statements;
pub use check::{Proven, ProvenVariable, check};
pub use csv::render as render_csv;
pub use error::{Error, Result};
pub use make::{MAX_LEAF_BYTES, Part, make};
pub use plan::{PlannedSlice, SliceForm};
pub use proof::{FORMAT, Proof, ProofVariable};
pub use record::{Citation, Format, VersionIdentity};
pub use slice::{Slice, SliceVariable};
pub use widen::widen;
