//! Choosing plans from samples: order-0 costs for all pairs of domain and predictor, real encodes for the best.
//! Sizes only, integers where they decide; no clocks.

mod contest;
mod samples;
mod score;

use super::crop::{Border, Crop, crop, crops};
use super::ctx::log2_q16;
use super::dict::Dictionary;
use super::encode::{Coder, DomainPlan, EncodePlan};
use super::mask::pattern_of;
use super::params::{Geometry, Strides};
use super::scratch::Scratch;
use super::word::{Pool, Word};
use crate::error::{Error, Result};
use crate::types::NcType;
use samples::{distinct, domains, find_mask};
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

/// The samples of one variable, and what was found of them.
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
