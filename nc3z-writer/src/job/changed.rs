//! A tile that is not as it was: stored by its array's plan, or as the difference to the tile that it replaces, or to an equal one of another array, whichever is smaller.

use super::dropped::Dropped;
use super::equal::EqualTiles;
use crate::encode::{EncodedTile, Form, constant_value};
use crate::error::Result;
use crate::generation::GenerationWriter;
use crate::options::{PACK_LEN, WriterOptions};
use crate::plan::{ArrayPlan, TileChain, plan_difference, plan_one};
use crate::tiles::RawTile;
use bytes::Bytes;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry, Role};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::codec::{
    ChainSpec, NamedTile, OlderTile, Registry, Scratch, StageSpec, TileShape, encode_dictionary, encode_tile,
};
use nc3z_reader::{Archive, BaseTile, ClassicFile};
use std::collections::HashMap;
use std::io::Write;

/// Levels of zstd: of the first try, and of what is kept.
const QUICK: i32 = 3;
const LEVEL: i32 = 19;
/// A difference that takes at most one byte in so many of the tile's is taken at once.
const SPARSE: usize = 64;
/// One of at most so many bytes is kept as the first try made it: the block around it takes more than a higher level could save, whose
/// tables for a tile of 1 MiB take longer to clear than all else that a commit of one element does.
const FIRST_TRY: usize = 128;

/// A difference takes at most three quarters of what the tile takes alone.
const CLEARLY: usize = 3;
const CLEARLY_OF: usize = 4;
/// Differences of at most so many bytes share a container, where there are several.
const SHORT_DIFFERENCE: usize = 1 << 10;
/// Tiles of at most so many bytes take less than what names an older tile.
const TINY: usize = 48;

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
    /// Short differences that are not put yet.
    short: Vec<ShortDifference>,
    /// The archive's tiles by their checksums.
    equal: EqualTiles<'a>,
    scratch: Scratch,
}

/// A tile whose difference to an older one takes few bytes.
struct ShortDifference {
    array: ArrayId,
    tile: u64,
    decoded_len: u32,
    decoded_crc: u32,
    /// How it is stored in a block of its own, and as a member of a container.
    block: Payload,
    member: Payload,
}

/// A payload, and the chain that made it.
struct Payload {
    chain: ChainSpec,
    bytes: Vec<u8>,
    /// The stored table of values that the chain needs, whose number it does not know yet.
    table: Option<Vec<u8>>,
}

impl Payload {
    /// This one, or the other if that is smaller.
    fn or_smaller(self, other: Payload) -> Payload {
        if other.bytes.len() < self.bytes.len() { other } else { self }
    }
}

impl<'a> TileEncoder<'a> {
    pub(super) fn new(
        old: &'a Archive,
        dropped: &'a [Dropped],
        classic: &'a ClassicFile,
        arrays: &'a Arrays,
        options: &'a WriterOptions,
    ) -> Self {
        TileEncoder {
            old,
            classic,
            arrays,
            options,
            plans: HashMap::new(),
            tables: HashMap::new(),
            short: Vec::new(),
            equal: EqualTiles::new(old, dropped),
            scratch: Scratch::default(),
        }
    }

