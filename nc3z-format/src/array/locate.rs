//! From an index entry to the bytes that a tile needs.

use crate::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry, Role};
use crate::array_table::ArrayInfo;
use crate::codec::{Chain, OlderTile};
use crate::error::{Error, Result};
use std::ops::Range;

/// One tile of one array. Each index entry belongs to one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileKey {
    /// The array of the tile, or [`ArrayId::definitions`] for data that tiles of a variable share.
    pub array: ArrayId,
    /// The number of the tile.
    pub tile: u64,
}

impl TileKey {
    /// A tile of an array.
    pub fn new(array: ArrayId, tile: u64) -> Self {
        TileKey { array, tile }
    }
}

impl std::fmt::Display for TileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, tile {}", self.array, self.tile)
    }
}

/// The place of a tile's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a block that has no other tile.
    Block(BlockPlace),
    /// In a shared container.
    Member(MemberPlace),
    /// In the entry: all elements have these bits, big-endian; the rest of the eight bytes is zero.
    Constant([u8; 8]),
}

impl Place {
    /// Returns the offset of the block or of the container.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Place::Block(block) => Some(block.offset),
            Place::Member(member) => Some(member.container),
            Place::Constant(_) => None,
        }
    }
}

/// A block: header and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPlace {
    /// The offset of the block header.
    pub offset: u64,
    /// Bytes of the payload.
    pub stored_len: u32,
    /// CRC of the block header.
    pub check: u32,
}

impl BlockPlace {
    /// The bytes of header and payload.
    ///
    /// # Errors
    /// Corrupt: they reach beyond `end`, where blocks end. `place` names the owner of the block.
    pub fn range(&self, end: u64, place: &dyn Fn() -> String) -> Result<Range<u64>> {
        let stop = self.offset.checked_add(BLOCK_HEADER_LEN as u64 + u64::from(self.stored_len));
        let beyond = || {
            let room = format!("at most {} bytes on", end.saturating_sub(self.offset));
            Error::corrupt(place(), self.offset, "end of the block", room, self.stored_len)
        };
        stop.filter(|stop| *stop <= end).map(|stop| self.offset..stop).ok_or_else(beyond)
    }
}

/// A member of a shared container. Only the container's block header has the container's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberPlace {
    /// Offset of the container's block header.
    pub container: u64,
    /// The start of the member in the decoded container.
    pub start: u32,
    /// The length of the member in bytes.
    pub len: u32,
    /// CRC-32 of the decoded tile; not known where the index was recovered by probing.
    pub decoded_crc: Option<u32>,
}

/// A located tile: the bytes to fetch, and the chain and data for decoding.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Located<'a> {
    /// The tile of the tile.
    pub key: TileKey,
    /// The array of the tile.
    pub info: &'a ArrayInfo,
    /// The place of its bytes.
    pub place: Place,
    /// The number of the chain that made them.
    pub chain_number: u16,
    /// The chain of the tile.
    pub chain: &'a Chain,
    /// The dictionary that decoding needs.
    pub dictionary: Option<TileKey>,
    /// The tile that it is coded against.
    pub reference: Option<TileKey>,
    /// The number of the tile that gives this one its form: its own number, or that of the tile that is coded against it.
    pub form_of: u64,
}

