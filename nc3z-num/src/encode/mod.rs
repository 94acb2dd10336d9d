//! The encoder: everything that decoding does not need.

mod bits;
mod buffers;
mod ctx;
mod definition;
mod delta;
mod detect;
mod dictionary;
mod exceptions;
mod fit;
mod frame;
mod lorenzo;
mod mask;
mod mix;
mod plan;
mod planes;
mod prepared;
mod rank_index;
mod runs;
mod scale_offset;
mod steps;
mod tile;
mod transform;

pub(crate) use buffers::Buffers;
pub(crate) use ctx::{DIRECT, context_stride, count, log2_q16, token_cost, tokens_of};
pub(crate) use detect::{ElementFilter, Values, spread};
pub use dictionary::DictionaryBuilder;
pub(crate) use fit::of_plane;
pub(crate) use mask::pattern_of;
pub use plan::{Coder, EncodePlan, Shape, TransformPlan};
pub(crate) use prepared::Prepared;
pub(crate) use rank_index::RankIndex;
pub(crate) use runs::Runs;
pub(crate) use scale_offset::hits;
pub(crate) use tile::{Staged, Task, encode_tile, finish_within, longest, mapped, predict, zigzag_all};
#[cfg(test)]
pub(crate) use tile::{finish, stage};
pub(crate) use transform::common_zeros;
