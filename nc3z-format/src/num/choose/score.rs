//! Plans by a cheap estimate: order-0 entropy of their tokens on crops of the samples.

use super::{Chooser, Effort};
use crate::error::Result;
use crate::num::crop::{Crop, compact};
use crate::num::ctx::{count, raw_bits, token_cost, tokens_of};
use crate::num::encode::{Coder, DomainPlan, EncodePlan, Staged, mapped, predict, zigzag_all};
use crate::num::params::Strides;
use crate::num::word::Word;

/// A plan that needs more than this many hundredths of the best on one crop, and so many bytes more, is out.
const BEHIND: u64 = 115;
pub(super) const SLACK: u64 = 256;

/// A set of strides is tried with repeats if it needs at most so many hundredths of the best set.
pub(super) const CLIMBS: u64 = 130;
/// At most so many plans are.
const STARTS: usize = 3;
/// A repeat must save one part in so many.
const GAIN: u64 = 256;

/// Order-0 estimate of residuals in bits / 65536: tokens by entropy, raw bits as they are. Spoils the words.
fn estimate<W: Word>(words: &mut [W], signed: bool, tokens: &mut Vec<u8>) -> u64 {
    if signed {
        zigzag_all(words);
    }
    tokens.resize(words.len(), 0);
    tokens_of(words, tokens);
    let mut counts = [[0u32; 2]; 256];
    count(tokens, &mut counts);
    let histogram: [u32; 256] = counts.map(|[a, b]| a + b);
    let raw: u64 = (0..=255u8).zip(&histogram).map(|(t, &c)| u64::from(c) * u64::from(raw_bits(t))).sum();
    token_cost(&histogram) + (raw << 16)
}

/// Bytes besides residuals, as they would be with the planes of the sample.
pub(super) fn side<W>(staged: &Staged, plan: &EncodePlan, crop: &Crop<W>) -> u64 {
    let domain = staged.domain_len();
    let kept = if matches!(plan.domain, DomainPlan::LatticePerPlane) { domain / crop.shrink } else { domain };
    (staged.side_len() - domain + kept) as u64
}

impl<W: Word> Chooser<W> {
    /// Adds the estimated bits / 65536 of plans that share a domain map, on some of the crops.
    pub(super) fn score(&mut self, plans: &mut [(u64, EncodePlan)], crops: &[usize]) -> Result<()> {
        for crop in crops.iter().filter_map(|&c| self.crops.get(c)) {
            let Some((_, plan)) = plans.first() else { break };
            let (n, scratch) = (crop.words.len(), &mut self.scratch);
            let shared =
                self.dict_len * u64::from(plan.dictionary().is_some()) * n as u64 / self.elements.max(1);
            let mut staged = mapped(&crop.words, self.ty, &crop.geom, plan, scratch, false)?;
            if staged.is_all_masked() || n == 0 {
                continue;
            }
            let mut grid = std::mem::take(W::pool(&mut self.grid));
            grid.clone_from(W::pool(&mut scratch.mapped));
            let judged = crop.border.judged(&scratch.runs);
            let tokens = &mut self.tokens;
            let mut measure = |plan: &EncodePlan| {
                W::pool(&mut scratch.mapped).clone_from(&grid);
                predict::<W>(&mut staged, n, &crop.geom, plan.strides, scratch);
                let words = W::pool(&mut scratch.mapped);
                compact(words, &judged);
                let signed = staged.is_signed();
                ((side(&staged, plan, crop) + shared) << 19) + estimate(words, signed, tokens)
            };
            for (sum, plan) in &mut *plans {
                *sum += measure(plan);
            }
            *W::pool(&mut self.grid) = grid;
        }
        Ok(())
    }

    /// All pairs of domain map and predictor with their scores, the best first. Those that are far behind on one crop
    /// are not tried on the others.
    pub(super) fn scores(&mut self, domains: &[DomainPlan]) -> Result<Vec<(u64, EncodePlan)>> {
        let coder = if self.effort == Effort::Fast { Coder::Planes } else { Coder::Ctx };
        let strides = self.strides();
        let all = |d: &DomainPlan| strides.iter().map(|&s| (0, self.plan(d.clone(), s, coder))).collect();
        let mut scored: Vec<Vec<(u64, EncodePlan)>> = domains.iter().map(all).collect();
        let middle = self.crops.len() / 2;
        let others: Vec<usize> = (0..self.crops.len()).filter(|&c| c != middle).collect();
        for plans in &mut scored {
            self.score(plans, &[middle])?;
            // Before any is left out: repeated differences may be worth more than a better domain map.
            self.climb(plans, &[middle], 2, u64::MAX)?;
        }
        let least = scored.iter().flatten().map(|s| s.0).min().unwrap_or(0);
        for plans in &mut scored {
            plans.retain(|s| s.0 <= least / 100 * BEHIND + (SLACK << 19));
            self.score(plans, &others)?;
        }
        let mut scored: Vec<_> = scored.into_iter().flatten().collect();
        scored.sort_by_key(|s| s.0);
        let all: Vec<usize> = (0..self.crops.len()).collect();
        self.climb(&mut scored, &all, STARTS, CLIMBS)?;
        scored.sort_by_key(|s| s.0);
        Ok(scored)
    }

    /// Repeats the differences of the best plans, at most `starts` and `margin` hundredths of the best, as long as that
    /// saves enough; adds the steps to the plans.
    pub(super) fn climb(
        &mut self,
        scored: &mut Vec<(u64, EncodePlan)>,
        crops: &[usize],
        starts: usize,
        margin: u64,
    ) -> Result<()> {
        let least = scored.iter().map(|s| s.0).min().unwrap_or(0);
        let most = (least / 100).saturating_mul(margin).saturating_add(SLACK << 19);
        let mut from: Vec<_> =
            scored.iter().filter(|s| s.0 <= most && s.1.strides != Strides::NONE).cloned().collect();
        from.sort_by_key(|s| s.0);
        from.truncate(starts);
        for mut best in from {
            loop {
                let strides = best.1.strides;
                let (neighbours, rows) = strides.repeats();
                let further = [strides.again(neighbours + 1, rows), strides.again(neighbours, rows + 1)];
                let mut tried: Vec<(u64, EncodePlan)> = further
                    .into_iter()
                    .filter(|&s| s != strides)
                    .map(|strides| (0, EncodePlan { strides, ..best.1.clone() }))
                    .collect();
                self.score(&mut tried, crops)?;
                let enough = best.0 - best.0 / GAIN;
                let Some(next) = tried.into_iter().min_by_key(|s| s.0).filter(|s| s.0 < enough) else {
                    break;
                };
                best = next;
                scored.push(best.clone());
            }
        }
        Ok(())
    }

    /// All predictors that the longest crop can show.
    pub(super) fn strides(&self) -> Vec<Strides> {
        let Some(longest) = self.crops.iter().max_by_key(|p| p.words.len()) else { return Vec::new() };
        let all = [Strides::W, Strides::L2, Strides::WT, Strides::L3, Strides::WQ, Strides::L3Q];
        all.into_iter().filter(|s| s.reduced(&longest.geom, longest.words.len()) == *s).collect()
    }
}
