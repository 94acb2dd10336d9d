//! Decides how each array is stored. Nothing else in the writer does.
//!
//! ```text
//! header, wishes ─▶ shape: tiles ─▶ samples ─▶ score (numeric codec) ─▶ trial on the samples ─▶ ArrayPlan
//! raw tiles of a short source ─▶ constant? equal? ─▶ short arrays ─▶ shared containers ────┤
//! some tiles of a long array ─▶ whole or in parts? ─▶ shorter tiles ───────────────────────┘
//!
//! changed tile, older tile ─▶ older: first look ─▶ kept, or difference, or the array's plan
//! ```
//! Thresholds are defined in [`policy`], one value for each preset; costs have a unit ([`cost`]). The planner
//! compares sizes and never reads the clock, so the same input gives the same archive. The encoder
//! ([`crate::encode`]) carries out a plan and does not search: if a tile is to be encoded in several ways,
//! the plan lists them.

mod array;
mod array_plan;
mod chains;
mod container;
mod cost;
mod numeric;
mod older;
mod policy;
mod probe;
mod reference;
mod repeats;
mod shape;
mod shared;
mod short;
mod subject;
mod text;
mod tile_refinement;
mod whole_file_candidates;

use crate::encode::{MadeTile, in_variable, make_tile};
use crate::error::Result;
use crate::options::{PACK_LEN, WriterOptions};
use crate::scratch::with_scratch;
use crate::tiles::{HeldTiles, held_samples, read_samples, record_samples};
pub(crate) use array::plan_array;
pub(crate) use array_plan::{ArrayPlan, Fallback, Made};
pub(crate) use chains::{ChainTable, TileChain};
pub(crate) use container::{OpenContainer, pack_container, pack_own};
pub(crate) use cost::Stored;
use nc3z_format::archive::{ArrayId, TileLayoutSpec};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, CodecScratch};
use nc3z_reader::{ClassicFile, Monitor};
pub(crate) use older::{
    ChangePlanner, ChangedTile, CopyPlanner, Decision, Dropped, Payload, TileState, is_coded_against_older,
};
pub(crate) use policy::{Policy, SamplePolicy};
use rayon::prelude::*;
use repeats::{Repeat, repeats};
pub(crate) use shape::Partition;
use std::borrow::Cow;
use std::collections::BTreeMap;
use subject::requested_chain;
pub(crate) use subject::{Subject, fill_values, read_apart, whole_len};
pub(crate) use tile_refinement::refine_array;
use tile_refinement::refine_tiles;
pub(crate) use whole_file_candidates::{WHOLE, longest_whole, quicker_presets, short_limit};

/// The plans of all arrays that have tiles, and the chain table that the plans refer to.
pub(crate) struct Plans {
    /// The planned arrays, with the tiles in which they are written.
    pub(crate) arrays: Arrays,
    pub(crate) table: ChainTable,
    pub(crate) by_array: BTreeMap<ArrayId, ArrayPlan>,
    /// The source's tiles, if they are cached in memory.
    pub(crate) held: Option<HeldTiles>,
}

impl Plans {
    /// Samples every array and plans it. If tiles become shorter, `partition` is changed accordingly.
    pub(crate) fn new(
        classic: &ClassicFile,
        partition: &mut Partition,
        options: &WriterOptions,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let mut arrays = partition.arrays(classic)?;
        options.chains.check_names(classic.header(), "chain")?;
        let policy = options.policy();
        let mut held = HeldTiles::read(classic, &arrays, options.memory)?;
        let mut known = held.as_ref().map(|held| repeats(held, &arrays)).unwrap_or_default();
        if !options.chains.is_empty() {
            // A chain may be requested for only one of two equal arrays.
            known.retain(|_, repeat| *repeat == Repeat::Constant);
        }
        let records = if held.is_some() { BTreeMap::new() } else { record_samples(classic, &arrays)? };
        let whole_len = whole_len(&arrays, policy);
        let searched = |a: &&ArrayInfo| a.tiling.tile_count() > 0 && !known.contains_key(&a.id);
        let plan = |info: &ArrayInfo| -> Result<(ArrayId, ArrayPlan)> {
            let short = info.total_bytes() <= PACK_LEN;
            let kept = held.as_ref().and_then(|held| held_samples(held, info, &policy.samples));
            let of_records =
                || records.get(&info.id).map(|s| s.iter().map(|s| Cow::Borrowed(&s[..])).collect());
            let samples = match kept.or_else(of_records) {
                _ if short => Vec::new(),
                Some(samples) => samples,
                None => read_apart(read_samples(classic, &arrays, info, &policy.samples)?),
            };
            let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| {
                crate::tiles::scan_pieces(classic, info, held.as_ref(), sink)
            };
            let fills = fill_values(classic, info);
            let registry = &options.registry;
            let subject = Subject {
                info,
                registry,
                samples,
                fills,
                whole_len,
                dictionary: true,
                keep: held.is_some(),
                scan: &scan,
            };
            let plan = with_scratch(|scratch| match requested_chain(classic, info, options)? {
                Some(chain) => array::requested(&subject, chain, policy),
                None => plan_array(&subject, policy, scratch),
            })?;
            Ok((info.id, plan))
        };
        let infos: Vec<&ArrayInfo> = arrays.iter().filter(searched).collect();
        let mut by_array: BTreeMap<ArrayId, ArrayPlan> =
            infos.into_par_iter().map(plan).collect::<Result<_>>()?;
        text::raise_levels(&arrays, &mut by_array);
        if let Some(held) = &held {
            with_scratch(|scratch| {
                Planner { classic, arrays: &arrays, held, policy, options, scratch }.compare(&mut by_array)
            })?;
        }
        for (id, repeat) in known {
            let plan = match repeat {
                // Only the constant value of each tile is stored.
                Repeat::Constant => ArrayPlan::default(),
                Repeat::Equal(first) => match (&held, &policy.short) {
                    (Some(held), Some(_)) => with_scratch(|scratch| {
                        let planner = Planner { classic, arrays: &arrays, held, policy, options, scratch };
                        reference::equal(&planner, (id, first), &by_array[&first])
                    }),
                    _ => by_array[&first].clone(),
                },
            };
            by_array.insert(id, plan);
        }
        let finer = refine_tiles(classic, &arrays, &by_array, options, monitor)?;
        if !finer.is_empty() {
            for (&var, &len) in &finer {
                partition.variables[var.index()] = TileLayoutSpec::Linear(len);
                by_array.entry(arrays.variable(var).id).and_modify(|plan| plan.made = Made::default());
            }
            arrays = partition.arrays(classic)?;
            // The tiles of the first reading are freed before the second.
            if held.take().is_some() {
                held = HeldTiles::read(classic, &arrays, options.memory)?;
            }
        }
        let mut table = ChainTable::new(&options.registry);
        table.number(&options.registry.bind(ChainSpec(vec![policy.codec()])));
        by_array.values_mut().for_each(|plan| table.assign(plan));
        Ok(Plans { arrays, table, by_array, held })
    }
}

