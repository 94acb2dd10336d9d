//! Arrays that need no search: constant ones, and those that equal an earlier array.

use crate::encode::constant_value;
use crate::tiles::HeldTiles;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use std::collections::{BTreeMap, HashMap};

/// A property of an array that makes a search unnecessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Each of its tiles is constant.
    Constant,
    /// It has the same type and tiles as this earlier array, which repeats no other.
    Equal(ArrayId),
}

/// Returns the arrays that are constant or equal another array.
pub(super) fn repeats(held: &HeldTiles, arrays: &Arrays) -> BTreeMap<ArrayId, Repeat> {
    let mut found = BTreeMap::new();
    let mut seen: HashMap<(u64, usize, u32), Vec<&ArrayInfo>> = HashMap::new();
    for info in arrays.iter().filter(|a| a.tiling.tile_count() > 0) {
        let size = info.ty.size();
        if held.of(info.id).all(|t| constant_value(&t.bytes, size).is_some()) {
            found.insert(info.id, Repeat::Constant);
            continue;
        }
        let mut hasher = crc32fast::Hasher::new();
        held.of(info.id).for_each(|t| hasher.update(&t.bytes));
        let alike = seen.entry((info.total_bytes(), size, hasher.finalize())).or_default();
        let equals = |other: &&&ArrayInfo| {
            other.ty == info.ty
                && held.of(other.id).len() == held.of(info.id).len()
                && held
                    .of(other.id)
                    .zip(held.of(info.id))
                    .all(|(a, b)| a.tile == b.tile && a.bytes == b.bytes)
        };
        if let Some(first) = alike.iter().find(equals) {
            found.insert(info.id, Repeat::Equal(first.id));
        } else {
            alike.push(info);
        }
    }
    found
}
