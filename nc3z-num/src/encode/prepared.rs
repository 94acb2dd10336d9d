//! A tile as the context coder is to write it, before it is known with which contexts, or whether at all.

use super::buffers::Buffers;
use super::ctx;
use super::plan::{Coder, Shape};
use super::tile::{Staged, zigzag_all};
use crate::geometry::Geometry;
use crate::scratch::Scratch;
use crate::word::{Word, index};

/// Its residuals stand in the scratch that it was prepared with.
#[derive(Debug)]
pub(crate) struct Prepared {
    staged: Staged,
    /// None where nothing is left to code.
    residuals: Option<ctx::Prepared>,
    shapes: usize,
}

impl Prepared {
    /// Of a staged tile of `n` elements.
    pub(crate) fn new<W: Word>(
        mut staged: Staged,
        (n, geom): (usize, &Geometry),
        shapes: &[Shape],
        scratch: &mut Scratch,
    ) -> Self {
        let mut residuals = None;
        if !staged.is_all_masked() && n > 0 {
            let Scratch { runs, encoder: Buffers { mapped, ctx: work, .. }, .. } = scratch;
            let words = W::pool(mapped);
            if staged.is_signed() {
                zigzag_all(words);
            }
            staged.stages.coder = Coder::Ctx.code();
            let row = geom.row.map_or(0, index);
            residuals = Some(ctx::Prepared::new(words, (n, row), runs, shapes, work));
        }
        Prepared { staged, residuals, shapes: shapes.len() }
    }

    /// Bytes that [`Self::put`] would append for each of the shapes, about.
    pub(crate) fn lens(&self) -> Vec<u64> {
        let mut around = Vec::new();
        self.staged.put(&mut around);
        let around = around.len() as u64;
        match &self.residuals {
            Some(residuals) => residuals.lens().map(|len| around + len).collect(),
            None => vec![around; self.shapes],
        }
    }

    /// Appends the payload with contexts of one of the shapes.
    pub(crate) fn put<W: Word>(self, shape: usize, scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.staged.put(out);
        if let Some(residuals) = self.residuals {
            let Scratch { runs, encoder: Buffers { mapped, ctx: work, .. }, .. } = scratch;
            residuals.put(shape, W::pool(mapped), runs, work, out);
        }
    }
}
