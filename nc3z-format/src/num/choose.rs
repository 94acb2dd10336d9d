//! Choosing plans from samples: order-0 costs for all pairs of domain and predictor, real encodes for the best.
//! Sizes only, integers where they decide; no clocks.

use super::Shape;
use super::crop::{Border, Crop, compact, crop, crops};
use super::ctx::{count, log2_q16, raw_bits, token_cost, tokens_of};
use super::dict::Dictionary;
use super::encode::{Coder, DomainPlan, EncodePlan, finish, predict, stage, zigzag_all};
use super::lattice::{self, Lattice};
use super::mask::pattern_of;
use super::params::{Geometry, Strides};
use super::scratch::Scratch;
use super::word::{Pool, Word};
use crate::error::{Error, Result};
use crate::types::NcType;
use std::sync::Arc;

/// How much time a variable is worth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Effort {
    /// zstd only, level 1.
    Fast,
    /// The context coder, or zstd level 9.
    #[default]
    Default,
    /// Finer contexts, zstd level 19.
    Max,
}

/// What is known of the variable besides its samples.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Elements of the variable; at least those of the samples are assumed.
    pub elements: u64,
    /// A variable of at most so many bytes, all of which is in the samples, is encoded as it is by each promising plan.
    /// That takes some ten times as long as encoding it once.
    pub whole_len: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Self { elements: 0, whole_len: 512 << 10 }
    }
}

/// Plans for a variable, the one expected to be smallest first.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// At most four plans; at least one.
    pub plans: Vec<EncodePlan>,
    /// True where values repeat so much that a dictionary of the whole variable may pay: collect it with
    /// [`super::DictionaryBuilder`] and call [`choose_with`].
    pub scan_dictionary: bool,
    /// The pattern that the plans mask out.
    pub mask: Option<u64>,
}

/// Elements of a crop for estimates, and of the crop that is really encoded; [`Effort::Max`] takes four times as many.
const CROP: usize = 6 << 10;
const TRIAL: usize = 16 << 10;
/// Elements whose distinct patterns are counted.
const COUNTED: usize = 48 << 10;
/// Variables of more elements are worth a scan where ranks nearly pay by the crops.
const LARGE: u64 = 1 << 18;
/// Elements from which the mask is found.
const MASK_SAMPLE: usize = 2 << 10;
/// A plan that needs more than this many hundredths of the best on one crop, and so many bytes more, is out.
const BEHIND: u64 = 115;
const SLACK: u64 = 256;

/// A set of strides is tried with repeats if it needs at most so many hundredths of the best set.
const CLIMBS: u64 = 130;
/// At most so many plans are.
const STARTS: usize = 3;
/// A repeat must save one part in so many.
const GAIN: u64 = 256;

/// The most frequent pattern, if it is worth a mask.
fn find_mask<W: Word>(samples: &[&[W]], fill_values: &[W]) -> Option<W> {
    let total: usize = samples.iter().map(|p| p.len()).sum();
    let every = (total / MASK_SAMPLE).max(1) | 1;
    let mut sorted: Vec<W> = samples.iter().flat_map(|p| p.iter().step_by(every)).copied().collect();
    sorted.sort_unstable();
    let most = sorted.chunk_by(|a, b| a == b).max_by_key(|c| c.len())?;
    if most.len() * 20 > sorted.len() {
        return Some(most[0]);
    }
    let known = |f: &&W| samples.iter().any(|s| s.contains(f));
    fill_values.iter().find(known).copied()
}

/// Distinct valid patterns of a part of the samples and of the crops, and how many valid elements there are.
fn distinct<W: Word>(samples: &[&[W]], crops: &[Crop<W>], mask: Option<W>, whole: bool) -> (Vec<W>, usize) {
    let share = if whole { usize::MAX } else { COUNTED / samples.len().max(1) };
    let mut seen = super::DictionaryBuilder::default();
    let mut valid = 0;
    let parts = samples.iter().map(|s| {
        let from = (s.len() - s.len().min(share)) / 2;
        &s[from..from + s.len().min(share)]
    });
    for part in parts.chain(crops.iter().map(|c| &c.words[..])) {
        valid += part.iter().filter(|&&e| Some(e) != mask).count();
        seen.add(part, mask.map(Word::to_u64));
    }
    (seen.patterns(), valid)
}

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

