//! Ranks plans by a cheap estimate: order-0 entropy of their tokens on crops of the samples.

use super::chooser::{Chooser, Effort};
use super::climb::Climb;
use super::cost::{Bits, Estimated, sort_by_cost};
use super::crop::{Crop, compact};
use super::pieces::Piece;
use crate::ctx::token::raw_bits;
use crate::encode::{
    Coder, EncodePlan, Staged, TransformPlan, count, predict, token_cost, tokens_of, zigzag_all,
};
use crate::error::Result;
use crate::geometry::DeltaAxes;
use crate::word::Word;

/// A plan is dropped if, on one crop, it needs more than `BEHIND` hundredths of the best plan's bytes plus `SLACK`
/// bytes.
pub(crate) const BEHIND: u64 = 115;
pub(crate) const SLACK: u64 = 256;

/// The thousandths of a plan's estimate that prediction by values must save. Such plans decode more slowly.
const BY_VALUE_WORTH: u64 = 10;

/// The smallest samples, in bytes, for which prediction by values is tried. Shorter arrays share a container, and moving
/// one out of it makes the archive larger (a file of 1 KB: by 10 %).
const BY_VALUE_LEAST: u64 = 1 << 10;

/// Repeated differences are tried for plans whose estimate is at most this many hundredths of the best.
const CLIMBS: u64 = 130;
/// The largest number of plans for which repeated differences are tried.
const STARTS: usize = 3;
/// The hill climb only adds repeats, and each repeat must save 1/256.
const UP: Climb<'_> = Climb { steps: &[(1, 0), (0, 1)], gain: 256 };

/// Estimates the bits of residuals: the order-0 entropy of their tokens plus their raw bits. Overwrites the words.
fn token_bits<W: Word>(words: &mut [W], signed: bool, tokens: &mut Vec<u8>) -> Bits {
    if signed {
        zigzag_all(words);
    }
    tokens.resize(words.len(), 0);
    tokens_of(words, tokens);
    let mut counts = [[0u32; 2]; 256];
    count(tokens, &mut counts);
    let histogram: [u32; 256] = counts.map(|[a, b]| a + b);
    let raw: u64 = (0..=255u8).zip(&histogram).map(|(t, &c)| u64::from(c) * u64::from(raw_bits(t))).sum();
    Bits::of_q16(token_cost(&histogram)) + Bits::whole(raw)
}

/// Returns the bytes besides residuals, scaled to the planes of the sample.
pub(crate) fn side<W>(staged: &Staged, plan: &EncodePlan, crop: &Crop<W>) -> u64 {
    let transform = staged.transform_len();
    let kept = if matches!(plan.transform, TransformPlan::ScaleOffsetPerPlane) {
        transform / crop.shrink
    } else {
        transform
    };
    (staged.side_len() - transform + kept) as u64
}

