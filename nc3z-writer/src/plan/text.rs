//! Plans for text: rows or columns, and zstd's level by what a sample gains.

use super::cost::Stored;
use super::numeric::total_of;
use super::policy::QUICK_LEVEL;
use super::{ArrayPlan, Policy, Subject, TileChain};
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::Arrays;
use nc3z_format::codec::{ChainSpec, CodecScratch, Registry, StageSpec};
use std::collections::BTreeMap;

/// Text with longer rows is not treated as a table.
const ROW: usize = 4096;
/// Bytes of each sample that are tried, if the text is longer than its samples. Level 9 takes some 30 ns a byte.
const TRIED: usize = 128 << 10;
/// If a quick zstd shows that rows are larger than columns by this factor, in hundredths, or the reverse, no further
/// trials are needed.
const TELLS: u64 = 125;
/// Thousandths of its bytes that text must save at [`Policy::zstd_level`]; otherwise [`Policy::least_level`] packs it, ten
/// times as fast.
const LEVEL_WORTH: u64 = 10;
/// zstd's highest level takes 100 to 300 ns a byte, and less if text repeats: pairs of a ratio, and the part of that time.
const REPEATED: [(u64, u64); 2] = [(256, 8), (32, 4)];
/// The highest level packs at most 1/`SHARE` of a source's bytes, and always `ALWAYS` bytes.
const SHARE: u64 = 24;
const ALWAYS: u64 = 128 << 10;

/// A chain of zstd, after a stage that makes columns of rows if there is one.
fn chain(columns: Option<&StageSpec>, level: i32, registry: &Registry) -> TileChain {
    let stages = columns.cloned().into_iter().chain([StageSpec::zstd(level)]);
    TileChain::bytes(registry.bind(ChainSpec(stages.collect())))
}

/// The stage that stores rows of text as columns: all first characters, then all second ones. It is a shuffle
/// with the row as the element.
fn columns(subject: &Subject<'_>, policy: &Policy) -> Option<StageSpec> {
    let row = usize::try_from(*subject.info.tiling.shape().last()?).ok()?;
    let is_rows = subject.info.ty == NcType::Char
        && (2..=ROW).contains(&row)
        && subject.info.total_bytes() > row as u64;
    (policy.text_columns && is_rows && !subject.samples.is_empty()).then(|| StageSpec::shuffle(row))
}

/// Plans text: as it is, by columns, or both. The samples decide between rows and columns; with both
/// chains, each tile is encoded by each and the smaller result is stored.
pub(super) fn text_plan(
    subject: &Subject<'_>,
    policy: &Policy,
    scratch: &mut CodecScratch,
) -> Result<ArrayPlan> {
    let is_whole = subject.sampled_len() == subject.info.total_bytes();
    let most = if is_whole { usize::MAX } else { TRIED };
    let tried: Vec<&[u8]> = subject.samples.iter().map(|s| &s[..s.len().min(most)]).collect();
    let tried_len = tried.iter().map(|s| s.len() as u64).sum::<u64>();
    let mut size = |way: &TileChain| total_of(way, subject, tried.iter().copied(), scratch);
    let of = |columns, level| chain(columns, level, subject.registry);
    let columns = columns(subject, policy);
    let mut forms = match &columns {
        Some(columns) => vec![Some(columns), None],
        None => vec![None],
    };
    if forms.len() > 1 && policy.probed {
        let quick = forms.iter().map(|form| size(&of(*form, QUICK_LEVEL))).collect::<Result<Vec<_>>>()?;
        if quick[0] >= quick[1].percent(TELLS) {
            forms.remove(0);
        } else if quick[1] >= quick[0].percent(TELLS) {
            forms.remove(1);
        }
    }
    let (mut level, mut left) = (policy.zstd_level, Stored(tried_len));
    // Where there is only one form and one level, nothing depends on the samples.
    let is_open = forms.len() > 1 || policy.text_level.is_some() || policy.least_level < policy.zstd_level;
    if is_open && !subject.samples.is_empty() {
        (level, left) = level_of(|level| size(&of(forms[0], level)), policy)?;
    }
    let is_one_tile = is_whole && subject.info.tiling.tile_count() == 1;
    if forms.len() > 1 && !is_one_tile && size(&of(None, level))? <= left {
        forms.remove(0);
    }
    let tiles = forms.iter().map(|form| of(*form, level)).collect();
    let repeats = |(ratio, _): &&(u64, u64)| left.0.saturating_mul(*ratio) <= tried_len;
    let part = REPEATED.iter().find(repeats).map_or(1, |(_, part)| *part);
    let raised = policy.text_level.filter(|_| level == policy.zstd_level).map(|level| Raised {
        tiles: forms.iter().map(|form| of(*form, level)).collect(),
        cost: subject.info.total_bytes() / part,
    });
    Ok(ArrayPlan { tiles, raised, ..ArrayPlan::default() })
}

/// Returns zstd's level for bytes by the sizes of samples, and the size of the samples: [`Policy::zstd_level`] if it saves
/// enough.
pub(super) fn level_of(
    mut size: impl FnMut(i32) -> Result<Stored>,
    policy: &Policy,
) -> Result<(i32, Stored)> {
    let most = size(policy.zstd_level)?;
    if policy.least_level == policy.zstd_level {
        return Ok((policy.zstd_level, most));
    }
    let least = size(policy.least_level)?;
    let worth = most <= least.scaled(1000 - LEVEL_WORTH, 1000);
    Ok(if worth { (policy.zstd_level, most) } else { (policy.least_level, least) })
}

/// The chains of text at zstd's highest level.
#[derive(Debug, Clone)]
pub(crate) struct Raised {
    tiles: Vec<TileChain>,
    /// Bytes that take as much time at that level.
    cost: u64,
}

/// Packs text at the highest level, the quickest text first, until that takes a given small part of the time for the
/// source.
pub(super) fn raise_levels(arrays: &Arrays, plans: &mut BTreeMap<ArrayId, ArrayPlan>) {
    let source = arrays.iter().fold(0u64, |sum, a| sum.saturating_add(a.total_bytes()));
    let mut left = (source / SHARE).max(ALWAYS);
    let mut raised: Vec<(u64, ArrayId)> =
        plans.iter().filter_map(|(&id, plan)| Some((plan.raised.as_ref()?.cost, id))).collect();
    raised.sort_unstable();
    for (cost, id) in raised {
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        if let Some(plan) = plans.get_mut(&id)
            && let Some(raised) = plan.raised.take()
        {
            plan.tiles = raised.tiles;
        }
    }
}
