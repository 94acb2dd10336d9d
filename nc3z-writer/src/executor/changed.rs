//! Changed tiles of an archive: [`ChangePlanner`] decides how each is stored. Short differences wait for the end and
//! share a container.

use super::{Encode, Executor, for_all};
use crate::encode::{EncodedTile, Form};
use crate::error::Result;
use crate::generation::GenerationWriter;
use crate::options::{PACK_LEN, WriterOptions};
use crate::plan::{ArrayPlan, ChangePlanner, ChangedTile, Decision, Dropped, Payload, TileState};
use crate::tiles::RawTile;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::Arrays;
use nc3z_format::codec::{ChainSpec, StageSpec};
use nc3z_reader::{Archive, ClassicFile, Monitor};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;

/// Bytes of tiles that are encoded together, if the memory allows it: enough work to share among threads. A
/// table of values counts as stored after the batch that added it. The number of threads and the memory do
/// not change what a commit writes.
const BATCH_LEN: u64 = 16 << 20;
/// Memory for encoding a tile, in multiples of its length: its bytes, the older bytes, the difference,
/// payloads.
const COPIES: u64 = 5;
/// Differences of at most this many bytes share a container, if there are several.
const SHORT_DIFFERENCE: usize = 1 << 10;

/// Encodes and writes the tiles of a new state that differ from those of the archive.
pub(crate) struct ChangedTiles<'a> {
    arrays: &'a Arrays,
    executor: Executor<'a, Changes<'a>>,
    /// Bytes of all tiles so far.
    taken: u64,
}

/// The plans, tables and counts of the tiles so far.
struct Changes<'a> {
    old: &'a Archive,
    planner: ChangePlanner<'a>,
    /// The plan of each array that has needed one.
    plans: HashMap<ArrayId, ArrayPlan>,
    /// The tables of values that were added to each array, with their numbers; and the number of tables that count as stored.
    tables: HashMap<ArrayId, Vec<(u64, Vec<u8>)>>,
    stored_tables: HashMap<ArrayId, usize>,
    /// Short differences that are not written yet.
    short: Vec<ShortDifference>,
    /// The numbers of new tiles and of unchanged tiles.
    counts: (u64, u64),
}

/// A tile whose difference to an older one takes few bytes.
struct ShortDifference {
    array: ArrayId,
    tile: u64,
    decoded_len: u32,
    decoded_crc: u32,
    payload: Payload,
}

impl<'a> ChangedTiles<'a> {
    /// Creates the encoder of a new state of `old`, which is the file `classic` in these arrays.
    pub(crate) fn new(
        old: &'a Archive,
        dropped: &'a [Dropped],
        classic: &'a ClassicFile,
        arrays: &'a Arrays,
        options: &'a WriterOptions,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let changes = Changes {
            old,
            planner: ChangePlanner::new(old, dropped, classic, arrays, options),
            plans: HashMap::new(),
            tables: HashMap::new(),
            stored_tables: HashMap::new(),
            short: Vec::new(),
            counts: (0, 0),
        };
        let executor = Executor::new(changes, options.memory / COPIES / 2, monitor);
        ChangedTiles { arrays, executor, taken: 0 }
    }

    /// Takes a tile, whose array has the number `id` in the archive. The tile is written with its batch;
    /// short differences wait for [`Self::finish`].
    pub(crate) fn put<W: Write>(
        &mut self,
        raw: RawTile,
        id: ArrayId,
        known: TileState,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        let info = self.arrays.get(raw.array).expect("each tile is of a planned array");
        let RawTile { tile, bytes, .. } = raw;
        let (len, batch) = (bytes.len() as u64, self.taken / BATCH_LEN);
        let changed = self.executor.encoder.planner.tile(info, (id, tile), bytes, known)?;
        self.executor.push(changed, len, writer)?;
        self.taken += len;
        if self.taken / BATCH_LEN != batch {
            self.executor.flush(writer)?;
            self.executor.encoder.tables_are_stored();
        }
        Ok(())
    }

    /// Writes the waiting tiles. Returns the numbers of new and of unchanged tiles.
    pub(crate) fn finish<W: Write>(self, writer: &mut GenerationWriter<'_, W>) -> Result<(u64, u64)> {
        let Changes { short, counts, .. } = self.executor.finish(writer)?;
        // Several short differences share a container, since the header of a separate block is as long as a difference.
        let is_shared = short.len() > 1;
        for ShortDifference { array, tile, decoded_len, decoded_crc, payload } in short {
            let chain = writer.chain_number(payload.chain)?;
            let form = if is_shared {
                Form::Member { chain, bytes: payload.bytes, container_chain: None }
            } else {
                Form::Block { chain, payload: payload.bytes }
            };
            writer.put(EncodedTile { array, tile, decoded_len, decoded_crc, form })?;
        }
        Ok(counts)
    }
}

