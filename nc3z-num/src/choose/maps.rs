//! Caches transformed pieces, so that plans with the same transform map a piece only once.

use super::chooser::Chooser;
use super::pieces::Piece;
use crate::encode::{EncodePlan, Runs, Staged, Task, TransformPlan, mapped};
use crate::error::Result;
use crate::scratch::Scratch;
use crate::word::{Pool, Word};

/// Pieces of more bytes are not cached.
const LONGEST: usize = 256 << 10;

/// The key of a map: the piece, the transform, the masked pattern, and the level at which the mask is packed.
type Of<'a> = (Piece, &'a TransformPlan, (Option<u64>, i32));

/// A piece after its transform: integers, and the elements that are not masked.
#[derive(Default)]
struct Map {
    of: Option<(Piece, TransformPlan, (Option<u64>, i32))>,
    staged: Staged,
    integers: Pool,
    runs: Runs,
    valid: Vec<u8>,
}

impl Map {
    fn is_of(&self, (piece, transform, level): Of<'_>) -> bool {
        self.of.as_ref().is_some_and(|of| of.0 == piece && of.2 == level && of.1.is_same(transform))
    }
}

/// The maps of one variable; their memory is reused for the next.
#[derive(Default)]
pub(crate) struct Maps {
    list: Vec<Map>,
    used: usize,
}

impl Maps {
    pub(crate) fn clear(&mut self) {
        self.list[..self.used].iter_mut().for_each(|map| map.of = None);
        self.used = 0;
    }

    /// Copies a map to the scratch.
    fn restore<W: Word>(&mut self, of: Of<'_>, scratch: &mut Scratch) -> Option<Staged> {
        let map = self.list[..self.used].iter_mut().find(|map| map.is_of(of))?;
        W::pool(&mut scratch.encoder.mapped).clone_from(W::pool(&mut map.integers));
        scratch.runs.copy(&map.runs);
        scratch.valid.clone_from(&map.valid);
        Some(map.staged.clone())
    }

    /// Saves the map in the scratch.
    fn save<W: Word>(&mut self, of: Of<'_>, staged: &Staged, scratch: &mut Scratch) {
        if self.used == self.list.len() {
            self.list.push(Map::default());
        }
        let map = &mut self.list[self.used];
        self.used += 1;
        map.of = Some((of.0, of.1.clone(), of.2));
        map.staged = staged.clone();
        W::pool(&mut map.integers).clone_from(W::pool(&mut scratch.encoder.mapped));
        map.runs.copy(&scratch.runs);
        map.valid.clone_from(&scratch.valid);
    }
}

impl<W: Word> Chooser<'_, W> {
    /// Applies mask and transform to a piece; the integers are then in the scratch.
    pub(crate) fn mapped(&mut self, piece: Piece, plan: &EncodePlan) -> Result<Staged> {
        let Self { maps, scratch, pieces, ty, .. } = self;
        let of = (piece, &plan.transform, (plan.mask, plan.level));
        if let Some(staged) = maps.restore::<W>(of, scratch) {
            return Ok(staged);
        }
        let view = pieces.view(piece);
        let task = Task {
            elements: view.words,
            ty: *ty,
            geom: view.geom,
            planes: view.planes,
            against: None,
            with_mask: view.as_it_is,
        };
        let staged = mapped(&task, plan, scratch)?;
        if view.words.len() * W::BYTES <= LONGEST {
            maps.save::<W>(of, &staged, scratch);
        }
        Ok(staged)
    }
}
