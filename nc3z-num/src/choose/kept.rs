//! What was encoded on the way to a choice, so that a tile that is the whole variable need not be encoded again.

use super::chooser::{Chooser, Costed};
use super::pieces::Piece;
use crate::encode::{EncodePlan, Prepared, longest};
use crate::scratch::Scratch;
use crate::word::Word;

/// A sample by a plan, or all but written.
pub(crate) enum Encoded {
    Payload(Vec<u8>),
    /// With contexts of one of the shapes that it was prepared for; its residuals stand in the chooser's scratch.
    Prepared(Box<Prepared>, usize),
}

/// The cheapest plan by which the sample was encoded so far.
pub(crate) struct Kept {
    costed: Costed,
    encoded: Encoded,
    /// The scratch of what is prepared.
    scratch: Scratch,
}

impl<W: Word> Chooser<'_, W> {
    /// Whether these pieces are the variable, as it is.
    pub(crate) fn is_all(&self, pieces: &[Piece]) -> bool {
        let [piece] = pieces else { return false };
        let view = self.pieces.view(*piece);
        view.as_it_is && view.words.len() as u64 == self.elements
    }

    /// Keeps what was encoded of the variable, if that is cheaper than what was before.
    pub(crate) fn keep(&mut self, costed: Costed, encoded: Encoded) {
        if self.kept.as_ref().is_some_and(|kept| kept.costed.0 <= costed.0) {
            return;
        }
        let mut scratch =
            self.kept.take().map(|kept| kept.scratch).or_else(|| self.spare.take()).unwrap_or_default();
        if matches!(encoded, Encoded::Prepared(..)) {
            std::mem::swap(&mut scratch, &mut self.scratch);
        }
        self.kept = Some(Kept { costed, encoded, scratch });
    }

    /// The variable by a plan, if that is what was kept: what [`crate::encode`] would make of it.
    pub(crate) fn take_kept(&mut self, plan: &EncodePlan) -> Option<Vec<u8>> {
        let Kept { costed, encoded, mut scratch } = self.kept.take()?;
        let is_it = costed.1.is_same(plan);
        let payload = match encoded {
            Encoded::Payload(payload) => is_it.then_some(payload),
            Encoded::Prepared(prepared, shape) => is_it.then(|| {
                let mut payload = Vec::new();
                prepared.put::<W>(shape, &mut scratch, &mut payload);
                payload
            }),
        };
        self.spare = Some(scratch);
        let most = longest::<W>(usize::try_from(self.elements).unwrap_or(usize::MAX));
        payload.filter(|payload| payload.len() <= most)
    }
}
