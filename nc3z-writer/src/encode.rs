//! Encodes a raw tile into its stored form: only its value (constant), a member of a container, or a block.

use crate::error::{Error, ErrorKind, Result};
use crate::options::PACK_LEN;
use crate::plan::{ArrayPlan, Stored, TileChain};
use crate::tiles::RawTile;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::codec::{CodecScratch, ReferenceTile, TileShape, encode_tile as encode_payload};
use nc3z_reader::ClassicFile;

/// A tile that refers to another shares a container if its payload has at most this many bytes.
const SHORT_PAYLOAD: usize = 1 << 10;

/// The stored form of one tile.
#[derive(Debug, Clone)]
pub(crate) struct EncodedTile {
    pub(crate) array: ArrayId,
    pub(crate) tile: u64,
    pub(crate) decoded_len: u32,
    pub(crate) decoded_crc: u32,
    pub(crate) form: Form,
}

/// The form in which a tile is stored.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// All elements have the same bits, and only the index records them. The value's bytes, then zeros.
    Constant { value: [u8; 8], size: u8 },
    /// A member of a container, which this chain packs; without a chain, zstd.
    Member { chain: u16, bytes: Vec<u8>, container_chain: Option<u16> },
    /// A block that has no other tile.
    Block { chain: u16, payload: Vec<u8> },
}

/// The chain of the plan that encodes a tile.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// No chain: chain 0 stores the bytes.
    AsItIs,
    Tiles(usize),
    Short(usize),
    Fallback(usize),
    Container,
}

/// A tile encoded by its array's plan before chains have numbers.
#[derive(Debug)]
pub(crate) struct MadeTile {
    encoded: EncodedTile,
    way: Way,
}

impl MadeTile {
    /// The stored form; its chain numbers are not valid yet.
    pub(crate) fn form(&self) -> &Form {
        &self.encoded.form
    }

    pub(crate) fn tile(&self) -> u64 {
        self.encoded.tile
    }

    /// Returns the tile with the current chain numbers of its plan.
    pub(crate) fn numbered(&self, plan: &ArrayPlan) -> EncodedTile {
        let mut encoded = self.encoded.clone();
        self.way.number(plan, &mut encoded.form);
        encoded
    }
}

impl Way {
    fn number(self, plan: &ArrayPlan, form: &mut Form) {
        let of = |ways: &[TileChain], at: usize| ways.get(at).map_or(0, |way| way.number);
        let number = match self {
            Way::AsItIs | Way::Container => 0,
            Way::Tiles(at) => of(&plan.tiles, at),
            Way::Short(at) => of(&plan.short, at),
            Way::Fallback(at) => plan.fallback.as_ref().map_or(0, |f| of(&f.ways, at)),
        };
        match form {
            Form::Constant { .. } => {}
            Form::Member { chain, container_chain, .. } => {
                *chain = number;
                *container_chain = plan.container.as_ref().map(|container| container.number);
            }
            Form::Block { chain, .. } => *chain = number,
        }
    }
}

/// Encodes one tile by its array's plan, given the tile that the plan refers to.
pub(crate) fn encode_tile(
    raw: &RawTile,
    info: &ArrayInfo,
    plan: &ArrayPlan,
    other: Option<ReferenceTile<'_>>,
    scratch: &mut CodecScratch,
) -> Result<EncodedTile> {
    let MadeTile { mut encoded, way } = make_tile(raw, info, plan, other, scratch)?;
    way.number(plan, &mut encoded.form);
    Ok(encoded)
}

