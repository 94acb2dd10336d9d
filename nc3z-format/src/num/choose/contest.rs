//! The best plans by real encodes.

use super::score::{CLIMBS, SLACK, side};
use super::{Chooser, Effort};
use crate::error::Result;
use crate::num::Shape;
use crate::num::crop::Crop;
use crate::num::encode::{Coder, DomainPlan, EncodePlan, finish, stage};
use crate::num::params::Strides;
use crate::num::word::Word;

/// Variables of more elements are worth a scan where ranks nearly pay by the crops.
const LARGE: u64 = 1 << 18;
/// Another number of repeats must save one part in so many.
const WORTH: u64 = 512;
/// It is not tried where tokens need more than so many hundredths of the best.
const MAY_WIN: u64 = 108;

/// A domain map, and the step of a lattice.
type DomainKind = (std::mem::Discriminant<DomainPlan>, u64);

fn domain_kind(domain: &DomainPlan) -> DomainKind {
    let step = if let DomainPlan::Lattice(l) = domain { l.step.to_bits() } else { 0 };
    (std::mem::discriminant(domain), step)
}

impl<W: Word> Chooser<W> {
    pub(super) fn plan(&self, domain: DomainPlan, strides: Strides, coder: Coder) -> EncodePlan {
        let level = if self.whole { self.level() } else { i32::from(self.effort != Effort::Fast) * 2 + 1 };
        let shape = if self.effort == Effort::Max {
            Shape { log: 11, north: 8, west: 4 }
        } else {
            Shape { log: 9, north: 4, west: 4 }
        };
        EncodePlan { mask: self.mask, domain, strides, coder, shape, level }
    }

    /// What `len` elements bear of the dictionary.
    pub(super) fn share(&self, plan: &EncodePlan, len: usize) -> u64 {
        let len = len as u64;
        if plan.dictionary().is_some() { self.dict_len * len / self.elements.max(len).max(1) } else { 0 }
    }

    /// Real bytes of a plan on the trial crops (and the others, where that decides about ranks), with what the plan costs besides, in hundredths.
    pub(super) fn size(&mut self, plan: &EncodePlan) -> Result<u64> {
        let (mut out, mut less, mut share) = (Vec::new(), 0, 0);
        let others = if self.wide { &self.crops[..] } else { &[] };
        for crop in self.trials.iter().chain(others) {
            let Crop { words, geom, .. } = crop;
            let mut staged = stage(words, self.ty, geom, plan, &mut self.scratch, self.whole)?;
            if !self.whole {
                less += staged.side_len() as u64 - side(&staged, plan, crop);
            }
            finish::<W>(&mut staged, words.len(), geom, plan, &mut self.scratch, &mut out)?;
            share += self.share(plan, words.len());
        }
        // Small words decode slowly through contexts: those must be worth 2 in 100.
        let slow = plan.coder == Coder::Ctx && W::BITS <= 16 && self.effort == Effort::Default;
        let bytes = (out.len() as u64).saturating_sub(less) + share;
        // Ranks are looked up value by value, both ways: worth 2 in 100 as well.
        let looked_up = plan.dictionary().is_some();
        // A lattice for each plane is sought for each, at risk of a worse one: worth 1 in 100.
        let sought = matches!(plan.domain, DomainPlan::LatticePerPlane);
        Ok(bytes * (100 + 2 * u64::from(slow) + 2 * u64::from(looked_up) + u64::from(sought)))
    }

