//! Encodes changed tiles. Tiles are compared and encoded in parallel, in batches that bound the memory, and
//! written in order.
//!
//! [`Chooser`] decides how each tile is stored: by its array's plan, as the difference to the tile that it
//! replaces, or as the difference to an equal tile of another array.

use super::dropped::Dropped;
use super::equal::EqualTiles;
use crate::encode::{EncodedTile, Form, constant_value};
use crate::error::{ErrorKind, Result};
use crate::generation::GenerationWriter;
use crate::options::{PACK_LEN, WriterOptions};
use crate::plan::{ArrayPlan, Base, Changed, Chooser, Payload, Probe, Sketch, plan_one};
use crate::scratch::with_scratch;
use crate::tiles::RawTile;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, StageSpec};
use nc3z_reader::{Archive, ClassicFile, Monitor};
use rayon::prelude::*;
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
/// Tiles of at most this many bytes are shorter than a reference to an older tile.
const TINY: usize = 48;

/// The relation of a tile to the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The archive does not have it.
    Changed,
    /// It must be compared with the archive's tile.
    Unknown,
}

/// Encodes changed tiles.
pub(super) struct TileEncoder<'a> {
    old: &'a Archive,
    classic: &'a ClassicFile,
    arrays: &'a Arrays,
    options: &'a WriterOptions,
    monitor: &'a dyn Monitor,
    chooser: Chooser<'a>,
    /// The plan of each array that has needed one.
    plans: HashMap<ArrayId, ArrayPlan>,
    /// Tables of values that were added, with their numbers, by array; and how many of them count as stored.
    tables: HashMap<ArrayId, Vec<(u64, Vec<u8>)>>,
    stored_tables: HashMap<ArrayId, usize>,
    /// Short differences that are not written yet.
    short: Vec<ShortDifference>,
    /// The archive's tiles by their checksums.
    equal: EqualTiles<'a>,
    /// Tiles that are not encoded yet, and their bytes.
    waiting: Vec<Waiting<'a>>,
    waiting_len: u64,
    /// Bytes of all tiles so far.
    taken: u64,
    /// The numbers of new tiles and of unchanged tiles.
    counts: (u64, u64),
}

/// A tile that waits for its batch.
struct Waiting<'a> {
    info: &'a ArrayInfo,
    /// Its array's id in the archive.
    id: ArrayId,
    tile: u64,
    bytes: Vec<u8>,
    known: Known,
    /// The older tile, if it was already looked up.
    base: Option<Base>,
    /// A sample of the difference to it, if one was taken.
    sketch: Option<Sketch>,
}

/// The result of a first look at a tile.
enum Seen {
    /// It is unchanged.
    Kept,
    Constant([u8; 8]),
    /// It is short, and no encoding makes it shorter.
    AsItIs,
    /// This payload is stored.
    Made(Payload),
    /// Its array's plan decides.
    Planned,
}

/// A tile whose difference to an older one takes few bytes.
struct ShortDifference {
    array: ArrayId,
    tile: u64,
    decoded_len: u32,
    decoded_crc: u32,
    payload: Payload,
}

impl<'a> TileEncoder<'a> {
    pub(super) fn new(
        old: &'a Archive,
        dropped: &'a [Dropped],
        classic: &'a ClassicFile,
        arrays: &'a Arrays,
        options: &'a WriterOptions,
        monitor: &'a dyn Monitor,
    ) -> Self {
        TileEncoder {
            old,
            classic,
            arrays,
            options,
            monitor,
            chooser: Chooser::new(classic, arrays, options),
            plans: HashMap::new(),
            tables: HashMap::new(),
            stored_tables: HashMap::new(),
            short: Vec::new(),
            equal: EqualTiles::new(old, dropped),
            waiting: Vec::new(),
            waiting_len: 0,
            taken: 0,
            counts: (0, 0),
        }
    }