    /// The name of an array's variable; empty of what belongs to none.
    fn name_of(&self, info: &ArrayInfo) -> &'a [u8] {
        match info.id.role() {
            Role::Variable(place) => &self.classic.header().variables[place as usize].name,
            _ => &[],
        }
    }

    /// Writes a tile as one of the array `id` of the archive; some wait for [`Self::finish`].
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
        let encoded = |form| EncodedTile { array: id, tile, decoded_len, decoded_crc, form };
        if let Some(value) = constant_value(&bytes, size) {
            let size = u8::try_from(size).expect("at most 8");
            return writer.put(encoded(Form::Constant { value, size }));
        }
        let is_short = u64::from(decoded_len) <= PACK_LEN;
        let as_it_is = |bytes| Form::Member { chain: 0, bytes, container_chain: None };
        if bytes.len() <= TINY {
            return writer.put(encoded(as_it_is(bytes)));
        }
        let base = match self.old.arrays().get(id).filter(|info| tile < info.tiling.tile_count()) {
            Some(_) => self.old.base_tile(id, tile)?,
            None => self.equal.find(self.name_of(info), info, tile, &bytes)?,
        };
        let base = base.map(|base| Base::new(base, (id, tile)));
        let payload = if is_short {
            self.smaller_than_packed(info, &bytes, base.as_ref())?
        } else {
            self.smallest(info, (id, tile), &bytes, base.as_ref())?
        };
        let Some(payload) = payload else {
            let form = if is_short { as_it_is(bytes) } else { Form::Block { chain: 0, payload: bytes } };
            return writer.put(encoded(form));
        };
        if let Some(base) = &base
            && is_difference(&payload.chain)
            && payload.bytes.len() <= SHORT_DIFFERENCE
        {
            let member = base.as_member(&payload);
            let block = payload;
            self.short.push(ShortDifference { array: id, tile, decoded_len, decoded_crc, block, member });
            return Ok(());
        }
        let Payload { mut chain, bytes: payload, table } = payload;
        if let Some(table) = table {
            chain = ChainSpec(vec![StageSpec::num(Some(self.put_table(id, table, writer)?))]);
        }
        let chain = writer.chain_number(chain)?;
        writer.put(encoded(Form::Block { chain, payload }))
    }

    /// Writes the tiles that waited: several short ones share a container, since a block's header would be as long as what is left of them.
    pub(super) fn finish<W: Write>(&mut self, writer: &mut GenerationWriter<'_, W>) -> Result<()> {
        let short = std::mem::take(&mut self.short);
        let is_shared = short.len() > 1;
        for ShortDifference { array, tile, decoded_len, decoded_crc, block, member } in short {
            let form = if is_shared {
                let chain = writer.chain_number(member.chain)?;
                Form::Member { chain, bytes: member.bytes, container_chain: None }
            } else {
                Form::Block { chain: writer.chain_number(block.chain)?, payload: block.bytes }
            };
            writer.put(EncodedTile { array, tile, decoded_len, decoded_crc, form })?;
        }
        Ok(())
    }

    /// The difference of a short tile to an older one, where it takes less than the tile would in a container.
    fn smaller_than_packed(
        &mut self,
        info: &ArrayInfo,
        bytes: &[u8],
        base: Option<&Base>,
    ) -> Result<Option<Payload>> {
        let Some(base) = base else { return Ok(None) };
        let quick = self.difference(info, bytes, base, QUICK)?;
        if quick.bytes.len() >= self.plain(bytes, QUICK)?.bytes.len().min(bytes.len()) {
            return Ok(None);
        }
        Ok(Some(self.finished(quick, info, bytes, base)?))
    }

    /// What is kept of a difference that the first try shows to be worth it.
    fn finished(&mut self, quick: Payload, info: &ArrayInfo, bytes: &[u8], base: &Base) -> Result<Payload> {
        if quick.bytes.len() <= FIRST_TRY {
            return Ok(quick);
        }
        Ok(self.difference(info, bytes, base, LEVEL)?.or_smaller(quick))
    }

    /// How to store a tile: as the difference to an older one where that is clearly smaller, else in the smallest of the other ways; none where all are larger than the tile.
    fn smallest(
        &mut self,
        info: &ArrayInfo,
        key: (ArrayId, u64),
        bytes: &[u8],
        base: Option<&Base>,
    ) -> Result<Option<Payload>> {
        let Some(base) = base else {
            let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(key.1)? };
            let alone = self.alone(info, key.0, bytes, &shape)?;
            return Ok(alone.filter(|alone| alone.bytes.len() < bytes.len()));
        };
        let quick = self.difference(info, bytes, base, QUICK)?;
        if quick.bytes.len() <= bytes.len() / SPARSE {
            return Ok(Some(self.finished(quick, info, bytes, base)?));
        }
        let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(key.1)? };
        let alone = self.alone(info, key.0, bytes, &shape)?;
        let most = alone.as_ref().map_or(bytes.len(), |alone| alone.bytes.len());
        let quick_len = quick.bytes.len();
        let mut difference = quick;
        if let Some(found) = self.numeric_difference(info, &shape, bytes, base)? {
            difference = difference.or_smaller(found);
        }
        // What the quick try leaves in reach of the best may win at the higher level, which takes a second a MiB of noise.
        let best = difference.bytes.len().min(most);
        if quick_len <= best + best / 4 {
            difference = difference.or_smaller(self.difference(info, bytes, base, LEVEL)?);
        }
        // Later tiles in this place can be coded against one that stands alone, and not against this difference.
        if difference.bytes.len() <= most / CLEARLY_OF * CLEARLY {
            return Ok(Some(difference));
        }
        Ok(alone.filter(|alone| alone.bytes.len() < bytes.len()))
    }

    /// The smallest of the ways to store a tile without another.
    fn alone(
        &mut self,
        info: &ArrayInfo,
        id: ArrayId,
        bytes: &[u8],
        shape: &TileShape,
    ) -> Result<Option<Payload>> {
        let mut best: Option<Payload> = None;
        for way in self.ways(info)? {
            let mut made = Vec::new();
            encode_tile(way.coder(), bytes, shape, &mut self.scratch, &mut made)?;
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
        Ok(best)
    }

    /// The tile by zstd.
    fn plain(&mut self, bytes: &[u8], level: i32) -> Result<Payload> {
        let mut made = Vec::new();
        let by = Registry::default().bind(ChainSpec(vec![StageSpec::zstd(level)]));
        by.encode_bytes(bytes, &mut self.scratch, &mut made)?;
        Ok(Payload { chain: ChainSpec(vec![StageSpec::zstd(LEVEL)]), bytes: made, table: None })
    }

    /// The tile as its difference to an older one, by zstd.
    fn difference(&mut self, info: &ArrayInfo, bytes: &[u8], base: &Base, level: i32) -> Result<Payload> {
        let difference = difference(bytes, &base.bytes);
        let mut best: Option<Payload> = None;
        let (size, zstd) = (info.ty.size(), |level| StageSpec::zstd(level));
        for shuffled in [false, true].into_iter().take(if size > 1 { 2 } else { 1 }) {
            let stages = |level| {
                let shuffle = shuffled.then(|| StageSpec::shuffle(size));
                shuffle.into_iter().chain([zstd(level)]).collect::<Vec<_>>()
            };
            let mut made = base.older.encode();
            let by = Registry::default().bind(ChainSpec(stages(level)));
            by.encode_bytes(&difference, &mut self.scratch, &mut made)?;
            if best.as_ref().is_none_or(|best| made.len() < best.bytes.len()) {
                // Decoders do not look at the level: the chain's number is the same for all.
                let chain = ChainSpec([vec![base.stage()], stages(LEVEL)].concat());
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
        base: &Base,
    ) -> Result<Option<Payload>> {
        if !matches!(info.id.role(), Role::Variable(_)) || info.ty == NcType::Char {
            return Ok(None);
        }
        let difference = difference(bytes, &base.bytes);
        let ways =
            plan_difference(self.classic, self.arrays, info, &difference, self.options, &mut self.scratch)?;
        let chain = || ChainSpec(vec![base.stage(), StageSpec::num(None)]);
        let mut best: Option<Payload> = None;
        for way in ways.iter().filter(|way| is_plain_number(way)) {
            let mut made = base.older.encode();
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

/// The older tile that a tile may be coded against.
struct Base {
    older: OlderTile,
    named: NamedTile,
    bytes: Bytes,
}

impl Base {
    /// `key` is the tile's own.
    fn new(base: BaseTile, key: (ArrayId, u64)) -> Self {
        let decoded_len = u32::try_from(base.bytes.len()).expect("a tile is at most 1 GiB");
        let named = NamedTile { array: base.array, tile: base.tile, decoded_len };
        let is_named = key != (base.array, base.tile) || !matches!(base.entry, IndexEntry::Stored { .. });
        let older = OlderTile { entry: base.entry, named: is_named.then_some(named) };
        Base { older, named, bytes: base.bytes }
    }

    fn stage(&self) -> StageSpec {
        if self.older.named.is_some() { StageSpec::base_of_any() } else { StageSpec::base() }
    }

    /// The payload of a block as a member of a container has it, which names its older tile.
    fn as_member(&self, block: &Payload) -> Payload {
        let named = OlderTile { named: Some(self.named), ..self.older };
        let rest = &block.bytes[self.older.encode().len()..];
        let chain = [&[StageSpec::base_of_any()], &block.chain.0[1..]].concat();
        Payload { chain: ChainSpec(chain), bytes: [&named.encode(), rest].concat(), table: None }
    }
}

/// Whether a chain codes the difference to an older tile.
fn is_difference(chain: &ChainSpec) -> bool {
    chain.0.first().is_some_and(|stage| stage.id() == StageSpec::base().id())
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
