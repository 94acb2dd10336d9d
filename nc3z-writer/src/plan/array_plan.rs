//! The plan of one array, which the encoder carries out.

use super::chains::TileChain;
use super::cost::Stored;
use super::policy::{LEVELS_GAIN, QUICK_LEVEL};
use super::probe::packed_below;
use super::text::Raised;
use crate::encode::MadeTile;
use crate::error::Result;
use crate::options::PACK_LEN;
use crate::tiles::HeldTiles;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::Arrays;
use nc3z_format::codec::{CodecScratch, ReferenceTile};
use nc3z_format::num::{Dictionary, EncodePlan};
use std::sync::Arc;

/// The way to store the tiles of one array.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArrayPlan {
    /// Ways to encode a tile. Each is tried, and the smallest result is stored. If the list is empty, tiles
    /// are stored as they are. The first way was the smallest on the samples.
    pub(crate) tiles: Vec<TileChain>,
    /// The ways for tiles so short that they go into a container of zstd.
    pub(crate) short: Vec<TileChain>,
    /// Further candidates for a tile that is larger than the estimate from the samples.
    pub(crate) fallback: Option<Fallback>,
    /// For text: the same chains at a higher level, which are used if the source has time for them.
    pub(crate) raised: Option<Raised>,
    /// If set, the tiles go unencoded into shared containers with this chain, and the other ways are not
    /// used.
    pub(crate) container: Option<TileChain>,
    /// True if each tile is a block of its own without a chain, however short it is.
    pub(crate) as_it_is: bool,
    /// Tiles that were already encoded by this plan.
    pub(crate) made: Made,
}

/// Tiles of an array that its plan encoded while it was compared with other plans. A copy of the plan has
/// none, because it may serve another array.
#[derive(Debug, Default)]
pub(crate) struct Made(pub(super) Vec<MadeTile>);

impl Clone for Made {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Made {
    /// Returns a tile by its number.
    pub(crate) fn tile(&self, tile: u64) -> Option<&MadeTile> {
        // Usually tiles are in the order of their numbers.
        let at = usize::try_from(tile).ok().and_then(|at| self.0.get(at)).filter(|made| made.tile() == tile);
        at.or_else(|| self.0.iter().find(|made| made.tile() == tile))
    }
}

/// Further candidates for tiles that the samples did not represent.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    /// All are tried, and the smallest result is stored. The last compresses the tile's bytes with zstd.
    pub(crate) ways: Vec<TileChain>,
    /// The encoded size of the samples, whose raw size is `sampled`.
    pub(super) estimate: Stored,
    pub(super) sampled: u64,
    /// [`Policy::estimate_percent`].
    pub(super) percent: u64,
    /// [`Policy::probed`].
    pub(super) probed: bool,
}

impl Fallback {
    /// Estimates the encoded size of `len` bytes.
    fn estimate_for(&self, len: u64) -> Stored {
        self.estimate.scaled(len, self.sampled)
    }

    /// True if a tile of `len` bytes takes more than [`Policy::estimate_percent`] of its estimate.
    pub(crate) fn is_called_for(&self, len: u64, stored: Stored) -> bool {
        stored > self.estimate_for(len).percent(self.percent)
    }

    /// Returns the ways to try on a tile that takes `stored` bytes by its plan. zstd's higher levels are
    /// slow, so zstd is left out if a quick level shows that it cannot win.
    pub(crate) fn ways_for(
        &self,
        bytes: &[u8],
        stored: Stored,
        scratch: &mut CodecScratch,
    ) -> Result<&[TileChain]> {
        let most = stored.percent(LEVELS_GAIN);
        let promising = !self.probed || packed_below(bytes, QUICK_LEVEL, most, scratch)?.is_some();
        Ok(&self.ways[..self.ways.len() - usize::from(!promising)])
    }
}

impl ArrayPlan {
    /// A table of values that must be in the archive before the tiles.
    pub(crate) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.numeric().and_then(EncodePlan::dictionary)
    }

    /// The plan of the numeric codec, if the array's tiles use it.
    pub(crate) fn numeric(&self) -> Option<&EncodePlan> {
        self.tiles.first().and_then(|t| t.num.as_ref())
    }

    /// True if a tile of `len` bytes that is not constant becomes a block of its own, whatever its bytes are.
    pub(crate) fn makes_a_block_of(&self, len: usize) -> bool {
        let refers = self.tiles.first().is_some_and(|way| way.against.is_some());
        !refers && self.container.is_none() && (self.as_it_is || len as u64 > PACK_LEN)
    }

    /// The tile that a tile is coded against, if the plan has a reference.
    ///
    /// # Errors
    /// The array does not exist.
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
