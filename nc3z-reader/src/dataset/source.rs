//! What every kind of file answers about its arrays.

use crate::archive::Archive;
use crate::classic::ClassicFile;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::plan::TilePlan;
use nc3z_format::select::Hyperslab;
use nc3z_format::tile::Tiling;
use std::borrow::Cow;
use std::sync::Arc;

/// Arrays that are read by hyperslabs: an archive, a classic file, and whatever else presents itself as one.
///
/// Reading itself is written once, against this trait: [`crate::Variable`] plans a request over the variable's tiles
/// and asks the source for those it touches. All bytes are big-endian, as in the classic file.
pub trait ArraySource: Send + Sync {
    /// Dimensions, attributes and variables.
    fn header(&self) -> &Header;

    /// Where everything lies in the classic file, and what of it is present.
    fn layout(&self) -> &Layout;

    /// How a variable is cut: into the tiles of an archive, or into the pieces a classic file is read by.
    ///
    /// # Errors
    /// No such variable.
    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>>;

    /// Fills `out` with one whole tile.
    ///
    /// # Errors
    /// No such tile; damage; what the system refuses.
    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()>;

    /// At least the elements of a tile that a plan asks for: the number of the first one given, and their bytes.
    /// Where tiles are cached, this one stays in the cache if `keep` is true.
    ///
    /// # Errors
    /// As [`ArraySource::fill_tile`].
    fn tile(&self, var: VarId, tile: &TilePlan<'_>, keep: bool) -> Result<(u64, Bytes)>;

    /// The bytes of the classic file from the variable's first element to its last one present, where these are in memory and lending
    /// them copies nothing: they are then converted where they lie, without tiles.
    fn lent(&self, _var: VarId) -> Option<Bytes> {
        None
    }

    /// Whether [`ArraySource::fetch`] should come before tiles are asked for: where each request costs a round trip.
    fn fetches_ahead(&self) -> bool {
        false
    }

    /// Fetches what the first of `tiles` need, as many as should be under way at once: how many those are (at least one), and
    /// this source with their stored bytes in memory; `None` where there is nothing to fetch.
    ///
    /// # Errors
    /// Those that concern all tiles: another object in the place of this one.
    fn fetch(&self, var: VarId, tiles: &[u64]) -> Result<(usize, Option<Arc<dyn ArraySource>>)> {
        let _ = var;
        Ok((tiles.len(), None))
    }

    /// The same where of each tile only what a plan asks for is needed: tiles that are read where they lie need no more.
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

    /// Whether a variable's hyperslabs are asked for by [`ArraySource::read_slab`] and not tile by tile: where the array's parts
    /// are no regular tiles.
    fn reads_slabs(&self, var: VarId) -> bool {
        let _ = var;
        false
    }

    /// Fills `out` with a hyperslab's elements in row-major order of the request. It lies in the variable; sources that answer no
    /// to [`ArraySource::reads_slabs`] are never asked.
    ///
    /// # Errors
    /// Damage; what the system refuses.
    fn read_slab(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let _ = (slab, out);
        let what = format!("variable {} is read tile by tile", var.0);
        Err(nc3z_format::Error::invalid(what).into())
    }

    /// Bytes that must be decoded before elements of a tile can be copied; 0 where they lie ready.
    fn decode_cost(&self, var: VarId, tile: u64) -> u64;

    /// Bytes of tiles that one request should keep in the cache at most.
    fn cache_budget(&self) -> u64 {
        0
    }

    /// Fills `out` with bytes `[first, first + out.len())` of a variable's flattened array.
    ///
    /// # Errors
    /// A range beyond what is present; damage.
    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()>;

    /// Fills `out` with the classic file's own bytes from `offset`.
    ///
    /// # Errors
    /// A range beyond the end of the file; damage.
    fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// The source itself, for those who know its type; nothing where it does not tell.
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
