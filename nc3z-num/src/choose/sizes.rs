//! What plans make of pieces, in bytes, and what they cost besides.

use super::chooser::{Chooser, Costed, Effort};
use super::estimate::side;
use super::kept::Encoded;
use super::pieces::Piece;
use crate::encode::{Coder, EncodePlan, Prepared, Shape, TransformPlan, finish_within, longest, predict};
use crate::error::Result;
use crate::word::Word;

/// Thousandths of its bytes that a plan must save to have previous rows in its contexts, which take a decoder a fifth of its speed; where something is
/// masked half of it, since tokens and contexts are then moved between their positions and the front.
const ROWS_WORTH: u64 = 10;
/// The same where something is masked.
const MASKED_ROWS_WORTH: u64 = 30;

/// The cost of a plan that was not encoded to its end.
pub(crate) const MORE: u64 = u64::MAX;

impl<W: Word> Chooser<'_, W> {
    /// Bytes of pieces by a plan, for each of the shapes that contexts may have; and the last piece by it. None where zstd leaves more than
    /// `most`.
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
                // What is longer than it may be is put as it is.
                let left = if left < longest { left.saturating_add(less) } else { u64::MAX };
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                let mut out = Vec::new();
                if !finish_within::<W>(staged, n, plan, left, scratch, &mut out)? {
                    return Ok(None);
                }
                lens.iter_mut().for_each(|sum| add(sum, out.len() as u64));
                Encoded::Payload(out)
            });
        }
        Ok(Some((lens, last)))
    }

    /// A plan in each of the shapes, with what it costs on pieces: its bytes in thousandths, what these bear of a dictionary, and what it is to
    /// save to be worth it. Of zstd's plans what is known to be more than `most` may be [`MORE`].
    pub(crate) fn sizes(
        &mut self,
        plan: &EncodePlan,
        shapes: &[Shape],
        pieces: &[Piece],
        most: u64,
    ) -> Result<Vec<Costed>> {
        let share: u64 =
            pieces.iter().map(|&piece| self.share(plan, self.pieces.view(piece).words.len())).sum();
        let bytes = if most == MORE { MORE } else { (most / self.weight(plan)).saturating_sub(share) };
        let plans = shapes.iter().map(|&shape| EncodePlan { shape, ..plan.clone() });
        let Some((lens, last)) = self.encoded(pieces, plan, shapes, bytes)? else {
            return Ok(plans.map(|plan| (MORE, plan)).collect());
        };
        let sizes: Vec<Costed> =
            plans.zip(lens).map(|(plan, len)| ((len + share) * self.weight(&plan), plan)).collect();
        let cheapest = sizes.iter().enumerate().min_by_key(|(_, s)| s.0);
        if let Some((last, (shape, costed))) = last.zip(cheapest).filter(|_| self.is_all(pieces)) {
            let encoded = match last {
                Encoded::Prepared(prepared, _) => Encoded::Prepared(prepared, shape),
                payload @ Encoded::Payload(_) => payload,
            };
            self.keep(costed.clone(), encoded);
        }
        Ok(sizes)
    }

    /// The same for the shape that the plan has.
    pub(crate) fn size(&mut self, plan: &EncodePlan, pieces: &[Piece], most: u64) -> Result<u64> {
        Ok(self.sizes(plan, &[plan.shape], pieces, most)?[0].0)
    }

    /// What a byte by a plan weighs, in thousandths: what the plan must save to be worth it is added.
    pub(crate) fn weight(&self, plan: &EncodePlan) -> u64 {
        let context = plan.coder == Coder::Ctx && self.effort == Effort::Default;
        // Small words decode slowly through contexts: those must be worth 2 in 100.
        let slow = context && W::BITS <= 16;
        // Dictionaries are looked up value by value, both ways: worth 2 in 100 as well.
        let looked_up = plan.dictionary().is_some();
        // A scale-offset for each plane is sought for each, at risk of a worse one: worth 1 in 100.
        let sought = matches!(plan.transform, TransformPlan::ScaleOffsetPerPlane);
        // Small words have hardly any raw bits: what contexts tell of them is nearly all that can be told.
        let rows = match plan.mask {
            _ if !context || W::BITS <= 16 || plan.shape.north == 1 => 0,
            None => ROWS_WORTH,
            Some(_) => MASKED_ROWS_WORTH,
        };
        1000 + 20 * u64::from(slow) + 20 * u64::from(looked_up) + 10 * u64::from(sought) + rows
    }
}
