//! The `ctx` residual codec: four interleaved tANS lanes over magnitude tokens, with a table for each context,
//! and a stream of raw bits. Layout and rules: spec/num.md, "Residual codec ctx".

mod context;
mod decode;
mod encode;
mod lane;
mod model;
mod stream;
mod symbols;
mod table;
mod token;

pub(super) use decode::decode;
pub(super) use encode::encode;
pub(super) use model::cost as token_cost;
pub(super) use model::log2_q16;
pub(super) use symbols::{count, tokens_of};
pub(super) use token::raw_bits;

/// What a decoder accepts.
const MIN_LOG: u32 = 5;
const MAX_LOG: u32 = 12;
const MAX_NORTH: usize = 8;
const MAX_WEST: usize = 16;
const MAX_CONTEXTS: usize = 32;
const MAX_TABLES: usize = 16;
/// All decoding tables together: states are 16 bits wide.
const MAX_STATES: usize = 1 << 16;
/// The shortest row that gives contexts.
pub(super) const MIN_STRIDE: usize = 16;

/// How fine contexts and tables may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Binary logarithm of the table size, 5 to 12.
    pub log: u8,
    /// Classes of the previous row, 1 to 8.
    pub north: u8,
    /// Classes of the previous token, 1 to 16.
    pub west: u8,
}

/// Reused memory of this codec.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    padded: Vec<u8>,
    tokens: Vec<u8>,
    grid: Vec<u8>,
    spread: Vec<u8>,
    entries: Vec<u32>,
    symbols: Vec<u16>,
    steps: stream::Steps,
    averages: Vec<u8>,
    bits: Vec<u8>,
}
