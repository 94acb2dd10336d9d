//! Arrays that are smaller in one container than each on its own.
//!
//! Stations, meshes and bookkeeping come as many short variables whose values recur, in themselves and from one to the next.
//! The numeric chains code variable by variable and see none of that; an LZ codec over all of them does. It decodes at a tenth
//! of their speed, so it is kept to arrays and containers of a size that does not matter.

use super::cost::Stored;
use super::policy::{QUICK_LEVEL, SharedPolicy};
use super::probe::{packed_below, packed_len};
use super::subject::requested_chain;
use super::{ArrayPlan, Planner, TileChain};
use crate::encode::Form;
use crate::error::Result;
use crate::tiles::RawTile;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, Role};
use nc3z_format::arrays::ArrayInfo;
use nc3z_format::codec::{ChainSpec, Lzma, Scratch, encode_dictionary, lzma_shares};
use std::collections::BTreeMap;

/// What a flush of the stream costs, which shares contain and the container will not; less what its directory needs.
const FLUSH_LEN: u64 = 6;

/// What LZMA makes of bytes whose values recur, in hundredths of what a quick zstd makes of them.
const LZMA_PERCENT: u64 = 75;
/// Where a quick zstd leaves more of the bytes than this, in hundredths, nothing recurs: LZMA would code literals, which the numeric
/// chains do better.
const RECURRING: u64 = 60;

/// A look by LZMA's quickest preset at what zstd does not promise: values that recur, changed a little or after a while, in elements or in text.
struct Look {
    /// What LZMA with everything tried leaves, in hundredths of what the quickest does.
    percent: u64,
    /// One byte of so many must be saved.
    one_saved_of: u64,
}

const NUMBERS_LOOK: Look = Look { percent: 90, one_saved_of: 64 };
const TEXT_LOOK: Look = Look { percent: 85, one_saved_of: 100 };
const QUICKEST_PRESET: u32 = 0;
/// Where a quick zstd leaves more than this, in hundredths of what each takes alone, the look costs more than it finds.
const BEHIND: u64 = 130;
/// LZMA seldom saves more than so many hundredths of that where zstd promises nothing: longer arrays are not looked at for less.
const MOST_SAVED: u64 = 20;
/// And fewer bytes than this are not looked for.
const LEAST_SAVED: Stored = Stored(256);

/// An array that may go with others.
#[derive(Clone)]
struct Member<'a> {
    info: &'a ArrayInfo,
    /// The bytes of its tile; none where that is constant.
    bytes: &'a [u8],
    /// What they take by the array's own plan.
    alone: Stored,
}

