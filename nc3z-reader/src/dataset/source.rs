//! The interface of every kind of file to its arrays.

use crate::archive::Archive;
use crate::classic::ClassicFile;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::plan::TilePlan;
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::Tiling;
use std::borrow::Cow;
use std::sync::Arc;

/// Arrays that are read by hyperslabs: an archive, a classic file, or any other implementation.
///
/// Reading itself is written once, against this trait: [`crate::Variable`] plans a request over the variable's tiles
/// and asks the source for those it touches. All bytes are big-endian, as in the classic file.
pub trait ArraySource: Send + Sync {
    /// Dimensions, attributes and variables.
    fn header(&self) -> &Header;

    /// The layout of the classic file, including the number of elements present.
    fn layout(&self) -> &Layout;

    /// The tiling of a variable: the tiles of an archive, or the pieces of a classic file.
    ///
    /// # Errors
    /// No such variable.
    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>>;

    /// Fills `out` with one whole tile.
    ///
    /// # Errors
    /// No such tile; damage; errors of the operating system.
    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()>;

    /// At least the elements of a tile that a plan needs: the number of the first one returned, and the
    /// bytes. If tiles are cached, this tile stays in the cache if `keep` is true.
    ///
    /// # Errors
    /// As [`ArraySource::fill_tile`].
    fn tile(&self, var: VarId, tile: &TilePlan<'_>, keep: bool) -> Result<(u64, Bytes)>;

    /// The bytes of the classic file from the variable's first element to its last present one, if they are
    /// in memory and can be lent without a copy. They are then converted in place, without tiles.
    fn mapped_bytes(&self, _var: VarId) -> Option<Bytes> {
        None
    }

    /// Returns true if [`ArraySource::fetch`] should be called before tiles are read: each request costs a
    /// round trip.
    fn fetches_ahead(&self) -> bool {
        false
    }

    /// Fetches the bytes for the first of `tiles`, as many tiles as should be fetched at once. Returns their
    /// number (at least one), and this source with their stored bytes in memory, or `None` if there is
    /// nothing to fetch.
    ///
    /// # Errors
    /// Errors that concern all tiles: another object is in the place of the source.
    fn fetch(&self, var: VarId, tiles: &[u64]) -> Result<(usize, Option<Arc<dyn ArraySource>>)> {
        let _ = var;
        Ok((tiles.len(), None))
    }

    /// As [`ArraySource::fetch`], for callers that need only the elements of a plan from each tile. Tiles
    /// that are read without decoding need no other bytes.
    ///
    /// # Errors
    /// As [`ArraySource::fetch`].
    fn fetch_parts(
        &self,
        var: VarId,
        tiles: &[TilePlan<'_>],
    ) -> Result<(usize, Option<Arc<dyn ArraySource>>)> {
        let numbers: Vec<u64> = tiles.iter().map(|tile| tile.tile).collect();
        self.fetch(var, &numbers)
    }

    /// Returns true if a variable's hyperslabs are read with [`ArraySource::read_slab`] instead of tile by
    /// tile, because the array has no regular tiles.
    fn reads_slabs(&self, var: VarId) -> bool {
        let _ = var;
        false
    }

    /// Fills `out` with a hyperslab's elements, in row-major order of the request. The hyperslab is inside
    /// the variable. Called only if [`ArraySource::reads_slabs`] returns true.
    ///
    /// # Errors
    /// Damage; errors of the operating system.
    fn read_slab(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let _ = (slab, out);
        let what = format!("variable {} is read tile by tile", var.0);
        Err(nc3z_format::Error::invalid(what).into())
    }

    /// Bytes that must be decoded before elements of a tile can be copied. 0 if they need no decoding.
    fn decode_cost(&self, var: VarId, tile: u64) -> u64;

    /// Largest number of bytes of tiles that one request should keep in the cache.
    fn cache_budget(&self) -> u64 {
        0
    }

    /// Fills `out` with bytes `[first, first + out.len())` of a variable's flattened array.
    ///
    /// # Errors
    /// A range beyond the present elements; damage.
    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()>;

    /// Fills `out` with the bytes of the classic file from `offset`.
    ///
    /// # Errors
    /// A range beyond the end of the file; damage.
    fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// The source itself, for callers that know its type. `None` if the source does not support this.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// The archive, if this is one.
    fn as_archive(&self) -> Option<&Archive> {
        None
    }

    /// The classic file, if this is one.
    fn as_classic(&self) -> Option<&ClassicFile> {
        None
    }
}
