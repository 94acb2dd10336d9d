//! The best plans by real encodes: of crops first, of parts of the samples as they are for those few that are left.

use super::chooser::{Chooser, Costed, Effort, TransformKind, sort_by_cost, transform_kind};
use super::estimate::{BEHIND, SLACK};
use super::sizes::MORE;
use crate::encode::{Coder, EncodePlan, Shape, TransformPlan, context_stride};
use crate::error::Result;
use crate::geometry::DeltaAxes;
use crate::switch::is_on;
use crate::word::{Word, index};

/// Variables of more elements are worth a scan where a dictionary nearly pays by the crops.
const LARGE: u64 = 1 << 18;
/// zstd's higher levels gain at most about so much: hundredths of the best plan's bytes that level 1 may take.
const LEVELS_GAIN: u64 = 102;
/// The same of bytes, whose higher level is higher.
const LEVELS_GAIN_OF_BYTES: u64 = 120;
/// For [`Effort::Max`].
const LEVELS_GAIN_AT_MOST: u64 = 135;
/// Estimates that are really encoded, and plans that the samples are encoded by: of zstd's and of the context coder's so many.
const KEPT_FAST: usize = 1;
const KEPT: usize = 2;
/// Parts of which less than one byte of so many is left tell nothing: all of the samples is encoded, which is quickly done.
const LEFT: u64 = 100;
/// Bytes of the samples that tell what a higher level of zstd saves.
pub(crate) const FINER: usize = 64 << 10;
/// For [`Effort::Max`].
const KEPT_AT_MOST: usize = 4;
/// The best plan of each transform is encoded by zstd if its estimate is at most so many hundredths of the best, since estimates do not tell what
/// recurs. Contexts follow estimates better, so [`BEHIND`] is enough for them.
const FIRST: u64 = 160;
/// A dictionary whose best estimate is more than so many hundredths of the best does not win by real encodes.
const DICTIONARY: u64 = 130;
/// So many bytes more are forgiven: estimates of short arrays tell little.
const FORGIVEN: u64 = 64;

/// What a plan of another kind may take to be looked at again, where the best takes so much.
fn another(best: u64) -> u64 {
    best.saturating_mul(5) / 4
}

/// What is left of a trial.
pub(crate) struct Outcome {
    /// The best first, each with the bytes of the samples, if these were encoded.
    pub(crate) plans: Vec<(EncodePlan, Option<u64>)>,
    /// What [`Effort::Fast`] picks.
    pub(crate) quick: EncodePlan,
    /// Whether a dictionary of the whole variable may pay.
    pub(crate) dictionary_pays: bool,
    /// The variable by the first plan.
    pub(crate) payload: Option<Vec<u8>>,
}

