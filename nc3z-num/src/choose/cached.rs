//! Caches the best encoding made during a choice, so that a tile that is the whole variable need not be encoded
//! again.

use super::chooser::Chooser;
use super::cost::Tried;
use super::pieces::Piece;
use crate::encode::{EncodePlan, Prepared, longest};
use crate::scratch::Scratch;
use crate::word::Word;

/// A sample encoded by a plan, or prepared for writing.
pub(crate) enum Encoded {
    Payload(Vec<u8>),
    /// Prepared with contexts; the number selects one of the prepared shapes. The residuals are in the chooser's
    /// scratch.
    Prepared(Box<Prepared>, usize),
}

/// The cheapest plan that has encoded the sample so far.
pub(crate) struct CachedEncoding {
    tried: Tried,
    encoded: Encoded,
    /// The scratch of the prepared encoding.
    scratch: Scratch,
}

impl<W: Word> Chooser<'_, W> {
    /// True if these pieces are the whole variable, unchanged.
    pub(crate) fn is_all(&self, pieces: &[Piece]) -> bool {
        let [piece] = pieces else { return false };
        let view = self.pieces.view(*piece);
        view.as_it_is && view.words.len() as u64 == self.elements
    }

    /// Caches an encoding of the variable, if it is cheaper than the cached one.
    pub(crate) fn cache(&mut self, tried: Tried, encoded: Encoded) {
        if self.cached.as_ref().is_some_and(|cached| cached.tried.0 <= tried.0) {
            return;
        }
        let mut scratch =
            self.cached.take().map(|cached| cached.scratch).or_else(|| self.spare.take()).unwrap_or_default();
        if matches!(encoded, Encoded::Prepared(..)) {
            std::mem::swap(&mut scratch, &mut self.scratch);
        }
        self.cached = Some(CachedEncoding { tried, encoded, scratch });
    }

    /// Returns the cached encoding, if `plan` made it. It equals the result of [`crate::encode`].
    pub(crate) fn take_cached(&mut self, plan: &EncodePlan) -> Option<Vec<u8>> {
        let CachedEncoding { tried, encoded, mut scratch } = self.cached.take()?;
        let is_it = tried.1.is_same(plan);
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
