//! The `mix` residual coder: every decision about a value is predicted by several contexts, whose estimates are mixed
//! by learned weights, and coded arithmetically. It is smaller than `ctx`, but about fifty times slower to decode.
//! Layout and rules are in spec/num.md, section 8. This module contains the decoder and what the encoder shares.

mod decode;
pub(crate) mod model;
pub(crate) mod range;
pub(crate) mod value;

use crate::word::{Pool, Word};
pub(crate) use decode::decode;
use model::{BitCoder, Model};
use multiversion::multiversion;
use value::{History, Layout};

/// Memory that is reused between tiles.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    model: Model,
    /// The values at their positions; 0 at masked ones.
    pub(crate) grid: Pool,
    padded: Vec<u8>,
}

/// The value of a signed word.
#[inline]
fn signed<W: Word>(word: W) -> i64 {
    (word.to_u64() << (64 - W::BITS)).cast_signed() >> (64 - W::BITS)
}

/// Codes the values of a tile in `work.grid`: those whose byte of `valid` is 0xFF, or all. A decoder replaces them, an
/// encoder leaves them as they are.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn code<W: Word, C: BitCoder>(
    layout: Layout,
    valid: Option<&[u8]>,
    coder: &mut C,
    work: &mut Workspace,
) {
    let Workspace { model, grid, .. } = work;
    let grid = W::pool(grid);
    model.reset(grid.len());
    let mut history = History::default();
    for p in 0..grid.len() {
        if valid.is_some_and(|valid| valid[p] == 0) {
            continue;
        }
        if coder.is_lost() {
            return;
        }
        let (done, rest) = grid.split_at(p);
        let before = |d: usize| if d <= p { signed(done[p - d]) } else { 0 };
        let value = layout.code((model, &mut history, coder), p, before, signed(rest[0]));
        grid[p] = W::from_u64(value.cast_unsigned());
    }
}