    /// The plans worth real encodes: the best, and the best of other domain maps and other sets of strides, but no
    /// more than `keep`, none much worse than the best.
    pub(super) fn near(&self, scored: &[(u64, EncodePlan)]) -> Vec<EncodePlan> {
        let (keep, margin) = match (self.effort, self.whole) {
            (Effort::Fast, _) => (2, 110),
            (Effort::Default, false) => (3, 106),
            (Effort::Default, true) => (6, 125),
            (Effort::Max, false) => (6, 150),
            (Effort::Max, true) => (12, 150),
        };
        let best = scored.first().map_or(0, |s| s.0);
        let mut alike: Vec<(DomainKind, Strides)> = Vec::new();
        let mut near: Vec<EncodePlan> = Vec::new();
        for (score, plan) in scored {
            // Steps of one climb score nearly the same: two of them tell enough.
            let (neighbours, rows) = plan.strides.repeats();
            let kind = (domain_kind(&plan.domain), plan.strides.again(0, 0));
            let before = alike.iter().filter(|&&k| k == kind).count();
            let plain = neighbours == 0 && rows == 0;
            let again = alike.iter().zip(&near).any(|(k, p)| *k == kind && p.strides == plan.strides);
            // Each domain map is tried once on a variable that is tried whole: tokens do not tell what zstd finds.
            let first = self.whole && alike.iter().all(|k| k.0 != kind.0);
            let behind = *score > best / 100 * margin + (SLACK << 15) || near.len() >= keep;
            if again || (behind && !first) || (before >= 2 && !plain) {
                continue;
            }
            alike.push(kind);
            near.push(plan.clone());
        }
        // Tokens flatter repeated differences, whose contexts tell less: the best plain plan is always tried beside them.
        // (Ranks fall out where the variable has too many values, so they do not stand for the others.)
        let plain = |p: &EncodePlan| {
            p.strides.repeats() == (0, 0) && p.strides != Strides::NONE && p.dictionary().is_none()
        };
        if !near.iter().any(plain) {
            let rival = scored.iter().find(|s| plain(&s.1));
            near.extend(rival.filter(|s| s.0 <= best / 100 * CLIMBS).map(|s| s.1.clone()));
        }
        near
    }

    /// Adds the real sizes of plans.
    pub(super) fn try_all(
        &mut self,
        plans: Vec<EncodePlan>,
        sized: &mut Vec<(u64, EncodePlan)>,
    ) -> Result<()> {
        for plan in plans {
            sized.push((self.size(&plan)?, plan));
        }
        Ok(())
    }

    /// Plans in the order of their sizes, and whether ranks are worth a dictionary of the whole variable.
    pub(super) fn run(&mut self, domains: &[DomainPlan]) -> Result<(Vec<EncodePlan>, bool)> {
        let scored = self.scores(domains)?;
        // Large variables gain more by ranks than crops show, but not where a lattice names their values already.
        let rival = scored.iter().find(|s| s.1.dictionary().is_none()).map(|s| &s.1.domain);
        let lattice = matches!(rival, Some(DomainPlan::Lattice(_) | DomainPlan::LatticePerPlane));
        let least = scored.first().map_or(0, |s| s.0);
        let slack = if self.elements > LARGE { 108 } else { 100 };
        let mut ranks = scored.iter().filter(|s| s.1.dictionary().is_some());
        let may_pay = !lattice && ranks.any(|s| s.0 <= least / 100 * slack);
        let near = self.near(&scored);
        let mut sized = Vec::new();
        self.try_all(near.clone(), &mut sized)?;
        let good = sized.iter().map(|s| s.0).min().unwrap_or(u64::MAX);
        let planes = |p: &EncodePlan| EncodePlan { coder: Coder::Planes, ..p.clone() };
        let zstd = self.plan(DomainPlan::Ord, Strides::NONE, Coder::Zstd);
        let before = sized.len();
        self.try_all(near.first().map(planes).into_iter().chain([zstd]).collect(), &mut sized)?;
        let close = self.effort != Effort::Default
            || self.whole
            || sized[before..].iter().any(|s| s.0 <= good.saturating_mul(5) / 4);
        // The other ways of zstd only where zstd is not far behind.
        if close {
            let most = if self.whole { near.len() } else { 1 };
            let mut others: Vec<EncodePlan> = near.iter().skip(1).take(most).map(planes).collect();
            others.push(self.plan(DomainPlan::Ord, Strides::NONE, Coder::Planes));
            others.push(self.plan(DomainPlan::Ord, Strides::W, Coder::Zstd));
            if self.whole {
                others.push(self.plan(DomainPlan::Ord, Strides::W, Coder::Planes));
            }
            if let Some(rank) = domains.iter().find(|d| matches!(d, DomainPlan::Rank(_))) {
                others.push(self.plan(rank.clone(), Strides::NONE, Coder::Planes));
            }
            self.try_all(others, &mut sized)?;
        }
        sized.sort_by_key(|s| s.0);
        if self.whole {
            self.refine(&mut sized)?;
        } else {
            self.settle(&mut sized)?;
        }
        sized.truncate(4);
        let level = self.level();
        let rank_pays = may_pay || sized.first().is_some_and(|s| s.1.dictionary().is_some());
        Ok((sized.into_iter().map(|(_, p)| EncodePlan { level, ..p }).collect(), rank_pays))
    }

