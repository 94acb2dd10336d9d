//! Plans for numbers: runs the numeric codec's chooser on the samples, with a dictionary of all values if it
//! may save bytes.

use super::cost::Stored;
use super::{Policy, Subject, TileChain};
use crate::error::Result;
use nc3z_format::codec::{CodecScratch, TileShape, encode_dictionary, encode_tile, words_of};
use nc3z_format::num::{self, Candidates, Dictionary, DictionaryBuilder, Effort, EncodePlan, Width};
use std::sync::Arc;

/// Returns the encoded size of all samples.
pub(super) fn total(way: &TileChain, subject: &Subject<'_>, scratch: &mut CodecScratch) -> Result<Stored> {
    total_of(way, subject, subject.samples.iter().map(AsRef::as_ref), scratch)
}

/// Returns the encoded size of some bytes of the array.
pub(super) fn total_of<'s>(
    way: &TileChain,
    subject: &Subject<'_>,
    samples: impl Iterator<Item = &'s [u8]>,
    scratch: &mut CodecScratch,
) -> Result<Stored> {
    let shape = TileShape { ty: subject.info.ty, geometry: subject.info.tiling.geometry(0)? };
    let mut out = Vec::new();
    for sample in samples {
        encode_tile(way.coder(), sample, &shape, scratch, &mut out)?;
    }
    Ok(Stored::from_bytes(&out))
}

/// A plan and the encoded size of the samples.
pub(super) struct Trial {
    pub(super) plan: EncodePlan,
    /// Includes the samples' share of a table of values.
    pub(super) stored: Stored,
}

/// A plan and the encoded size of the samples, if the chooser encoded them.
pub(super) type Ranked = (EncodePlan, Option<Stored>);

/// The chooser's result for an array.
pub(super) struct Found {
    /// At least one plan.
    pub(super) plans: Vec<Ranked>,
    /// The choice at the quickest effort; with and without a dictionary of all values, if one was collected.
    pub(super) quick: Vec<Ranked>,
    /// The encoded array, if there is only one plan and one sample covers the array.
    pub(super) payload: Option<Vec<u8>>,
}

/// Returns the chooser's best plans for the numbers of an array: at the policy's effort, then at lower
/// efforts.
pub(super) fn numeric_plans(subject: &Subject<'_>, policy: &Policy) -> Result<Found> {
    match subject.info.ty.size() {
        1 => plan_words::<u8>(subject, policy),
        2 => plan_words::<u16>(subject, policy),
        4 => plan_words::<u32>(subject, policy),
        _ => plan_words::<u64>(subject, policy),
    }
}

/// Encodes the samples by each plan; returns the smallest first.
pub(super) fn trials(
    plans: Vec<Ranked>,
    subject: &Subject<'_>,
    scratch: &mut CodecScratch,
) -> Result<Vec<Trial>> {
    let sampled = subject.sampled_len();
    let mut all = Vec::new();
    for (plan, known) in plans {
        let stored = if let Some(known) = known {
            known
        } else {
            let mut stored = total(&TileChain::numeric(plan.clone(), subject.registry), subject, scratch)?;
            if let Some(dictionary) = plan.dictionary() {
                let len = encode_dictionary(dictionary, subject.info.ty)?.len() as u64;
                stored += Stored(len * sampled / subject.info.total_bytes().max(1));
            }
            stored
        };
        all.push(Trial { plan, stored });
    }
    all.sort_by_key(|t| t.stored);
    Ok(all)
}

fn ranked(found: Candidates) -> Vec<Ranked> {
    let sampled = found.sampled.into_iter().map(|len| Some(Stored(len))).chain(std::iter::repeat(None));
    found.plans.into_iter().zip(sampled).collect()
}

fn plan_words<W: Width>(subject: &Subject<'_>, policy: &Policy) -> Result<Found> {
    let info = subject.info;
    let geometry = info.tiling.geometry(0)?;
    let samples: Vec<Vec<W>> = subject.samples.iter().map(|s| words_of(s)).collect();
    let samples: Vec<&[W]> = samples.iter().map(Vec::as_slice).collect();
    let fills: Vec<W> = subject.fills.iter().flat_map(|f| words_of(f)).collect();
    let Subject { whole_len, dictionary, .. } = *subject;
    let extent = num::Extent { elements: info.tiling.present(), whole_len, dictionary };
    let candidates = |effort: Effort, dictionary: Option<&Arc<Dictionary>>| -> Result<Candidates> {
        num::choose_with(&samples, info.ty.into(), &geometry, effort, &fills, extent, dictionary)
            .map_err(|e| nc3z_format::Error::from(e).into())
    };
    let mut found = candidates(policy.effort, None)?;
    let mut quick = vec![found.quick.clone()];
    let mut dictionary = None;
    if found.scan_dictionary && info.total_bytes() <= policy.samples.scan_len {
        let mut builder = DictionaryBuilder::<W>::default();
        (subject.scan)(&mut |bytes| builder.add(&words_of::<W>(bytes), found.mask))?;
        dictionary = builder.finish(info.ty.into()).map(Arc::new);
        if dictionary.is_some() {
            found = candidates(policy.effort, dictionary.as_ref())?;
            quick.insert(0, found.quick.clone());
        }
    }
    if found.plans.is_empty() {
        found.plans.push(EncodePlan::default());
    }
    let payload = found.payload.take();
    let mut plans = ranked(found);
    let known = |plan: &EncodePlan| plans.iter().find(|(p, _)| p.is_same(plan)).and_then(|(_, size)| *size);
    let quick = quick.into_iter().map(|plan| (plan.clone(), known(&plan))).collect();
    plans.truncate(policy.numeric_plans);
    // The archive must not be larger than that of a quicker preset. So the plans of the lower efforts are
    // tried too, at this effort's level.
    let level = plans[0].0.level;
    for &effort in policy.quicker {
        let others = ranked(candidates(effort, dictionary.as_ref())?).into_iter().take(policy.numeric_plans);
        plans.extend(others.map(|(p, _)| (EncodePlan { level, ..p }, None)));
    }
    let payload = payload.filter(|_| plans.len() == 1);
    Ok(Found { plans, quick, payload })
}
