//! Chooses plans from samples: estimates for all pairs of transform and delta axes, real encodes for the best. Only
//! sizes decide, in integers if possible, and never clocks.
//!
//! The choice of [`Effort::Fast`] is always among the plans that [`Effort::Default`] encodes on the unchanged
//! samples.

mod cached;
mod chooser;
mod climb;
mod cost;
mod crop;
mod estimate;
mod maps;
mod pieces;
mod reference;
mod samples;
mod sizes;
mod trial;

use crate::dictionary::{Dictionary, MAX_DICTIONARY};
use crate::element::ElementType;
use crate::encode::{Coder, DIRECT, EncodePlan, TransformPlan, log2_q16, pattern_of};
use crate::error::{Error, Result};
use crate::geometry::{DeltaAxes, Geometry};
use crate::scratch::Scratch;
use crate::word::{Pool, Word};
use chooser::Chooser;
pub use chooser::Effort;
use crop::{Look, crop, crops, parts};
use maps::Maps;
use pieces::Pieces;
pub use reference::Against;
pub(crate) use reference::choose_against;
use samples::{MAX_CATEGORIES, categories, distinct, find_mask, transforms};
use std::cell::RefCell;
use std::sync::Arc;

/// Facts about the variable besides its samples.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Elements of the variable; the number is at least that of the samples.
    pub elements: u64,
    /// About ten plans encode the unchanged samples if all samples have at most this many bytes together. Longer samples
    /// are encoded only by the best plan of each coder.
    pub whole_len: usize,
    /// True if a dictionary of the variable's values can be stored beside its tiles.
    pub dictionary: bool,
}

impl Default for Extent {
    fn default() -> Self {
        Self { elements: 0, whole_len: 512 << 10, dictionary: true }
    }
}

/// Plans for a variable; the plan with the smallest estimated size is first.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// One to four plans; up to six for [`Effort::Max`].
    pub plans: Vec<EncodePlan>,
    /// The size of the samples in bytes by each plan, with their share of a dictionary. For long samples it is
    /// extrapolated from a part. Empty if only crops were encoded.
    pub sampled: Vec<u64>,
    /// The variable as the first plan encodes it, if one sample is the whole variable. It equals the result of
    /// [`crate::encode`].
    pub payload: Option<Vec<u8>>,
    /// The choice of [`Effort::Fast`]. If only pieces of an array were sampled, it should be tried on the whole
    /// array.
    pub quick: EncodePlan,
    /// True if values repeat so often that a dictionary of the whole variable may save bytes: collect it with
    /// [`crate::DictionaryBuilder`] and call [`crate::choose_with`].
    pub scan_dictionary: bool,
    /// The pattern that all plans mask out. A dictionary of the whole variable does not need it.
    pub mask: Option<u64>,
}

/// The number of elements in a crop for estimates, and in a crop for real encodes. [`Effort::Max`] takes four times as
/// many.
const CROP: usize = 4 << 10;
const TRIAL: usize = 16 << 10;
/// The number of bytes of the samples that the last few plans encode. [`Effort::Max`] encodes all bytes.
const FINAL: usize = 256 << 10;
/// The least number of rows in each part of the samples that the last plans encode, as long as the parts are at most
/// 1/`FINAL_SHARE` of the variable.
const FINAL_ROWS: u64 = 16;
const FINAL_SHARE: u64 = 8;
/// The number of bytes that storing a definition takes besides its content.
const DEFINITION: u64 = 64;

thread_local! {
    /// Buffers and contexts of the trials. Creating them takes longer than choosing for a short variable.
    static MEMORY: RefCell<Option<([Scratch; 2], Maps)>> = const { RefCell::new(None) };
}

/// Returns the number of elements of all samples that the last few plans encode. Contexts of previous rows show what they
/// gain only where most rows have a previous one.
fn final_len<W: Word>(geom: &Geometry, samples: u64, elements: u64) -> usize {
    let rows = geom.row.unwrap_or(0).saturating_mul(FINAL_ROWS * samples).min(elements / FINAL_SHARE);
    usize::try_from(rows).unwrap_or(usize::MAX).max(FINAL / W::BYTES)
}

