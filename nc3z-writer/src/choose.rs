//! Which chain each array gets: candidates are tried on samples of its own tiles, the smallest wins.
//!
//! Numbers go to the numeric codec, whose own chooser ranks plans by size; text and bytes to zstd. Sizes alone decide,
//! never the clock, so that the same input gives the same archive.

use crate::error::Result;
use crate::options::{PACK_LEN, Preset};
use nc3z_format::NcType;
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, Scratch, StageSpec, TileCoder, TileShape, encode_tile, words_of};
use nc3z_format::num::{self, Candidates, Dictionary, DictionaryBuilder, Effort, EncodePlan, Word};
use std::sync::Arc;

/// Variables up to the first are tried whole in files whose data are at most the second, else up to the third: that
/// takes long, which only small files can bear.
const WHOLE_LEN: usize = 512 << 10;
const SMALL_FILE: u64 = 4 << 20;
const WHOLE_LEN_LARGE: usize = 32 << 10;

/// The largest variable that is tried whole, in bytes.
pub(crate) fn whole_len(arrays: &Arrays) -> usize {
    let total = arrays.iter().fold(0, |sum: u64, a| sum.saturating_add(a.total_bytes()));
    if total <= SMALL_FILE { WHOLE_LEN } else { WHOLE_LEN_LARGE }
}

/// Samples of each array, and the most bytes of each.
pub(crate) const SAMPLES: u64 = 3;
const SAMPLE_LEN: u64 = 256 << 10;
/// The most bytes of a variable that are scanned for a dictionary of its values.
const SCAN_LEN: u64 = 64 << 20;

/// How the tiles of one array are encoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArrayPlan {
    /// Number of the chain in the chain table.
    pub(crate) chain: u16,
    /// What the numeric codec does, where the chain is that.
    pub(crate) num: Option<EncodePlan>,
    /// What `max` tries on each tile besides that, with the numbers of their chains.
    pub(crate) rivals: Vec<(u16, EncodePlan)>,
    /// Chain (filters only) of tiles that go into containers, where a codec follows.
    pub(crate) packed: u16,
    /// The chain of the containers that its tiles go into as they are, where that is smaller than each on its own.
    pub(crate) packer: Option<u16>,
}

impl ArrayPlan {
    /// A value table that must be in the archive before the tiles.
    pub(crate) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.num.as_ref().and_then(EncodePlan::dictionary)
    }
}

/// The chains of one archive in the order of their numbers. Number 0 stores.
#[derive(Debug)]
pub(crate) struct ChainTable(Vec<ChainSpec>);

impl ChainTable {
    pub(crate) fn new() -> Self {
        ChainTable(vec![ChainSpec::default()])
    }

    /// The number of a chain, given to it now if it has none.
    pub(crate) fn number(&mut self, chain: &ChainSpec) -> u16 {
        let at = self.0.iter().position(|c| c == chain).unwrap_or_else(|| {
            self.0.push(chain.clone());
            self.0.len() - 1
        });
        u16::try_from(at).expect("the candidates are a few dozen")
    }

    pub(crate) fn chains(&self) -> &[ChainSpec] {
        &self.0
    }
}

/// What the chooser asks of the array besides its samples.
pub(crate) struct Subject<'a> {
    pub(crate) info: &'a ArrayInfo,
    /// Beginnings of some tiles, big-endian.
    pub(crate) samples: Vec<Vec<u8>>,
    /// Big-endian values of `_FillValue` and `missing_value`.
    pub(crate) fills: Vec<Vec<u8>>,
    /// See [`num::Extent::whole_len`].
    pub(crate) whole_len: usize,
    /// Calls the sink with the whole array, piece after piece, until the sink says false.
    pub(crate) scan: &'a dyn Fn(&mut dyn FnMut(&[u8]) -> bool) -> Result<()>,
}

/// The codec that ends a preset's byte chains.
pub(crate) fn codec(preset: Preset) -> StageSpec {
    let level = match preset {
        Preset::Fast => 1,
        Preset::Default => 9,
        Preset::Max => 19,
    };
    StageSpec::Zstd { level }
}

