//! Ranks the best plans by real encodes: first of crops, then, for the few remaining plans, of unchanged parts of
//! the samples.

use super::chooser::{Chooser, Effort, TransformKind, transform_kind};
use super::cost::{Bits, Bytes, Estimated, Tried, sort_by_cost};
use super::estimate::{BEHIND, SLACK};
use crate::encode::{Coder, EncodePlan, Shape, TransformPlan, context_stride};
use crate::error::Result;
use crate::geometry::DeltaAxes;
use crate::word::{Word, index};

/// A variable with more elements than this is scanned for a dictionary even if, on crops, a dictionary only nearly saves
/// bytes.
const LARGE: u64 = 1 << 18;
/// A plan is encoded at a higher zstd level if level 1 takes at most this many hundredths of the best plan's bytes, since
/// higher levels gain about 2 %.
const LEVELS_GAIN: u64 = 102;
/// The thousandths of a plan's bytes that a higher level must save, since it takes several times as long.
const LEVEL_WORTH: u64 = 4;
/// [`LEVELS_GAIN`] for byte planes, which use a higher level.
const LEVELS_GAIN_OF_BYTES: u64 = 120;
/// [`LEVELS_GAIN`] for [`Effort::Max`].
const LEVELS_GAIN_AT_MOST: u64 = 135;
/// The number of plans of zstd, and of the context coder, that are really encoded.
const KEPT_FAST: usize = 1;
const KEPT: usize = 2;
/// If a plan leaves less than 1/`LEFT` of the bytes, more plans are encoded, since that is quick.
const LEFT: u64 = 100;
/// The number of plans with prediction by values that the context coder encodes in addition.
const BY_VALUE_KEPT: usize = 1;
/// The number of plans for [`Effort::Max`].
const KEPT_AT_MOST: usize = 4;
/// zstd encodes the best plan of each transform if the plan's estimate is at most this many hundredths of the best
/// estimate. Estimates ignore repeats, which zstd uses. The context coder's sizes follow estimates more closely, so it
/// uses [`BEHIND`].
const FIRST: u64 = 160;
/// Dictionaries are not encoded if their best estimate is more than this many hundredths of the best estimate: none of
/// these won.
const DICTIONARY: u64 = 130;
/// The number of plans that are returned. [`Effort::Max`] adds those with mixed predictions.
const RETURNED: usize = 4;
const RETURNED_AT_MOST: usize = RETURNED + MIXED;
/// The smallest samples, in bytes, for which mixed predictions are tried. The model learns little from fewer bytes. Short
/// arrays share a container, and moving one out of it makes the archive larger (a mesh of 209 KB: by 6 %).
const MIX_LEAST: u64 = 16 << 10;
/// The thousandths of a plan's bytes that mixed predictions must save. They decode about fifty times slower.
const MIX_WORTH: u64 = 10;
/// The number of plans that are encoded with mixed predictions. Those of further plans are seldom smaller.
const MIXED: usize = 2;
/// A plan may exceed the threshold by this many bytes, because estimates of short arrays are imprecise.
const FORGIVEN: u64 = 64;

/// The result of a trial.
pub(crate) struct Outcome {
    /// The plans, the best first, each with the bytes of the samples if these were encoded.
    pub(crate) plans: Vec<(EncodePlan, Option<u64>)>,
    /// The plans of [`Effort::Fast`], the best first.
    pub(crate) quick: Vec<EncodePlan>,
    /// True if a dictionary of the whole variable may save bytes.
    pub(crate) dictionary_pays: bool,
    /// The encoded variable by the first plan.
    pub(crate) payload: Option<Vec<u8>>,
}

