//! Decides how each array is stored. Nothing else in the writer does.
//!
//! ```text
//! header, wishes ─▶ shape: tiles ─▶ samples ─▶ score (numeric codec) ─▶ trial on the samples ─▶ ArrayPlan
//! raw tiles of a short source ─▶ constant? equal? ─▶ short arrays ─▶ shared containers ────┤
//! some tiles of a long array ─▶ whole or in parts? ─▶ shorter tiles ───────────────────────┘
//! ```
//! Thresholds stand in [`policy`], one value for each preset; costs have a unit ([`cost`]). Sizes alone decide, never the
//! clock, so that the same input gives the same archive. What carries a plan out ([`crate::encode`]) searches nothing:
//! where a tile is to be tried in several ways, the plan names them.

#[cfg(feature = "ablation")]
pub mod ablation;
mod array;
mod chains;
mod cost;
mod difference;
mod finer;
mod numeric;
mod policy;
mod probe;
mod reference;
mod repeats;
mod shape;
mod shared;
mod short;
mod subject;

use crate::encode::{MadeTile, in_variable, make_tile};
use crate::error::Result;
use crate::options::{PACK_LEN, WriterOptions};
use crate::scratch::with_scratch;
use crate::tiles::{HeldTiles, held_samples, read_samples, record_samples};
pub(crate) use array::plan_array;
pub(crate) use chains::{ChainTable, TileChain};
pub(crate) use cost::Stored;
pub(crate) use difference::{Base, Changed, Chooser, FirstLook, Payload, Sketch};
pub(crate) use finer::finer_array;
use finer::finer_tiles;
use nc3z_format::archive::{ArrayId, Role, TileLayoutSpec};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, ReferenceTile, Scratch};
use nc3z_format::num::{Dictionary, EncodePlan};
use nc3z_reader::{ClassicFile, Monitor};
use policy::LEVELS_GAIN;
pub(crate) use policy::{Policy, SamplePolicy};
use probe::probed_len;
use rayon::prelude::*;
use repeats::{Repeat, repeats};
pub(crate) use shape::Partition;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use subject::requested_chain;
pub(crate) use subject::{Subject, fill_values, read_apart, whole_len};

/// How the tiles of one array are stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArrayPlan {
    /// What a tile is encoded by: each of these, of which the smallest is kept; as it is where there are none. The first is
    /// what samples liked best.
    pub(crate) tiles: Vec<TileChain>,
    /// The same for tiles so short that they go into a container of zstd.
    pub(crate) short: Vec<TileChain>,
    /// What a tile is tried with besides that is larger than samples promised.
    pub(crate) fallback: Option<Fallback>,
    /// The chain of the shared containers that its tiles go into as they are, instead of all that.
    pub(crate) container: Option<TileChain>,
    /// Tiles that were encoded by it already.
    pub(crate) made: Made,
}

/// Tiles of an array that were encoded by its plan while that was compared with others. A copy of the plan has none: it may
/// serve another array.
#[derive(Debug, Default)]
pub(crate) struct Made(Vec<MadeTile>);

impl Clone for Made {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Made {
    /// A tile by its number.
    pub(crate) fn tile(&self, tile: u64) -> Option<&MadeTile> {
        // Most are in the order of their numbers.
        let at = usize::try_from(tile).ok().and_then(|at| self.0.get(at)).filter(|made| made.tile() == tile);
        at.or_else(|| self.0.iter().find(|made| made.tile() == tile))
    }
}

/// Ways for tiles that the samples did not tell of.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    /// Tried in turn, the smallest kept; the last is the tile's bytes by zstd.
    pub(crate) ways: Vec<TileChain>,
    /// What the samples took, of so many bytes.
    promised: Stored,
    sampled: u64,
    /// [`Policy::promised_percent`].
    percent: u64,
    /// [`Policy::probed`].
    probed: bool,
}

impl Fallback {
    /// What was promised for `len` bytes.
    fn promised_for(&self, len: u64) -> Stored {
        self.promised.scaled(len, self.sampled)
    }

    /// Whether a tile of `len` bytes takes more than was promised.
    pub(crate) fn is_called_for(&self, len: u64, stored: Stored) -> bool {
        stored > self.promised_for(len).percent(self.percent)
    }

    /// The ways that are worth their time for a tile that takes `stored` by its plan: zstd's higher levels take long, and a quick look
    /// tells what they cannot reach.
    pub(crate) fn ways_for(
        &self,
        bytes: &[u8],
        stored: Stored,
        scratch: &mut Scratch,
    ) -> Result<&[TileChain]> {
        let promising = !self.probed || probed_len(bytes, scratch)? <= stored.percent(LEVELS_GAIN);
        Ok(&self.ways[..self.ways.len() - usize::from(!promising)])
    }
}

