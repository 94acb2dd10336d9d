//! Decides whether a tile is stored independently or as its difference to an older tile.
//!
//! The difference is the XOR of both tiles: zeros where nothing changed. A sample of it is compressed first.
//! If the sample shows that the difference is not smaller, the tile takes only the time of a tile in a new
//! archive. Codecs and levels are those of the preset. A higher level is tried only if few bytes are left to
//! compress, or if the sample becomes smaller by it.

use super::super::policy::QUICK_LEVEL;
use super::super::{ArrayPlan, Stored, TileChain, plan_difference};
use crate::error::Result;
use crate::options::WriterOptions;
use bytes::Bytes;
use nc3z_format::NcType;
use nc3z_format::archive::{BLOCK_HEADER_LEN, IndexEntry, Role};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::codec::{
    ChainSpec, CodecScratch, OlderTile, StageSpec, TileShape, encode_dictionary, encode_tile,
};
use nc3z_reader::{BaseTile, ClassicFile};

/// Estimated bytes that an edit adds to a difference: for its position, and for each byte that it changes.
/// Measured on single elements of fields of `float`, which add 7 to 10 bytes each.
const ADDED_PER_EDIT: u128 = 4;
const ADDED_PER_BYTE: u128 = 2;
/// zstd's level for differences that are short once they are compressed.
const SHORT_LEVEL: i32 = 19;
/// Tiles of at most this many bytes are compressed at [`SHORT_LEVEL`] in any case.
const SHORT_TILE: usize = 16 << 10;
/// A difference is stored without a look at the array's plan if it takes at most 1/`SPARSE` of the tile's
/// bytes.
const SPARSE: usize = 64;
/// If at most 1/`FEW_CHANGES` of the bytes changed, the whole difference is compressed without a sample:
/// zeros take little time.
const FEW_CHANGES: usize = 16;
/// A difference of at most this many compressed bytes is stored at the quick level. A higher level could save
/// less than the block's header takes, and its tables for a tile of 1 MiB take longer to clear than all other
/// work of a commit of one element.
const FIRST_TRY: usize = 128;
/// A difference is stored only if it takes at most `CLEARLY`/`CLEARLY_OF` of the independent tile's bytes,
/// because later tiles can be coded against an independent tile.
const CLEARLY: usize = 3;
const CLEARLY_OF: usize = 4;
/// Higher levels are tried if the quick level's result takes at most this many quarters of the bytes of the best other
/// way. Higher levels do not gain more than this factor.
const LEVELS_GAIN_QUARTERS: usize = 5;
/// A higher level is used if it makes the sample smaller by more than about 1/`LEVEL_GAIN`.
const LEVEL_GAIN: usize = 32;
/// The bytes of a piece of a sample, a multiple of every element size, and the number of pieces in a sample.
const PIECE: usize = 8 << 10;
const PIECES: usize = 4;
/// Differences of at most this many bytes are used whole as the sample.
const WHOLE: usize = 2 * PIECES * PIECE;
/// The numeric codec is tried on a difference if at least 1/`ZEROS` of its elements are zero, as in a tile
/// that grew. If all values changed, it would need a choice of plans for each tile and would not be smaller.
const ZEROS: usize = 8;

/// A payload, and the chain that made it.
pub(crate) struct Payload {
    pub(crate) chain: ChainSpec,
    pub(crate) bytes: Vec<u8>,
    /// The stored table of values that the chain needs, whose number it does not know yet.
    pub(crate) table: Option<Vec<u8>>,
}

impl Payload {
    fn or_smaller(self, other: Payload) -> Payload {
        if other.bytes.len() < self.bytes.len() { other } else { self }
    }

    /// True for the difference to an older tile.
    pub(crate) fn is_difference(&self) -> bool {
        self.chain.0.first().is_some_and(|stage| stage.id() == StageSpec::base().id())
    }
}

/// The older tile that a tile may be coded against.
pub(super) struct Base {
    older: OlderTile,
    bytes: Bytes,
}