/// Looks for arrays that are smaller in one container, and gives those plans that say so; tells which.
pub(super) fn plan_shared(
    planner: &mut Planner<'_>,
    policy: &SharedPolicy,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
) -> Result<Vec<ArrayId>> {
    let total = planner.arrays.iter().fold(0u64, |sum, a| sum.saturating_add(a.total_bytes()));
    if total > policy.source_len || plans.len() > policy.arrays {
        return Ok(Vec::new());
    }
    let (mut members, mut left) = (Vec::new(), policy.trial_len);
    for (id, plan) in &mut *plans {
        let info = planner.arrays.get(*id).expect("plans are of known arrays");
        let mut tiles = planner.held.of(*id);
        // One tile: who asked for small blocks gets them.
        let (Some(raw), None) = (tiles.next(), tiles.next()) else { continue };
        if info.total_bytes() > policy.array_len.min(left)
            || requested_chain(planner.classic, info, planner.options)?.is_some()
        {
            continue;
        }
        let member = member(info, raw, plan, policy.level, planner)?;
        if !member.bytes.is_empty() && is_near(&member, planner.scratch)? {
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

/// Whether a quick zstd is near enough to the array's plan: where it is far behind, LZMA does not catch up.
fn is_near(member: &Member<'_>, scratch: &mut Scratch) -> Result<bool> {
    let bound = member.alone.percent(175) + Stored(64);
    // Nothing takes more than its bytes.
    let always = Stored(member.bytes.len() as u64) < bound;
    Ok(always || packed_below(member.bytes, QUICK_LEVEL, bound, scratch)?.is_some())
}

/// What the tile of an array takes by its own plan, and its bytes; none where it is constant.
fn member<'a>(
    info: &'a ArrayInfo,
    raw: &'a RawTile,
    plan: &mut ArrayPlan,
    level: i32,
    planner: &mut Planner<'_>,
) -> Result<Member<'a>> {
    const HEADER: Stored = Stored(BLOCK_HEADER_LEN as u64);
    let mut member = Member { info, bytes: &[], alone: Stored(0) };
    if let Some(dictionary) = plan.dictionary() {
        member.alone = Stored::of(&encode_dictionary(dictionary, info.ty)?) + HEADER;
    }
    let numeric = plan.numeric().is_some();
    for made in planner.made(info, plan)? {
        member.alone += match made.form() {
            Form::Constant { .. } => return Ok(member),
            Form::Member { bytes, .. } if numeric => Stored::of(bytes),
            Form::Member { bytes, .. } => packed_len(bytes, level, planner.scratch)?,
            Form::Block { payload, .. } => Stored::of(payload) + HEADER,
        };
    }
    member.bytes = &raw.bytes;
    Ok(member)
}

/// Whether LZMA is worth its time on the arrays of a pool: whether one byte of `one_saved_of` is expected to be saved, by a quick zstd of
/// them together, or, where that does not promise it and is not far behind, by LZMA's quickest.
fn is_promising(
    pool: &[Member<'_>],
    (one_saved_of, lzma): (u64, Lzma),
    scratch: &mut Scratch,
) -> Result<bool> {
    let alone: Stored = pool.iter().map(|m| m.alone).sum();
    let all = pool.iter().map(|m| m.bytes).collect::<Vec<_>>().concat();
    let len = Stored(all.len() as u64);
    // What LZMA is expected to leave of more than the second is not less than the members take.
    let bound = len.percent(RECURRING).min(alone.scaled(100, LZMA_PERCENT).max(alone.percent(BEHIND)));
    let Some(quick) = packed_below(&all, QUICK_LEVEL, bound, scratch)? else {
        return Ok(false);
    };
    if quick.percent(LZMA_PERCENT).saved_against(alone).0.saturating_mul(one_saved_of) > len.0 {
        return Ok(true);
    }
    let look = if lzma.lp == 0 { TEXT_LOOK } else { NUMBERS_LOOK };
    let is_worth_it =
        |saved: Stored| saved > LEAST_SAVED && saved.0.saturating_mul(look.one_saved_of) > len.0;
    if quick >= alone.percent(BEHIND) || !is_worth_it(alone.percent(MOST_SAVED)) {
        return Ok(false);
    }
    let quickest = shares(pool, lzma, QUICKEST_PRESET)?;
    Ok(is_worth_it(quickest.percent(look.percent).saved_against(alone)))
}

/// Arrays that share containers.
struct Group {
    ids: Vec<ArrayId>,
    lzma: Lzma,
    /// Bytes less than alone.
    saved: Stored,
}

/// The arrays that are best packed in one container, in their groups: of elements of one size each, or of all sizes, where the gap is among
/// them: what lies there often is an older copy of the arrays.
fn groups(
    members: Vec<Member<'_>>,
    policy: &SharedPolicy,
    dict: u32,
    scratch: &mut Scratch,
) -> Result<Vec<Group>> {
    let pools = pools(members, policy);
    let mut promising = |pool: &[Member<'_>]| match policy.one_saved_of {
        Some(bytes) => is_promising(pool, (bytes, contexts(pool, dict)), scratch),
        None => Ok(true),
    };
    let gap = |m: &Member<'_>| m.info.id.role() == Role::Gap && m.bytes.len() as u64 >= policy.least_pool;
    let mut whole = None;
    if pools.len() > 1 && pools.iter().flatten().any(gap) {
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

/// The best of one pool.
fn group(pool: &[Member<'_>], policy: &SharedPolicy, dict: u32) -> Result<Group> {
    let lzma = contexts(pool, dict);
    let (ids, saved) = worthwhile(pool, lzma, policy.preset)?;
    Ok(Group { ids, lzma, saved })
}

/// LZMA for the elements of the longest member. The gap has none: what lies there is what the other members are.
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

/// The members of a pool, and what they save in one container; none where that is not a container's worth.
fn worthwhile(pool: &[Member<'_>], lzma: Lzma, preset: u32) -> Result<(Vec<ArrayId>, Stored)> {
    const LEAST: Stored = Stored(BLOCK_HEADER_LEN as u64 + 32);
    let own = shares(pool, lzma, preset)?;
    let alone: Stored = pool.iter().map(|m| m.alone).sum();
    let saved = own.saved_against(alone);
    Ok(if saved > LEAST {
        (pool.iter().map(|m| m.info.id).collect(), saved)
    } else {
        (Vec::new(), Stored(0))
    })
}

/// What the members take in one container, about.
fn shares(pool: &[Member<'_>], lzma: Lzma, preset: u32) -> Result<Stored> {
    let shares = lzma_shares(lzma, preset, pool.iter().map(|m| m.bytes))?;
    Ok(shares.into_iter().map(|share| Stored(share.saturating_sub(FLUSH_LEN))).sum())
}
