//! A tile that is not as it was: stored by its array's plan, or as the difference to the tile that it replaces, whichever is smaller.

use crate::encode::{EncodedTile, Form, constant_value};
use crate::error::Result;
use crate::generation::GenerationWriter;
use crate::options::{PACK_LEN, WriterOptions};
use crate::plan::{ArrayPlan, TileChain, plan_difference, plan_one};
use crate::tiles::RawTile;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry, Role};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::codec::{
    ChainSpec, Registry, Scratch, StageSpec, TileShape, encode_dictionary, encode_tile,
};
use nc3z_reader::{Archive, ClassicFile};
use std::collections::HashMap;
use std::io::Write;

/// Levels of zstd: of the first try, and of what is kept.
const QUICK: i32 = 3;
const LEVEL: i32 = 19;
/// A difference that takes at most one byte in so many of the tile's is taken at once.
const SPARSE: usize = 64;

/// Encodes changed tiles.
pub(super) struct TileEncoder<'a> {
    old: &'a Archive,
    classic: &'a ClassicFile,
    arrays: &'a Arrays,
    options: &'a WriterOptions,
    /// What each array is encoded by, once one of its tiles asks for it.
    plans: HashMap<ArrayId, Vec<TileChain>>,
    /// Tables of values that were put, with their numbers, by array.
    tables: HashMap<ArrayId, Vec<(u64, Vec<u8>)>>,
    scratch: Scratch,
}

/// A payload, and the chain that made it.
struct Payload {
    chain: ChainSpec,
    bytes: Vec<u8>,
    /// The stored table of values that the chain needs, whose number it does not know yet.
    table: Option<Vec<u8>>,
}

impl<'a> TileEncoder<'a> {
    pub(super) fn new(
        old: &'a Archive,
        classic: &'a ClassicFile,
        arrays: &'a Arrays,
        options: &'a WriterOptions,
    ) -> Self {
        let (plans, tables) = (HashMap::new(), HashMap::new());
        TileEncoder { old, classic, arrays, options, plans, tables, scratch: Scratch::default() }
    }

    /// Writes a tile as one of the array `id` of the archive.
    pub(super) fn put<W: Write>(
        &mut self,
        raw: RawTile,
        id: ArrayId,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        let arrays = self.arrays;
        let info = arrays.get(raw.array).expect("tiles come of known arrays");
        let RawTile { tile, bytes, .. } = raw;
        let size = info.ty.size();
        let decoded_len = u32::try_from(bytes.len()).expect("a tile is at most 1 GiB");
        let decoded_crc = crc32fast::hash(&bytes);
        let form = if let Some(value) = constant_value(&bytes, size) {
            Form::Constant { value, size: u8::try_from(size).expect("at most 8") }
        } else if u64::from(decoded_len) <= PACK_LEN {
            Form::Member { chain: 0, bytes, container_chain: None }
        } else {
            let base = match self.old.arrays().get(id).filter(|info| tile < info.tiling.tile_count()) {
                Some(_) => self.old.base_tile(id, tile)?,
                None => None,
            };
            let payload = self.smallest(info, (id, tile), &bytes, base.as_ref())?;
            match payload {
                Some(Payload { mut chain, bytes, table }) => {
                    if let Some(table) = table {
                        chain = ChainSpec(vec![StageSpec::num(Some(self.put_table(id, table, writer)?))]);
                    }
                    Form::Block { chain: writer.chain_number(chain)?, payload: bytes }
                }
                None => Form::Block { chain: 0, payload: bytes },
            }
        };
        writer.put(EncodedTile { array: id, tile, decoded_len, decoded_crc, form })
    }