impl ArrayPlan {
    /// A table of values that must be in the archive before the tiles.
    pub(crate) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.numeric().and_then(EncodePlan::dictionary)
    }

    /// What the numeric codec does with its tiles, where their chain is that.
    pub(crate) fn numeric(&self) -> Option<&EncodePlan> {
        self.tiles.first().and_then(|t| t.num.as_ref())
    }

    /// The tile that a tile is coded against, where the plan says so.
    ///
    /// # Errors
    /// There is no such array.
    pub(crate) fn referred<'a>(
        &self,
        array: ArrayId,
        tile: u64,
        arrays: &Arrays,
        held: Option<&'a HeldTiles>,
    ) -> Result<Option<ReferenceTile<'a>>> {
        let Some(distance) = self.tiles.first().and_then(|way| way.against) else { return Ok(None) };
        let missing = || {
            nc3z_format::Error::invalid(format!("{array}, tile {tile} refers to a tile that is not there"))
        };
        let Role::Variable(variable) = array.role() else { return Err(missing().into()) };
        let other = ArrayId::variable(variable.checked_sub(distance).ok_or_else(missing)?);
        let ty = arrays.get(other).ok_or_else(missing)?.ty;
        let raw = held.and_then(|held| held.tile(other, tile)).ok_or_else(missing)?;
        Ok(Some(ReferenceTile { ty, bytes: &raw.bytes }))
    }
}

/// The plan of every array that has tiles, and the chain table they refer to.
pub(crate) struct Plans {
    /// The arrays that are planned, in the tiles that they are written in.
    pub(crate) arrays: Arrays,
    pub(crate) table: ChainTable,
    pub(crate) by_array: BTreeMap<ArrayId, ArrayPlan>,
    /// The source's tiles, where they were kept.
    pub(crate) held: Option<HeldTiles>,
}

impl Plans {
    /// Samples every array and plans it. Tiles may become shorter than the partition says, which is changed with them.
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
            // What is asked for one of two equal arrays is not asked for the other.
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
            let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| crate::tiles::scan_pieces(classic, info, sink);
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
        if let Some(held) = &held {
            with_scratch(|scratch| {
                Planner { classic, arrays: &arrays, held, policy, options, scratch }.compare(&mut by_array)
            })?;
        }
        for (id, repeat) in known {
            let plan = match repeat {
                // Nothing is stored of its tiles but their values.
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
        let finer = finer_tiles(classic, &arrays, &by_array, options, monitor)?;
        if !finer.is_empty() {
            for (&var, &len) in &finer {
                partition.variables[var.index()] = TileLayoutSpec::Linear(len);
                by_array.entry(arrays.variable(var).id).and_modify(|plan| plan.made = Made::default());
            }
            arrays = partition.arrays(classic)?;
            if held.is_some() {
                held = HeldTiles::read(classic, &arrays, options.memory)?;
            }
        }
        let mut table = ChainTable::new(&options.registry);
        table.number(&options.registry.bind(ChainSpec(vec![policy.codec()])));
        by_array.values_mut().for_each(|plan| table.assign(plan));
        Ok(Plans { arrays, table, by_array, held })
    }
}

/// Samples and plans one array by itself, for tiles of it that are stored again.
pub(crate) fn plan_one(
    classic: &ClassicFile,
    arrays: &Arrays,
    info: &ArrayInfo,
    options: &WriterOptions,
    scratch: &mut Scratch,
) -> Result<ArrayPlan> {
    let policy = options.policy();
    let samples = read_apart(read_samples(classic, arrays, info, &policy.samples)?);
    let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| crate::tiles::scan_pieces(classic, info, sink);
    let (fills, registry) = (fill_values(classic, info), &options.registry);
    let whole_len = whole_len(arrays, policy);
    plan_array(
        &Subject { info, registry, samples, fills, whole_len, dictionary: true, keep: false, scan: &scan },
        policy,
        scratch,
    )
}

/// Ways for the difference of a tile of an array to an older one: zeros where it did not change.
fn plan_difference(
    classic: &ClassicFile,
    arrays: &Arrays,
    info: &ArrayInfo,
    difference: &[u8],
    options: &WriterOptions,
    scratch: &mut Scratch,
) -> Result<Vec<TileChain>> {
    /// Bytes of a sample, a multiple of every element's.
    const SAMPLE: usize = 32 << 10;
    const SAMPLES: usize = 8;
    let policy = options.policy();
    let size = info.ty.size();
    let mut fills = fill_values(classic, info);
    fills.push(vec![0; size]);
    // Those with something in them, evenly spread.
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

/// What the arrays of one source are compared with.
struct Planner<'a> {
    classic: &'a ClassicFile,
    arrays: &'a Arrays,
    held: &'a HeldTiles,
    policy: &'a Policy,
    options: &'a WriterOptions,
    scratch: &'a mut Scratch,
}

impl Planner<'_> {
    /// The tiles of an array by a plan: encoded once, and written as they are if the plan stays.
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

    /// Plans short arrays anew, in the light of each other.
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
