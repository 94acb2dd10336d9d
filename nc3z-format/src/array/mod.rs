//! Stored tiles, as pure functions: find the bytes of a tile (*locate*), merge the bytes of many tiles into
//! requests (*coalesce*), and decode a tile (*decode*). Nothing here reads: the caller fetches the bytes
//! between *coalesce* and *decode*.
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