impl<W: Word> Chooser<'_, W> {
    /// Returns a plan of the context coder for the unchanged samples, with previous rows in its contexts if they
    /// save enough.
    fn in_best_shape(&mut self, (size, plan): Tried) -> Result<Tried> {
        let row = self.pieces.geom.row.map_or(0, index);
        let longest = self.pieces.samples.iter().map(|s| s.len()).max().unwrap_or(0);
        let mut shapes = vec![plan.shape];
        if plan.shape.north == 1 && context_stride(row, longest) > 0 {
            shapes.extend([Shape::ROWS, Shape::FINER_ROWS]);
        }
        let sizes = match self.pieces.covered {
            true if shapes.len() == 1 => vec![(size, plan)],
            true => self.sizes(&plan, &shapes, &self.pieces.trials(), Bytes::MORE)?,
            false => self.sample_sizes(&plan, &shapes, Bytes::MORE)?,
        };
        Ok(sizes.into_iter().min_by_key(|s| s.0).expect("one for each shape"))
    }

    /// Returns the plans worth real encodes: the best, and the best of other transforms and other delta axes, at
    /// most `keep`, and none far larger than the best. Adds one plan of each transform, if it takes at most `first`
    /// hundredths of the best.
    fn shortlist(estimated: &[Estimated], keep: usize, first: u64) -> Vec<EncodePlan> {
        let best = estimated.first().map(|s| s.0).unwrap_or_default();
        let mut alike: Vec<(TransformKind, DeltaAxes)> = Vec::new();
        let mut list: Vec<EncodePlan> = Vec::new();
        for (cost, plan) in estimated {
            let kind = (transform_kind(&plan.transform), plan.axes.repeated(0, 0));
            let again = alike.iter().zip(&list).any(|(k, p)| *k == kind && p.axes == plan.axes);
            let slack = Bits::bytes(FORGIVEN);
            let behind = *cost > best.hundredths(BEHIND) + slack || list.len() >= keep;
            let is_first = alike.iter().all(|k| k.0 != kind.0) && *cost <= best.hundredths(first) + slack;
            if again || (behind && !is_first) {
                continue;
            }
            alike.push(kind);
            list.push(plan.clone());
        }
        list
    }

    /// Returns plans in the order of their sizes. If a dictionary may save bytes, plans of similar size are
    /// compared on the crops too.
    fn sized(&mut self, plans: Vec<EncodePlan>) -> Result<Vec<Tried>> {
        let (trials, crops) = (self.pieces.trials(), self.pieces.crops());
        let look_again = self.dict_len > 0 && crops.len() > 1 && !self.pieces.covered;
        let near = |best: Bytes, coder: Coder| {
            best.hundredths(if coder == Coder::Ctx { BEHIND } else { FIRST }) + Bytes::whole(FORGIVEN)
        };
        let (mut sized, mut best): (Vec<Tried>, Bytes) = (Vec::new(), Bytes::MORE);
        for plan in plans {
            // Plans above the limit are not compared again.
            let most = match self.effort {
                Effort::Max => Bytes::MORE,
                _ if best == Bytes::MORE => Bytes::MORE,
                _ if look_again => best.and_a_quarter().max(near(best, plan.coder)),
                _ => best.and_a_quarter(),
            };
            let size = self.size(&plan, &trials, most)?;
            best = best.min(size);
            sized.push((size, plan));
        }
        sort_by_cost(&mut sized);
        if look_again {
            let (best, coder) = sized.first().map_or((Bytes::default(), Coder::Store), |s| (s.0, s.1.coder));
            let near = near(best, coder);
            let mut more = Bytes::default();
            for (at, (size, plan)) in sized.iter_mut().enumerate() {
                if *size <= near {
                    let crops = self.size(plan, &crops, Bytes::MORE)?;
                    more = if at == 0 { crops } else { more };
                    *size += crops;
                } else {
                    // Keeps the ratio to the best plan.
                    *size = size.in_ratio(best + more, best);
                }
            }
            sort_by_cost(&mut sized);
        }
        Ok(sized)
    }

    /// Returns the number of plans of each coder that are really encoded.
    fn kept(&self) -> usize {
        if self.effort == Effort::Max { KEPT_AT_MOST } else { KEPT }
    }

    /// Returns the best plans of zstd; the choice of [`Effort::Fast`] is first.
    fn fast_plans(&mut self, estimated: &[Estimated]) -> Result<Vec<Tried>> {
        let mut plans = Self::shortlist(estimated, KEPT_FAST, FIRST);
        plans.push(self.plan(TransformPlan::Ordered, DeltaAxes::NONE, Coder::Zstd));
        plans.push(self.plan(TransformPlan::Ordered, DeltaAxes::NEIGHBOURS, Coder::Zstd));
        self.sized(plans)
    }

    /// Returns the best plans of the context coder.
    fn context_plans(&mut self, estimated: &[Estimated]) -> Result<Vec<Tried>> {
        let first = if self.effort == Effort::Max { FIRST } else { BEHIND };
        // Plans by value are added, because their estimates are not a reason to leave out the others.
        let (by_value, by_integer): (Vec<Estimated>, Vec<Estimated>) =
            estimated.iter().cloned().partition(|s| s.1.axes.is_by_value());
        let mut plans = Self::shortlist(&by_integer, self.kept(), first);
        plans.extend(Self::shortlist(&by_value, BY_VALUE_KEPT, first));
        let shape = self.plan(TransformPlan::Ordered, DeltaAxes::NONE, Coder::Ctx).shape;
        let plans = plans.into_iter().map(|p| EncodePlan { coder: Coder::Ctx, shape, ..p }).collect();
        self.sized(plans)
    }

    /// Returns a plan in each of the shapes, with its weighted bytes on the unchanged samples, including the
    /// definition of a dictionary. The cost is [`Bytes::MORE`] if zstd leaves more than `most`.
    fn sample_sizes(&mut self, plan: &EncodePlan, shapes: &[Shape], most: Bytes) -> Result<Vec<Tried>> {
        let parts = self.pieces.parts();
        let (encoded, sampled) = (self.pieces.len(&parts), self.sampled);
        let of_parts = if most == Bytes::MORE { most } else { most.scaled(encoded, sampled) };
        let sizes = self.sizes(plan, shapes, &parts, of_parts)?;
        if encoded == sampled {
            return Ok(sizes);
        }
        Ok(sizes.into_iter().map(|(size, plan)| (size.scaled(sampled, encoded), plan)).collect())
    }

    /// Returns the size for the shape of the plan.
    fn sample_size(&mut self, plan: &EncodePlan, most: Bytes) -> Result<Bytes> {
        Ok(self.sample_sizes(plan, &[plan.shape], most)?[0].0)
    }

    /// Returns the size on the unchanged samples, if the pieces were only a part of them.
    fn finally(&mut self, (size, plan): Tried, most: Bytes) -> Result<Tried> {
        Ok((if self.pieces.covered { size } else { self.sample_size(&plan, most)? }, plan))
    }

    /// If a plan with a dictionary is the best on pieces, compares it with the best other plan on the unchanged
    /// samples.
    fn without_dictionary(&mut self, mut sized: Vec<Tried>) -> Result<Vec<Tried>> {
        let other = sized
            .iter()
            .position(|s| s.1.dictionary().is_none())
            .filter(|&at| at > 0 && !self.pieces.covered);
        if let Some(at) = other {
            let with = self.sample_size(&sized[0].1.clone(), Bytes::MORE)?;
            if self.sample_size(&sized[at].1.clone(), with)? <= with {
                let better = sized.remove(at);
                sized.insert(0, better);
            }
        }
        Ok(sized)
    }

    /// Encodes the unchanged samples by the best plan of zstd and of the context coder, and by those of other
    /// transforms. Pieces show neither distant repeats nor the size of a dictionary.
    fn finals(&mut self, fast: &[Tried], context: &[Tried]) -> Result<Vec<Tried>> {
        let mut done: Vec<Tried> = Vec::new();
        let finalists = if self.thorough { self.kept() } else { 1 };
        let others = |list: &[Tried], finalists: usize| {
            let mut kinds = Vec::new();
            let mut picked: Vec<Tried> = Vec::new();
            for (size, plan) in list {
                let kind = (transform_kind(&plan.transform), plan.coder);
                let another = !kinds.contains(&kind) && *size <= list[0].0.and_a_quarter();
                // Other axes if their sizes are close, because pieces are not precise enough to rank them.
                let axes = plan.axes.repeated(0, 0);
                let close = *size <= list[0].0.hundredths(102)
                    && picked.iter().all(|p| p.1.axes.repeated(0, 0) != axes);
                if !another && !close {
                    continue;
                }
                kinds.push(kind);
                picked.push((*size, plan.clone()));
                if picked.len() == finalists {
                    break;
                }
            }
            picked
        };
        for sized in others(context, finalists) {
            done.push(self.in_best_shape(sized)?);
        }
        let best = done.iter().map(|d| d.0).min().unwrap_or(Bytes::MORE);
        // If almost no bytes remain, pieces are least precise, and more plans can be encoded quickly.
        let left = Bytes::whole(self.sampled * W::BYTES as u64).scaled(1, LEFT);
        let finalists = if best < left { KEPT_AT_MOST } else { finalists };
        let gain = match self.effort {
            Effort::Max => LEVELS_GAIN_AT_MOST,
            _ if W::BITS == 8 => LEVELS_GAIN_OF_BYTES,
            _ => LEVELS_GAIN,
        };
        let most = best.hundredths(gain) + Bytes::whole(SLACK);
        let bound = if self.effort == Effort::Max { Bytes::MORE } else { most };
        let mut cheap = others(fast, finalists)
            .into_iter()
            .map(|c| self.finally(c, bound))
            .collect::<Result<Vec<Tried>>>()?;
        sort_by_cost(&mut cheap);
        if let Some((size, plan)) = cheap.first().filter(|c| c.0 <= most) {
            let level = self.level(size.unweighted(self.weight(plan)));
            let finer = EncodePlan { level, ..plan.clone() };
            let finer_size = self.sample_size(&finer, Bytes::MORE)?;
            if self.effort == Effort::Max || finer_size <= size.thousandths(1000 - LEVEL_WORTH) {
                done.push((finer_size, finer));
            }
        }
        done.extend(cheap);
        sort_by_cost(&mut done);
        Ok(done)
    }

    /// Adds a plan for categories: without a mask and without differences. The contexts of a cell are then the
    /// categories of its neighbours. Crops do not count the bytes of masks, so the samples decide.
    fn with_categories(&mut self, mut done: Vec<Tried>) -> Result<Vec<Tried>> {
        let Some((transform, _)) = self.categories.clone() else {
            return Ok(done);
        };
        let plan = EncodePlan { mask: None, ..self.plan(transform, DeltaAxes::NONE, Coder::Ctx) };
        let row = self.pieces.geom.row.map_or(0, index);
        let longest = self.pieces.samples.iter().map(|s| s.len()).max().unwrap_or(0);
        let shapes = if context_stride(row, longest) > 0 {
            &Shape::OF_CATEGORIES[..]
        } else {
            &Shape::OF_CATEGORIES[..1]
        };
        let best = self.sample_sizes(&plan, shapes, Bytes::MORE)?.into_iter().min_by_key(|s| s.0);
        let Some((mut size, plan)) = best else { return Ok(done) };
        let rival = done.first().filter(|rival| size < rival.0).map(|rival| rival.1.clone());
        if let Some(rival) = rival.filter(|_| self.pieces.len(&self.pieces.parts()) < self.sampled) {
            // Parts do not show repeats that are far apart, such as levels with the same land.
            let samples = self.pieces.samples();
            let whole = self.size(&plan, &samples, Bytes::MORE)?;
            size = size.max(done[0].0.in_ratio(whole, self.size(&rival, &samples, Bytes::MORE)?));
        }
        done.push((size, plan));
        sort_by_cost(&mut done);
        Ok(done)
    }

    /// Adds the best plans with mixed predictions, where these save enough.
    fn with_mix(&mut self, mut done: Vec<Tried>) -> Result<Vec<Tried>> {
        let mut tried: Vec<EncodePlan> = Vec::new();
        for (_, plan) in &done {
            let plan = EncodePlan { coder: Coder::Mix, ..plan.clone() };
            if tried.len() < MIXED && tried.iter().all(|t| !t.is_same_way(&plan)) {
                tried.push(plan);
            }
        }
        let worth = done.first().map(|s| s.0.thousandths(1000 - MIX_WORTH)).unwrap_or_default();
        for plan in tried {
            let size = self.sample_size(&plan, Bytes::MORE)?;
            if size <= worth {
                done.push((size, plan));
            }
        }
        sort_by_cost(&mut done);
        Ok(done)
    }

    /// Returns plans in the order of their sizes, and whether a dictionary of the whole variable is worth its scan.
    pub(crate) fn run(&mut self, transforms: &[TransformPlan]) -> Result<Outcome> {
        let mut estimated = self.estimates(transforms)?;
        // Large variables gain more by dictionaries than crops show, unless a scale-offset already represents their
        // values.
        let rival = estimated.iter().find(|s| s.1.dictionary().is_none()).map(|s| &s.1.transform);
        let named = matches!(rival, Some(TransformPlan::ScaleOffset(_) | TransformPlan::ScaleOffsetPerPlane));
        let least = estimated.first().map(|s| s.0).unwrap_or_default();
        let slack = if self.elements > LARGE { 108 } else { 100 };
        let mut ranked = estimated.iter().filter(|s| s.1.dictionary().is_some());
        let may_pay = !named && ranked.any(|s| s.0 <= least.hundredths(slack));
        // A dictionary's trials take longest: values are looked up one by one, and crops are encoded in addition.
        let of_dictionary = estimated.iter().find(|s| s.1.dictionary().is_some()).map_or(Bits::MAX, |s| s.0);
        if of_dictionary > least.hundredths(DICTIONARY) + Bits::bytes(SLACK) {
            estimated.retain(|s| s.1.dictionary().is_none());
            self.dict_len = 0;
        }
        // Predictions by values decode too slowly for zstd alone.
        let by_integer: Vec<Estimated> =
            estimated.iter().filter(|s| !s.1.axes.is_by_value()).cloned().collect();
        let fast = self.fast_plans(&by_integer)?;
        let fast = self.without_dictionary(fast)?;
        let quick = fast.iter().map(|s| s.1.clone()).collect();
        let done = if self.effort == Effort::Fast {
            fast
        } else {
            let context = self.context_plans(&estimated)?;
            let done = self.finals(&fast, &context)?;
            let done = self.with_categories(done)?;
            let long = self.sampled * W::BYTES as u64 >= MIX_LEAST;
            if self.effort == Effort::Max && long { self.with_mix(done)? } else { done }
        };
        let dictionary_pays = may_pay || done.first().is_some_and(|s| s.1.dictionary().is_some());
        let known = self.pieces.covered || self.effort != Effort::Fast;
        let payload = done.first().map(|s| s.1.clone()).and_then(|plan| self.take_cached(&plan));
        let best =
            done.into_iter().take(if self.effort == Effort::Max { RETURNED_AT_MOST } else { RETURNED });
        let plans = best.map(|(cost, p)| {
            let bytes = cost.unweighted(self.weight(&p));
            (p, known.then_some(bytes))
        });
        Ok(Outcome { plans: plans.collect(), quick, dictionary_pays, payload })
    }
}
