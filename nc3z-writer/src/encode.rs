//! One raw tile to what is stored of it: nothing (constant), a member of a container, or a block.

use crate::error::Result;
use crate::options::PACK_LEN;
use crate::plan::{ArrayPlan, Stored, TileChain};
use crate::tiles::RawTile;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::ArrayInfo;
use nc3z_format::codec::{ReferenceTile, Scratch, TileShape, encode_tile as encode_payload};

/// A tile that refers to another and takes at most so many bytes shares a container.
const SHORT_PAYLOAD: usize = 1 << 10;

/// What is stored of one tile.
#[derive(Debug)]
pub(crate) struct EncodedTile {
    pub(crate) array: ArrayId,
    pub(crate) tile: u64,
    pub(crate) decoded_len: u32,
    pub(crate) decoded_crc: u32,
    pub(crate) form: Form,
}

/// How a tile is stored.
#[derive(Debug)]
pub(crate) enum Form {
    /// All elements have the same bits: only the index says so. The value's bytes, then zeros.
    Constant { value: [u8; 8], size: u8 },
    /// A member of a container; of one that this chain packs, or else zstd.
    Member { chain: u16, bytes: Vec<u8>, container_chain: Option<u16> },
    /// A block of its own.
    Block { chain: u16, payload: Vec<u8> },
}

/// Encodes one tile by its array's plan.
pub(crate) fn encode_tile(
    raw: RawTile,
    info: &ArrayInfo,
    plan: &ArrayPlan,
    scratch: &mut Scratch,
) -> Result<EncodedTile> {
    encode_against(raw, info, plan, None, scratch)
}

/// The same, given the tile that the plan refers to.
pub(crate) fn encode_against(
    raw: RawTile,
    info: &ArrayInfo,
    plan: &ArrayPlan,
    other: Option<ReferenceTile<'_>>,
    scratch: &mut Scratch,
) -> Result<EncodedTile> {
    let RawTile { array, tile, bytes } = raw;
    let size = info.ty.size();
    let decoded_len = u32::try_from(bytes.len()).expect("a tile is at most 1 GiB");
    let encoded = |decoded_crc, form| EncodedTile { array, tile, decoded_len, decoded_crc, form };
    if let Some(value) = constant_value(&bytes, size) {
        return Ok(encoded(0, Form::Constant { value, size: u8::try_from(size).expect("at most 8") }));
    }
    let decoded_crc = crc32fast::hash(&bytes);
    if let Some(container) = &plan.container {
        let container_chain = Some(container.number);
        return Ok(encoded(decoded_crc, Form::Member { chain: 0, bytes, container_chain }));
    }
    let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(tile)? };
    if u64::from(decoded_len) <= PACK_LEN {
        let (chain, bytes) = smallest(&plan.short, &bytes, &shape, other, scratch)?;
        return Ok(encoded(decoded_crc, Form::Member { chain, bytes, container_chain: None }));
    }
    let (mut chain, mut payload) = smallest(&plan.tiles, &bytes, &shape, other, scratch)?;
    if let Some(fallback) = &plan.fallback
        && fallback.is_called_for(decoded_len.into(), Stored::of(&payload))
    {
        let (number, other) = smallest(&fallback.ways, &bytes, &shape, None, scratch)?;
        if other.len() < payload.len() {
            (chain, payload) = (number, other);
        }
    }
    // A block's header would be as long as what is left of a tile that is nearly another.
    if other.is_some() && payload.len() <= SHORT_PAYLOAD {
        return Ok(encoded(decoded_crc, Form::Member { chain, bytes: payload, container_chain: None }));
    }
    // Filters keep the length; where only those were asked for, they stay.
    if payload.len() > bytes.len() {
        (chain, payload) = (0, bytes);
    }
    payload.shrink_to_fit();
    Ok(encoded(decoded_crc, Form::Block { chain, payload }))
}

/// The tile by each of the chains that its plan names, the smallest kept; and that chain's number.
fn smallest(
    ways: &[TileChain],
    bytes: &[u8],
    shape: &TileShape,
    other: Option<ReferenceTile<'_>>,
    scratch: &mut Scratch,
) -> Result<(u16, Vec<u8>)> {
    let mut best: Option<(u16, Vec<u8>)> = None;
    for way in ways {
        let mut payload = Vec::new();
        encode_payload(way.coder_against(other), bytes, shape, scratch, &mut payload)?;
        if best.as_ref().is_none_or(|b| payload.len() < b.1.len()) {
            best = Some((way.number, payload));
        }
    }
    Ok(best.unwrap_or_else(|| (0, bytes.to_vec())))
}

/// The element's bytes followed by zeros, if all elements are alike.
pub(crate) fn constant_value(bytes: &[u8], size: usize) -> Option<[u8; 8]> {
    let first = bytes.get(..size)?;
    // Overlapping compare: every byte equals the one an element before it.
    if bytes[size..] != bytes[..bytes.len() - size] {
        return None;
    }
    let mut value = [0; 8];
    value[..size].copy_from_slice(first);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_tiles_are_seen_by_bits() {
        assert_eq!(constant_value(&[1, 2, 1, 2], 2), Some([1, 2, 0, 0, 0, 0, 0, 0]));
        assert_eq!(constant_value(&[1, 2, 1, 3], 2), None);
        assert_eq!(constant_value(&[7], 1), Some([7, 0, 0, 0, 0, 0, 0, 0]));
    }
}
