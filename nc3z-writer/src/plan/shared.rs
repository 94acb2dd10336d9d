//! Finds arrays that are smaller together in one container.
//!
//! Stations, meshes and bookkeeping variables are short and numerous, and their values recur within a
//! variable and between variables. The numeric chains code each variable separately and cannot use that; an
//! LZ codec over all of them can. Its decoding speed is a tenth of theirs, so it is limited to short arrays
//! and containers.

use super::cost::Stored;
use super::policy::{QUICK_LEVEL, SharedPolicy};
use super::probe::{packed_below, packed_len};
use super::subject::requested_chain;
use super::{ArrayPlan, Planner, TileChain};
use crate::encode::Form;
use crate::error::Result;
use crate::tiles::RawTile;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, Role};
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::codec::{ChainSpec, CodecScratch, Lzma, encode_dictionary, lzma_shares};
use std::collections::BTreeMap;

/// The bytes of a stream flush, which the shares contain and the container does not, minus the bytes of a
/// directory entry.
const FLUSH_LEN: u64 = 6;

/// Estimated size after LZMA for bytes whose values recur, in hundredths of the size after a quick zstd.
const LZMA_PERCENT: u64 = 75;
/// If a quick zstd leaves more than this many hundredths of the bytes, values do not recur. LZMA would code
/// literals, and the numeric chains code these better.
const RECURRING: u64 = 60;

/// Thresholds for a trial of LZMA's quickest preset on bytes where zstd shows no gain. Their values may recur
/// with small changes or after a long distance, in elements or in text.
struct ProbeLimits {
    /// Estimated size after LZMA at full effort, in hundredths of the size after its quickest preset.
    percent: u64,
    /// At least 1/`one_saved_of` of the bytes must be saved.
    one_saved_of: u64,
}

const NUMBERS_PROBE: ProbeLimits = ProbeLimits { percent: 90, one_saved_of: 64 };
const TEXT_PROBE: ProbeLimits = ProbeLimits { percent: 85, one_saved_of: 100 };
const QUICKEST_PRESET: u32 = 0;
/// If a quick zstd leaves more than this many hundredths of the arrays' separate sizes, the trial takes more
/// time than its gain is worth.
const BEHIND: u64 = 130;
/// LZMA seldom saves more than this many hundredths of the separate sizes if zstd shows no gain. Arrays for
/// which this is too little are not tried.
const MOST_SAVED: u64 = 20;
/// The least saving, in bytes, that justifies a trial.
const LEAST_SAVED: Stored = Stored(256);

/// An array that may share a container.
#[derive(Clone)]
struct Member<'a> {
    info: &'a ArrayInfo,
    /// The bytes of its only tile; empty if the tile is constant.
    bytes: &'a [u8],
    /// The size under the array's own plan.
    independent: Stored,
}

/// Finds arrays that are smaller in one container, and changes their plans accordingly. Returns these arrays.
pub(super) fn plan_shared(
    planner: &mut Planner<'_>,
    policy: &SharedPolicy,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
) -> Result<Vec<ArrayId>> {
    let total = planner.arrays.iter().fold(0u64, |sum, a| sum.saturating_add(a.total_bytes()));
    if total > policy.source_len || plans.len() > policy.arrays {
        return Ok(Vec::new());
    }
    // The gap often contains an older copy of the arrays, which makes any of them small in a container.
    let gap = planner.arrays.iter().any(|a| is_gap(a, policy));
    let (mut members, mut left) = (Vec::new(), policy.trial_len);
    for (id, plan) in &mut *plans {
        let info = planner.arrays.get(*id).expect("plans are of known arrays");
        let mut tiles = planner.held.of(*id);
        // The array has one tile: small blocks that the user requested are not merged.
        let (Some(raw), None) = (tiles.next(), tiles.next()) else { continue };
        if info.total_bytes() > policy.array_len.min(left)
            || requested_chain(planner.classic, info, planner.options)?.is_some()
        {
            continue;
        }
        let member = member(info, raw, plan, policy.level, planner)?;
        if !member.bytes.is_empty() && (gap || on_shortlist(&member, planner.scratch)?) {
            left -= info.total_bytes();
            members.push(member);
        }
    }
    let dict = u32::try_from(policy.container_len).expect("a MiB or two") * 2;
    let mut shared = Vec::new();
    for group in groups(members, policy, dict, planner.scratch)? {
        let chain = TileChain::bytes(planner.options.registry.bind(ChainSpec(vec![group.lzma.into()])));
        for id in group.ids {
            plans.insert(id, ArrayPlan { container: Some(chain.clone()), ..ArrayPlan::default() });
            shared.push(id);
        }
    }
    Ok(shared)
}

