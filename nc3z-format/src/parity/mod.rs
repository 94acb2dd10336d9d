//! Parity: redundancy that mends an archive of itself (`spec/parity.md`).
//!
//! ```text
//!  0 ── archive as it was ──┬── parity region ──────────────────────┬─ section table ─ trailer ─┐
//!    data shards 0, 1, …    │ packet shards packet shards … packet  │ the last data shards      │
//! ```
//! This module is the pure half: where shards and packets stand ([`ParityLayout`]), what a packet says ([`Packet`]), how many
//! of them a share asks for ([`Params::choose`]), and the code itself ([`Encoder`], [`Erasures`]). It reads no file; the reader
//! checks and mends with it, the writer adds.

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
