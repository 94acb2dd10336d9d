//! A tile that is not as it was: stored by its array's plan, or as the difference to the tile that it replaces, whichever is smaller.

use crate::encode::{EncodedTile, Form, constant_value};
use crate::error::Result;
use crate::generation::GenerationWriter;
use crate::options::{PACK_LEN, WriterOptions};
use crate::plan::{ArrayPlan, TileChain, plan_one};
use crate::tiles::RawTile;
use nc3z_format::archive::{ArrayId, IndexEntry, Role};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::codec::{ChainSpec, Registry, Scratch, StageSpec, TileShape, encode_tile};
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
    scratch: Scratch,
}

/// A payload, and the chain that made it.
struct Payload {
    chain: ChainSpec,
    bytes: Vec<u8>,
}

impl<'a> TileEncoder<'a> {
    pub(super) fn new(
        old: &'a Archive,
        classic: &'a ClassicFile,
        arrays: &'a Arrays,
        options: &'a WriterOptions,
    ) -> Self {
        TileEncoder { old, classic, arrays, options, plans: HashMap::new(), scratch: Scratch::default() }
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
            let payload = self.smallest(info, tile, &bytes, base)?;
            match payload {
                Some(Payload { chain, bytes }) => {
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
        tile: u64,
        bytes: &[u8],
        base: Option<(IndexEntry, Vec<u8>)>,
    ) -> Result<Option<Payload>> {
        let mut best: Option<Payload> = None;
        if let Some((entry, base)) = &base {
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
            if best.as_ref().is_none_or(|best| made.len() < best.bytes.len()) {
                best = Some(Payload { chain: way.chain.spec().clone(), bytes: made });
            }
        }
        // What the quick try leaves in reach of the best may win at the higher level, which takes a second a MiB of noise.
        if let (Some((entry, base)), Some(found)) = (&base, &best) {
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

    /// The tile as its difference to an older one.
    fn difference(
        &mut self,
        info: &ArrayInfo,
        bytes: &[u8],
        base: (&IndexEntry, &[u8]),
        level: i32,
    ) -> Result<Payload> {
        let mut best: Option<Payload> = None;
        let (size, zstd) = (info.ty.size(), StageSpec::zstd(LEVEL));
        let mut stages = vec![vec![StageSpec::base(), zstd.clone()]];
        if size > 1 {
            stages.push(vec![StageSpec::base(), StageSpec::shuffle(size), zstd]);
        }
        for stages in stages {
            let chain = ChainSpec(stages);
            // Decoders do not look at the level: the chain's number is the same for both.
            let mut run = chain.clone();
            if let Some(last) = run.0.last_mut() {
                *last = StageSpec::zstd(level);
            }
            let mut made = Vec::new();
            let by = Registry::default().bind(run);
            by.encode_against_base(base, bytes, &mut self.scratch, &mut made)?;
            if best.as_ref().is_none_or(|best| made.len() < best.bytes.len()) {
                best = Some(Payload { chain, bytes: made });
            }
        }
        Ok(best.expect("there is one way at least"))
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
        let all = plan.tiles.into_iter().chain(plan.fallback.into_iter().flat_map(|fallback| fallback.ways));
        // A table of values would be a definition more for a tile or two.
        let mut ways: Vec<TileChain> =
            all.filter(|way| way.num.as_ref().is_none_or(|num| num.dictionary().is_none())).collect();
        ways.truncate(2);
        if ways.is_empty() {
            let (size, zstd) = (info.ty.size(), StageSpec::zstd(LEVEL));
            let stages = if size > 1 { vec![StageSpec::shuffle(size), zstd] } else { vec![zstd] };
            ways.push(TileChain::bytes(self.options.registry.bind(ChainSpec(stages))));
        }
        self.plans.insert(info.id, ways.clone());
        Ok(ways)
    }
}