/// True for the bytes between header and data, if they are long enough to contain a copy of arrays.
fn is_gap(info: &ArrayInfo, policy: &SharedPolicy) -> bool {
    info.id.role() == Role::Gap && info.total_bytes() >= policy.least_pool
}

/// True if a quick zstd comes close enough to the size under the array's plan. If it is much larger, LZMA is
/// larger as well.
fn on_shortlist(member: &Member<'_>, scratch: &mut CodecScratch) -> Result<bool> {
    let bound = member.independent.percent(175) + Stored(64);
    // Compressed bytes are never more than the bytes themselves.
    let always = Stored(member.bytes.len() as u64) < bound;
    Ok(always || packed_below(member.bytes, QUICK_LEVEL, bound, scratch)?.is_some())
}

/// Returns the bytes of an array's tile and its size under its own plan; no bytes if the tile is constant.
fn member<'a>(
    info: &'a ArrayInfo,
    raw: &'a RawTile,
    plan: &mut ArrayPlan,
    level: i32,
    planner: &mut Planner<'_>,
) -> Result<Member<'a>> {
    const HEADER: Stored = Stored(BLOCK_HEADER_LEN as u64);
    let mut member = Member { info, bytes: &[], independent: Stored(0) };
    if let Some(dictionary) = plan.dictionary() {
        member.independent = Stored::from_bytes(&encode_dictionary(dictionary, info.ty)?) + HEADER;
    }
    let numeric = plan.numeric().is_some();
    for made in planner.made(info, plan)? {
        member.independent += match made.form() {
            Form::Constant { .. } => return Ok(member),
            Form::Member { bytes, .. } if numeric => Stored::from_bytes(bytes),
            Form::Member { bytes, .. } => packed_len(bytes, level, planner.scratch)?,
            Form::Block { payload, .. } => Stored::from_bytes(payload) + HEADER,
        };
    }
    member.bytes = &raw.bytes;
    Ok(member)
}

