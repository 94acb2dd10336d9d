//! Choosing plans from samples: order-0 costs for all pairs of domain and predictor, real encodes for the best.
//! Sizes only, integers where they decide; no clocks.

use super::Shape;
use super::ctx::{log2_q16, token_cost};
use super::dict::Dictionary;
use super::encode::{Coder, DomainPlan, EncodePlan, finish, stage};
use super::lattice;
use super::mask::pattern_of;
use super::params::{Geometry, Strides};
use super::scratch::Scratch;
use super::word::{Word, index};
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

/// Elements of a piece, unless planes want more.
const PIECE: usize = 1 << 15;

/// The part of a sample that is looked at: whole planes, four of them if they are small.
fn piece<'a, W>(sample: &'a [W], geom: &Geometry) -> &'a [W] {
    let whole = |stride: u64, least: usize| -> usize {
        let s = index(stride).max(1);
        (PIECE / s).max(least).saturating_mul(s)
    };
    let plane = index(geom.plane).max(1);
    let len = if plane > 1 && plane <= PIECE {
        whole(geom.plane, 4)
    } else if plane > PIECE && plane <= 4 * PIECE {
        2 * plane
    } else {
        whole(geom.row.min(PIECE as u64), 1)
    };
    &sample[..sample.len().min(len).min(8 * PIECE)]
}

/// The pieces of all samples: one of each, or several of a lone one.
fn pieces<'a, W>(samples: &[&'a [W]], geom: &Geometry) -> Vec<&'a [W]> {
    let mut out: Vec<&[W]> = samples.iter().filter(|s| !s.is_empty()).map(|s| piece(s, geom)).collect();
    if let (&[first], Some(&sample)) = (out.as_slice(), samples.iter().find(|s| !s.is_empty())) {
        let (len, left) = (first.len(), sample.len() - first.len());
        let unit = [geom.plane, geom.row].map(index).into_iter().find(|&u| u > 1 && u <= len).unwrap_or(1);
        if left >= 2 * len {
            let middle = left / 2 / unit * unit;
            out.push(&sample[middle..middle + len]);
        }
        if left >= len {
            let last = left / unit * unit;
            out.push(&sample[last..last + len]);
        }
    }
    out
}

/// The most frequent pattern, if it is worth a mask.
fn find_mask<W: Word>(pieces: &[&[W]], fill_values: &[W]) -> Option<W> {
    let total: usize = pieces.iter().map(|p| p.len()).sum();
    let every = (total / PIECE).max(1);
    let mut sorted: Vec<W> = pieces.iter().flat_map(|p| p.iter().step_by(every)).copied().collect();
    sorted.sort_unstable();
    let most = sorted.chunk_by(|a, b| a == b).max_by_key(|c| c.len())?;
    if most.len() * 20 > sorted.len() {
        return Some(most[0]);
    }
    let known = |f: &&W| sorted.binary_search(f).is_ok();
    fill_values.iter().find(known).copied()
}

/// Distinct valid patterns of the pieces, and how many valid elements there are.
fn distinct<W: Word>(pieces: &[&[W]], mask: Option<W>) -> (Vec<W>, usize) {
    let mut all: Vec<W> =
        pieces.iter().flat_map(|p| p.iter()).copied().filter(|&e| Some(e) != mask).collect();
    let valid = all.len();
    all.sort_unstable();
    all.dedup();
    (all, valid)
}

/// Order-0 estimate of residuals in bits / 65536: tokens by entropy, raw bits as they are.
fn estimate<W: Word>(words: &[W], signed: bool) -> u64 {
    let mut histogram = [0u32; 136];
    let mut raw = 0u64;
    for &w in words {
        let z = if signed { w.zigzag() } else { w }.to_u64();
        let e = (z | 1).ilog2();
        let (token, bits) =
            if z < 16 { (index(z), 0) } else { (8 + 2 * e as usize + index(z >> (e - 1) & 1), e - 1) };
        histogram[token] += 1;
        raw += u64::from(bits);
    }
    token_cost(&histogram) + (raw << 16)
}