/// [`crate::choose_with`] for one width.
pub(crate) fn choose_plans<W: Word>(
    samples: &[&[W]],
    (ty, geom): (ElementType, &Geometry),
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
    let sampled: u64 = samples.iter().map(|s| s.len() as u64).sum();
    let elements = extent.elements.max(sampled);
    let scale = if effort == Effort::Max { 4 } else { 1 };
    let mask = find_mask(&samples, fill_values);
    let look = Look { mask, float: ty.is_float() };
    let crops = crops(&samples, geom, scale * CROP, look);
    // If the samples are the whole variable, their dictionary is complete.
    let complete = sampled == elements;
    let (mut own, mut dict_len) = (None, 0);
    let ([mut scratch, spare], mut maps) = MEMORY.take().unwrap_or_default();
    maps.clear();
    if let Some(dict) = dict {
        dict_len = DEFINITION + dict.definition_estimate(ty, &mut scratch)?;
    } else if extent.dictionary && W::BITS > 8 {
        let patterns = distinct(&samples, &crops, mask, complete);
        if let Some(patterns) = patterns.filter(|p| p.len() <= MAX_DICTIONARY) {
            let count = patterns.len();
            let span = log2_q16(u32::try_from(count).unwrap_or(u32::MAX)) >> 16;
            dict_len = (count as u64) * (u64::from(W::BITS).saturating_sub(span)) / 32;
            own = Dictionary::new(patterns, ty).map(Arc::new);
            if let Some(own) = own.as_ref().filter(|_| complete) {
                dict_len = DEFINITION + own.definition_estimate(ty, &mut scratch)?;
            }
        }
    }
    let few = if effort == Effort::Fast { None } else { categories(&samples, complete) };
    let categories = match few {
        Some(few) if few.iter().all(|&p| p.to_u64() < DIRECT) => Some((TransformPlan::Ordered, 0)),
        Some(few) if extent.dictionary || dict.is_some() => {
            let ranks = match dict {
                Some(dict) => Some(Arc::clone(dict)).filter(|d| d.len() <= MAX_CATEGORIES),
                None => Dictionary::new(few, ty).map(Arc::new),
            };
            let len = ranks.as_ref().map_or(Ok(0), |r| r.definition_estimate(ty, &mut scratch))?;
            ranks.map(|ranks| (TransformPlan::Dictionary(ranks), DEFINITION + len))
        }
        _ => None,
    };
    let value = mask.map(Word::to_u64);
    let found = transforms(&crops, ty, value.and_then(pattern_of::<W>), dict.or(own.as_ref()));
    let partial = dict.is_none() && !complete;
    let total = usize::try_from(sampled).unwrap_or(usize::MAX);
    let covered = total <= scale * TRIAL;
    let thorough = covered || total.saturating_mul(W::BYTES) <= extent.whole_len;
    let trials = if covered {
        samples.iter().map(|s| crop(s, geom, s.len(), 0, look)).collect()
    } else {
        // A third of few samples is enough, because the last plans encode all samples.
        vec![crop(middle, geom, (total / 3).clamp(CROP, scale * TRIAL), 4, look)]
    };
    let all = effort == Effort::Max || thorough;
    let last = if all { usize::MAX } else { final_len::<W>(geom, samples.len() as u64, elements) };
    let parts = parts(&samples, geom, last);
    let mut chooser = Chooser {
        pieces: Pieces { geom, samples, parts, crops, trials, covered },
        sampled,
        thorough,
        ty,
        mask: value,
        categories,
        effort,
        dict_len,
        elements,
        scratch,
        cached: None,
        spare: Some(spare),
        maps,
        integers: Pool::default(),
        tokens: Vec::new(),
    };
    let categorical = chooser.categories.as_ref().is_some_and(|c| c.1 > 0);
    let plain = chooser.plan(TransformPlan::Ordered, DeltaAxes::NEIGHBOURS, Coder::Planes);
    let mut outcome = chooser.run(&found)?;
    let scratch = [chooser.scratch, chooser.spare.unwrap_or_default()];
    MEMORY.set(Some((scratch, chooser.maps)));
    if partial {
        // These plans use the samples' patterns, but stored tiles would need those of the whole variable.
        outcome.plans.retain(|(p, _)| p.dictionary().is_none());
        if outcome.plans.is_empty() {
            outcome.plans.push((plain.clone(), None));
        }
    }
    // A dictionary of categories has the masked pattern, too.
    let scan_dictionary = partial && (own.is_some() || categorical) && outcome.dictionary_pays;
    let (plans, sampled): (Vec<_>, Vec<_>) = outcome.plans.into_iter().unzip();
    let sampled = sampled.into_iter().collect::<Option<Vec<u64>>>().unwrap_or_default();
    let quick = outcome.quick.into_iter().find(|p| !partial || p.dictionary().is_none()).unwrap_or(plain);
    // The payload belongs to the first plan, unless that was removed.
    let payload = outcome.payload.filter(|_| !partial);
    Ok(Candidates { plans, sampled, payload, quick, scan_dictionary, mask: value.filter(|_| !categorical) })
}