impl<W: Word> Chooser<'_, W> {
    /// A plan of the context coder on the samples as they are: with previous rows in its contexts, if that is worth it.
    fn in_best_shape(&mut self, (size, plan): Costed) -> Result<Costed> {
        let row = self.pieces.geom.row.map_or(0, index);
        let longest = self.pieces.samples.iter().map(|s| s.len()).max().unwrap_or(0);
        let mut shapes = vec![plan.shape];
        if plan.shape.north == 1 && context_stride(row, longest) > 0 && is_on("rows-shape") {
            shapes.push(Shape::ROWS);
        }
        let sizes = match self.pieces.covered {
            true if shapes.len() == 1 => vec![(size, plan)],
            true => self.sizes(&plan, &shapes, &self.pieces.trials(), MORE)?,
            false => self.sample_sizes(&plan, &shapes, MORE)?,
        };
        Ok(sizes.into_iter().min_by_key(|s| s.0).expect("one for each shape"))
    }

    /// The plans worth real encodes: the best, and the best of other transforms and other delta axes, but no more than
    /// `keep`, none far behind the best; and of each transform one, if it takes at most `first` hundredths of the best.
    fn shortlist(estimated: &[Costed], keep: usize, first: u64) -> Vec<EncodePlan> {
        let best = estimated.first().map_or(0, |s| s.0);
        let mut alike: Vec<(TransformKind, DeltaAxes)> = Vec::new();
        let mut list: Vec<EncodePlan> = Vec::new();
        for (cost, plan) in estimated {
            let kind = (transform_kind(&plan.transform), plan.axes.repeated(0, 0));
            let again = alike.iter().zip(&list).any(|(k, p)| *k == kind && p.axes == plan.axes);
            let slack = FORGIVEN << 19;
            let behind = *cost > best / 100 * BEHIND + slack || list.len() >= keep;
            let is_first = alike.iter().all(|k| k.0 != kind.0) && *cost <= best / 100 * first + slack;
            if again || (behind && !(is_first && is_on("shortlist-first"))) {
                continue;
            }
            alike.push(kind);
            list.push(plan.clone());
        }
        list
    }

    /// Plans in the order of their sizes. Where a dictionary may pay, those that are near are told apart by the crops, too.
    fn sized(&mut self, plans: Vec<EncodePlan>) -> Result<Vec<Costed>> {
        let (trials, crops) = (self.pieces.trials(), self.pieces.crops());
        let look_again =
            self.dict_len > 0 && crops.len() > 1 && !self.pieces.covered && is_on("dictionary-look-again");
        let near = |best: u64, coder: Coder| {
            best / 100 * if coder == Coder::Ctx { BEHIND } else { FIRST } + FORGIVEN * 1000
        };
        let (mut sized, mut best): (Vec<Costed>, u64) = (Vec::new(), MORE);
        for plan in plans {
            // What is further behind is not looked at again.
            let most = match self.effort {
                Effort::Max => MORE,
                _ if best == MORE => MORE,
                _ if look_again => another(best).max(near(best, plan.coder)),
                _ => another(best),
            };
            let size = self.size(&plan, &trials, most)?;
            best = best.min(size);
            sized.push((size, plan));
        }
        sort_by_cost(&mut sized);
        if look_again {
            let (best, coder) = sized.first().map_or((0, Coder::Store), |s| (s.0, s.1.coder));
            let near = near(best, coder);
            let mut more = 0;
            for (at, (size, plan)) in sized.iter_mut().enumerate() {
                if *size <= near {
                    let crops = self.size(plan, &crops, MORE)?;
                    more = if at == 0 { crops } else { more };
                    *size += crops;
                } else {
                    // As far behind as before.
                    let behind = u128::from(*size) * u128::from(best + more) / u128::from(best.max(1));
                    *size = u64::try_from(behind).unwrap_or(u64::MAX);
                }
            }
            sort_by_cost(&mut sized);
        }
        Ok(sized)
    }

    /// How many plans of each coder are really encoded.
    fn kept(&self) -> usize {
        if self.effort == Effort::Max { KEPT_AT_MOST } else { KEPT }
    }

    /// The best plans of zstd's: what [`Effort::Fast`] picks comes first.
    fn fast_plans(&mut self, estimated: &[Costed], transforms: &[TransformPlan]) -> Result<Vec<Costed>> {
        let mut plans = Self::shortlist(estimated, KEPT_FAST, FIRST);
        if is_on("coder-words") {
            plans.push(self.plan(TransformPlan::Ordered, DeltaAxes::NONE, Coder::Zstd));
        }
        if is_on("coder-words") && is_on("words-neighbours") {
            plans.push(self.plan(TransformPlan::Ordered, DeltaAxes::NEIGHBOURS, Coder::Zstd));
        }
        let mut dictionaries = transforms.iter().filter(|d| matches!(d, TransformPlan::Dictionary(_)));
        if let Some(dictionary) =
            dictionaries.next().filter(|_| self.dict_len > 0 && is_on("dictionary-plain"))
        {
            plans.push(self.plan(dictionary.clone(), DeltaAxes::NONE, Coder::Planes));
        }
        self.sized(plans)
    }

    /// The best plans of the context coder.
    fn context_plans(&mut self, estimated: &[Costed]) -> Result<Vec<Costed>> {
        let first = if self.effort == Effort::Max { FIRST } else { BEHIND };
        let plans = Self::shortlist(estimated, self.kept(), first);
        let shape = self.plan(TransformPlan::Ordered, DeltaAxes::NONE, Coder::Ctx).shape;
        let plans = plans.into_iter().map(|p| EncodePlan { coder: Coder::Ctx, shape, ..p }).collect();
        self.sized(plans)
    }

    /// A plan in each of the shapes, with its bytes on the samples as they are, weighed; the definition of a dictionary is in them. [`MORE`] where
    /// zstd is known to leave more than `most`.
    fn sample_sizes(&mut self, plan: &EncodePlan, shapes: &[Shape], most: u64) -> Result<Vec<Costed>> {
        let parts = self.pieces.parts();
        let (encoded, sampled) = (self.pieces.len(&parts), self.sampled);
        let scaled = |size: u64, of: u64, parts: u64| {
            u64::try_from(u128::from(size) * u128::from(of) / u128::from(parts.max(1))).unwrap_or(MORE)
        };
        let of_parts = if most == MORE { MORE } else { scaled(most, encoded, sampled) };
        let sizes = self.sizes(plan, shapes, &parts, of_parts)?;
        let least = sizes.iter().map(|s| s.0 / self.weight(&s.1)).min().unwrap_or(0);
        if encoded == sampled {
            return Ok(sizes);
        }
        // Where next to nothing is left, what a plan takes for any number of elements decides.
        if is_on("little-left-samples") && least.saturating_mul(LEFT) <= encoded * W::BYTES as u64 {
            return self.sizes(plan, shapes, &self.pieces.samples(), MORE);
        }
        Ok(sizes.into_iter().map(|(size, plan)| (scaled(size, sampled, encoded), plan)).collect())
    }

    /// The same for the shape that the plan has.
    fn sample_size(&mut self, plan: &EncodePlan, most: u64) -> Result<u64> {
        Ok(self.sample_sizes(plan, &[plan.shape], most)?[0].0)
    }

    /// The weighed size by a higher level of zstd, where `size` is that of the same plan at level 1: of long samples by what the level saves
    /// of a part, since it takes several times as long.
    fn finer_size(&mut self, size: u64, plan: &EncodePlan, finer: &EncodePlan) -> Result<u64> {
        let (short, parts) = (self.pieces.short(), self.pieces.parts());
        if self.effort == Effort::Max
            || !is_on("finer-of-a-part")
            || self.pieces.len(&parts) < 2 * (FINER / W::BYTES) as u64
        {
            return self.sample_size(finer, MORE);
        }
        let quick = self.size(plan, &short, MORE)?;
        if quick / self.weight(plan) * LEFT < self.pieces.len(&short) * W::BYTES as u64 {
            return self.sample_size(finer, MORE);
        }
        let slow = self.size(finer, &short, MORE)?;
        let bytes = u128::from(size) * u128::from(slow) / u128::from(quick.max(1));
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// The size on the samples as they are, where the pieces were not all of them.
    fn finally(&mut self, (size, plan): Costed, most: u64) -> Result<Costed> {
        Ok((if self.pieces.covered { size } else { self.sample_size(&plan, most)? }, plan))
    }

    /// A dictionary that pieces like best is compared with the best other plan on the samples as they are.
    fn without_dictionary(&mut self, mut sized: Vec<Costed>) -> Result<Vec<Costed>> {
        let other = sized
            .iter()
            .position(|s| s.1.dictionary().is_none())
            .filter(|&at| at > 0 && !self.pieces.covered && is_on("without-dictionary"));
        if let Some(at) = other {
            let with = self.sample_size(&sized[0].1.clone(), MORE)?;
            if self.sample_size(&sized[at].1.clone(), with)? <= with {
                let better = sized.remove(at);
                sized.insert(0, better);
            }
        }
        Ok(sized)
    }

    /// The plan of zstd's and the plan of the context coder that pieces liked best, and those of other transforms, on the
    /// samples as they are: pieces show neither what recurs at a distance nor what a dictionary costs.
    fn finals(&mut self, fast: &[Costed], context: &[Costed]) -> Result<Vec<Costed>> {
        let mut done: Vec<Costed> = Vec::new();
        let finalists = if self.thorough { self.kept() } else { 1 };
        let others = |list: &[Costed], finalists: usize| {
            let mut kinds = Vec::new();
            let mut picked: Vec<Costed> = Vec::new();
            for (size, plan) in list {
                let kind = (transform_kind(&plan.transform), plan.coder);
                let another = !kinds.contains(&kind) && *size <= another(list[0].0);
                // Other axes where they are close: pieces tell too little of them.
                let axes = plan.axes.repeated(0, 0);
                let close = is_on("finals-close")
                    && *size <= list[0].0 / 100 * 102
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
        for costed in others(context, finalists) {
            done.push(self.in_best_shape(costed)?);
        }
        let best = done.iter().map(|d| d.0).min().unwrap_or(u64::MAX);
        let level = self.level();
        // Where next to nothing is left, pieces tell least, and more plans are quickly encoded.
        let left = 1000 * self.sampled * W::BYTES as u64 / LEFT;
        let finalists = if best < left && is_on("little-left-finalists") { KEPT_AT_MOST } else { finalists };
        let gain = match self.effort {
            Effort::Max => LEVELS_GAIN_AT_MOST,
            _ if W::BITS == 8 => LEVELS_GAIN_OF_BYTES,
            _ => LEVELS_GAIN,
        };
        let most = (best / 100).saturating_mul(gain).saturating_add(SLACK * 1000);
        let bound = if self.effort == Effort::Max { MORE } else { most };
        let mut cheap = others(fast, finalists)
            .into_iter()
            .map(|c| self.finally(c, bound))
            .collect::<Result<Vec<Costed>>>()?;
        sort_by_cost(&mut cheap);
        if let Some((size, plan)) = cheap.first().filter(|c| c.0 <= most) {
            let finer = EncodePlan { level, ..plan.clone() };
            done.push((self.finer_size(*size, plan, &finer)?, finer));
        }
        done.extend(cheap);
        sort_by_cost(&mut done);
        Ok(done)
    }

    /// Plans in the order of their sizes, and whether a dictionary of the whole variable is worth its scan.
    pub(crate) fn run(&mut self, transforms: &[TransformPlan]) -> Result<Outcome> {
        let mut estimated = self.estimates(transforms)?;
        // Large variables gain more by dictionaries than crops show, but not where a scale-offset names their values already.
        let rival = estimated.iter().find(|s| s.1.dictionary().is_none()).map(|s| &s.1.transform);
        let named = matches!(rival, Some(TransformPlan::ScaleOffset(_) | TransformPlan::ScaleOffsetPerPlane));
        let least = estimated.first().map_or(0, |s| s.0);
        let slack = if self.elements > LARGE { 108 } else { 100 };
        let mut ranked = estimated.iter().filter(|s| s.1.dictionary().is_some());
        let may_pay = !named && ranked.any(|s| s.0 <= least / 100 * slack);
        // Its trials take longest: values are looked up one by one, and crops are encoded besides.
        let of_dictionary = estimated.iter().find(|s| s.1.dictionary().is_some()).map_or(MORE, |s| s.0);
        if is_on("dictionary-bound") && of_dictionary > least / 100 * DICTIONARY + (SLACK << 19) {
            estimated.retain(|s| s.1.dictionary().is_none());
            self.dict_len = 0;
        }
        let fast = self.fast_plans(&estimated, transforms)?;
        let fast = self.without_dictionary(fast)?;
        let quick = fast.first().map(|s| s.1.clone()).unwrap_or_default();
        let done = if self.effort == Effort::Fast {
            fast
        } else {
            let context = self.context_plans(&estimated)?;
            self.finals(&fast, &context)?
        };
        let dictionary_pays = may_pay || done.first().is_some_and(|s| s.1.dictionary().is_some());
        let known = self.pieces.covered || self.effort != Effort::Fast;
        let payload = done.first().map(|s| s.1.clone()).and_then(|plan| self.take_kept(&plan));
        let best = done.into_iter().take(4);
        let plans = best.map(|(cost, p)| {
            let bytes = cost / self.weight(&p);
            (p, known.then_some(bytes))
        });
        Ok(Outcome { plans: plans.collect(), quick, dictionary_pays, payload })
    }
}
