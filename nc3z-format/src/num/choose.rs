//! Choosing plans from samples: order-0 costs for all pairs of domain and predictor, real encodes for the best.
//! Sizes only, integers where they decide; no clocks.

use super::Shape;
use super::ctx::{count, log2_q16, raw_bits, token_cost, tokens_of};
use super::dict::Dictionary;
use super::encode::{Coder, DomainPlan, EncodePlan, finish, predict, stage, zigzag_all};
use super::lattice;
use super::mask::{Runs, pattern_of};
use super::params::{Geometry, Strides};
use super::scratch::Scratch;
use super::word::{Pool, Word};
use crate::error::{Error, Result};
use crate::types::NcType;
use std::ops::Range;
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

/// The least rows of a plane in a crop, and how many first ones are not judged where the sample has more: what differences
/// of rows leave there stands once in a plane, but often in crops.
const ROWS: usize = 16;
const BORDER: usize = 3;
/// A set of strides is tried with repeats if it needs at most so many hundredths of the best set.
const CLIMBS: u64 = 130;
/// A repeat must save one part in so many.
const GAIN: u64 = 256;

/// A small grid cut out of a sample: some columns of some rows of some planes of some volumes.
struct Crop<W> {
    words: Vec<W>,
    geom: Geometry,
    /// One plane of the sample has so many times the elements of one of the crop.
    shrink: usize,
    /// Elements of a plane, and how many first ones of each are not judged.
    border: (usize, usize),
}

/// Cuts about `len` elements out of a sample, `part` eighths away from its beginning.
fn crop<W: Word>(sample: &[W], geom: &Geometry, len: usize, part: usize) -> Crop<W> {
    let n = sample.len();
    let place = |all: usize, taken: usize| (all - taken) * part / 8;
    let Some(row) = Geometry::usable(geom.row, n).filter(|&r| n / r >= 2 && n > len) else {
        let taken = n.min(len);
        let from = place(n, taken);
        let words = sample[from..from + taken].to_vec();
        return Crop { words, geom: *geom, shrink: 1, border: (taken.max(1), 0) };
    };
    let multiple = |s: u64, of: usize| Geometry::usable(s, n).filter(|s| s.is_multiple_of(of) && *s > of);
    let plane = multiple(geom.plane, row);
    let volume = plane.and_then(|p| multiple(geom.volume, p));
    let volumes = volume.map_or(1, |v| (n / v).clamp(1, 2));
    let planes =
        plane.map_or(1, |p| (volume.unwrap_or(n) / p).min(n / p).clamp(1, if volumes > 1 { 2 } else { 4 }));
    let all_rows = plane.unwrap_or(n) / row;
    let columns = row.min((len / (volumes * planes * ROWS.min(all_rows))).clamp(64, 1 << 10));
    let rows = (len / (volumes * planes * columns)).max(2).min(all_rows);
    let first_volume = volume.map_or(0, |v| place(n / v.max(1), volumes.min(n / v.max(1))) * v);
    let first_plane = plane.map_or(0, |p| {
        let all = volume.map_or(n / p, |v| v / p);
        place(all, planes.min(all)) * p
    });
    let first = first_volume + first_plane + place(all_rows, rows) * row + place(row, columns);
    let mut words = Vec::with_capacity(volumes * planes * rows * columns);
    for v in 0..volumes {
        for p in 0..planes {
            for r in 0..rows {
                let at = first + v * volume.unwrap_or(0) + p * plane.unwrap_or(0) + r * row;
                words.extend_from_slice(sample.get(at..at + columns).unwrap_or_default());
            }
        }
    }
    let used = |on: bool, s: usize| if on { s as u64 } else { 0 };
    let geom = Geometry {
        row: columns as u64,
        plane: used(plane.is_some(), rows * columns),
        volume: used(volume.is_some(), planes * rows * columns),
    };
    let shrink = plane.map_or(1, |p| p / (rows * columns).max(1)).max(1);
    let judged = if rows < all_rows && rows > 2 * BORDER { BORDER * columns } else { 0 };
    Crop { words, geom, shrink, border: (rows * columns, judged) }
}

