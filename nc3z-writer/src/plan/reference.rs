//! Codes arrays relative to arrays that are nearly the same: a corrected copy, a profile stored twice, bounds
//! next to their coordinate.
//!
//! Each array is compared with the last `CANDIDATES` arrays of the same length: first on a few hundred
//! elements, then by encoding it whole. Only an array without a reference is referred to, so that decoding a
//! tile needs at most one other tile.

use super::cost::Stored;
use super::probe::packed_len;
use super::subject::requested_chain;
use super::{ArrayPlan, Planner, TileChain, fill_values};
use crate::encode::{Form, constant_value};
use crate::error::Result;
use crate::tiles::HeldTiles;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, Role};
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::codec::{ReferenceTile, patterns_of, words_of};
use nc3z_format::num::{self, Against, Coder, EncodePlan, Width};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// An array is compared with this many earlier arrays of the same length.
const CANDIDATES: usize = 16;
/// Once this many arrays of one length in a row have no reference, the others of that length are not compared.
const MISSES: usize = 64;
/// Arrays with fewer elements are left to the containers.
const LEAST_ELEMENTS: u64 = 16;
/// The least saving of a reference, and of a reference that needs a new chain.
const LEAST: Stored = Stored(8);
const NEW_CHAIN: Stored = Stored(40);
/// A reference is not tried on the whole array if, on the samples, it takes at least this many hundredths of
/// the array's size.
const MISJUDGED: u64 = 110;
/// Estimated size in a container of LZMA, in hundredths of the size in a container of zstd.
const LZMA_PERCENT: u64 = 85;
/// Text is compared only if more than `ALIKE`/16 of the sampled characters equal those of the other array.
const ALIKE: usize = 14;

/// An array that others may be coded against.
struct Base<'a> {
    info: &'a ArrayInfo,
    variable: u32,
    /// The elements in the sampled windows, big-endian.
    sample: Vec<u8>,
}

/// The last arrays of one length that have no reference, and the number of arrays since the last one that has one.
#[derive(Default)]
struct Alike<'a> {
    bases: VecDeque<Base<'a>>,
    misses: usize,
}

/// The last arrays, grouped by the number of elements.
type Bases<'a> = BTreeMap<(u64, u64), Alike<'a>>;

/// Plans arrays by reference to another array where that makes them smaller. Returns these arrays.
pub(super) fn plan_references(
    planner: &mut Planner<'_>,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
) -> Result<BTreeSet<ArrayId>> {
    let mut bases: Bases<'_> = BTreeMap::new();
    let mut distances = BTreeSet::new();
    let mut referring = BTreeSet::new();
    let ids: Vec<ArrayId> = plans.keys().copied().collect();
    for id in ids {
        let info = planner.arrays.get(id).expect("plans are of known arrays");
        let Role::Variable(variable) = id.role() else { continue };
        if info.tiling.present() < LEAST_ELEMENTS {
            continue;
        }
        let known = bases.entry((info.tiling.present(), info.tiling.tile_count())).or_default();
        if known.misses >= MISSES {
            continue;
        }
        let base = Base { info, variable, sample: sample_of(planner.held, info) };
        let asked = requested_chain(planner.classic, info, planner.options)?.is_some();
        let independent = plans.get_mut(&id).expect("its key was among them");
        let found =
            if asked { None } else { planner.against(&base, &known.bases, independent, &distances)? };
        if let Some((distance, plan)) = found {
            known.misses = 0;
            distances.insert(distance);
            referring.insert(id);
            *independent = plan;
            continue;
        }
        known.misses += 1;
        known.bases.push_back(base);
        if known.bases.len() > CANDIDATES {
            known.bases.pop_front();
        }
    }
    Ok(referring)
}

/// The plan of an array that equals an earlier one.
pub(super) fn equal(planner: &Planner<'_>, (id, first): (ArrayId, ArrayId), plan: &ArrayPlan) -> ArrayPlan {
    let (Role::Variable(variable), Role::Variable(earlier)) = (id.role(), first.role()) else {
        return plan.clone();
    };
    let registry = &planner.options.registry;
    if let Some(way) = plan.tiles.first()
        && let (Some(num), Some(distance)) = (&way.num, way.against)
    {
        return referring(TileChain::numeric_against(num.clone(), variable - earlier + distance, registry));
    }
    let info = planner.arrays.get(id).expect("plans are of known arrays");
    // The codec of the container finds the repeated bytes.
    if info.total_bytes() <= crate::options::PACK_LEN || plan.container.is_some() {
        return plan.clone();
    }
    let none = EncodePlan {
        coder: Coder::Ctx,
        shape: num::Shape { log: 5, north: 1, west: 1 },
        ..EncodePlan::default()
    };
    referring(TileChain::numeric_against(none, variable - earlier, registry))
}

/// The plan of an array whose tiles are coded against others.
fn referring(way: TileChain) -> ArrayPlan {
    ArrayPlan { tiles: vec![way.clone()], short: vec![way], ..ArrayPlan::default() }
}