/// True if LZMA is worth its time on the arrays of a pool, that is, if it is expected to save
/// 1/`one_saved_of` of their bytes. The estimate is a quick zstd of all arrays together. If that shows no
/// gain and is not much larger, LZMA's quickest preset is tried.
fn is_promising(
    pool: &[Member<'_>],
    (one_saved_of, lzma): (u64, Lzma),
    scratch: &mut CodecScratch,
) -> Result<bool> {
    let independent: Stored = pool.iter().map(|m| m.independent).sum();
    let all = pool.iter().map(|m| m.bytes).collect::<Vec<_>>().concat();
    let len = Stored(all.len() as u64);
    // If zstd leaves more than `bound`, the expected result of LZMA is not smaller than the separate arrays.
    let bound =
        len.percent(RECURRING).min(independent.scaled(100, LZMA_PERCENT).max(independent.percent(BEHIND)));
    let Some(quick) = packed_below(&all, QUICK_LEVEL, bound, scratch)? else {
        return Ok(false);
    };
    if quick.percent(LZMA_PERCENT).saved_against(independent).0.saturating_mul(one_saved_of) > len.0 {
        return Ok(true);
    }
    let limits = if lzma.lp == 0 { TEXT_PROBE } else { NUMBERS_PROBE };
    let is_worth_it =
        |saved: Stored| saved > LEAST_SAVED && saved.0.saturating_mul(limits.one_saved_of) > len.0;
    if quick >= independent.percent(BEHIND) || !is_worth_it(independent.percent(MOST_SAVED)) {
        return Ok(false);
    }
    let quickest: Stored = shares(pool, lzma, QUICKEST_PRESET)?.into_iter().sum();
    Ok(is_worth_it(quickest.percent(limits.percent).saved_against(independent)))
}

struct Group {
    ids: Vec<ArrayId>,
    lzma: Lzma,
    /// The bytes saved compared with separate arrays.
    saved: Stored,
}

/// Returns the arrays that are best packed in one container, by groups. Each group has one element size. All
/// sizes form one group if that is smaller and the gap is among the arrays: it often contains an older copy
/// of them.
fn groups(
    members: Vec<Member<'_>>,
    policy: &SharedPolicy,
    dict: u32,
    scratch: &mut CodecScratch,
) -> Result<Vec<Group>> {
    let pools = pools(members, policy);
    let mut promising = |pool: &[Member<'_>]| match policy.one_saved_of {
        Some(bytes) => is_promising(pool, (bytes, contexts(pool, dict)), scratch),
        None => Ok(true),
    };
    let mut whole = None;
    if pools.len() > 1 && pools.iter().flatten().any(|m| is_gap(m.info, policy)) {
        let all = pools.concat();
        whole = if promising(&all)? { Some(group(&all, policy, dict)?) } else { None };
    }
    let mut parts = Vec::new();
    for pool in pools {
        if promising(&pool)? {
            parts.push(group(&pool, policy, dict)?);
        }
    }
    let saved: Stored = parts.iter().map(|g| g.saved).sum();
    let groups = match whole {
        Some(whole) if whole.saved > saved => vec![whole],
        _ => parts,
    };
    Ok(groups.into_iter().filter(|g| !g.ids.is_empty()).collect())
}

/// Returns the best group of one pool.
fn group(pool: &[Member<'_>], policy: &SharedPolicy, dict: u32) -> Result<Group> {
    let lzma = contexts(pool, dict);
    let gap = pool.iter().any(|m| is_gap(m.info, policy));
    let (ids, saved) = worthwhile(pool, lzma, policy.preset, gap)?;
    Ok(Group { ids, lzma, saved })
}

/// Returns the LZMA parameters for the elements of the longest member. The gap does not count: it contains copies of the
/// other members' elements.
fn contexts(pool: &[Member<'_>], dict: u32) -> Lzma {
    let rank = |m: &Member<'_>| (m.info.id.role() != Role::Gap, m.bytes.len(), m.info.ty.size());
    Lzma::for_elements(pool.iter().map(rank).max().map_or(1, |(_, _, size)| size), dict)
}

/// Members by the size of their elements.
fn pools<'a>(members: Vec<Member<'a>>, policy: &SharedPolicy) -> Vec<Vec<Member<'a>>> {
    let mut by_size: BTreeMap<usize, Vec<Member<'a>>> = BTreeMap::new();
    for member in members {
        by_size.entry(member.info.ty.size()).or_default().push(member);
    }
    let len = |pool: &[Member<'_>]| pool.iter().map(|m| m.bytes.len() as u64).sum::<u64>();
    let (small, mut large): (Vec<_>, Vec<_>) =
        by_size.into_values().partition(|p| len(p) < policy.least_pool);
    large.sort_by_key(|pool| std::cmp::Reverse(len(pool)));
    match large.first_mut() {
        Some(largest) => largest.extend(small.into_iter().flatten()),
        None => large.push(small.into_iter().flatten().collect()),
    }
    large
}

/// Returns the members of a pool and their saving in one container; no members if the saving is smaller than a
/// container's overhead. A member that is smaller under its own plan leaves the container, unless the remaining members
/// then grow by more than that. A gap contains copies of the other members, so all of them stay with it.
fn worthwhile(pool: &[Member<'_>], lzma: Lzma, preset: u32, gap: bool) -> Result<(Vec<ArrayId>, Stored)> {
    const LEAST: Stored = Stored(BLOCK_HEADER_LEN as u64 + 32);
    let mut inside = pool.to_vec();
    let (mut ids, mut saved) = (Vec::new(), LEAST);
    loop {
        let shares = shares(&inside, lzma, preset)?;
        let independent: Stored = inside.iter().map(|m| m.independent).sum();
        let now = shares.iter().copied().sum::<Stored>().saved_against(independent);
        if now <= saved {
            break;
        }
        saved = now;
        ids = inside.iter().map(|m| m.info.id).collect();
        let mut shares = shares.into_iter();
        inside.retain(|m| gap || shares.next().is_some_and(|share| share <= m.independent));
        if inside.len() == ids.len() {
            break;
        }
    }
    if ids.is_empty() { Ok((ids, Stored(0))) } else { Ok((ids, saved)) }
}

/// Estimates the size of each member in one container.
fn shares(pool: &[Member<'_>], lzma: Lzma, preset: u32) -> Result<Vec<Stored>> {
    let shares = lzma_shares(lzma, preset, pool.iter().map(|m| m.bytes))?;
    Ok(shares.into_iter().map(|share| Stored(share.saturating_sub(FLUSH_LEN))).collect())
}