/// Crops of all samples: one of each, or three of a lone one.
fn crops<W: Word>(samples: &[&[W]], geom: &Geometry, len: usize) -> Vec<Crop<W>> {
    match samples {
        [sample] if sample.len() > len => [1, 4, 7].map(|part| crop(sample, geom, len, part)).into(),
        _ => (1..).step_by(3).zip(samples).map(|(part, s)| crop(s, geom, len, part.min(7))).collect(),
    }
}

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
fn distinct<W: Word>(samples: &[&[W]], crops: &[Crop<W>], mask: Option<W>) -> (Vec<W>, usize) {
    let share = COUNTED / samples.len().max(1);
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
        // Of all crops together, so that none of them shows only a part of the lattice; else of one.
        let all: Vec<Vec<W>> = pieces.iter().map(|p| valid(&p.words)).collect();
        let mut constant = lattice::detect(&all.concat(), None, 58, true);
        for words in &all {
            constant = constant.or_else(|| lattice::detect(words, None, 58, false));
        }
        if let Some(l) = constant {
            out.push(DomainPlan::Lattice(l));
        }
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

struct Chooser<W> {
    crops: Vec<Crop<W>>,
    trial: Crop<W>,
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
        let level = if self.effort == Effort::Fast { 1 } else { 3 };
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

    /// Adds the estimated bits / 65536 of plans that share a domain map, on some of the crops. `climb`: differences
    /// are repeated as long as that helps, and what was tried is added to the plans.
    fn score(&mut self, plans: &mut Vec<(u64, EncodePlan)>, crops: &[usize], climb: bool) -> Result<()> {
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
            let judged = judged(&scratch.runs, crop.border);
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
            let least = plans.iter().map(|s| s.0).min().unwrap_or(0);
            for at in 0..if climb { plans.len() } else { 0 } {
                let mut best = plans[at].clone();
                if best.0 > least / 100 * CLIMBS || best.1.strides == Strides::NONE {
                    continue;
                }
                loop {
                    let strides = best.1.strides;
                    let (neighbours, rows) = strides.repeats();
                    let further = [strides.again(neighbours + 1, rows), strides.again(neighbours, rows + 1)];
                    let tried: Vec<(u64, EncodePlan)> = further
                        .into_iter()
                        .filter(|&s| s != strides)
                        .map(|strides| EncodePlan { strides, ..best.1.clone() })
                        .map(|plan| (measure(&plan), plan))
                        .collect();
                    let enough = best.0 - best.0 / GAIN;
                    let next = tried.into_iter().min_by_key(|s| s.0).filter(|s| s.0 < enough);
                    let Some(next) = next else { break };
                    best = next;
                    plans.push(best.clone());
                }
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
            self.score(plans, &[middle], true)?;
        }
        let least = scored.iter().flatten().map(|s| s.0).min().unwrap_or(0);
        for plans in &mut scored {
            plans.retain(|s| s.0 <= least / 100 * BEHIND + (SLACK << 19));
            self.score(plans, &others, false)?;
        }
        let mut scored: Vec<_> = scored.into_iter().flatten().collect();
        scored.sort_by_key(|s| s.0);
        Ok(scored)
    }

    /// Real bytes of a plan on the trial crop (and the others, where that decides about ranks), with what the plan costs besides, in hundredths.
    fn size(&mut self, plan: &EncodePlan) -> Result<u64> {
        let (mut out, mut less, mut share) = (Vec::new(), 0, 0);
        let others = if self.wide { &self.crops[..] } else { &[] };
        for crop in std::iter::once(&self.trial).chain(others) {
            let Crop { words, geom, .. } = crop;
            let mut staged = stage(words, self.ty, geom, plan, &mut self.scratch, false)?;
            less += staged.side_len() as u64 - side(&staged, plan, crop);
            finish::<W>(&mut staged, words.len(), geom, plan, &mut self.scratch, &mut out)?;
            share += self.share(plan, words.len());
        }
        // Small words decode slowly through contexts: those must be worth 2 in 100.
        let slow = plan.coder == Coder::Ctx && W::BITS <= 16 && self.effort == Effort::Default;
        let bytes = (out.len() as u64).saturating_sub(less) + share;
        // Ranks are looked up value by value, both ways: worth 2 in 100 as well.
        let looked_up = plan.dictionary().is_some();
        Ok(bytes * (100 + 2 * u64::from(slow) + 2 * u64::from(looked_up)))
    }

    /// All predictors that the longest crop can show.
    fn strides(&self) -> Vec<Strides> {
        let Some(longest) = self.crops.iter().max_by_key(|p| p.words.len()) else { return Vec::new() };
        let all = [Strides::W, Strides::L2, Strides::WT, Strides::L3, Strides::WQ, Strides::L3Q];
        all.into_iter().filter(|s| s.reduced(&longest.geom, longest.words.len()) == *s).collect()
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
        let (keep, margin) = match self.effort {
            Effort::Fast => (2, 110),
            Effort::Default => (3, 106),
            Effort::Max => (5, 150),
        };
        let best = scored.first().map_or(0, |s| s.0);
        let near: Vec<EncodePlan> =
            scored.into_iter().take(keep).filter(|s| s.0 <= best / 100 * margin).map(|s| s.1).collect();
        let mut sized = Vec::new();
        for plan in &near {
            sized.push((self.size(plan)?, plan.clone()));
        }
        let good = sized.iter().map(|s| s.0).min().unwrap_or(u64::MAX);
        let planes = |p: &EncodePlan| EncodePlan { coder: Coder::Planes, ..p.clone() };
        let zstd = self.plan(DomainPlan::Ord, Strides::NONE, Coder::Zstd);
        let first: Vec<EncodePlan> = near.first().map(planes).into_iter().chain([zstd]).collect();
        let mut close = self.effort != Effort::Default;
        for plan in first {
            let size = self.size(&plan)?;
            close |= size <= good.saturating_mul(5) / 4;
            sized.push((size, plan));
        }
        // The other ways of zstd only where zstd is not far behind.
        if close {
            let mut others: Vec<EncodePlan> = near.iter().skip(1).take(1).map(planes).collect();
            others.push(self.plan(DomainPlan::Ord, Strides::NONE, Coder::Planes));
            others.push(self.plan(DomainPlan::Ord, Strides::W, Coder::Zstd));
            if let Some(rank) = domains.iter().find(|d| matches!(d, DomainPlan::Rank(_))) {
                others.push(self.plan(rank.clone(), Strides::NONE, Coder::Planes));
            }
            for plan in others {
                sized.push((self.size(&plan)?, plan));
            }
        }
        sized.sort_by_key(|s| s.0);
        sized.truncate(4);
        let level = match self.effort {
            Effort::Fast => 1,
            Effort::Default if W::BITS > 8 => 9,
            Effort::Default | Effort::Max => 19,
        };
        let rank_pays = may_pay || sized.first().is_some_and(|s| s.1.dictionary().is_some());
        Ok((sized.into_iter().map(|(_, p)| EncodePlan { level, ..p }).collect(), rank_pays))
    }
}

/// Which of the valid elements are judged, as ranges: not those at the beginning of a plane.
fn judged(runs: &Runs, (plane, border): (usize, usize)) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut before = 0;
    for run in &runs.list {
        let mut at = run.start;
        while at < run.end {
            let start = at / plane * plane;
            let (from, to) = (at.max(start + border), run.end.min(start + plane));
            if from < to {
                ranges.push(before + from - run.start..before + to - run.start);
            }
            at = start + plane;
        }
        before += run.len();
    }
    ranges
}

