//! The `ctx` residual codec: four interleaved tANS lanes over magnitude tokens, with a table for each context, and
//! a stream of raw bits. Layout and rules are in spec/num.md, section 7. This module contains the decoder.

pub(crate) mod context;
mod decode;
mod fields;
pub(crate) mod lane;
pub(crate) mod limits;
mod numbers;
pub(crate) mod table;
pub(crate) mod token;
mod tokens;
mod workspace;

pub(crate) use decode::decode;
pub(crate) use workspace::Workspace;
