//! The archive's own structures, as `spec/archive.md` has them.
//!
//! Each file here is one structure with `encode` and `decode`; decoding checks everything that can be checked without
//! the rest of the archive.

mod block;
mod constants;
mod container;
pub mod forever;
mod head;
mod ids;
mod index;
mod metadata;
mod packed;
mod salt;
mod section;
mod superblock;
#[cfg(test)]
mod tests;
mod trailer;
mod vartable;

pub use block::{BlockHeader, BlockKind, align8};
pub use constants::{ConstantRow, ConstantsBuilder, parse_constants};
pub use container::{ContainerBuilder, Member, parse_directory};
pub use forever::{BLOCK_HEADER_LEN, INLINE_MAX, MINOR_VERSION, PAGE_LEN, SUPERBLOCK_LEN, TRAILER_LEN};
pub use head::{Head, HeadParts, TileLayoutSpec};
pub use ids::{ArrayId, Role};
pub use index::{IndexEntry, Page, PageTreeBuilder, tree_height};
pub use metadata::Metadata;
pub use packed::unpack;
pub use salt::Salt;
pub use section::{SectionEncoding, SectionEntry, SectionKind, SectionTable, encode_section};
pub use superblock::Superblock;
pub use trailer::{DigestState, Trailer};
pub use vartable::{Row, VariableTable};