/// The windows of the tile in the middle.
fn sample_of(held: &HeldTiles, info: &ArrayInfo) -> Vec<u8> {
    let tile = info.tiling.tile_count() / 2;
    let size = info.ty.size();
    let Some(raw) = held.tile(info.id, tile) else { return Vec::new() };
    let part = |w: Range<usize>| &raw.bytes[w.start * size..w.end * size];
    Against::windows(raw.bytes.len() / size).into_iter().flat_map(part).copied().collect()
}

impl Planner<'_> {
    /// Returns the plan that codes an array relative to one of the others, with the distance to it, if that
    /// saves enough.
    fn against(
        &mut self,
        array: &Base<'_>,
        others: &VecDeque<Base<'_>>,
        independent: &mut ArrayPlan,
        distances: &BTreeSet<u32>,
    ) -> Result<Option<(u32, ArrayPlan)>> {
        // Windows with one constant value show nothing, and a constant array takes almost no bytes.
        if others.is_empty() || constant_value(&array.sample, array.info.ty.size()).is_some() {
            return Ok(None);
        }
        let fits = |other: &&Base<'_>| {
            other.sample.len() / other.info.ty.size() == array.sample.len() / array.info.ty.size()
                && (array.info.ty != NcType::Char || is_like(&array.sample, &other.sample))
        };
        let others: Vec<&Base<'_>> = others.iter().filter(fits).collect();
        let ways = match array.info.ty.size() {
            1 => self.ways::<u8>(array, &others, independent)?,
            2 => self.ways::<u16>(array, &others, independent)?,
            4 => self.ways::<u32>(array, &others, independent)?,
            _ => self.ways::<u64>(array, &others, independent)?,
        };
        if ways.is_empty() {
            return Ok(None);
        }
        let mut least = self.stored(array.info, independent)?;
        let mut best = None;
        let sampled = array.sample.len() as u64;
        for Against { candidate, plan, least: estimate } in ways {
            if Stored(estimate).scaled(array.info.total_bytes(), sampled) >= least.percent(MISJUDGED) {
                continue;
            }
            let distance = array.variable - others[candidate].variable;
            let mut by_contexts = None;
            for coder in [Coder::Ctx, Coder::Planes] {
                // If one coder is far larger, the other coder gains little.
                if by_contexts.is_some_and(|stored: Stored| stored.percent(80) > least) {
                    break;
                }
                let plan = EncodePlan { coder, ..plan.clone() };
                let mut plan = referring(TileChain::numeric_against(plan, distance, &self.options.registry));
                let cost = if distances.contains(&distance) { LEAST } else { NEW_CHAIN };
                let stored = self.stored(array.info, &mut plan)? + cost;
                by_contexts = Some(stored);
                if stored < least {
                    (least, best) = (stored, Some((distance, plan)));
                }
            }
        }
        Ok(best)
    }

    /// Returns the ways that save bytes on the samples.
    fn ways<W: Width>(
        &self,
        array: &Base<'_>,
        others: &[&Base<'_>],
        independent: &ArrayPlan,
    ) -> Result<Vec<Against>> {
        let ty = array.info.ty;
        let patterns = |other: &&Base<'_>| {
            patterns_of::<W>(ReferenceTile { ty: other.info.ty, bytes: &other.sample }, ty)
        };
        let candidates: Vec<Vec<W>> = others.iter().map(patterns).collect::<Result<_, _>>()?;
        let sample: Vec<W> = words_of(&array.sample);
        let fills: Vec<W> = fill_values(self.classic, array.info).iter().flat_map(|f| words_of(f)).collect();
        let tile = array.info.tiling.tile_count() / 2;
        let elements = array.info.tiling.tile_elements(tile)?;
        let windows = Against::windows(usize::try_from(elements).expect("a tile fits in memory"));
        let base = independent
            .numeric()
            .or(independent.short.first().and_then(|w| w.num.as_ref()))
            .cloned()
            .unwrap_or_default();
        let ways = num::choose_reference(&sample, ty.into(), &windows, &base, &fills, &candidates);
        Ok(ways.map_err(nc3z_format::Error::from)?)
    }

    /// Returns the stored size of an array's tiles under a plan.
    fn stored(&mut self, info: &ArrayInfo, plan: &mut ArrayPlan) -> Result<Stored> {
        // Output of the numeric codec does not shrink further.
        let by_numbers = plan.short.iter().all(|w| w.num.is_some());
        let lzma = if plan.container.is_some() { LZMA_PERCENT } else { 100 };
        let mut total = Stored(0);
        for made in self.made(info, plan)? {
            total += match made.form() {
                Form::Constant { .. } => Stored(0),
                Form::Member { bytes, .. } if by_numbers => Stored::from_bytes(bytes),
                Form::Member { bytes, .. } => {
                    packed_len(bytes, self.policy.zstd_level, self.scratch)?.percent(lzma)
                }
                Form::Block { payload, .. } => {
                    Stored((payload.len() as u64 + BLOCK_HEADER_LEN as u64).next_multiple_of(8))
                }
            };
        }
        Ok(total)
    }
}

/// True if most elements of two samples are equal.
fn is_like(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).filter(|(a, b)| a == b).count() * 16 > a.len() * ALIKE
}