impl Base {
    pub(super) fn new(base: BaseTile) -> Self {
        let decoded_len = u32::try_from(base.bytes.len()).expect("a tile is at most 1 GiB");
        let older = OlderTile { entry: base.entry, array: base.array, tile: base.tile, decoded_len };
        Base { older, bytes: base.bytes }
    }

    /// Stored bytes of the older tile.
    fn stored_len(&self) -> u64 {
        match self.older.entry {
            IndexEntry::Stored { len, .. } | IndexEntry::Shared { len, .. } => len.into(),
            _ => 0,
        }
    }

    /// True if a difference of `len` bytes is so long that later versions become smaller when the tile is
    /// stored independently now.
    ///
    /// Edits of one tile add up in its difference to the older tile: if each adds `g` bytes, the n-th
    /// difference takes `n·g`. A tile that takes `b` bytes independently is best stored independently after
    /// `n = sqrt(2·b/g)` versions, when the difference takes `sqrt(2·b·g)` bytes. `g` is estimated from the
    /// bytes that changed since `before`, the newest version of the tile.
    pub(super) fn is_outgrown(
        &self,
        len: usize,
        tile: &[u8],
        before: impl FnOnce() -> Result<Bytes>,
    ) -> Result<bool> {
        let (square, twice) = ((len as u128).pow(2), 2 * u128::from(self.stored_len()));
        if square < twice * (ADDED_PER_EDIT + ADDED_PER_BYTE) {
            return Ok(false);
        }
        let before = before()?;
        if before.len() != tile.len() {
            return Ok(false);
        }
        let changed = before.iter().zip(tile).filter(|(was, is)| was != is).count();
        Ok(square >= twice * (ADDED_PER_EDIT + ADDED_PER_BYTE * changed as u128))
    }

    /// Returns the tile's bytes XOR the bytes of the older tile. Bytes beyond the older tile's end stay
    /// unchanged.
    fn difference(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        out.iter_mut().zip(&*self.bytes).for_each(|(byte, base)| *byte ^= base);
        out
    }
}

/// The result of a first look at a tile, before its array is planned.
pub(super) enum Probe {
    Stored(Payload),
    /// The array's plan decides. Contains the sample of the difference, if one was taken.
    Undecided(Option<Sketch>),
}

/// The compressed size of a sample of a difference.
pub(super) struct Sketch {
    sample: Vec<u8>,
    /// True if byte planes are smaller.
    shuffled: bool,
    /// Bytes of the sample at the quick level.
    len: usize,
}

impl Sketch {
    /// Estimates the size of a difference of `len` bytes.
    fn scaled(&self, len: usize) -> usize {
        let scaled = self.len as u128 * len as u128 / self.sample.len().max(1) as u128;
        usize::try_from(scaled).unwrap_or(usize::MAX)
    }
}

/// Chooses how changed tiles of one file are stored.
pub(super) struct Chooser<'a> {
    classic: &'a ClassicFile,
    arrays: &'a Arrays,
    options: &'a WriterOptions,
}

