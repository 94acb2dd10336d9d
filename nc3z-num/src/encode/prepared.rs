//! A tile prepared for the context coder before its contexts are chosen.

use super::buffers::Buffers;
use super::ctx;
use super::plan::{Coder, Shape};
use super::tile::{Staged, zigzag_all};
use crate::geometry::Geometry;
use crate::scratch::Scratch;
use crate::word::{Word, index};

/// A prepared tile; its residuals are in the scratch that prepared it.
#[derive(Debug)]
pub(crate) struct Prepared {
    staged: Staged,
    /// `None` without residuals to code.
    residuals: Option<ctx::Prepared>,
    shapes: usize,
}

impl Prepared {
    /// Prepares a staged tile of `n` elements.
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

    /// Estimates the bytes that [`Self::put`] would append for each of the shapes.
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
