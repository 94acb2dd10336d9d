//! Requests for small pieces of tiles that are all at hand, above all time series at one place. They are
//! planned and copied tile by tile, with as little work per tile as possible.

use crate::archive::Archive;
use crate::tile::Destination;
use crate::tile::cache::PIECE_LEN;
use nc3z_format::array::TileKey;
use nc3z_format::classic::VarId;
use nc3z_format::plan::{Plan, TilePlan};

/// Tiles that are copied from under one lock.
const AT_ONCE: usize = 64;

/// Reads a plan if all of its tiles are at hand and their elements fit. Otherwise returns false and counts
/// nothing. The usual read then writes the output again, or reports the error.
pub(super) fn read(archive: &Archive, var: VarId, plan: &Plan, dest: &mut dyn Destination) -> bool {
    let Ok(layout) = archive.variable_layout(var) else { return false };
    if !layout.owned {
        return false;
    }
    let (size, array) = (layout.element_size(), archive.arrays().variable(var).id);
    let share = &archive.inner.store.cache;
    let (mut hot_tiles, mut tiles) = (None, 0);
    for tile in plan.tiles() {
        if tile.elements.saturating_mul(size) > PIECE_LEN {
            return false;
        }
        if tiles % AT_ONCE == 0 {
            hot_tiles = None;
        }
        let hot_tiles = hot_tiles.get_or_insert_with(|| share.hot_tiles());
        let Some(bytes) = hot_tiles.tile(TileKey::new(array, tile.tile)) else { return false };
        let done = match tile.single() {
            Some((src, dst)) => dest.put_one(src, bytes, dst),
            None => put(dest, tile, bytes),
        };
        if !done {
            return false;
        }
        tiles += 1;
    }
    drop(hot_tiles);
    share.count(tiles as u64, plan.elements().saturating_mul(size));
    true
}

/// Copies all elements that the plan selects from a tile.
#[expect(clippy::needless_pass_by_value, reason = "a plan that no other function borrows stays in registers")]
#[inline(never)]
fn put(dest: &mut dyn Destination, tile: TilePlan<'_>, bytes: &[u8]) -> bool {
    matches!(dest.put(&tile, 0, bytes), Ok(None))
}
