//! One raw tile to what is stored of it: nothing (constant), a member of a container, or a block.

use crate::choose::ArrayPlan;
use crate::error::Result;
use crate::gather::RawTile;
use crate::options::PACK_LEN;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::ArrayInfo;
use nc3z_format::codec::{
    ChainSpec, Scratch, TileCoder, TileShape, encode_bytes, encode_tile as encode_payload,
};
use nc3z_format::num::EncodePlan;

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
    Packed { chain: u16, bytes: Vec<u8>, packer: Option<u16> },
    /// A block of its own.
    Block { chain: u16, payload: Vec<u8> },
}

/// Encodes one tile by its array's plan.
pub(crate) fn encode_tile(
    raw: RawTile,
    info: &ArrayInfo,
    plan: &ArrayPlan,
    chains: &[ChainSpec],
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
    if plan.packer.is_some() {
        return Ok(encoded(decoded_crc, Form::Packed { chain: 0, bytes, packer: plan.packer }));
    }
    let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(tile)? };
    if let (Some(num), true) = (&plan.num, u64::from(decoded_len) <= PACK_LEN) {
        // A small tile of a larger array: its numbers are known better than the container's codec could guess.
        let (chain, bytes) = smallest(num, plan, &bytes, &shape, scratch)?;
        return Ok(encoded(decoded_crc, Form::Packed { chain, bytes, packer: None }));
    }
    if u64::from(decoded_len) <= PACK_LEN {
        let mut stored = Vec::new();
        encode_bytes(&chains[usize::from(plan.packed)], &bytes, scratch, &mut stored)?;
        return Ok(encoded(decoded_crc, Form::Packed { chain: plan.packed, bytes: stored, packer: None }));
    }
    let (mut chain, mut payload) = if let Some(num) = &plan.num {
        smallest(num, plan, &bytes, &shape, scratch)?
    } else {
        let mut payload = Vec::new();
        let coder = TileCoder::Bytes(&chains[usize::from(plan.chain)]);
        encode_payload(coder, &bytes, &shape, scratch, &mut payload)?;
        (plan.chain, payload)
    };
    // Filters keep the length; where only those were asked for, they stay.
    if payload.len() > bytes.len() {
        (chain, payload) = (0, bytes);
    }
    payload.shrink_to_fit();
    Ok(encoded(decoded_crc, Form::Block { chain, payload }))
}

/// The tile by the numeric plan of its array, or by the one of its rivals that makes it smaller; and the chain's number.
fn smallest(
    num: &EncodePlan,
    plan: &ArrayPlan,
    bytes: &[u8],
    shape: &TileShape,
    scratch: &mut Scratch,
) -> Result<(u16, Vec<u8>)> {
    let mut best = (plan.chain, Vec::new());
    encode_payload(TileCoder::Num(num), bytes, shape, scratch, &mut best.1)?;
    for (chain, rival) in &plan.rivals {
        let mut payload = Vec::new();
        encode_payload(TileCoder::Num(rival), bytes, shape, scratch, &mut payload)?;
        if payload.len() < best.1.len() {
            best = (*chain, payload);
        }
    }
    Ok(best)
}

/// The element's bytes followed by zeros, if all elements are alike.
fn constant_value(bytes: &[u8], size: usize) -> Option<[u8; 8]> {
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