impl<W: Word> Chooser<'_, W> {
    /// Adds the estimated bits of plans that share a transform, for some of the crops.
    pub(crate) fn estimate(&mut self, plans: &mut [Estimated], crops: &[usize]) -> Result<()> {
        for &crop in crops {
            let Some((_, plan)) = plans.first() else { break };
            let mut staged = self.mapped(Piece::Crop(crop), plan)?;
            let n = self.pieces.crops[crop].words.len();
            let shared = self.share(plan, n);
            let Self { pieces, scratch, tokens, .. } = self;
            let crop = &pieces.crops[crop];
            if staged.is_all_masked() || n == 0 {
                continue;
            }
            let integers = &mut self.integers;
            W::pool(integers).clone_from(W::pool(&mut scratch.encoder.mapped));
            let judged = crop.border.judged(&scratch.runs);
            for (sum, plan) in &mut *plans {
                W::pool(&mut scratch.encoder.mapped).clone_from(W::pool(integers));
                predict::<W>(&mut staged, n, &crop.geom, plan.axes, scratch);
                let words = W::pool(&mut scratch.encoder.mapped);
                compact(words, &judged);
                *sum += Bits::bytes(side(&staged, plan, crop) + shared)
                    + token_bits(words, staged.is_signed(), tokens);
            }
        }
        Ok(())
    }

    /// Returns all pairs of transform and delta axes with their estimates, the best first. Pairs that need far more
    /// than the best on one crop are not estimated on the others.
    pub(crate) fn estimates(&mut self, transforms: &[TransformPlan]) -> Result<Vec<Estimated>> {
        let axes = self.axes();
        // Patterns of floats are large integers, because their exponents are: differences are always smaller.
        let large = |t: &TransformPlan| self.ty.is_float() && matches!(t, TransformPlan::Ordered);
        let all = |t: &TransformPlan| {
            axes.iter()
                .filter(|&&a| a != DeltaAxes::NONE || !large(t))
                .map(|&a| (Bits::default(), self.plan(t.clone(), a, Coder::Planes)))
                .collect::<Vec<_>>()
        };
        let mut estimated: Vec<Vec<Estimated>> = transforms.iter().map(all).collect();
        let middle = self.pieces.crops.len() / 2;
        let others: Vec<usize> = (0..self.pieces.crops.len()).filter(|&c| c != middle).collect();
        for plans in &mut estimated {
            self.estimate(plans, &[middle])?;
            self.estimate_alone(plans, middle)?;
            self.estimate_by_value(plans, middle)?;
            // Before any plan is dropped: repeated differences may save more than a better transform.
            self.climb_all(plans, &[middle], 2, u64::MAX)?;
            // Plans without neighbours stay only if they are better at once. Otherwise they would displace smoother
            // plans.
            let smooth =
                plans.iter().filter(|s| s.1.axes.has_neighbours()).map(|s| s.0).min().unwrap_or(Bits::MAX);
            plans.retain(|s| s.1.axes.has_neighbours() || s.0 < smooth);
        }
        // Plans by value are left out, so that each effort compares the plans of the quicker one.
        let by_integer = estimated.iter().flatten().filter(|s| !s.1.axes.is_by_value());
        let least = by_integer.map(|s| s.0).min().unwrap_or_default();
        for plans in &mut estimated {
            plans.retain(|s| s.0 <= least.hundredths(BEHIND) + Bits::bytes(SLACK));
            self.estimate(plans, &others)?;
        }
        let mut estimated: Vec<_> = estimated.into_iter().flatten().collect();
        sort_by_cost(&mut estimated);
        if !others.is_empty() {
            let all: Vec<usize> = (0..self.pieces.crops.len()).collect();
            self.climb_all(&mut estimated, &all, STARTS, CLIMBS)?;
            sort_by_cost(&mut estimated);
        }
        Ok(estimated)
    }

    /// Adds the best plan without its neighbours. If that is better, adds all plans without neighbours.
    fn estimate_alone(&mut self, plans: &mut Vec<Estimated>, crop: usize) -> Result<()> {
        let best = plans.iter().min_by_key(|s| s.0).filter(|s| s.1.axes.alone() != DeltaAxes::NONE).cloned();
        let Some((cost, plan)) = best else { return Ok(()) };
        let alone = |axes: DeltaAxes| (Bits::default(), EncodePlan { axes: axes.alone(), ..plan.clone() });
        let mut tried = vec![alone(plan.axes)];
        self.estimate(&mut tried, &[crop])?;
        if tried[0].0 < cost {
            let others = plans
                .iter()
                .map(|s| s.1.axes)
                .filter(|&axes| axes.alone() != DeltaAxes::NONE && axes != plan.axes);
            let mut others: Vec<Estimated> = others.map(alone).collect();
            self.estimate(&mut others, &[crop])?;
            tried.extend(others);
        }
        plans.extend(tried);
        Ok(())
    }

    /// Adds plans that predict floats by their values, if these save enough.
    fn estimate_by_value(&mut self, plans: &mut Vec<Estimated>, crop: usize) -> Result<()> {
        let is_ordered = plans.first().is_some_and(|s| matches!(s.1.transform, TransformPlan::Ordered))
            && self.ty.is_float();
        let is_short = self.sampled * (W::BYTES as u64) < BY_VALUE_LEAST;
        if !is_ordered || is_short || self.effort == Effort::Fast {
            return Ok(());
        }
        let least = plans.iter().map(|s| s.0).min().unwrap_or_default();
        let by_value =
            plans.iter().map(|(_, plan)| EncodePlan { axes: plan.axes.by_value(), ..plan.clone() });
        let mut tried: Vec<Estimated> =
            by_value.filter(|plan| plan.axes.is_by_value()).map(|plan| (Bits::default(), plan)).collect();
        self.estimate(&mut tried, &[crop])?;
        tried.retain(|s| s.0 <= least.thousandths(1000 - BY_VALUE_WORTH));
        plans.extend(tried);
        Ok(())
    }

    /// Repeats the differences of the best plans, at most `starts` plans and within `margin` hundredths of the
    /// best, as long as that saves enough. Adds the steps to the plans.
    fn climb_all(
        &mut self,
        plans: &mut Vec<Estimated>,
        crops: &[usize],
        starts: usize,
        margin: u64,
    ) -> Result<()> {
        let least = plans.iter().map(|s| s.0).min().unwrap_or_default();
        let most = least.hundredths(margin) + Bits::bytes(SLACK);
        let mut from: Vec<_> =
            plans.iter().filter(|s| s.0 <= most && s.1.axes.has_neighbours()).cloned().collect();
        from.retain(|s| !s.1.axes.is_by_value());
        sort_by_cost(&mut from);
        from.truncate(starts);
        for start in from {
            let passed = UP.run(self, start, |chooser, _, around| {
                let mut around: Vec<Estimated> =
                    around.into_iter().map(|plan| (Bits::default(), plan)).collect();
                chooser.estimate(&mut around, crops)?;
                Ok(around)
            })?;
            plans.extend(passed);
        }
        Ok(())
    }

    /// Returns all delta axes that the longest crop has.
    fn axes(&self) -> Vec<DeltaAxes> {
        let Some(longest) = self.pieces.crops.iter().max_by_key(|p| p.words.len()) else { return Vec::new() };
        let all = [
            DeltaAxes::NEIGHBOURS,
            DeltaAxes::ROWS,
            DeltaAxes::PLANES,
            DeltaAxes::ROWS_PLANES,
            DeltaAxes::VOLUMES,
            DeltaAxes::ROWS_VOLUMES,
            DeltaAxes::NONE,
        ];
        all.into_iter().filter(|s| s.reduced(&longest.geom, longest.words.len()) == *s).collect()
    }
}
