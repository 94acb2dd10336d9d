//! Value tables that tiles of a variable share, decoded when first needed and kept.

use super::fetch::check_crc;
use crate::archive::Inner;
use crate::error::Result;
use nc3z_format::archive::{ArrayId, BlockKind, IndexEntry, Role};
use nc3z_format::codec::{ChainSpec, dictionary_number};
use nc3z_format::num::Dictionary;
use nc3z_format::{Error as FormatError, NcType};
use quick_cache::sync::Cache;
use std::sync::Arc;

/// Dictionaries kept; each has at most 65,536 values.
const DICTIONARIES: usize = 256;

/// Decoded dictionaries by variable and number.
pub(crate) struct Dictionaries(Cache<(u32, u64), Arc<Dictionary>>);

impl Dictionaries {
    pub(crate) fn new() -> Self {
        Dictionaries(Cache::new(DICTIONARIES))
    }

    /// The dictionary that a tile of this array needs by its chain, if any.
    pub(crate) fn for_tile(
        &self,
        inner: &Inner,
        array: ArrayId,
        ty: NcType,
        chain: &ChainSpec,
    ) -> Result<Option<Arc<Dictionary>>> {
        let Some(number) = dictionary_number(chain)? else { return Ok(None) };
        let Role::Variable(var) = array.role() else {
            return Err(FormatError::corrupt(
                array.to_string(),
                None,
                "chain",
                "one without a dictionary",
                chain,
            )
            .into());
        };
        self.0.get_or_insert_with(&(var, number), || read(inner, var, ty, number).map(Arc::new)).map(Some)
    }
}

fn read(inner: &Inner, var: u32, ty: NcType, number: u64) -> Result<Dictionary> {
    let array = ArrayId::definitions(var);
    let place = || format!("{}, number {number}", inner.describe(array));
    let IndexEntry::Stored { offset, len, chain, check } = inner.entry(array, number)? else {
        return Err(
            FormatError::corrupt(place(), None, "index entry of a definition", "a block", "another").into()
        );
    };
    let block = inner.read_block(offset, len, check, &place)?;
    // Definitions are their own codec's bytes: chain 0.
    block.expect(BlockKind::Definition, array, number, 0, block.payload.len(), &place)?;
    if chain != 0 {
        return Err(FormatError::corrupt(place(), offset, "chain of a definition", 0, chain).into());
    }
    check_crc(&block.payload, block.header.decoded_crc, offset, "CRC of the definition", &place)?;
    Ok(Dictionary::decode_definition(&block.payload, ty).map_err(|e| e.within(&place(), offset))?)
}
