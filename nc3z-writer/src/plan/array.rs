//! Plans one array, without regard to other arrays: candidates encode samples of its tiles, and the smallest
//! wins.
//!
//! Numbers go to the numeric codec, whose own chooser ranks plans by size; text and bytes to zstd.

use super::cost::Stored;
use super::numeric::{Found, Ranked, Trial, numeric_plans, total, total_of, trials};
use super::policy::LEVELS_GAIN;
use super::probe::packed_below;
use super::text::{level_of, text_plan};
use super::{ArrayPlan, Fallback, Policy, Subject, TileChain};
use crate::error::Result;
use crate::options::PACK_LEN;
use nc3z_format::NcType;
use nc3z_format::codec::{ChainSpec, CodecScratch, Registry, StageSpec};
use nc3z_format::num::{EncodePlan, TransformPlan};

/// A tile whose array has one scale-offset is tried with one for each plane if it takes more than this many hundredths of
/// its estimate.
const BY_PLANE_PERCENT: u64 = 104;
/// If at most 1/`LITTLE` of the samples is left, their sizes say little about whole tiles.
const LITTLE: u64 = 16;
/// The plan of the quickest effort encodes each tile, too, if it takes at most this many thousandths of the best plan's bytes on the
/// samples: they are not precise enough to rank these two.
const NEAR_PERMILLE: u64 = 1003;

/// The chain of short arrays before they share a container: byte planes if elements have several bytes.
pub(super) fn short_chain(ty: NcType, registry: &Registry) -> TileChain {
    let stages = if ty.size() > 1 { vec![StageSpec::shuffle(ty.size())] } else { Vec::new() };
    TileChain::bytes(registry.bind(ChainSpec(stages)))
}

pub(crate) fn plan_array(
    subject: &Subject<'_>,
    policy: &Policy,
    scratch: &mut CodecScratch,
) -> Result<ArrayPlan> {
    let info = subject.info;
    let short = vec![short_chain(info.ty, subject.registry)];
    if info.total_bytes() <= PACK_LEN {
        return Ok(ArrayPlan { short, ..ArrayPlan::default() });
    }
    let registry = subject.registry;
    let zstd = |level| TileChain::bytes(registry.bind(ChainSpec(vec![StageSpec::zstd(level)])));
    let bytes = zstd(policy.zstd_level);
    if info.ty == NcType::Char || subject.samples.is_empty() {
        return Ok(ArrayPlan { short, ..text_plan(subject, policy, scratch)? });
    }
    let Found { mut plans, quick, payload } = numeric_plans(subject, policy)?;
    // Flags and packed bytes are as often text-like as numbers.
    let may_be_text = info.ty.size() == 1;
    if plans.len() == 1 && !may_be_text && policy.estimate_percent.is_none() {
        let tiles = vec![TileChain::numeric(plans.remove(0).0, registry)];
        let made = subject.made(payload);
        return Ok(ArrayPlan { short: tiles.clone(), tiles, made, ..ArrayPlan::default() });
    }
    let trials = trials(plans, subject, scratch)?;
    let least = trials[0].stored;
    if may_be_text {
        let (level, size) = level_of(|level| total(&zstd(level), subject, scratch), policy)?;
        if size <= least {
            return Ok(ArrayPlan { tiles: vec![zstd(level)], short, ..ArrayPlan::default() });
        }
    }
    let most = least.percent(policy.alternatives.percent) + Stored(policy.alternatives.slack);
    let table = trials[0].plan.dictionary().is_some();
    let mut tiles = Vec::new();
    let mut ways = Vec::new();
    for Trial { plan, stored } in trials {
        // A plan with another table of values is left out, since the table takes bytes, too.
        let free = table || plan.dictionary().is_none();
        if tiles.is_empty() || (free && stored <= most && tiles.len() <= policy.alternatives.count) {
            tiles.push(TileChain::numeric(plan, registry));
        } else if free {
            ways.push(TileChain::numeric(plan, registry));
        }
    }
    // Estimates can be wrong, and a quicker preset must not give a smaller archive.
    let quick: Vec<Ranked> =
        quick.into_iter().filter(|(plan, _)| table || plan.dictionary().is_none()).collect();
    let mut others: Vec<TileChain> = Vec::new();
    for (plan, _) in &quick {
        let is_it = |p: &EncodePlan| p.is_same_way(plan);
        if !has(&tiles, is_it) && !has(&others, is_it) {
            others.push(TileChain::numeric(plan.clone(), registry));
        }
    }
    if others.is_empty() {
        ways.truncate(1);
    } else {
        ways = others;
    }
    let sampled = subject.sampled_len();
    let mut percent = policy.estimate_percent;
    if percent.is_some() {
        if recurs(subject, &tiles[0], least, scratch)? {
            tiles.append(&mut ways);
            // A table of values would be stored beside tiles that do not use it.
            tiles.retain(|way| way.num.as_ref().is_none_or(|plan| plan.dictionary().is_none()));
            if tiles.is_empty() {
                tiles.push(bytes.clone());
            }
            // Bytes are tried on each tile, if a quick look shows that they may win.
            percent = Some(0);
        } else if least.0.saturating_mul(LITTLE) <= sampled {
            tiles.extend(ways.iter().cloned());
        }
        let is_little = percent == Some(0) || least.0.saturating_mul(LITTLE) <= sampled;
        let table = has(&tiles, |p| p.dictionary().is_some());
        for (plan, size) in quick {
            // If there is a payload, the samples are the array, and the sizes are exact.
            let is_near = payload.is_none() && size.is_some_and(|s| s <= least.scaled(NEAR_PERMILLE, 1000));
            let is_new = !has(&tiles, |p| p.is_same(&plan)) && (table || plan.dictionary().is_none());
            if is_new && (is_little || is_near) {
                tiles.push(TileChain::numeric(plan, registry));
            }
        }
        if let Some(plan) = by_plane(tiles[0].num.as_ref(), subject) {
            ways.push(TileChain::numeric(plan, registry));
            percent = percent.min(Some(BY_PLANE_PERCENT));
        }
    }
    ways.push(bytes);
    let fallback =
        percent.map(|percent| Fallback { ways, estimate: least, sampled, percent, probed: policy.probed });
    let broken = |payload: &Vec<u8>| {
        fallback.as_ref().is_some_and(|fallback| fallback.is_called_for(sampled, Stored::from_bytes(payload)))
    };
    let made = subject.made(payload.filter(|payload| tiles.len() == 1 && !broken(payload)));
    Ok(ArrayPlan { short: tiles[..1].to_vec(), tiles, fallback, made, ..ArrayPlan::default() })
}