    /// Returns the name of an array's variable; empty for arrays of no variable.
    fn name_of(&self, info: &ArrayInfo) -> &'a [u8] {
        match info.id.role() {
            Role::Variable(place) => &self.classic.header().variables[place as usize].name,
            _ => &[],
        }
    }

    /// Takes a tile, whose array has the number `id` in the archive. The tile is written with its batch;
    /// short differences wait for [`Self::finish`].
    pub(super) fn put<W: Write>(
        &mut self,
        raw: RawTile,
        id: ArrayId,
        known: Known,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        let info = self.arrays.get(raw.array).expect("tiles come of known arrays");
        let RawTile { tile, bytes, .. } = raw;
        let mut base = None;
        if bytes.len() > TINY
            && !has_tile(self.old, id, tile)
            && constant_value(&bytes, info.ty.size()).is_none()
        {
            let found = self.equal.find(self.name_of(info), info, tile, &bytes)?;
            base = found.map(Base::new);
        }
        let (len, batch) = (bytes.len() as u64, self.taken / BATCH_LEN);
        self.waiting.push(Waiting { info, id, tile, bytes, known, base, sketch: None });
        self.waiting_len += len;
        self.taken += len;
        let is_over = self.taken / BATCH_LEN != batch;
        if is_over || self.waiting_len >= self.options.memory / COPIES / 2 {
            self.flush(writer)?;
        }
        if is_over {
            self.stored_tables = self.tables.iter().map(|(&id, tables)| (id, tables.len())).collect();
        }
        Ok(())
    }

    /// Encodes and writes the waiting tiles.
    fn flush<W: Write>(&mut self, writer: &mut GenerationWriter<'_, W>) -> Result<()> {
        self.waiting_len = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        let seen: Vec<Result<Seen>> = waiting.par_iter_mut().map(|it| self.probe(it)).collect();
        let mut seen = seen.into_iter().collect::<Result<Vec<Seen>>>()?;
        let asked = waiting.iter().zip(&seen).filter(|(_, seen)| matches!(seen, Seen::Planned));
        self.plan(asked.map(|(it, _)| it.info.id).collect())?;
        let by_plan = |(it, seen): (&Waiting<'_>, &mut Seen)| -> Result<()> {
            if matches!(seen, Seen::Planned) {
                let made = self.by_plan(it)?;
                *seen = made.map_or(Seen::AsItIs, Seen::Made);
            }
            Ok(())
        };
        waiting
            .par_iter()
            .zip(&mut seen)
            .map(by_plan)
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Result<()>>()?;
        waiting.into_iter().zip(seen).try_for_each(|(it, seen)| self.write(it, seen, writer))
    }

    /// Handles tiles that need no plan.
    fn probe(&self, it: &mut Waiting<'a>) -> Result<Seen> {
        if self.monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = it.bytes.len();
        let was = self.old.arrays().get(it.id).filter(|info| it.tile < info.tiling.tile_count());
        // Padded chunks may have any value outside the array. If these values differ, the tile is stored
        // again.
        if it.known == Known::Unknown
            && let Some(was) = was
            && was.tile_len(it.tile)? == len
            && self.old.cached_tile(it.id, it.tile)? == it.bytes
        {
            return Ok(Seen::Kept);
        }
        if let Some(value) = constant_value(&it.bytes, it.info.ty.size()) {
            return Ok(Seen::Constant(value));
        }
        if len <= TINY {
            return Ok(Seen::AsItIs);
        }
        if was.is_some() {
            it.base = self.old.base_tile(it.id, it.tile)?.map(Base::new);
        }
        if len as u64 <= PACK_LEN {
            let found = with_scratch(|scratch| self.chooser.short(&it.changed(), scratch))?;
            return Ok(match found {
                Some(found) if !self.is_outgrown(it, &found)? => Seen::Made(found),
                _ => Seen::AsItIs,
            });
        }
        Ok(match with_scratch(|scratch| self.chooser.sparse(&it.changed(), scratch))? {
            Probe::Stored(payload) if self.is_outgrown(it, &payload)? => {
                it.base = None;
                Seen::Planned
            }
            Probe::Stored(payload) => Seen::Made(payload),
            Probe::Undecided(sketch) => {
                it.sketch = sketch;
                Seen::Planned
            }
        })
    }

    /// True if a tile's difference to an older one is so long that the tile is better stored independently.
    fn is_outgrown(&self, it: &Waiting<'_>, payload: &Payload) -> Result<bool> {
        let Some(base) = it.base.as_ref().filter(|_| payload.is_difference()) else { return Ok(false) };
        if !has_tile(self.old, it.id, it.tile) {
            return Ok(false);
        }
        base.is_outgrown(payload.bytes.len(), &it.bytes, || Ok(self.old.cached_tile(it.id, it.tile)?))
    }

    /// Plans the arrays that have no plan yet.
    fn plan(&mut self, arrays: BTreeSet<ArrayId>) -> Result<()> {
        let missing: Vec<ArrayId> = arrays.into_iter().filter(|id| !self.plans.contains_key(id)).collect();
        let plan = |id: ArrayId| -> Result<(ArrayId, ArrayPlan)> {
            let plan = match (id.role(), self.arrays.get(id)) {
                (Role::Variable(_), Some(info)) => {
                    with_scratch(|scratch| plan_one(self.classic, self.arrays, info, self.options, scratch))?
                }
                _ => ArrayPlan::default(),
            };
            Ok((id, plan))
        };
        let made: Vec<Result<_>> = missing.into_par_iter().map(plan).collect();
        for made in made {
            let (id, plan) = made?;
            self.plans.insert(id, plan);
        }
        Ok(())
    }

    /// Returns the smallest encoding of a tile; `None` if all are larger than the tile.
    fn by_plan(&self, it: &Waiting<'_>) -> Result<Option<Payload>> {
        if self.monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let stored = self.stored_tables.get(&it.id).copied().unwrap_or(0);
        let stored = self.tables.get(&it.id).map_or(&[][..], |tables| &tables[..stored]);
        let is_new = |table: &[u8]| stored.iter().all(|(_, stored)| stored != table);
        let plan = &self.plans[&it.info.id];
        let smallest = |it: &Changed<'_>, sketch| {
            with_scratch(|scratch| self.chooser.smallest(it, sketch, plan, &is_new, scratch))
        };
        match smallest(&it.changed(), it.sketch.as_ref())? {
            Some(found) if self.is_outgrown(it, &found)? => {
                smallest(&Changed { base: None, ..it.changed() }, None)
            }
            found => Ok(found),
        }
    }

    /// Writes a tile; short differences wait for [`Self::finish`].
    fn write<W: Write>(
        &mut self,
        it: Waiting<'_>,
        seen: Seen,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        let Waiting { info, id, tile, bytes, .. } = it;
        if matches!(seen, Seen::Kept) {
            self.counts.1 += 1;
            return Ok(());
        }
        self.counts.0 += 1;
        let decoded_len = u32::try_from(bytes.len()).expect("a tile is at most 1 GiB");
        let decoded_crc = crc32fast::hash(&bytes);
        let form = match seen {
            Seen::Constant(value) => {
                let size = u8::try_from(info.ty.size()).expect("at most 8");
                Form::Constant { value, size }
            }
            Seen::Made(payload) => {
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
            _ if u64::from(decoded_len) <= PACK_LEN => {
                Form::Member { chain: 0, bytes, container_chain: None }
            }
            _ => Form::Block { chain: 0, payload: bytes },
        };
        writer.put(EncodedTile { array: id, tile, decoded_len, decoded_crc, form })
    }

    /// Writes the waiting tiles. Returns the numbers of new and of unchanged tiles. Several short tiles share
    /// a container, because the header of a separate block would be as long as the tile.
    pub(super) fn finish<W: Write>(mut self, writer: &mut GenerationWriter<'_, W>) -> Result<(u64, u64)> {
        self.flush(writer)?;
        let is_shared = self.short.len() > 1;
        for ShortDifference { array, tile, decoded_len, decoded_crc, payload } in self.short {
            let chain = writer.chain_number(payload.chain)?;
            let form = if is_shared {
                Form::Member { chain, bytes: payload.bytes, container_chain: None }
            } else {
                Form::Block { chain, payload: payload.bytes }
            };
            writer.put(EncodedTile { array, tile, decoded_len, decoded_crc, form })?;
        }
        Ok(self.counts)
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

impl Waiting<'_> {
    fn changed(&self) -> Changed<'_> {
        Changed { info: self.info, tile: self.tile, bytes: &self.bytes, base: self.base.as_ref() }
    }
}

/// True if the archive has this tile number.
fn has_tile(archive: &Archive, id: ArrayId, tile: u64) -> bool {
    archive.arrays().get(id).is_some_and(|info| tile < info.tiling.tile_count())
}
