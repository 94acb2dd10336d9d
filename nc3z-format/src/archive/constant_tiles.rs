//! Lists of constant tiles: tiles whose elements are all equal. They are stored as blocks, so that probing
//! finds them.

use super::ids::ArrayId;
use crate::bytes::{ByteCursor, put_varint};
use crate::error::{Error, Result};

/// A run of constant tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstantRow {
    /// The array of the tiles.
    pub array: ArrayId,
    /// The first of them.
    pub first: u64,
    /// The number of tiles.
    pub count: u64,
    /// The value's big-endian bytes.
    pub value: Vec<u8>,
}

/// Collects constant tiles, merging runs.
#[derive(Debug, Default)]
pub struct ConstantsBuilder {
    out: Vec<u8>,
    open: Option<ConstantRow>,
}

impl ConstantsBuilder {
    /// Adds a tile.
    pub fn push(&mut self, array: ArrayId, tile: u64, value: &[u8]) {
        if let Some(row) = &mut self.open
            && row.array == array
            && row.first + row.count == tile
            && row.value == value
        {
            row.count += 1;
            return;
        }
        self.close();
        self.open = Some(ConstantRow { array, first: tile, count: 1, value: value.to_vec() });
    }

    fn close(&mut self) {
        if let Some(row) = self.open.take() {
            put_varint(&mut self.out, row.array.0.into());
            put_varint(&mut self.out, row.first);
            put_varint(&mut self.out, row.count);
            self.out.push(u8::try_from(row.value.len()).expect("elements have at most 8 bytes"));
            self.out.extend(&row.value);
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Returns true if no tile was added.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.open.is_none()
    }

    /// Returns the decoded list.
    pub fn finish(mut self) -> Vec<u8> {
        self.close();
        self.out
    }
}

/// The rows of a decoded list.
///
/// # Errors
/// Damage.
pub fn parse_constants(decoded: &[u8]) -> Result<Vec<ConstantRow>> {
    const SECTION: &str = "constants list";
    let mut c = ByteCursor::new(SECTION, 0, decoded);
    let mut rows = Vec::new();
    while c.left() > 0 {
        let at = c.offset();
        let array = u32::try_from(c.varint("variable")?)
            .map_err(|_| Error::corrupt(SECTION, at, "variable", "32 bits", "more"))?;
        let (first, count) = (c.varint("first tile")?, c.varint("number of tiles")?);
        if first.checked_add(count).is_none() || count == 0 {
            return Err(Error::corrupt(SECTION, at, "number of tiles", "1 to 2^64", count));
        }
        let size = c.u8("element size")?;
        if ![1, 2, 4, 8].contains(&size) {
            return Err(Error::corrupt(SECTION, at, "element size", "1, 2, 4 or 8", size));
        }
        let value = c.split("value", size.into())?.to_vec();
        rows.push(ConstantRow { array: ArrayId(array), first, count, value });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_and_come_back() {
        let mut b = ConstantsBuilder::default();
        for t in 0..5 {
            b.push(ArrayId::variable(2), t, &[1, 2]);
        }
        b.push(ArrayId::variable(2), 7, &[1, 2]);
        let rows = parse_constants(&b.finish()).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].first, rows[0].count, rows[1].first), (0, 5, 7));
    }
}
