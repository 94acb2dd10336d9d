//! Encoder of the `ctx` residual codec.

mod context;
mod contexts;
mod encoder;
mod model;
mod stream;
mod symbols;
mod table;
mod token;
mod workspace;

pub(crate) use encoder::{Prepared, context_stride};
pub(crate) use model::cost as token_cost;
pub(crate) use model::log2_q16;
pub(crate) use symbols::{count, tokens_of};
pub(crate) use token::DIRECT;
pub(crate) use workspace::Workspace;