    /// How often the best plan repeats its differences, by real encodes of all crops: tokens tell little of that, and what is
    /// smooth in one crop may be rough in others.
    pub(super) fn settle(&mut self, sized: &mut Vec<(u64, EncodePlan)>) -> Result<()> {
        let Some((least, first)) = sized.first().filter(|s| s.1.strides != Strides::NONE).cloned() else {
            return Ok(());
        };
        let plain = |(size, plan): &&(u64, EncodePlan)| {
            let repeated = plan.strides.repeats() != (0, 0) || plan.strides == Strides::NONE;
            !repeated && plan.dictionary().is_none() && *size <= least.saturating_mul(5) / 4
        };
        let rival = sized.iter().find(plain).map(|s| s.1.clone());
        let rival = rival.filter(|_| first.strides.repeats() != (0, 0));
        let wide = std::mem::replace(&mut self.wide, true);
        let mut best = (self.size(&first)?, first);
        let mut better = None;
        if let Some(rival) = rival {
            let size = self.size(&rival)?;
            if size <= best.0 {
                best = (size, rival);
                better = Some(best.1.clone());
            }
        }
        let all: Vec<usize> = (0..self.crops.len()).collect();
        let mut tried = vec![best.1.strides];
        loop {
            let (neighbours, rows) = best.1.strides.repeats();
            let around = [(1, 0), (0, 1), (-1, 0), (0, -1)]
                .into_iter()
                .filter_map(|(n, r)| Some((neighbours.checked_add_signed(n)?, rows.checked_add_signed(r)?)));
            let mut next = None;
            let mut enough = best.0 - best.0 / WORTH;
            for (neighbours, rows) in around {
                let strides = best.1.strides.again(neighbours, rows);
                if tried.contains(&strides) {
                    continue;
                }
                tried.push(strides);
                let plan = EncodePlan { strides, ..best.1.clone() };
                let mut both = [(0, best.1.clone()), (0, plan.clone())];
                self.score(&mut both, &all)?;
                if both[1].0 > both[0].0 / 100 * MAY_WIN {
                    continue;
                }
                let size = self.size(&plan)?;
                if size < enough {
                    enough = size;
                    next = Some((size, plan));
                }
            }
            let Some(next) = next else { break };
            best = next;
            better = Some(best.1.clone());
        }
        self.wide = wide;
        sized.splice(0..0, better.map(|plan| (least, plan)));
        Ok(())
    }

    /// Other tables and no mask for the best plan of a variable that is tried whole.
    pub(super) fn refine(&mut self, sized: &mut Vec<(u64, EncodePlan)>) -> Result<()> {
        let Some((_, best)) = sized.first().cloned() else { return Ok(()) };
        let mut others = Vec::new();
        if best.coder == Coder::Ctx {
            let shapes = [(11, 8, 4), (10, 4, 4), (9, 4, 4), (9, 2, 2), (8, 1, 4), (8, 1, 1)];
            let shapes = shapes.map(|(log, north, west)| Shape { log, north, west });
            let shapes = shapes.into_iter().filter(|&s| s != best.shape);
            others.extend(shapes.map(|shape| EncodePlan { shape, ..best.clone() }));
        }
        if best.mask.is_some() && best.dictionary().is_none() {
            others.push(EncodePlan { mask: None, ..best });
        }
        self.try_all(others, sized)?;
        sized.sort_by_key(|s| s.0);
        Ok(())
    }

    /// The zstd level of tiles.
    pub(super) fn level(&self) -> i32 {
        match self.effort {
            Effort::Fast => 1,
            Effort::Default if W::BITS > 8 => 9,
            Effort::Default | Effort::Max => 19,
        }
    }
}