/// The domain maps that fit the samples.
fn domains<W: Word>(
    pieces: &[Crop<W>],
    ty: NcType,
    mask: Option<W>,
    dict: Option<&Arc<Dictionary>>,
) -> Vec<DomainPlan> {
    let mut out = vec![DomainPlan::Ord];
    if ty.is_float() {
        let valid = |p: &[W]| -> Vec<W> {
            p.iter().copied().filter(|&e| Some(e) != mask && e.float_value().is_finite()).collect()
        };
        // Of all crops together, so that none of them shows only a part of the lattice; and the finest that a crop
        // shows, where the others are coarser.
        let each: Vec<Vec<W>> = pieces.iter().map(|p| valid(&p.words)).collect();
        let together = each.concat();
        let constant = lattice::detect(&together, None, 58, true);
        let fits = |l: &Lattice| lattice::detect(&together, Some(*l), 58, false) == Some(*l);
        let finest = each
            .iter()
            .filter_map(|words| lattice::detect(words, None, 58, false))
            .filter(|l| constant.is_none() || fits(l))
            .max_by(|a, b| a.frequency().total_cmp(&b.frequency()));
        let finer = finest.filter(|l| constant.is_none_or(|c| l.frequency() > 1.5 * c.frequency()));
        out.extend(constant.into_iter().chain(finer).map(DomainPlan::Lattice));
        let constant = constant.or(finest);
        let plane = |p: &Crop<W>| Geometry::usable(p.geom.plane, p.words.len()).map(|n| valid(&p.words[..n]));
        let planes: Vec<Vec<W>> = pieces.iter().filter_map(plane).filter(|p| p.len() > 8).collect();
        let fit = planes.iter().filter(|p| lattice::detect(p, constant, 43, false).is_some()).count();
        if fit > 0 && fit * 2 >= planes.len() {
            out.push(DomainPlan::LatticePerPlane);
        }
    }
    out.extend(dict.map(|d| DomainPlan::Rank(Arc::clone(d))));
    out
}

/// A domain map, and the step of a lattice.
type DomainKind = (std::mem::Discriminant<DomainPlan>, u64);

fn domain_kind(domain: &DomainPlan) -> DomainKind {
    let step = if let DomainPlan::Lattice(l) = domain { l.step.to_bits() } else { 0 };
    (std::mem::discriminant(domain), step)
}

struct Chooser<W> {
    crops: Vec<Crop<W>>,
    /// What is encoded for real.
    trials: Vec<Crop<W>>,
    /// Whether that is the whole variable.
    whole: bool,
    ty: NcType,
    mask: Option<u64>,
    effort: Effort,
    /// Bytes that ranks cost besides the tiles, and the elements that share them.
    dict_len: u64,
    elements: u64,
    /// Whether real encodes look at all crops.
    wide: bool,
    scratch: Scratch,
    grid: Pool,
    tokens: Vec<u8>,
}

impl<W: Word> Chooser<W> {
    fn plan(&self, domain: DomainPlan, strides: Strides, coder: Coder) -> EncodePlan {
        let level = if self.whole { self.level() } else { i32::from(self.effort != Effort::Fast) * 2 + 1 };
        let shape = if self.effort == Effort::Max {
            Shape { log: 11, north: 8, west: 4 }
        } else {
            Shape { log: 9, north: 4, west: 4 }
        };
        EncodePlan { mask: self.mask, domain, strides, coder, shape, level }
    }

