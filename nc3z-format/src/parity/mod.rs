//! Parity: redundancy inside an archive for its repair (`spec/parity.md`).
//!
//! ```text
//!  0 ── archive as it was ──┬── parity region ──────────────────────┬─ section table ─ trailer ─┐
//!    data shards 0, 1, …    │ packet shards packet shards … packet  │ the last data shards      │
//! ```
//! This module computes without reading files: the places of shards and packets ([`ParityLayout`]), the
//! content of a packet ([`Packet`]), the number of both for a share ([`Params::choose`]), and the code
//! ([`Encoder`], [`Erasures`]). The reader checks and repairs with it, the writer adds parity.

mod code;
mod interleave;
mod layout;
mod odds;
mod packet;
mod share;
mod size;
#[cfg(test)]
mod trials;

pub use code::{Encoder, Erasures};
pub use interleave::Interleave;
pub use layout::{DIGEST_LEN, Params, ParityLayout};
pub use packet::{PACKET_HEADER_LEN, PACKET_MARKER, Packet};
pub use share::Share;

/// Packets, shards and the region begin on multiples of this, and their lengths are multiples of it.
pub const UNIT: u64 = 64;