/// Chooses the chain of one array.
pub(crate) fn choose(
    subject: &Subject<'_>,
    preset: Preset,
    table: &mut ChainTable,
    scratch: &mut Scratch,
) -> Result<ArrayPlan> {
    let info = subject.info;
    let size = info.ty.size();
    let shuffled = StageSpec::Shuffle { elementsize: size };
    let filter = if size > 1 { ChainSpec(vec![shuffled]) } else { ChainSpec::default() };
    let packed = table.number(&filter);
    if info.total_bytes() <= PACK_LEN {
        return Ok(ArrayPlan { chain: 0, num: None, packed, ..ArrayPlan::default() });
    }
    let bytes = ChainSpec(vec![codec(preset)]);
    if info.ty == NcType::Char || subject.samples.is_empty() {
        return Ok(ArrayPlan { chain: table.number(&bytes), num: None, packed, ..ArrayPlan::default() });
    }
    let mut plans = numeric_plans(subject, preset, scratch)?;
    let plan = plans.remove(0);
    if size == 1 {
        // Flags and packed bytes are as often text-like as numbers.
        let as_bytes = total(TileCoder::Bytes(&bytes), subject, scratch)?;
        if as_bytes <= total(TileCoder::Num(&plan), subject, scratch)? {
            return Ok(ArrayPlan { chain: table.number(&bytes), num: None, packed, ..ArrayPlan::default() });
        }
    }
    let chain = table.number(&numeric_chain(&plan));
    let rivals = plans.into_iter().map(|p| (table.number(&numeric_chain(&p)), p)).collect();
    Ok(ArrayPlan { chain, num: Some(plan), rivals, packed, ..ArrayPlan::default() })
}

/// The plan where the chain was asked for: nothing is tried. Small tiles are encoded by it too, and then packed.
pub(crate) fn forced(
    subject: &Subject<'_>,
    chain: &ChainSpec,
    preset: Preset,
    table: &mut ChainTable,
    scratch: &mut Scratch,
) -> Result<ArrayPlan> {
    if chain.numeric().is_none() {
        let chain = table.number(chain);
        return Ok(ArrayPlan { chain, num: None, packed: chain, ..ArrayPlan::default() });
    }
    let plan = numeric_plans(subject, preset, scratch)?.remove(0);
    let chain = table.number(&numeric_chain(&plan));
    Ok(ArrayPlan { chain, num: Some(plan), packed: chain, ..ArrayPlan::default() })
}

pub(crate) fn numeric_chain(plan: &EncodePlan) -> ChainSpec {
    let mut parameters = serde_json::Map::new();
    if plan.dictionary().is_some() {
        parameters.insert("dict".into(), 0.into());
    }
    ChainSpec(vec![StageSpec::Num(parameters)])
}

/// Bytes that all samples come to.
fn total(coder: TileCoder<'_>, subject: &Subject<'_>, scratch: &mut Scratch) -> Result<usize> {
    let shape = TileShape { ty: subject.info.ty, geometry: subject.info.tiling.geometry(0)? };
    let mut out = Vec::new();
    for sample in &subject.samples {
        encode_tile(coder, sample, &shape, scratch, &mut out)?;
    }
    Ok(out.len())
}

/// The plan for the numbers of an array, and those that its tiles are tried with besides (`max` only).
pub(crate) fn numeric_plans(
    subject: &Subject<'_>,
    preset: Preset,
    scratch: &mut Scratch,
) -> Result<Vec<EncodePlan>> {
    let plans = match subject.info.ty.size() {
        1 => plan_words::<u8>(subject, preset),
        2 => plan_words::<u16>(subject, preset),
        4 => plan_words::<u32>(subject, preset),
        _ => plan_words::<u64>(subject, preset),
    }?;
    if preset == Preset::Max { best_on_samples(plans, subject, scratch) } else { Ok(plans) }
}

/// Plans that each tile is tried with at `max`, besides the best; none that needs more
/// than one part in so many more than it on the samples.
const RIVALS: usize = 2;
const BEHIND: u64 = 10;