/// A tile, and the older tile that it may be coded against.
pub(super) struct Changed<'a> {
    pub(super) info: &'a ArrayInfo,
    pub(super) tile: u64,
    pub(super) bytes: &'a [u8],
    pub(super) base: Option<&'a Base>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(classic: &'a ClassicFile, arrays: &'a Arrays, options: &'a WriterOptions) -> Self {
        Chooser { classic, arrays, options }
    }

    /// Encodes a tile of a container as its difference, if that is smaller than the tile.
    pub(super) fn short(&self, it: &Changed<'_>, scratch: &mut CodecScratch) -> Result<Option<Payload>> {
        let Some(base) = it.base else { return Ok(None) };
        let it = Difference::new(it, base);
        let quick = self.quick(&it, scratch)?;
        let independent = self.zstd(it.tile, None, QUICK_LEVEL, scratch)?;
        if quick.payload.bytes.len() >= independent.len().min(it.tile.len()) {
            return Ok(None);
        }
        Ok(Some(self.finished(&it, quick, None, scratch)?))
    }

    /// Returns a difference of few bytes, which is stored without a look at the array's plan.
    pub(super) fn sparse(&self, it: &Changed<'_>, scratch: &mut CodecScratch) -> Result<Probe> {
        let Some(base) = it.base else { return Ok(Probe::Undecided(None)) };
        let it = Difference::new(it, base);
        let (len, mut sketch) = (it.bytes.len(), None);
        if it.changed > len / FEW_CHANGES {
            let made = self.sketch(&it, scratch)?;
            if made.scaled(len) > len / SPARSE * 2 {
                return Ok(Probe::Undecided(Some(made)));
            }
            sketch = Some(made);
        }
        let quick = self.quick(&it, scratch)?;
        if quick.payload.bytes.len() > len / SPARSE {
            return Ok(Probe::Undecided(sketch));
        }
        Ok(Probe::Stored(self.finished(&it, quick, sketch.as_ref(), scratch)?))
    }

    /// Returns the smallest encoding of a tile: by its array's plan, or as a difference if that is clearly
    /// smaller. Returns `None` if every encoding is larger than the tile. `is_new` returns true for a table
    /// of values that is not stored yet.
    pub(super) fn smallest(
        &self,
        it: &Changed<'_>,
        sketch: Option<&Sketch>,
        plan: &ArrayPlan,
        is_new: &dyn Fn(&[u8]) -> bool,
        scratch: &mut CodecScratch,
    ) -> Result<Option<Payload>> {
        let shape = TileShape { ty: it.info.ty, geometry: it.info.tiling.geometry(it.tile)? };
        let independent = self.independent(it, plan, &shape, is_new, scratch)?;
        let independent = independent.filter(|independent| independent.bytes.len() < it.bytes.len());
        let Some(base) = it.base else { return Ok(independent) };
        let most = independent.as_ref().map_or(it.bytes.len(), |independent| independent.bytes.len());
        let it = Difference::new(it, base);
        let mut best = None;
        if it.zero_elements() * ZEROS >= it.bytes.len() / it.ty.size() {
            best = self.numeric(&it, &shape, scratch)?;
        }
        let clearly = most / CLEARLY_OF * CLEARLY;
        let least = best.as_ref().map_or(clearly, |best: &Payload| best.bytes.len().min(clearly));
        let is_in_reach = |len: usize| len <= least / 4 * LEVELS_GAIN_QUARTERS;
        let made;
        let sketch = if let Some(sketch) = sketch {
            sketch
        } else {
            made = self.sketch(&it, scratch)?;
            &made
        };
        if is_in_reach(sketch.scaled(it.bytes.len())) {
            let quick = self.zstd_difference(&it, sketch.shuffled, QUICK_LEVEL, scratch)?;
            let found = if is_in_reach(quick.payload.bytes.len()) {
                self.finished(&it, quick, Some(sketch), scratch)?
            } else {
                quick.payload
            };
            best = Some(match best {
                Some(best) => best.or_smaller(found),
                None => found,
            });
        }
        Ok(match best {
            Some(best) if best.bytes.len() <= clearly => Some(best),
            _ => independent,
        })
    }

    /// Returns the smallest of the plan's encodings of an independent tile.
    fn independent(
        &self,
        it: &Changed<'_>,
        plan: &ArrayPlan,
        shape: &TileShape,
        is_new: &dyn Fn(&[u8]) -> bool,
        scratch: &mut CodecScratch,
    ) -> Result<Option<Payload>> {
        let mut best: Cheapest = None;
        // Returns true if the way needs a table that is not stored yet.
        let attempt = |way: &TileChain, best: &mut Cheapest, scratch: &mut CodecScratch| -> Result<bool> {
            let mut bytes = Vec::new();
            encode_tile(way.coder(), it.bytes, shape, scratch, &mut bytes)?;
            let dictionary = way.num.as_ref().and_then(|num| num.dictionary());
            let table = dictionary.map(|table| encode_dictionary(table, it.info.ty)).transpose()?;
            // A new table costs its block once.
            let new = table.as_ref().filter(|table| is_new(table));
            let (is_new, more) = (new.is_some(), new.map_or(0, |table| table.len() + BLOCK_HEADER_LEN));
            let cost = bytes.len() + more;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                *best = Some((cost, Payload { chain: way.chain.spec().clone(), bytes, table }));
            }
            Ok(is_new)
        };
        let mut needs_table = false;
        for way in plan.tiles.iter().filter(|way| way.against.is_none()) {
            needs_table |= attempt(way, &mut best, scratch)?;
        }
        if best.is_none() {
            let size = it.info.ty.size();
            let shuffle = (size > 1).then(|| StageSpec::shuffle(size));
            let stages = shuffle.into_iter().chain([self.options.policy().codec()]).collect();
            attempt(&TileChain::bytes(self.options.registry.bind(ChainSpec(stages))), &mut best, scratch)?;
        }
        if let Some(fallback) = &plan.fallback {
            let stored = Stored(best.as_ref().map_or(u64::MAX, |(_, best)| best.bytes.len() as u64));
            let ways = if needs_table {
                &fallback.ways
            } else if fallback.is_called_for(it.bytes.len() as u64, stored) {
                fallback.ways_for(it.bytes, stored, scratch)?
            } else {
                &[]
            };
            for way in ways {
                attempt(way, &mut best, scratch)?;
            }
        }
        Ok(best.map(|(_, best)| best))
    }

    /// Encodes a difference at a higher level than the quick one, if the gain is worth the time.
    fn finished(
        &self,
        it: &Difference<'_>,
        quick: Quick,
        sketch: Option<&Sketch>,
        scratch: &mut CodecScratch,
    ) -> Result<Payload> {
        let (len, quick_len) = (it.bytes.len(), quick.payload.bytes.len());
        if quick_len <= FIRST_TRY {
            return Ok(quick.payload);
        }
        let is_short = len <= SHORT_TILE || quick_len <= len / SPARSE;
        let level = if is_short { SHORT_LEVEL } else { self.options.policy().zstd_level };
        if level <= QUICK_LEVEL {
            return Ok(quick.payload);
        }
        if let Some(sketch) = sketch.filter(|_| !is_short) {
            let shuffle = sketch.shuffled.then(|| it.ty.size());
            let better = self.zstd(&sketch.sample, shuffle, level, scratch)?.len();
            if better + better / LEVEL_GAIN > sketch.len {
                return Ok(quick.payload);
            }
        }
        let better = self.zstd_difference(it, quick.shuffled, level, scratch)?;
        Ok(quick.payload.or_smaller(better.payload))
    }

    /// Compresses a sample of a difference.
    fn sketch(&self, it: &Difference<'_>, scratch: &mut CodecScratch) -> Result<Sketch> {
        let sample = if it.bytes.len() <= WHOLE {
            it.bytes.clone()
        } else {
            let step = it.bytes.len() / PIECE / PIECES * PIECE;
            (0..PIECES).flat_map(|n| &it.bytes[n * step..n * step + PIECE]).copied().collect()
        };
        let mut len = self.zstd(&sample, None, QUICK_LEVEL, scratch)?.len();
        let mut shuffled = false;
        if it.ty.size() > 1 {
            let planes = self.zstd(&sample, Some(it.ty.size()), QUICK_LEVEL, scratch)?.len();
            (shuffled, len) = (planes < len, len.min(planes));
        }
        Ok(Sketch { sample, shuffled, len })
    }

    /// Encodes the difference at the quick level, as it is or as byte planes.
    fn quick(&self, it: &Difference<'_>, scratch: &mut CodecScratch) -> Result<Quick> {
        let as_it_is = self.zstd_difference(it, false, QUICK_LEVEL, scratch)?;
        if it.ty.size() == 1 {
            return Ok(as_it_is);
        }
        let planes = self.zstd_difference(it, true, QUICK_LEVEL, scratch)?;
        Ok(if planes.payload.bytes.len() < as_it_is.payload.bytes.len() { planes } else { as_it_is })
    }

    fn zstd_difference(
        &self,
        it: &Difference<'_>,
        shuffled: bool,
        level: i32,
        scratch: &mut CodecScratch,
    ) -> Result<Quick> {
        let shuffle = shuffled.then(|| it.ty.size());
        let mut bytes = it.base.older.encode();
        bytes.extend(self.zstd(&it.bytes, shuffle, level, scratch)?);
        // Decoders do not look at the level: the chain's number is the same for all.
        let stages = shuffle.map(StageSpec::shuffle).into_iter().chain([StageSpec::zstd(SHORT_LEVEL)]);
        let chain = ChainSpec([StageSpec::base()].into_iter().chain(stages).collect());
        Ok(Quick { payload: Payload { chain, bytes, table: None }, shuffled })
    }

    fn zstd(
        &self,
        bytes: &[u8],
        shuffle: Option<usize>,
        level: i32,
        scratch: &mut CodecScratch,
    ) -> Result<Vec<u8>> {
        let stages = shuffle.map(StageSpec::shuffle).into_iter().chain([StageSpec::zstd(level)]);
        let mut made = Vec::new();
        let by = self.options.registry.bind(ChainSpec(stages.collect()));
        by.encode_bytes(bytes, scratch, &mut made)?;
        Ok(made)
    }

    /// Encodes the difference with the numeric codec. For a tile that grew, these are the new elements after
    /// zeros.
    fn numeric(
        &self,
        it: &Difference<'_>,
        shape: &TileShape,
        scratch: &mut CodecScratch,
    ) -> Result<Option<Payload>> {
        if !matches!(it.info.id.role(), Role::Variable(_)) || it.ty == NcType::Char {
            return Ok(None);
        }
        let ways = plan_difference(self.classic, self.arrays, it.info, &it.bytes, self.options, scratch)?;
        let mut best: Option<Payload> = None;
        for way in ways.iter().filter(|way| is_plain_number(way)) {
            let mut bytes = it.base.older.encode();
            encode_tile(way.coder(), &it.bytes, shape, scratch, &mut bytes)?;
            let chain = ChainSpec(vec![StageSpec::base(), StageSpec::num(None)]);
            let made = Payload { chain, bytes, table: None };
            best = Some(match best {
                Some(best) => best.or_smaller(made),
                None => made,
            });
        }
        Ok(best)
    }
}

/// A tile XOR an older one.
struct Difference<'a> {
    info: &'a ArrayInfo,
    ty: NcType,
    tile: &'a [u8],
    base: &'a Base,
    bytes: Vec<u8>,
    /// Bytes that are not zero.
    changed: usize,
}

impl<'a> Difference<'a> {
    fn new(it: &Changed<'a>, base: &'a Base) -> Self {
        let bytes = base.difference(it.bytes);
        let changed = bytes.iter().filter(|&&byte| byte != 0).count();
        Difference { info: it.info, ty: it.info.ty, tile: it.bytes, base, bytes, changed }
    }

    fn zero_elements(&self) -> usize {
        self.bytes
            .chunks_exact(self.ty.size())
            .filter(|element| element.iter().all(|&byte| byte == 0))
            .count()
    }
}

/// A payload with its cost in bytes, including its table.
type Cheapest = Option<(usize, Payload)>;

/// A difference at the quick level.
struct Quick {
    payload: Payload,
    shuffled: bool,
}

/// True for a way that is the numeric codec without a table of values and without a reference.
fn is_plain_number(way: &TileChain) -> bool {
    way.against.is_none() && way.num.as_ref().is_some_and(|num| num.dictionary().is_none())
}