    /// What `len` elements bear of the dictionary.
    fn share(&self, plan: &EncodePlan, len: usize) -> u64 {
        let len = len as u64;
        if plan.dictionary().is_some() { self.dict_len * len / self.elements.max(len).max(1) } else { 0 }
    }

    /// Adds the estimated bits / 65536 of plans that share a domain map, on some of the crops.
    fn score(&mut self, plans: &mut [(u64, EncodePlan)], crops: &[usize]) -> Result<()> {
        for crop in crops.iter().filter_map(|&c| self.crops.get(c)) {
            let Some((_, plan)) = plans.first() else { break };
            let (n, scratch) = (crop.words.len(), &mut self.scratch);
            let shared =
                self.dict_len * u64::from(plan.dictionary().is_some()) * n as u64 / self.elements.max(1);
            let mut staged = super::encode::mapped(&crop.words, self.ty, &crop.geom, plan, scratch, false)?;
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
    fn scores(&mut self, domains: &[DomainPlan]) -> Result<Vec<(u64, EncodePlan)>> {
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
    fn climb(
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

    /// Real bytes of a plan on the trial crops (and the others, where that decides about ranks), with what the plan costs besides, in hundredths.
    fn size(&mut self, plan: &EncodePlan) -> Result<u64> {
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

    /// All predictors that the longest crop can show.
    fn strides(&self) -> Vec<Strides> {
        let Some(longest) = self.crops.iter().max_by_key(|p| p.words.len()) else { return Vec::new() };
        let all = [Strides::W, Strides::L2, Strides::WT, Strides::L3, Strides::WQ, Strides::L3Q];
        all.into_iter().filter(|s| s.reduced(&longest.geom, longest.words.len()) == *s).collect()
    }

    /// The plans worth real encodes: the best, and the best of other domain maps and other sets of strides, but no
    /// more than `keep`, none much worse than the best.
    fn near(&self, scored: &[(u64, EncodePlan)]) -> Vec<EncodePlan> {
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
    fn try_all(&mut self, plans: Vec<EncodePlan>, sized: &mut Vec<(u64, EncodePlan)>) -> Result<()> {
        for plan in plans {
            sized.push((self.size(&plan)?, plan));
        }
        Ok(())
    }

    /// Plans in the order of their sizes, and whether ranks are worth a dictionary of the whole variable.
    fn run(&mut self, domains: &[DomainPlan]) -> Result<(Vec<EncodePlan>, bool)> {
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

    /// Repeated differences must be better over all crops, not only on the trial: what is smooth there may be rough elsewhere.
    fn settle(&mut self, sized: &mut Vec<(u64, EncodePlan)>) -> Result<()> {
        let plain = |p: &EncodePlan| p.strides.repeats() == (0, 0) && p.dictionary().is_none();
        let repeated = |p: &EncodePlan| p.strides.repeats() != (0, 0);
        let Some((least, best)) = sized.first().filter(|s| repeated(&s.1)).cloned() else { return Ok(()) };
        let Some(at) = sized.iter().position(|s| plain(&s.1) && s.0 <= least.saturating_mul(5) / 4) else {
            return Ok(());
        };
        let wide = std::mem::replace(&mut self.wide, true);
        let (repeated, rival) = (self.size(&best)?, self.size(&sized[at].1.clone())?);
        self.wide = wide;
        if rival <= repeated {
            sized[..=at].rotate_right(1);
        }
        Ok(())
    }

    /// Other tables and no mask for the best plan of a variable that is tried whole.
    fn refine(&mut self, sized: &mut Vec<(u64, EncodePlan)>) -> Result<()> {
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
    fn level(&self) -> i32 {
        match self.effort {
            Effort::Fast => 1,
            Effort::Default if W::BITS > 8 => 9,
            Effort::Default | Effort::Max => 19,
        }
    }
}

/// Bytes besides residuals, as they would be with the planes of the sample.
fn side<W>(staged: &super::encode::Staged, plan: &EncodePlan, crop: &Crop<W>) -> u64 {
    let domain = staged.domain_len();
    let kept = if matches!(plan.domain, DomainPlan::LatticePerPlane) { domain / crop.shrink } else { domain };
    (staged.side_len() - domain + kept) as u64
}

/// Ranks plans for a variable by samples of its tiles (each beginning where a tile begins; three are enough).
///
/// # Errors
/// If the words do not have the size of the type.
pub fn choose<W: Word>(
    samples: &[&[W]],
    ty: NcType,
    geom: &Geometry,
    effort: Effort,
    fill_values: &[W],
) -> Result<Candidates> {
    choose_with(samples, ty, geom, effort, fill_values, Extent::default(), None)
}

/// As [`choose`], with the extent of the variable, and a dictionary of all its values.
///
/// # Errors
/// If the words do not have the size of the type.
pub fn choose_with<W: Word>(
    samples: &[&[W]],
    ty: NcType,
    geom: &Geometry,
    effort: Effort,
    fill_values: &[W],
    extent: Extent,
    dict: Option<&Arc<Dictionary>>,
) -> Result<Candidates> {
    if ty.size() != W::BYTES {
        return Err(Error::invalid(format!("words of {} bytes for type {ty}", W::BYTES)));
    }
    let samples: Vec<&[W]> = samples.iter().copied().filter(|s| !s.is_empty()).collect();
    let Some(&middle) = samples.get(samples.len() / 2) else {
        return Ok(Candidates { plans: vec![EncodePlan::default()], ..Candidates::default() });
    };
    let elements = extent.elements.max(samples.iter().map(|s| s.len() as u64).sum());
    let scale = if effort == Effort::Max { 4 } else { 1 };
    let crops = crops(&samples, geom, scale * CROP);
    let mask = find_mask(&samples, fill_values);
    let len: usize = samples.iter().map(|s| s.len()).sum();
    let whole = effort != Effort::Fast && len as u64 == elements && len * W::BYTES <= extent.whole_len;
    let mut own = None;
    let mut dict_len = 0;
    if let Some(dict) = dict {
        dict_len =
            if whole { dict.encode_definition(ty)?.len() as u64 } else { dict.definition_estimate(ty)? };
    } else if W::BITS > 8 {
        let (patterns, valid) = distinct(&samples, &crops, mask, whole);
        let count = patterns.len();
        if count * 2 < valid && count <= super::MAX_DICTIONARY {
            let span = log2_q16(u32::try_from(count).unwrap_or(u32::MAX)) >> 16;
            dict_len = (count as u64) * (u64::from(W::BITS).saturating_sub(span)) / 32;
            own = Dictionary::new(patterns, ty).map(Arc::new);
            if let (true, Some(own)) = (whole, &own) {
                dict_len = own.encode_definition(ty)?.len() as u64;
            }
        }
    }
    let value = mask.map(Word::to_u64);
    let found = domains(&crops, ty, value.and_then(pattern_of::<W>), dict.or(own.as_ref()));
    let trials = if whole {
        let all = |s: &&[W]| Crop { words: s.to_vec(), geom: *geom, shrink: 1, border: Border::NONE };
        samples.iter().map(all).collect()
    } else {
        vec![crop(middle, geom, scale * TRIAL, 4)]
    };
    let scratch = Scratch::new();
    let mut chooser = Chooser {
        crops,
        trials,
        whole,
        ty,
        mask: value,
        effort,
        dict_len,
        elements,
        wide: dict.is_some() && !whole,
        scratch,
        grid: Pool::default(),
        tokens: Vec::new(),
    };
    let (mut plans, rank_pays) = chooser.run(&found)?;
    if dict.is_none() {
        // What was tried with the patterns of the samples needs those of the whole variable.
        plans.retain(|p| p.dictionary().is_none());
        if plans.is_empty() {
            plans.push(chooser.plan(DomainPlan::Ord, Strides::W, Coder::Planes));
        }
    }
    Ok(Candidates { plans, scan_dictionary: own.is_some() && rank_pays, mask: value })
}