    /// The smallest of the ways to store a tile; none where all are larger than the tile.
    fn smallest(
        &mut self,
        info: &ArrayInfo,
        (id, tile): (ArrayId, u64),
        bytes: &[u8],
        base: Option<&(IndexEntry, Vec<u8>)>,
    ) -> Result<Option<Payload>> {
        let mut best: Option<Payload> = None;
        if let Some((entry, base)) = base {
            let quick = self.difference(info, bytes, (entry, base), QUICK)?;
            if quick.bytes.len() <= bytes.len() / SPARSE {
                let small = self.difference(info, bytes, (entry, base), LEVEL)?;
                return Ok(Some(if small.bytes.len() < quick.bytes.len() { small } else { quick }));
            }
            best = Some(quick);
        }
        let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(tile)? };
        for way in self.ways(info)? {
            let mut made = Vec::new();
            encode_tile(way.coder(), bytes, &shape, &mut self.scratch, &mut made)?;
            let dictionary = way.num.as_ref().and_then(|num| num.dictionary());
            let table = dictionary.map(|table| encode_dictionary(table, info.ty)).transpose()?;
            // A table costs its block once.
            let is_new = |table: &Vec<u8>| {
                !self.tables.get(&id).is_some_and(|known| known.iter().any(|(_, known)| known == table))
            };
            let more = table
                .as_ref()
                .filter(|table| is_new(table))
                .map_or(0, |table| table.len() + BLOCK_HEADER_LEN);
            if best.as_ref().is_none_or(|best| made.len() + more < best.bytes.len()) {
                best = Some(Payload { chain: way.chain.spec().clone(), bytes: made, table });
            }
        }
        // Values that recur without order are found again by zstd alone.
        let quick = self.plain(bytes, QUICK)?;
        if best.as_ref().is_none_or(|best| quick.bytes.len() <= best.bytes.len() + best.bytes.len() / 4) {
            let small = self.plain(bytes, LEVEL)?;
            if best.as_ref().is_none_or(|best| small.bytes.len() < best.bytes.len()) {
                best = Some(small);
            }
        }
        if let Some((entry, base)) = base
            && let Some(found) = self.numeric_difference(info, &shape, bytes, (entry, base))?
            && best.as_ref().is_none_or(|best| found.bytes.len() < best.bytes.len())
        {
            best = Some(found);
        }
        // What the quick try leaves in reach of the best may win at the higher level, which takes a second a MiB of noise.
        if let (Some((entry, base)), Some(found)) = (base, &best) {
            let quick = self.difference(info, bytes, (entry, base), QUICK)?;
            if quick.bytes.len() <= found.bytes.len() + found.bytes.len() / 4 {
                let small = self.difference(info, bytes, (entry, base), LEVEL)?;
                if small.bytes.len() < found.bytes.len() {
                    best = Some(small);
                }
            }
        }
        Ok(best.filter(|best| best.bytes.len() < bytes.len()))
    }

    /// The tile by zstd.
    fn plain(&mut self, bytes: &[u8], level: i32) -> Result<Payload> {
        let mut made = Vec::new();
        let by = Registry::default().bind(ChainSpec(vec![StageSpec::zstd(level)]));
        by.encode_bytes(bytes, &mut self.scratch, &mut made)?;
        Ok(Payload { chain: ChainSpec(vec![StageSpec::zstd(LEVEL)]), bytes: made, table: None })
    }

    /// The tile as its difference to an older one, by zstd.
    fn difference(
        &mut self,
        info: &ArrayInfo,
        bytes: &[u8],
        (entry, base): (&IndexEntry, &[u8]),
        level: i32,
    ) -> Result<Payload> {
        let difference = difference(bytes, base);
        let mut best: Option<Payload> = None;
        let (size, zstd) = (info.ty.size(), |level| StageSpec::zstd(level));
        for shuffled in [false, true].into_iter().take(if size > 1 { 2 } else { 1 }) {
            let stages = |level| {
                let shuffle = shuffled.then(|| StageSpec::shuffle(size));
                shuffle.into_iter().chain([zstd(level)]).collect::<Vec<_>>()
            };
            let mut made = entry.encode().to_vec();
            let by = Registry::default().bind(ChainSpec(stages(level)));
            by.encode_bytes(&difference, &mut self.scratch, &mut made)?;
            if best.as_ref().is_none_or(|best| made.len() < best.bytes.len()) {
                // Decoders do not look at the level: the chain's number is the same for all.
                let chain = ChainSpec([vec![StageSpec::base()], stages(LEVEL)].concat());
                best = Some(Payload { chain, bytes: made, table: None });
            }
        }
        Ok(best.expect("there is one way at least"))
    }

    /// The same by the numeric codec: of a tile that grew, the difference is the new elements behind zeros.
    fn numeric_difference(
        &mut self,
        info: &ArrayInfo,
        shape: &TileShape,
        bytes: &[u8],
        (entry, base): (&IndexEntry, &[u8]),
    ) -> Result<Option<Payload>> {
        if !matches!(info.id.role(), Role::Variable(_)) || info.ty == NcType::Char {
            return Ok(None);
        }
        let difference = difference(bytes, base);
        let ways =
            plan_difference(self.classic, self.arrays, info, &difference, self.options, &mut self.scratch)?;
        let chain = || ChainSpec(vec![StageSpec::base(), StageSpec::num(None)]);
        let mut best: Option<Payload> = None;
        for way in ways.iter().filter(|way| is_plain_number(way)) {
            let mut made = entry.encode().to_vec();
            encode_tile(way.coder(), &difference, shape, &mut self.scratch, &mut made)?;
            if best.as_ref().is_none_or(|best| made.len() < best.bytes.len()) {
                best = Some(Payload { chain: chain(), bytes: made, table: None });
            }
        }
        Ok(best)
    }

    /// The number of a table of values of an array, which is put now if it was not before.
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

    /// What the tiles of an array are tried with.
    fn ways(&mut self, info: &ArrayInfo) -> Result<Vec<TileChain>> {
        if let Some(ways) = self.plans.get(&info.id) {
            return Ok(ways.clone());
        }
        let plan = match info.id.role() {
            Role::Variable(_) => plan_one(self.classic, self.arrays, info, self.options, &mut self.scratch)?,
            _ => ArrayPlan::default(),
        };
        let others = plan.fallback.into_iter().flat_map(|fallback| fallback.ways);
        let mut ways: Vec<TileChain> = plan.tiles.into_iter().take(2).chain(others).collect();
        if ways.is_empty() {
            let (size, zstd) = (info.ty.size(), StageSpec::zstd(LEVEL));
            let stages = if size > 1 { vec![StageSpec::shuffle(size), zstd] } else { vec![zstd] };
            ways.push(TileChain::bytes(self.options.registry.bind(ChainSpec(stages))));
        }
        self.plans.insert(info.id, ways.clone());
        Ok(ways)
    }
}

/// The bytes of a tile XOR those of an older one, as far as that goes.
fn difference(bytes: &[u8], base: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.iter_mut().zip(base).for_each(|(byte, base)| *byte ^= base);
    out
}

/// Whether a way is the numeric codec without anything that it needs besides.
fn is_plain_number(way: &TileChain) -> bool {
    way.against.is_none() && way.num.as_ref().is_some_and(|num| num.dictionary().is_none())
}