/// Keeps these ranges.
fn compact<W: Word>(words: &mut Vec<W>, ranges: &[Range<usize>]) {
    let mut kept = 0;
    for range in ranges {
        words.copy_within(range.clone(), kept);
        kept += range.len();
    }
    words.truncate(kept);
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
    choose_with(samples, ty, geom, effort, fill_values, 0, None)
}

/// As [`choose`], with the number of elements of the variable, and a dictionary of all of them.
///
/// # Errors
/// If the words do not have the size of the type.
pub fn choose_with<W: Word>(
    samples: &[&[W]],
    ty: NcType,
    geom: &Geometry,
    effort: Effort,
    fill_values: &[W],
    elements: u64,
    dict: Option<&Arc<Dictionary>>,
) -> Result<Candidates> {
    if ty.size() != W::BYTES {
        return Err(Error::invalid(format!("words of {} bytes for type {ty}", W::BYTES)));
    }
    let samples: Vec<&[W]> = samples.iter().copied().filter(|s| !s.is_empty()).collect();
    let Some(&middle) = samples.get(samples.len() / 2) else {
        return Ok(Candidates { plans: vec![EncodePlan::default()], ..Candidates::default() });
    };
    let elements = elements.max(samples.iter().map(|s| s.len() as u64).sum());
    let scale = if effort == Effort::Max { 4 } else { 1 };
    let crops = crops(&samples, geom, scale * CROP);
    let mask = find_mask(&samples, fill_values);
    let mut own = None;
    let mut dict_len = 0;
    if let Some(dict) = dict {
        dict_len = dict.definition_estimate(ty)?;
    } else if W::BITS > 8 {
        let (patterns, valid) = distinct(&samples, &crops, mask);
        let count = patterns.len();
        if count * 2 < valid && count <= super::MAX_DICTIONARY {
            let span = log2_q16(u32::try_from(count).unwrap_or(u32::MAX)) >> 16;
            dict_len = (count as u64) * (u64::from(W::BITS).saturating_sub(span)) / 32;
            own = Dictionary::new(patterns, ty).map(Arc::new);
        }
    }
    let value = mask.map(Word::to_u64);
    let found = domains(&crops, ty, value.and_then(pattern_of::<W>), dict.or(own.as_ref()));
    let trial = crop(middle, geom, scale * TRIAL, 4);
    let scratch = Scratch::new();
    let mut chooser = Chooser {
        crops,
        trial,
        ty,
        mask: value,
        effort,
        dict_len,
        elements,
        wide: dict.is_some(),
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
