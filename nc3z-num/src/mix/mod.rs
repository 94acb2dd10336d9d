#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]

//! The `mix` residual coder: every decision about a value is predicted by several contexts, whose estimates are mixed
//! by learned weights, and coded arithmetically. It is smaller than `ctx`, but about fifty times slower to decode.
//! Layout and rules are in spec/num.md, section 8. This module contains the decoder and what the encoder shares.

mod decode;
pub(crate) mod model;
pub(crate) mod range;
pub(crate) mod value;

#[cfg(target_arch = "x86_64")]
use crate::avx2::mix as vectors;
use crate::word::{Pool, Word};
pub(crate) use decode::decode;
use model::{BitCoder, Dot, Learn, Model, Parts};
#[cfg(target_arch = "x86_64")]
use model::{Found, Inputs, Lesson, Weights};
use multiversion::{multiversion, target::match_target};
use value::{History, Layout};

/// Memory that is reused between tiles.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// The model takes 1 MiB: it is made for the first tile that needs it.
    model: Option<Model>,
    /// The values at their positions; 0 at masked ones.
    pub(crate) grid: Pool,
    padded: Vec<u8>,
}

/// The value of a signed word.
#[inline]
pub(crate) fn signed<W: Word>(word: W) -> i64 {
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
    let (model, grid) = (model.get_or_insert_default(), W::pool(grid));
    match_target! {
        "x86_64+avx2" => {
            let parts = Parts {
                dot: |weights: [&Weights; 2], inputs: &Inputs| vectors::dot(weights, inputs),
                learn: |weights: [&mut Weights; 2], inputs: &Inputs, found: &mut Found, lesson: Lesson| {
                    vectors::learn(weights, inputs, found, lesson);
                },
            };
            code_by(parts, (layout, valid), coder, model, grid);
        },
        _ => {
            let parts = Parts { dot: model::dot, learn: model::learn };
            code_by(parts, (layout, valid), coder, model, grid);
        },
    }
}

/// Does the work of [`code`].
#[inline(always)]
fn code_by<W: Word, C: BitCoder>(
    parts: Parts<impl Dot, impl Learn>,
    (layout, valid): (Layout, Option<&[u8]>),
    coder: &mut C,
    model: &mut Model,
    grid: &mut [W],
) {
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
        let value =
            layout.code((&mut *model, &mut history), (parts, &mut *coder), p, before, signed(rest[0]));
        grid[p] = W::from_u64(value.cast_unsigned());
    }
}