/// Finds the bytes of a tile from its index entry, and the other data that it needs. `is_probed` is true if
/// the entry does not come from the archive's index. `place` names the tile in messages.
///
/// # Errors
/// Corrupt: an entry without bytes (absent, lost), a chain that the archive does not have, or one that this
/// array cannot use.
pub fn locate<'a>(
    key: TileKey,
    entry: &IndexEntry,
    is_probed: bool,
    info: &'a ArrayInfo,
    chains: &'a [Chain],
    place: &dyn Fn() -> String,
) -> Result<Located<'a>> {
    let (chain_number, found) = match *entry {
        IndexEntry::Stored { offset, len, chain, check } => {
            (chain, Place::Block(BlockPlace { offset, stored_len: len, check }))
        }
        IndexEntry::Shared { offset, start, len, chain, check } => {
            let decoded_crc = (!is_probed).then_some(check);
            (chain, Place::Member(MemberPlace { container: offset, start, len, decoded_crc }))
        }
        IndexEntry::Constant { value } => (0, Place::Constant(value)),
        IndexEntry::Absent => {
            return Err(Error::corrupt(place(), None, "index entry", "a stored tile", "absent"));
        }
        IndexEntry::Lost => {
            let found = format!("{} the archive was repaired", crate::damage::LOST);
            return Err(Error::corrupt(place(), None, "tile", "whole", found));
        }
    };
    let chain = chains.get(usize::from(chain_number)).ok_or_else(|| {
        let known = format!("less than {}", chains.len());
        Error::corrupt(place(), None, "chain number", known, chain_number)
    })?;
    let dictionary = match (chain.needs().dictionary, key.array.role()) {
        (None, _) => None,
        (Some(number), Role::Variable(var)) => Some(TileKey::new(ArrayId::definitions(var), number)),
        (Some(_), _) => {
            let expected = "one without a dictionary";
            return Err(Error::corrupt(key.array.to_string(), None, "chain", expected, chain));
        }
    };
    let reference = match (chain.needs().reference, key.array.role()) {
        (None, _) => None,
        (Some(distance), Role::Variable(var)) if var >= distance.get() => {
            Some(TileKey::new(ArrayId::variable(var - distance.get()), key.tile))
        }
        (Some(_), _) => {
            let expected = "one that refers to a variable before this";
            return Err(Error::corrupt(place(), None, "chain", expected, chain));
        }
    };
    Ok(Located { key, info, place: found, chain_number, chain, dictionary, reference, form_of: key.tile })
}

/// Checks that a tile may be coded against another: it has as many elements, and is itself coded against none.
///
/// # Errors
/// Corrupt: it has not, or it is.
pub fn check_reference(tile: &Located<'_>, other: &Located<'_>, place: &dyn Fn() -> String) -> Result<()> {
    let expected = tile.info.tiling.tile_elements(tile.key.tile)?;
    let found = other.info.tiling.tile_elements(other.key.tile)?;
    if found != expected {
        return Err(Error::corrupt(place(), None, "number of elements of the reference", expected, found));
    }
    match other.reference {
        Some(further) => {
            Err(Error::corrupt(place(), None, "reference", "a tile that is coded against none", further))
        }
        None => Ok(()),
    }
}

/// Reads from the beginning of a payload which older tile the tile is coded against. The older tile is decoded with this
/// tile's type and shape, even if it belongs to another array.
///
/// # Errors
/// Corrupt: a payload that names none; a block or container that does not precede the tile's own; a tile that
/// is itself coded against another.
pub fn locate_base<'a>(
    tile: &Located<'a>,
    payload: &[u8],
    chains: &'a [Chain],
    place: &dyn Fn() -> String,
) -> Result<(Located<'a>, OlderTile)> {
    let named = tile.chain.older_tile(payload).map_err(|e| e.within(&place(), 0))?;
    let none = || Error::invalid(format!("{} is coded against no older tile", place()));
    let older = named.ok_or_else(none)?;
    let key = TileKey::new(older.array, older.tile);
    if !matches!(key.array.role(), Role::Variable(_) | Role::Padding(_) | Role::Gap) {
        let expected = "one that has tiles";
        return Err(Error::corrupt(place(), None, "array of the older tile", expected, key.array));
    }
    let base = locate(key, &older.entry, false, tile.info, chains, place)?;
    if let (Some(at), Some(own)) = (base.place.offset(), tile.place.offset())
        && at >= own
    {
        let before = format!("below {own}");
        return Err(Error::corrupt(place(), own, "block of the older tile", before, at));
    }
    if base.chain.needs().base || base.reference.is_some() {
        let expected = "one that is coded against none";
        return Err(Error::corrupt(place(), None, "older tile", expected, base.chain));
    }
    Ok((Located { form_of: tile.key.tile, ..base }, older))
}