/// The domain maps that fit the samples.
fn domains<W: Word>(
    pieces: &[&[W]],
    ty: NcType,
    geom: &Geometry,
    mask: Option<W>,
    dict: Option<&Arc<Dictionary>>,
) -> Vec<DomainPlan> {
    let mut out = vec![DomainPlan::Ord];
    if ty.is_float() {
        let valid = |p: &[W]| -> Vec<W> {
            p.iter().copied().filter(|&e| Some(e) != mask && e.float_value().is_finite()).collect()
        };
        let mut constant = None;
        for p in pieces {
            let found = lattice::detect(&valid(p), constant, 58);
            constant = constant.or(found);
        }
        if let Some(l) = constant {
            out.push(DomainPlan::Lattice(l));
        }
        if let Some(plane) = Geometry::usable(geom.plane, pieces.first().map_or(0, |p| p.len())) {
            let planes: Vec<Vec<W>> =
                pieces.iter().filter_map(|p| p.get(..plane)).map(valid).filter(|p| p.len() > 8).collect();
            let fit = planes.iter().filter(|p| lattice::detect(p, None, 43).is_some()).count();
            if fit > 0 && fit * 2 >= planes.len() {
                out.push(DomainPlan::LatticePerPlane);
            }
        }
    }
    out.extend(dict.map(|d| DomainPlan::Rank(Arc::clone(d))));
    out
}

struct Chooser<'a, W> {
    pieces: Vec<&'a [W]>,
    ty: NcType,
    geom: &'a Geometry,
    mask: Option<u64>,
    effort: Effort,
    /// Bytes that ranks cost besides the tiles.
    dict_share: u64,
    scratch: Scratch,
}

impl<W: Word> Chooser<'_, W> {
    fn plan(&self, domain: DomainPlan, strides: Strides, coder: Coder) -> EncodePlan {
        let level = if self.effort == Effort::Fast { 1 } else { 3 };
        let shape = if self.effort == Effort::Max {
            Shape { log: 11, north: 8, west: 4 }
        } else {
            Shape { log: 9, north: 4, west: 4 }
        };
        EncodePlan { mask: self.mask, domain, strides, coder, shape, level }
    }

    fn share(&self, plan: &EncodePlan) -> u64 {
        if plan.dictionary().is_some() { self.dict_share } else { 0 }
    }

    /// Estimated bits / 65536 of a domain and predictor on all pieces.
    fn score(&mut self, plan: &EncodePlan) -> Result<u64> {
        let mut sum = self.share(plan) << 19;
        for p in &self.pieces {
            let staged = stage(p, self.ty, self.geom, plan, &mut self.scratch, false)?;
            sum += (staged.side_len() as u64) << 19;
            if !staged.is_all_masked() {
                sum += estimate(W::pool(&mut self.scratch.mapped), staged.is_signed());
            }
        }
        Ok(sum)
    }

    /// Real bytes of a plan on some pieces, with what the plan costs besides, in hundredths.
    fn size(&mut self, plan: &EncodePlan, pieces: std::ops::Range<usize>) -> Result<u64> {
        let mut out = Vec::new();
        for p in &self.pieces[pieces] {
            let mut staged = stage(p, self.ty, self.geom, plan, &mut self.scratch, false)?;
            finish::<W>(&mut staged, p.len(), self.geom, plan, &mut self.scratch, &mut out)?;
        }
        // Small words decode slowly through contexts: those must be worth 2 in 100.
        let slow = plan.coder == Coder::Ctx && W::BITS <= 16 && self.effort == Effort::Default;
        Ok(out.len() as u64 * if slow { 102 } else { 100 })
    }

    /// All predictors that the longest piece can show.
    fn strides(&self) -> Vec<Strides> {
        let n = self.pieces.iter().map(|p| p.len()).max().unwrap_or(0);
        let all = [Strides::W, Strides::L2, Strides::WT, Strides::L3, Strides::WQ, Strides::L3Q];
        all.into_iter().filter(|s| s.reduced(self.geom, n) == *s).collect()
    }

    fn run(&mut self, domains: &[DomainPlan]) -> Result<Vec<EncodePlan>> {
        let mut scored = Vec::new();
        for domain in domains {
            for strides in self.strides() {
                let plan = self.plan(domain.clone(), strides, Coder::Ctx);
                scored.push((self.score(&plan)?, plan));
            }
        }
        scored.sort_by_key(|s| s.0);
        let keep = match self.effort {
            Effort::Fast => 2,
            Effort::Default => 3,
            Effort::Max => 5,
        };
        let mut trials = Vec::new();
        for (i, (_, plan)) in scored.into_iter().take(keep).enumerate() {
            if self.effort != Effort::Fast {
                trials.push(plan.clone());
            }
            if i < 2 || self.effort == Effort::Max {
                trials.push(EncodePlan { coder: Coder::Planes, ..plan });
            }
        }
        trials.push(self.plan(DomainPlan::Ord, Strides::NONE, Coder::Zstd));
        trials.push(self.plan(DomainPlan::Ord, Strides::NONE, Coder::Planes));
        trials.push(self.plan(DomainPlan::Ord, Strides::W, Coder::Zstd));
        if let Some(rank) = domains.iter().find(|d| matches!(d, DomainPlan::Rank(_))) {
            trials.push(self.plan(rank.clone(), Strides::NONE, Coder::Planes));
        }
        // All on the middle piece, then the best of those on the others.
        let (middle, count) = (self.pieces.len() / 2, self.pieces.len());
        let share = |c: &Self, p: &EncodePlan, part: u64| c.share(p) * 100 / part;
        let mut sized = Vec::new();
        for plan in trials {
            let size = self.size(&plan, middle..middle + 1)?;
            sized.push((size + share(self, &plan, count as u64), size, plan));
        }
        sized.sort_by_key(|s| s.0);
        sized.truncate(4);
        for (total, first, plan) in &mut sized {
            *total = *first
                + self.size(plan, 0..middle)?
                + self.size(plan, middle + 1..count)?
                + share(self, plan, 1);
        }
        sized.sort_by_key(|s| s.0);
        let level = match self.effort {
            Effort::Fast => 1,
            Effort::Default if W::BITS > 8 => 9,
            Effort::Default | Effort::Max => 19,
        };
        Ok(sized.into_iter().map(|(_, _, p)| EncodePlan { level, ..p }).collect())
    }
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
    choose_with(samples, ty, geom, effort, fill_values, None)
}

