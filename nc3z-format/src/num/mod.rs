//! The numeric codec `nc3z.num`: numbers in, a small payload out, and back; pure functions.
//!
//! Stages: a mask takes one bit pattern out; a domain map undoes quantisation; stride deltas predict; a residual
//! codec stores what is left. All decisions of a tile are in its payload, whose layout is spec/num.md.
//! Any bytes may be decoded: the answer is an error or exactly the elements asked for, in time and memory
//! proportional to both. The caller checks checksums and swaps bytes.

mod bits;
mod choose;
mod crop;
mod ctx;
mod delta;
mod dict;
mod domain;
mod encode;
mod frame;
mod lattice;
mod mask;
mod params;
mod payload;
mod planes;
mod scratch;
mod word;

#[cfg(test)]
mod tests;

pub use choose::{Candidates, Effort, Extent, choose, choose_with};
pub use ctx::Shape;
pub use dict::{Dictionary, DictionaryBuilder, MAX_DICTIONARY};
pub use encode::{Coder, DomainPlan, EncodePlan, encode};
pub use lattice::Lattice;
pub use params::{Geometry, Params, Strides};
pub use payload::decode;
pub use scratch::Scratch;
pub use word::{Pool, Word};

use crate::error::Error;

/// Most elements of a tile: positions are 32 bits wide.
pub const MAX_ELEMENTS: usize = 1 << 30;

/// A corrupt payload.
fn bad(what: &'static str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Error {
    Error::corrupt("nc3z.num payload", None, what, expected, found)
}