impl<'a> Encode for Changes<'a> {
    type Item = ChangedTile<'a>;
    type Encoded = (ChangedTile<'a>, Decision);

    fn encode(
        &mut self,
        mut batch: Vec<ChangedTile<'a>>,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Self::Encoded>> {
        let seen = for_all(&mut batch, monitor, |it| self.planner.first_look(it))?;
        let seen: Vec<Self::Encoded> = batch.into_iter().zip(seen).collect();
        let asked = seen.iter().filter(|(_, decision)| matches!(decision, Decision::Planned));
        let unplanned: BTreeSet<ArrayId> =
            asked.map(|(it, _)| it.info.id).filter(|id| !self.plans.contains_key(id)).collect();
        let unplanned: Vec<ArrayId> = unplanned.into_iter().collect();
        let made = for_all(&unplanned, monitor, |&id| self.planner.plan(id))?;
        self.plans.extend(unplanned.into_iter().zip(made));
        for_all(seen, monitor, |(it, decision)| {
            let decision = match decision {
                Decision::Planned => {
                    let is_new = |table: &[u8]| self.is_new(it.id, table);
                    self.planner.by_plan(&it, &self.plans[&it.info.id], &is_new)?
                }
                decided => decided,
            };
            Ok((it, decision))
        })
    }

    fn write<W: Write>(
        &mut self,
        (it, decision): Self::Encoded,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        let ChangedTile { info, id, tile, bytes, .. } = it;
        if matches!(decision, Decision::Kept) {
            self.counts.1 += 1;
            return Ok(());
        }
        self.counts.0 += 1;
        let decoded_len = u32::try_from(bytes.len()).expect("a tile is at most 1 GiB");
        let decoded_crc = crc32fast::hash(&bytes);
        let form = match decision {
            Decision::Constant(value) => {
                let size = u8::try_from(info.ty.size()).expect("at most 8");
                Form::Constant { value, size }
            }
            Decision::Made(payload) => {
                if payload.is_difference() && payload.bytes.len() <= SHORT_DIFFERENCE {
                    self.short.push(ShortDifference { array: id, tile, decoded_len, decoded_crc, payload });
                    return Ok(());
                }
                let Payload { mut chain, bytes: payload, table } = payload;
                if let Some(table) = table {
                    chain = ChainSpec(vec![StageSpec::num(Some(self.put_table(id, table, writer)?))]);
                }
                Form::Block { chain: writer.chain_number(chain)?, payload }
            }
            Decision::Block => {
                Form::Block { chain: writer.chain_number(ChainSpec(Vec::new()))?, payload: bytes }
            }
            _ if u64::from(decoded_len) <= PACK_LEN => {
                Form::Member { chain: 0, bytes, container_chain: None }
            }
            _ => Form::Block { chain: 0, payload: bytes },
        };
        writer.put(EncodedTile { array: id, tile, decoded_len, decoded_crc, form })
    }
}

impl Changes<'_> {
    /// True if a table of values of an array does not count as stored.
    fn is_new(&self, id: ArrayId, table: &[u8]) -> bool {
        let stored = self.stored_tables.get(&id).copied().unwrap_or(0);
        let stored = self.tables.get(&id).map_or(&[][..], |tables| &tables[..stored]);
        stored.iter().all(|(_, stored)| stored != table)
    }

    /// Counts all tables of values so far as stored.
    fn tables_are_stored(&mut self) {
        self.stored_tables = self.tables.iter().map(|(&id, tables)| (id, tables.len())).collect();
    }

    /// Returns the number of an array's table of values, and adds the table if it is new.
    fn put_table<W: Write>(
        &mut self,
        id: ArrayId,
        table: Vec<u8>,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<u64> {
        let Role::Variable(number) = id.role() else { unreachable!("only variables have tables of values") };
        let known = self.tables.entry(id).or_default();
        if let Some((n, _)) = known.iter().find(|(_, known)| *known == table) {
            return Ok(*n);
        }
        let before =
            self.old.variable_table().find(ArrayId::definitions(number)).map_or(0, |(row, _)| row.tile_count);
        let n = before + known.len() as u64;
        writer.put_definition(number, n, &table)?;
        known.push((n, table));
        Ok(n)
    }
}
