//! Stored tiles, as pure functions: where the bytes of a tile are (*locate*), which requests bring many of them (*coalesce*),
//! and the tile that they hold (*decode*). Whoever fetches bytes stands between the first and the last; nothing here reads.
//!
//! ```text
//! index entry ─▶ locate ─▶ place, tiles it depends on ─▶ coalesce ─▶ requests ─▶ (fetch) ─▶ decode ─▶ big-endian elements
//! ```

mod coalesce;
mod decode;
mod locate;
mod original;

pub use coalesce::coalesce;
pub use decode::{Block, Container, check_crc};
pub use locate::{
    BlockPlace, Located, MemberPlace, Place, TileKey, check_reference, definition, locate, locate_base,
};
pub use original::tiles_of_original;