/// Finds the block of something that tiles of a variable share.
///
/// # Errors
/// Corrupt: an entry of another kind.
pub fn definition(entry: &IndexEntry, place: &dyn Fn() -> String) -> Result<BlockPlace> {
    let IndexEntry::Stored { offset, len, chain, check } = *entry else {
        return Err(Error::corrupt(place(), None, "index entry of a definition", "a block", "another"));
    };
    // Definitions are their own codec's bytes: chain 0.
    if chain != 0 {
        return Err(Error::corrupt(place(), offset, "chain of a definition", 0, chain));
    }
    Ok(BlockPlace { offset, stored_len: len, check })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Registry;
    use crate::limits::Limits;
    use crate::tile::TileLayout;
    use crate::types::NcType;

    fn info(id: ArrayId) -> ArrayInfo {
        let tiling = TileLayout::linear(4).bind(&[10], 10).unwrap();
        ArrayInfo { id, ty: NcType::Short, tiling }
    }

    fn chains() -> Vec<Chain> {
        let json = br#"[[],[{"id":"nc3z.num","dict":3}],[{"id":"nc3z.num","ref":2}]]"#;
        let specs = crate::codec::chains_from_json(json, &Limits::default()).unwrap();
        specs.into_iter().map(|spec| Registry::default().bind(spec)).collect()
    }

    /// The tiles and dictionaries that must be decoded before a tile.
    fn depends_on(found: &Located<'_>) -> impl Iterator<Item = TileKey> {
        found.dictionary.into_iter().chain(found.reference)
    }

    #[test]
    fn tiles_name_what_they_depend_on() {
        let (chains, key) = (chains(), TileKey::new(ArrayId::variable(5), 2));
        let info = info(key.array);
        let place = || "tile".to_owned();
        let find = |entry| locate(key, &entry, false, &info, &chains, &place);
        let found = find(IndexEntry::Stored { offset: 160, len: 9, chain: 1, check: 7 }).unwrap();
        let needs: Vec<_> = depends_on(&found).collect();
        assert_eq!(needs, [TileKey::new(ArrayId::definitions(5), 3)]);
        let found = find(IndexEntry::Shared { offset: 160, start: 3, len: 9, chain: 0, check: 7 }).unwrap();
        let member = MemberPlace { container: 160, start: 3, len: 9, decoded_crc: Some(7) };
        assert_eq!((found.place, depends_on(&found).count()), (Place::Member(member), 0));
        for bad in [
            IndexEntry::Absent,
            IndexEntry::Lost,
            IndexEntry::Stored { offset: 160, len: 9, chain: 3, check: 7 },
        ] {
            assert!(find(bad).unwrap_err().is_corrupt(), "{bad:?}");
        }
    }

    #[test]
    fn references_lead_to_the_same_tile_of_a_variable_before() {
        let chains = chains();
        let place = || "tile".to_owned();
        let entry = |chain| IndexEntry::Stored { offset: 160, len: 9, chain, check: 7 };
        let infos: Vec<_> = [0, 1, 2, 5].into_iter().map(|v| info(ArrayId::variable(v))).collect();
        let find = |at: usize, tile, chain| {
            locate(TileKey::new(infos[at].id, tile), &entry(chain), false, &infos[at], &chains, &place)
        };
        let found = find(3, 2, 2).unwrap();
        assert_eq!(found.reference, Some(TileKey::new(ArrayId::variable(3), 2)));
        assert_eq!(depends_on(&found).collect::<Vec<_>>(), [TileKey::new(ArrayId::variable(3), 2)]);
        assert_eq!(find(2, 0, 2).unwrap().reference, Some(TileKey::new(ArrayId::variable(0), 0)));
        for at in [0, 1] {
            let e = find(at, 0, 2).unwrap_err();
            assert!(e.to_string().contains("refers to a variable before"), "{e}");
        }
        // One step, and as many elements.
        let plain = find(0, 2, 0).unwrap();
        check_reference(&found, &plain, &place).unwrap();
        let e = check_reference(&found, &find(2, 2, 2).unwrap(), &place).unwrap_err();
        assert!(e.is_corrupt() && e.to_string().contains("coded against none"), "{e}");
        let e = check_reference(&find(3, 1, 2).unwrap(), &plain, &place).unwrap_err();
        assert!(e.to_string().contains("number of elements"), "{e}");
    }

    #[test]
    fn an_older_tile_stands_before_the_one_that_is_coded_against_it() {
        let json = br#"[[],[{"id":"nc3z.base"},{"id":"zstd","level":3}],[{"id":"nc3z.num","ref":2}]]"#;
        let specs = crate::codec::chains_from_json(json, &Limits::default()).unwrap();
        let chains: Vec<_> = specs.into_iter().map(|spec| Registry::default().bind(spec)).collect();
        let info = info(ArrayId::variable(5));
        let place = || "tile".to_owned();
        let stored = |offset, chain| IndexEntry::Stored { offset, len: 9, chain, check: 7 };
        let key = TileKey::new(info.id, 2);
        let tile = locate(key, &stored(800, 1), false, &info, &chains, &place).unwrap();
        assert!(tile.chain.needs().base && tile.form_of == 2);
        let named = |entry, array, tile| OlderTile { entry, array, tile, decoded_len: 8 }.encode();
        let base =
            |entry: IndexEntry| locate_base(&tile, &named(entry, key.array, key.tile), &chains, &place);
        let (found, _) = base(stored(160, 0)).unwrap();
        assert!(found.form_of == 2 && found.key == key && depends_on(&found).count() == 0);
        let packed = |offset| IndexEntry::Shared { offset, start: 3, len: 9, chain: 0, check: 7 };
        // Of any array, and in containers.
        let of_any = |own: IndexEntry, entry: IndexEntry, array| {
            let tile = locate(key, &own, false, &info, &chains, &place).unwrap();
            locate_base(&tile, &named(entry, array, 9), &chains, &place).map(|(found, _)| found.key)
        };
        let other = ArrayId::variable(70);
        let member = |chain| IndexEntry::Shared { offset: 800, start: 3, len: 9, chain, check: 7 };
        for own in [stored(800, 1), member(1)] {
            for entry in [stored(160, 0), packed(160)] {
                assert_eq!(of_any(own, entry, other).unwrap(), TileKey::new(other, 9));
            }
            for (entry, array) in [
                (stored(800, 0), other),
                (packed(808), other),
                (stored(160, 1), other),
                (stored(160, 0), ArrayId::HEADS),
                (stored(160, 0), ArrayId::definitions(5)),
            ] {
                assert!(of_any(own, entry, array).is_err_and(|e| e.is_corrupt()), "{entry:?} {array}");
            }
        }
        // Itself, a later one, one that is coded against another, a chain that is not there, no block.
        for bad in [
            stored(800, 0),
            stored(808, 0),
            stored(160, 1),
            stored(160, 2),
            stored(160, 9),
            IndexEntry::Absent,
        ] {
            assert!(base(bad).is_err_and(|e| e.is_corrupt()), "{bad:?}");
        }
        assert!(locate_base(&tile, &[1; 23], &chains, &place).is_err());
        let packed_tile = locate(key, &member(1), false, &info, &chains, &place).unwrap();
        assert!(locate_base(&packed_tile, &stored(160, 0).encode(), &chains, &place).is_err());
        let plain = locate(key, &stored(800, 0), false, &info, &chains, &place).unwrap();
        assert!(locate_base(&plain, &stored(160, 0).encode(), &chains, &place).is_err());
    }

    #[test]
    fn padding_has_no_dictionary() {
        let (chains, key) = (chains(), TileKey::new(ArrayId::padding(5), 0));
        let info = info(key.array);
        let entry = IndexEntry::Stored { offset: 160, len: 9, chain: 1, check: 7 };
        let e = locate(key, &entry, false, &info, &chains, &|| "tile".to_owned()).unwrap_err();
        assert!(e.to_string().contains("dictionary"), "{e}");
    }

    #[test]
    fn blocks_end_where_blocks_may_be() {
        let place = || "tile".to_owned();
        let block = BlockPlace { offset: 160, stored_len: 10, check: 0 };
        assert_eq!(block.range(214, &place).unwrap(), 160..214);
        assert!(block.range(213, &place).is_err());
        let far = BlockPlace { offset: u64::MAX - 7, ..block };
        assert!(far.range(u64::MAX, &place).is_err());
    }
}