/// The plan that is smallest on the samples as they are, and a few that may be smaller on other tiles.
fn best_on_samples(
    plans: Vec<EncodePlan>,
    subject: &Subject<'_>,
    scratch: &mut Scratch,
) -> Result<Vec<EncodePlan>> {
    let sampled: u64 = subject.samples.iter().map(|s| s.len() as u64).sum();
    let mut sized = Vec::new();
    for plan in plans {
        let mut size = total(TileCoder::Num(&plan), subject, scratch)? as u64;
        if let Some(dictionary) = plan.dictionary() {
            let len = dictionary.encode_definition(subject.info.ty)?.len() as u64;
            size += len * sampled / subject.info.total_bytes().max(1);
        }
        sized.push((size, plan));
    }
    sized.sort_by_key(|s| s.0);
    let least = sized.first().map_or(0, |s| s.0);
    let mut plans = sized.into_iter().filter(|s| s.0 <= least + least / BEHIND + 64).map(|s| s.1);
    let best: Vec<EncodePlan> = plans.next().into_iter().collect();
    // One more dictionary would have to pay for itself.
    let free = plans.filter(|p| p.dictionary().is_none() || best[0].dictionary().is_some());
    Ok(best.iter().cloned().chain(free.take(RIVALS)).collect())
}

fn plan_words<W: Word>(subject: &Subject<'_>, preset: Preset) -> Result<Vec<EncodePlan>> {
    let info = subject.info;
    let geometry = info.tiling.geometry(0)?;
    let or_none = |n: Option<u64>| n.unwrap_or(0);
    let geometry = num::Geometry {
        row: or_none(geometry.row),
        plane: or_none(geometry.plane),
        volume: or_none(geometry.volume),
    };
    let samples: Vec<Vec<W>> = subject.samples.iter().map(|s| words_of(s)).collect();
    let samples: Vec<&[W]> = samples.iter().map(Vec::as_slice).collect();
    let fills: Vec<W> = subject.fills.iter().flat_map(|f| words_of(f)).collect();
    let extent = num::Extent { elements: info.tiling.present(), whole_len: subject.whole_len };
    let candidates = |effort: Effort, dictionary: Option<&Arc<Dictionary>>| -> Result<Candidates> {
        Ok(num::choose_with(&samples, info.ty, &geometry, effort, &fills, extent, dictionary)?)
    };
    let effort = match preset {
        Preset::Fast => Effort::Fast,
        Preset::Default => Effort::Default,
        Preset::Max => Effort::Max,
    };
    let mut found = candidates(effort, None)?;
    let mut dictionary = None;
    if found.scan_dictionary && info.total_bytes() <= SCAN_LEN {
        let mut builder = DictionaryBuilder::<W>::default();
        (subject.scan)(&mut |bytes| builder.add(&words_of::<W>(bytes), found.mask))?;
        dictionary = builder.finish(info.ty).map(Arc::new);
        if dictionary.is_some() {
            found = candidates(effort, dictionary.as_ref())?;
        }
    }
    if found.plans.is_empty() {
        found.plans.push(EncodePlan::default());
    }
    if preset == Preset::Max {
        // Never larger than the default: what its chooser finds is tried too, as hard.
        let level = found.plans[0].level;
        let others = candidates(Effort::Default, dictionary.as_ref())?.plans;
        found.plans.extend(others.into_iter().map(|p| EncodePlan { level, ..p }));
    } else {
        found.plans.truncate(1);
    }
    Ok(found.plans)
}

/// Byte ranges (in the flattened array) of the samples: the beginnings of the first, a middle and the last whole tile.
pub(crate) fn sample_ranges(info: &ArrayInfo) -> Vec<(u64, usize)> {
    let total = info.total_bytes();
    let tile = info.linear_tile_len().unwrap_or(total).clamp(1, total.max(1));
    let tiles = (total / tile).max(1);
    let size = info.ty.size() as u64;
    let len = sample_len(info).min(tile);
    let n = SAMPLES.min(tiles);
    (0..n)
        .map(|i| {
            let first = if n > 1 { (tiles - 1) * i / (n - 1) * tile } else { 0 };
            let len = len.min(total - first) / size * size;
            (first, usize::try_from(len).expect("at most eight SAMPLE_LEN"))
        })
        .collect()
}

/// Bytes of a sample at most: two whole planes at least, so that predictors in time and per-plane lattices are seen.
pub(crate) fn sample_len(info: &ArrayInfo) -> u64 {
    let plane = info.tiling.geometry(0).ok().and_then(|g| g.plane).unwrap_or(0);
    let plane = plane.saturating_mul(info.ty.size() as u64);
    let least = if info.total_bytes() <= WHOLE_LEN as u64 { WHOLE_LEN as u64 } else { SAMPLE_LEN };
    least.max(plane.saturating_mul(2)).min(8 * SAMPLE_LEN)
}