/// True if one of the ways is a plan of the numeric codec with this property.
fn has(ways: &[TileChain], is_it: impl Fn(&EncodePlan) -> bool) -> bool {
    ways.iter().any(|way| way.num.as_ref().is_some_and(&is_it))
}

/// Returns the plan with a scale-offset for each plane, if all planes of the samples have the same one. The planes of other tiles
/// may differ: in means over months, the step differs from month to month.
fn by_plane(plan: Option<&EncodePlan>, subject: &Subject<'_>) -> Option<EncodePlan> {
    let plan = plan.filter(|plan| matches!(plan.transform, TransformPlan::ScaleOffset(_)))?;
    let tile = subject.info.tiling.geometry(0).ok()?;
    tile.plane.filter(|&plane| plane < subject.info.tiling.present())?;
    Some(EncodePlan { transform: TransformPlan::ScaleOffsetPerPlane, ..plan.clone() })
}

/// True if the array's elements recur at a distance that the samples do not have: zstd's quickest level makes a tile
/// smaller than the samples promise, and nearly as small as the best plan makes it.
fn recurs(
    subject: &Subject<'_>,
    best: &TileChain,
    least: Stored,
    scratch: &mut CodecScratch,
) -> Result<bool> {
    let sampled = subject.sampled_len();
    if subject.info.total_bytes() <= sampled {
        return Ok(false);
    }
    let mut found = Ok(false);
    (subject.scan)(&mut |piece| {
        // A value for the padding of chunks may precede the elements.
        let is_value = piece.len() <= subject.info.ty.size();
        if !is_value {
            let promised = least.scaled(piece.len() as u64, sampled);
            found = packed_below(piece, 1, promised, scratch).and_then(|packed| {
                let Some(packed) = packed else { return Ok(false) };
                Ok(packed <= total_of(best, subject, std::iter::once(piece), scratch)?.percent(LEVELS_GAIN))
            });
        }
        is_value
    })?;
    found
}

/// The plan for a requested chain: nothing is tried. The chain also encodes short tiles, which then share
/// containers.
pub(super) fn requested(subject: &Subject<'_>, chain: ChainSpec, policy: &Policy) -> Result<ArrayPlan> {
    let as_it_is = chain.0.is_empty();
    let way = if chain.is_numeric() {
        TileChain::numeric(numeric_plans(subject, policy)?.plans.remove(0).0, subject.registry)
    } else {
        TileChain::bytes(subject.registry.bind(chain))
    };
    Ok(ArrayPlan { short: vec![way.clone()], tiles: vec![way], as_it_is, ..ArrayPlan::default() })
}
