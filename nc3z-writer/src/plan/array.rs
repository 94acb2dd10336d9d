//! Plans one array, without regard to other arrays: candidates encode samples of its tiles, and the smallest
//! wins.
//!
//! Numbers go to the numeric codec, whose own chooser ranks plans by size; text and bytes to zstd.

use super::cost::Stored;
use super::numeric::{Found, Trial, numeric_plans, total, trials};
use super::policy::QUICK_LEVEL;
use super::{ArrayPlan, Fallback, Policy, Subject, TileChain};
use crate::error::Result;
use crate::options::PACK_LEN;
use nc3z_format::NcType;
use nc3z_format::codec::{ChainSpec, CodecScratch, Registry, StageSpec};

/// Text with longer rows is not treated as a table.
const TEXT_ROW: usize = 4096;
/// If a quick zstd makes rows (or columns) larger than the other by this factor, in hundredths, the choice is
/// made without further trials.
const TEXT_TELLS: u64 = 125;

/// The chain of short arrays before they share a container: byte planes if elements have several bytes.
pub(super) fn short_chain(ty: NcType, registry: &Registry) -> TileChain {
    let stages = if ty.size() > 1 { vec![StageSpec::shuffle(ty.size())] } else { Vec::new() };
    TileChain::bytes(registry.bind(ChainSpec(stages)))
}

/// The stage that stores rows of text as columns: all first characters, then all second ones. It is a shuffle
/// with the row as the element.
fn columns(subject: &Subject<'_>, policy: &Policy) -> Option<StageSpec> {
    let row = usize::try_from(*subject.info.tiling.shape().last()?).ok()?;
    let is_rows = subject.info.ty == NcType::Char
        && (2..=TEXT_ROW).contains(&row)
        && subject.info.total_bytes() > row as u64;
    (policy.text_columns && is_rows && !subject.samples.is_empty()).then(|| StageSpec::shuffle(row))
}

/// Chains for text: as it is, by columns, or both. The samples decide between rows and columns; with both
/// chains, each tile is encoded by each and the smaller result is stored.
fn text(subject: &Subject<'_>, policy: &Policy, scratch: &mut CodecScratch) -> Result<Vec<TileChain>> {
    let chain = |columns: Option<StageSpec>, codec: StageSpec| {
        TileChain::bytes(subject.registry.bind(ChainSpec(columns.into_iter().chain([codec]).collect())))
    };
    let bytes = chain(None, policy.text_codec());
    let Some(columns) = columns(subject, policy) else { return Ok(vec![bytes]) };
    let by_columns = chain(Some(columns.clone()), policy.text_codec());
    if policy.probed {
        let mut quick = |columns| total(&chain(columns, StageSpec::zstd(QUICK_LEVEL)), subject, scratch);
        let (rows_first, columns_first) = (quick(None)?, quick(Some(columns))?);
        if columns_first >= rows_first.percent(TEXT_TELLS) {
            return Ok(vec![bytes]);
        }
        if rows_first >= columns_first.percent(TEXT_TELLS) {
            return Ok(vec![by_columns]);
        }
    }
    let whole = subject.info.tiling.tile_count() == 1 && subject.sampled_len() == subject.info.total_bytes();
    if whole || total(&by_columns, subject, scratch)? < total(&bytes, subject, scratch)? {
        return Ok(vec![by_columns, bytes]);
    }
    Ok(vec![bytes])
}

/// Plans one array.
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
    let bytes = TileChain::bytes(registry.bind(ChainSpec(vec![policy.codec()])));
    if info.ty == NcType::Char || subject.samples.is_empty() {
        let tiles = text(subject, policy, scratch)?;
        return Ok(ArrayPlan { tiles, short, ..ArrayPlan::default() });
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
    if may_be_text && total(&bytes, subject, scratch)? <= least {
        return Ok(ArrayPlan { tiles: vec![bytes], short, ..ArrayPlan::default() });
    }
    let most = least.percent(policy.alternatives.percent) + Stored(policy.alternatives.slack);
    let table = trials[0].plan.dictionary().is_some();
    let mut tiles = Vec::new();
    let mut ways = Vec::new();
    for Trial { plan, stored } in trials {
        // Another table of values would have to save more bytes than it takes.
        let free = table || plan.dictionary().is_none();
        if tiles.is_empty() || (free && stored <= most && tiles.len() <= policy.alternatives.count) {
            tiles.push(TileChain::numeric(plan, registry));
        } else if free {
            ways.push(TileChain::numeric(plan, registry));
        }
    }
    // Estimates can be wrong, and a quicker preset must not give a smaller archive.
    let is_known = |way: &TileChain| way.num.as_ref().is_some_and(|p| p.is_same_way(&quick));
    if !tiles.iter().any(is_known) && (table || quick.dictionary().is_none()) {
        ways.insert(0, TileChain::numeric(quick, registry));
    }
    ways.truncate(1);
    ways.push(bytes);
    let sampled = subject.sampled_len();
    let fallback = policy.estimate_percent.map(|percent| Fallback {
        ways,
        estimate: least,
        sampled,
        percent,
        probed: policy.probed,
    });
    let broken = |payload: &Vec<u8>| {
        fallback.as_ref().is_some_and(|fallback| fallback.is_called_for(sampled, Stored::of(payload)))
    };
    let made = subject.made(payload.filter(|payload| !broken(payload)));
    Ok(ArrayPlan { short: tiles.clone(), tiles, fallback, made, ..ArrayPlan::default() })
}

/// The plan for a requested chain: nothing is tried. The chain also encodes short tiles, which then share
/// containers.
pub(super) fn requested(subject: &Subject<'_>, chain: ChainSpec, policy: &Policy) -> Result<ArrayPlan> {
    let way = if chain.is_numeric() {
        TileChain::numeric(numeric_plans(subject, policy)?.plans.remove(0).0, subject.registry)
    } else {
        TileChain::bytes(subject.registry.bind(chain))
    };
    Ok(ArrayPlan { short: vec![way.clone()], tiles: vec![way], ..ArrayPlan::default() })
}