/// As [`choose`], with a dictionary of the whole variable and its number of elements.
///
/// # Errors
/// If the words do not have the size of the type.
pub fn choose_with<W: Word>(
    samples: &[&[W]],
    ty: NcType,
    geom: &Geometry,
    effort: Effort,
    fill_values: &[W],
    dict: Option<(&Arc<Dictionary>, u64)>,
) -> Result<Candidates> {
    if ty.size() != W::BYTES {
        return Err(Error::invalid(format!("words of {} bytes for type {ty}", W::BYTES)));
    }
    let mut pieces = pieces(samples, geom);
    if pieces.len() > 2 && pieces.iter().map(|p| p.len()).sum::<usize>() > 8 * PIECE {
        // Large planes: two pieces, the first and the last.
        pieces.drain(1..pieces.len() - 1);
    }
    let total: u64 = pieces.iter().map(|p| p.len() as u64).sum();
    if total == 0 {
        return Ok(Candidates { plans: vec![EncodePlan::default()], ..Candidates::default() });
    }
    let mask = find_mask(&pieces, fill_values);
    let (patterns, valid) = distinct(&pieces, mask);
    let count = patterns.len();
    let may_rank = W::BITS > 8 && count * 2 < valid && count <= super::MAX_DICTIONARY;
    let own;
    let (dict, dict_share) = match dict {
        Some((d, elements)) => {
            let bytes = d.definition_estimate(ty)?;
            (Some(d), bytes * total / elements.max(total))
        }
        None if may_rank && count * 6 < valid && samples.len() > 1 => {
            own = Dictionary::new(patterns, ty).map(Arc::new);
            let span = log2_q16(u32::try_from(count).unwrap_or(u32::MAX)) >> 16;
            (own.as_ref(), (count as u64) * (u64::from(W::BITS).saturating_sub(span)) / 32)
        }
        None => (None, 0),
    };
    let value = mask.map(Word::to_u64);
    let found = domains(&pieces, ty, geom, value.and_then(pattern_of::<W>), dict);
    let mut chooser = Chooser { pieces, ty, geom, mask: value, effort, dict_share, scratch: Scratch::new() };
    let plans = chooser.run(&found)?;
    Ok(Candidates { plans, scan_dictionary: may_rank, mask: value })
}