/// Encodes one tile before chains have numbers.
pub(crate) fn make_tile(
    raw: &RawTile,
    info: &ArrayInfo,
    plan: &ArrayPlan,
    other: Option<ReferenceTile<'_>>,
    scratch: &mut CodecScratch,
) -> Result<MadeTile> {
    let RawTile { array, tile, bytes } = raw;
    let (array, tile, size) = (*array, *tile, info.ty.size());
    let decoded_len = u32::try_from(bytes.len()).expect("a tile is at most 1 GiB");
    let made = |decoded_crc, form, way| MadeTile {
        encoded: EncodedTile { array, tile, decoded_len, decoded_crc, form },
        way,
    };
    if let Some(value) = constant_value(bytes, size) {
        let size = u8::try_from(size).expect("at most 8");
        return Ok(made(0, Form::Constant { value, size }, Way::AsItIs));
    }
    let decoded_crc = crc32fast::hash(bytes);
    let member = |bytes, way| made(decoded_crc, Form::Member { chain: 0, bytes, container_chain: None }, way);
    if plan.container.is_some() {
        return Ok(member(bytes.clone(), Way::Container));
    }
    let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(tile)? };
    if u64::from(decoded_len) <= PACK_LEN && !plan.as_it_is {
        let (at, bytes) = smallest(&plan.short, bytes, &shape, other, scratch)?;
        return Ok(member(bytes, at.map_or(Way::AsItIs, Way::Short)));
    }
    let (at, mut payload) = smallest(&plan.tiles, bytes, &shape, other, scratch)?;
    let mut way = at.map_or(Way::AsItIs, Way::Tiles);
    if let Some(fallback) = &plan.fallback
        && fallback.is_called_for(decoded_len.into(), Stored::from_bytes(&payload))
    {
        let ways = fallback.ways_for(bytes, Stored::from_bytes(&payload), scratch)?;
        let (at, other) = smallest(ways, bytes, &shape, None, scratch)?;
        if other.len() < payload.len() {
            (way, payload) = (at.map_or(Way::AsItIs, Way::Fallback), other);
        }
    }
    // The header of a separate block would be as long as this payload.
    if other.is_some() && payload.len() <= SHORT_PAYLOAD {
        return Ok(member(payload, way));
    }
    // A chain of filters alone does not change the length, and is stored.
    if payload.len() > bytes.len() {
        (way, payload) = (Way::AsItIs, bytes.clone());
    }
    payload.shrink_to_fit();
    Ok(made(decoded_crc, Form::Block { chain: 0, payload }, way))
}

/// Returns the result of [`make_tile`] for an array's only tile, if the numeric codec has already made the payload by the
/// first chain of the array's plan, with the estimated length. Returns `None` if the tile shares its block.
pub(crate) fn made_before(info: &ArrayInfo, bytes: &[u8], mut payload: Vec<u8>) -> Option<MadeTile> {
    let is_block = bytes.len() as u64 > PACK_LEN && payload.len() <= bytes.len();
    if !is_block || constant_value(bytes, info.ty.size()).is_some() {
        return None;
    }
    let decoded_len = u32::try_from(bytes.len()).ok()?;
    payload.shrink_to_fit();
    let (decoded_crc, form) = (crc32fast::hash(bytes), Form::Block { chain: 0, payload });
    let encoded = EncodedTile { array: info.id, tile: 0, decoded_len, decoded_crc, form };
    Some(MadeTile { encoded, way: Way::Tiles(0) })
}

/// Adds the variable's name to an error of a chain that was requested for it.
pub(crate) fn in_variable(e: Error, classic: &ClassicFile, array: ArrayId, tile: u64) -> Error {
    match (e.kind(), array.role()) {
        (ErrorKind::Read(cause), Role::Variable(v)) if !e.is_interrupted() => {
            let variable = &classic.header().variables[v as usize];
            let why = format!("variable `{}`, tile {tile}: {}", variable.name_lossy(), cause.with_causes());
            ErrorKind::Option { option: "chain", why, advice: None }.into()
        }
        _ => e,
    }
}

/// Encodes the tile by each chain of its plan. Returns the smallest result and its chain.
fn smallest(
    ways: &[TileChain],
    bytes: &[u8],
    shape: &TileShape,
    other: Option<ReferenceTile<'_>>,
    scratch: &mut CodecScratch,
) -> Result<(Option<usize>, Vec<u8>)> {
    let mut best: Option<(usize, Vec<u8>)> = None;
    for (at, way) in ways.iter().enumerate() {
        let mut payload = Vec::new();
        encode_payload(way.coder_against(other), bytes, shape, scratch, &mut payload)?;
        if best.as_ref().is_none_or(|b| payload.len() < b.1.len()) {
            best = Some((at, payload));
        }
    }
    Ok(best.map_or_else(|| (None, bytes.to_vec()), |(at, payload)| (Some(at), payload)))
}

/// Returns the element's bytes followed by zeros, if all elements are equal.
pub(crate) fn constant_value(bytes: &[u8], size: usize) -> Option<[u8; 8]> {
    let first = bytes.get(..size)?;
    // Compares overlapping ranges: every byte equals the one an element before it.
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
