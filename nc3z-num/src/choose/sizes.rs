//! Measures the size of pieces by plans, in bytes, and adds the plans' other costs.

use super::cached::Encoded;
use super::chooser::{Chooser, Effort};
use super::cost::{Bytes, Tried};
use super::estimate::side;
use super::pieces::Piece;
use crate::encode::{Coder, EncodePlan, Prepared, Shape, TransformPlan, finish_within, longest, predict};
use crate::error::Result;
use crate::word::Word;

/// The thousandths of a plan's bytes that contexts with the previous row must save. These contexts reduce the decoding
/// speed by a fifth, and by half if elements are masked, since tokens and contexts then move between their positions and
/// the front.
const ROWS_WORTH: u64 = 10;
/// [`ROWS_WORTH`] if elements are masked.
const MASKED_ROWS_WORTH: u64 = 30;
/// What [`Shape::FINER_ROWS`] must save in addition: its tables do not fit into a processor's first cache.
const FINER_ROWS_WORTH: u64 = 10;

impl<W: Word> Chooser<'_, W> {
    /// Returns the bytes of pieces by a plan for each shape of contexts, and the encoded last piece. Returns `None`
    /// if zstd leaves more than `most` bytes.
    pub(crate) fn encoded(
        &mut self,
        pieces: &[Piece],
        plan: &EncodePlan,
        shapes: &[Shape],
        most: u64,
    ) -> Result<Option<(Vec<u64>, Option<Encoded>)>> {
        let (mut lens, mut last) = (vec![0; shapes.len()], None);
        for &piece in pieces {
            let mut staged = self.mapped(piece, plan)?;
            let Self { pieces, scratch, .. } = self;
            let view = pieces.view(piece);
            let (n, geom) = (view.words.len(), view.geom);
            if !staged.is_all_masked() {
                predict::<W>(&mut staged, n, geom, plan.axes, scratch);
            }
            let (less, longest) = match view.crop {
                Some(crop) if !view.as_it_is => {
                    (staged.side_len() as u64 - side(&staged, plan, crop), u64::MAX)
                }
                _ => (0, longest::<W>(n) as u64),
            };
            let add = |sum: &mut u64, len: u64| *sum += len.min(longest).saturating_sub(less);
            last = Some(if plan.coder == Coder::Ctx {
                let prepared = Prepared::new::<W>(staged, (n, geom), shapes, scratch);
                lens.iter_mut().zip(prepared.lens()).for_each(|(sum, len)| add(sum, len));
                Encoded::Prepared(Box::new(prepared), 0)
            } else {
                let left = most.saturating_sub(lens[0]);
                // A piece that exceeds the limit is stored.
                let left = if left < longest { left.saturating_add(less) } else { u64::MAX };
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                let mut out = Vec::new();
                if !finish_within::<W>(staged, (n, geom), plan, left, scratch, &mut out)? {
                    return Ok(None);
                }
                lens.iter_mut().for_each(|sum| add(sum, out.len() as u64));
                Encoded::Payload(out)
            });
        }
        Ok(Some((lens, last)))
    }

    /// Returns a plan in each of the shapes, with its cost on pieces: the bytes, the pieces' share of a
    /// dictionary, and the least saving that the plan must have. For zstd, a plan that exceeds `most` may have the
    /// cost [`Bytes::MORE`].
    pub(crate) fn sizes(
        &mut self,
        plan: &EncodePlan,
        shapes: &[Shape],
        pieces: &[Piece],
        most: Bytes,
    ) -> Result<Vec<Tried>> {
        let share: u64 =
            pieces.iter().map(|&piece| self.share(plan, self.pieces.view(piece).words.len())).sum();
        let within = most.unweighted(self.weight(plan)).saturating_sub(share);
        let bytes = if most == Bytes::MORE { u64::MAX } else { within };
        let plans = shapes.iter().map(|&shape| EncodePlan { shape, ..plan.clone() });
        let Some((lens, last)) = self.encoded(pieces, plan, shapes, bytes)? else {
            return Ok(plans.map(|plan| (Bytes::MORE, plan)).collect());
        };
        let sizes: Vec<Tried> = plans
            .zip(lens)
            .map(|(plan, len)| (Bytes::weighted(len + share, self.weight(&plan)), plan))
            .collect();
        let cheapest = sizes.iter().enumerate().min_by_key(|(_, s)| s.0);
        if let Some((last, (shape, tried))) = last.zip(cheapest).filter(|_| self.is_all(pieces)) {
            let encoded = match last {
                Encoded::Prepared(prepared, _) => Encoded::Prepared(prepared, shape),
                payload @ Encoded::Payload(_) => payload,
            };
            self.cache(tried.clone(), encoded);
        }
        Ok(sizes)
    }

    /// Returns the cost for the shape of the plan.
    pub(crate) fn size(&mut self, plan: &EncodePlan, pieces: &[Piece], most: Bytes) -> Result<Bytes> {
        Ok(self.sizes(plan, &[plan.shape], pieces, most)?[0].0)
    }

    /// Returns what a byte of a plan costs, in thousandths: 1,000 plus the saving that the plan must reach.
    pub(crate) fn weight(&self, plan: &EncodePlan) -> u64 {
        let context = plan.coder == Coder::Ctx && self.effort == Effort::Default;
        // Words of up to 16 bits decode slowly with contexts, so contexts must save 2 in 100.
        let slow = context && W::BITS <= 16;
        // Dictionaries are looked up value by value for coding and decoding, so they must save 2 in 100 as well.
        let looked_up = plan.dictionary().is_some();
        // A scale-offset is searched for each plane and may be worse than one for all, so it must save 1 in 100.
        let sought = matches!(plan.transform, TransformPlan::ScaleOffsetPerPlane);
        // Words of up to 16 bits have hardly any raw bits, so contexts affect nearly all bits.
        let rows = match plan.mask {
            _ if !context || W::BITS <= 16 || plan.shape.north == 1 => 0,
            None => ROWS_WORTH,
            Some(_) => MASKED_ROWS_WORTH,
        };
        let finer = if plan.shape == Shape::FINER_ROWS { FINER_ROWS_WORTH } else { 0 };
        1000 + 20 * u64::from(slow) + 20 * u64::from(looked_up) + 10 * u64::from(sought) + rows + finer
    }
}
