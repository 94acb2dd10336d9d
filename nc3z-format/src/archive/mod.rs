//! The archive's own structures, as `spec/archive.md` has them.
//!
//! Each file here is one structure with `encode` and `decode`; decoding checks everything that can be checked without
//! the rest of the archive.

mod block;
mod commit;
mod constant_tiles;
pub mod constants;
mod container;
mod edition;
mod head;
mod head_parity;
mod ids;
mod index;
mod later_head;
mod metadata;
mod salt;
mod section;
mod section_codec;
pub mod short;
mod slot;
mod superblock;
#[cfg(test)]
mod tests;
mod trailer;
mod vartable;
pub mod version;

pub use block::{BlockHeader, BlockKind, align8};
pub use commit::Commit;
pub use constant_tiles::{ConstantRow, ConstantsBuilder, parse_constants};
pub use constants::{
    BLOCK_HEADER_LEN, INLINE_MAX, MAJOR_VERSION, MINOR_VERSION, PAGE_LEN, SUPERBLOCK_LEN, TRAILER_LEN,
};
pub use container::{ContainerBuilder, Member, parse_directory};
pub use edition::Edition;
pub use head::{Head, HeadParts, Layouts, TileLayoutSpec};
pub use head_parity::{encode_head_parity, repair_head};
pub use ids::{ArrayId, Role};
pub use index::{IndexEntry, Page, PageTreeBuilder, encode_page, tiles_below, tree_height};
pub use later_head::{LaterHead, LaterHeadParts, LaterHeadPlace};
pub use metadata::{LINEAGE, Metadata};
pub use salt::Salt;
pub use section::{SectionEncoding, SectionEntry, SectionKind, SectionTable, encode_section};
pub use section_codec::{PackEffort, dictionaries, pack_frame, unpack};
pub use slot::{CommitSlot, CommitSlots, SLOTS_LEN, Slot};
pub use superblock::Superblock;
pub use trailer::{Digest, Trailer};
pub use vartable::{Row, VariableTable};
pub use version::VersionRecord;