/// Samples and plans one array, without regard to other arrays, to store some of its tiles again.
pub(crate) fn plan_one(
    classic: &ClassicFile,
    arrays: &Arrays,
    info: &ArrayInfo,
    options: &WriterOptions,
    scratch: &mut CodecScratch,
) -> Result<ArrayPlan> {
    let policy = options.policy();
    let samples = read_apart(read_samples(classic, arrays, info, &policy.samples)?);
    let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| crate::tiles::scan_pieces(classic, info, None, sink);
    let (fills, registry) = (fill_values(classic, info), &options.registry);
    let whole_len = whole_len(arrays, policy);
    plan_array(
        &Subject { info, registry, samples, fills, whole_len, dictionary: true, keep: false, scan: &scan },
        policy,
        scratch,
    )
}

/// Plans the encoding of the difference between a tile and an older tile: zeros where it did not change.
fn plan_difference(
    classic: &ClassicFile,
    arrays: &Arrays,
    info: &ArrayInfo,
    difference: &[u8],
    options: &WriterOptions,
    scratch: &mut CodecScratch,
) -> Result<Vec<TileChain>> {
    /// Bytes of a sample, a multiple of every element size.
    const SAMPLE: usize = 32 << 10;
    const SAMPLES: usize = 8;
    let policy = options.policy();
    let size = info.ty.size();
    let mut fills = fill_values(classic, info);
    fills.push(vec![0; size]);
    // Samples that are not all zero, evenly spread.
    let busy: Vec<&[u8]> =
        difference.chunks(SAMPLE).filter(|chunk| chunk.iter().any(|&byte| byte != 0)).collect();
    let step = busy.len().div_ceil(SAMPLES).max(1);
    let samples: Vec<Cow<'_, [u8]>> = busy.into_iter().step_by(step).map(Cow::Borrowed).collect();
    let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| {
        sink(difference);
        Ok(())
    };
    let (registry, whole_len) = (&options.registry, whole_len(arrays, policy));
    let plan = plan_array(
        &Subject { info, registry, samples, fills, whole_len, dictionary: true, keep: false, scan: &scan },
        policy,
        scratch,
    )?;
    Ok(plan.tiles)
}

/// The context in which the arrays of one source are compared with each other.
struct Planner<'a> {
    classic: &'a ClassicFile,
    arrays: &'a Arrays,
    held: &'a HeldTiles,
    policy: &'a Policy,
    options: &'a WriterOptions,
    scratch: &'a mut CodecScratch,
}

impl Planner<'_> {
    /// Returns the tiles of an array, encoded by a plan. They are encoded once and written unchanged if the
    /// plan stays.
    fn made<'p>(&mut self, info: &ArrayInfo, plan: &'p mut ArrayPlan) -> Result<&'p [MadeTile]> {
        if plan.made.0.is_empty() {
            for raw in self.held.of(info.id) {
                let other = plan.referred(info.id, raw.tile, self.arrays, Some(self.held))?;
                let made = make_tile(raw, info, plan, other, self.scratch)
                    .map_err(|e| in_variable(e, self.classic, raw.array, raw.tile))?;
                plan.made.0.push(made);
            }
        }
        Ok(&plan.made.0)
    }

    /// Revises the plans of short arrays by comparing them with each other.
    fn compare(&mut self, plans: &mut BTreeMap<ArrayId, ArrayPlan>) -> Result<()> {
        let Some(policy) = &self.policy.short else { return Ok(()) };
        let mut short = short::as_numbers(self, policy, plans)?;
        if self.policy.references {
            let referring = reference::plan_references(self, plans)?;
            short.retain(|s| !referring.contains(&s.id));
        }
        if let Some(policy) = &self.policy.shared {
            let shared = shared::plan_shared(self, policy, plans)?;
            short.retain(|s| !shared.contains(&s.id));
        }
        short::better_as_bytes(self, policy, short, plans)
    }
}
