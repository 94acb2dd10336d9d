//! Tiles by any chain: byte chains as they are, the numeric codec with the byte order, geometry and dictionary it needs.

use super::registry::{decode_bytes, encode_bytes};
use super::{ChainSpec, Scratch};
use crate::error::{Error, Result};
use crate::num::{self, Dictionary, EncodePlan, Params, Word};
use crate::tile::Geometry;
use crate::types::NcType;
use serde_json::{Map, Value};

/// What a tile's codec must know of the tile besides its bytes.
#[derive(Debug, Clone, Copy)]
pub struct TileShape {
    /// Type of the elements.
    pub ty: NcType,
    /// Distances to the previous row, plane and volume.
    pub geometry: Geometry,
}

impl TileShape {
    fn num_geometry(&self) -> num::Geometry {
        let or_none = |n: Option<u64>| n.unwrap_or(0);
        let Geometry { row, plane, volume } = self.geometry;
        num::Geometry { row: or_none(row), plane: or_none(plane), volume: or_none(volume) }
    }
}

/// The number of the dictionary that a chain's tiles refer to, if any.
///
/// # Errors
/// Parameters of the numeric codec that this build does not know.
pub fn dictionary_number(chain: &ChainSpec) -> Result<Option<u64>> {
    chain.numeric().map_or(Ok(None), |map| Ok(params(map)?.dict))
}

fn params(map: &Map<String, Value>) -> Result<Params> {
    match (map.len(), map.get("dict").map(Value::as_u64)) {
        (0, _) => Ok(Params::new(None)),
        (1, Some(Some(n))) => Ok(Params::new(Some(n))),
        _ => {
            let json = Value::Object(map.clone());
            Err(Error::unsupported("chain", None, format!("nc3z.num with {json}; a newer nc3z may read it")))
        }
    }
}

/// Decodes a payload into exactly `out`: big-endian elements, as they stand in the classic file.
///
/// # Errors
/// An unknown chain; a payload that does not decode to just so many bytes; a dictionary that is missing.
pub fn decode_tile(
    chain: &ChainSpec,
    payload: &[u8],
    shape: &TileShape,
    dictionary: Option<&Dictionary>,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> Result<()> {
    let Some(map) = chain.numeric() else { return decode_bytes(chain, payload, scratch, out) };
    let params = params(map)?;
    match shape.ty.size() {
        1 => decode_words::<u8, 1>(payload, shape, &params, dictionary, scratch, out, |w, b| *b = [w]),
        2 => decode_words::<u16, 2>(payload, shape, &params, dictionary, scratch, out, |w, b| {
            *b = w.to_be_bytes();
        }),
        4 => decode_words::<u32, 4>(payload, shape, &params, dictionary, scratch, out, |w, b| {
            *b = w.to_be_bytes();
        }),
        _ => decode_words::<u64, 8>(payload, shape, &params, dictionary, scratch, out, |w, b| {
            *b = w.to_be_bytes();
        }),
    }
}

fn decode_words<W: Word, const N: usize>(
    payload: &[u8],
    shape: &TileShape,
    params: &Params,
    dictionary: Option<&Dictionary>,
    scratch: &mut Scratch,
    out: &mut [u8],
    put: impl Fn(W, &mut [u8; N]),
) -> Result<()> {
    let len = out.len();
    let (chunks, rest) = out.as_chunks_mut::<N>();
    if !rest.is_empty() {
        return Err(Error::corrupt("payload", None, "decoded length", format!("a multiple of {N}"), len));
    }
    let mut words = std::mem::take(W::pool(&mut scratch.words));
    words.resize(chunks.len(), W::default());
    let done = num::decode(
        payload,
        shape.ty,
        &shape.num_geometry(),
        params,
        dictionary,
        &mut scratch.num,
        &mut words,
    );
    if done.is_ok() {
        chunks.iter_mut().zip(&words).for_each(|(b, &w)| put(w, b));
    }
    *W::pool(&mut scratch.words) = words;
    done
}

/// How a tile is encoded.
#[derive(Debug, Clone, Copy)]
pub enum TileCoder<'a> {
    /// A byte chain.
    Bytes(&'a ChainSpec),
    /// The numeric codec by a plan.
    Num(&'a EncodePlan),
}

/// Appends the payload of a tile of big-endian elements to `out`.
///
/// # Errors
/// A chain that this build cannot run; bytes that are no whole elements.
pub fn encode_tile(
    coder: TileCoder<'_>,
    bytes: &[u8],
    shape: &TileShape,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let plan = match coder {
        TileCoder::Bytes(chain) => return encode_bytes(chain, bytes, scratch, out),
        TileCoder::Num(plan) => plan,
    };
    match shape.ty.size() {
        1 => encode_words::<u8, 1>(plan, bytes, shape, scratch, out, |b| b[0]),
        2 => encode_words::<u16, 2>(plan, bytes, shape, scratch, out, |b| u16::from_be_bytes(*b)),
        4 => encode_words::<u32, 4>(plan, bytes, shape, scratch, out, |b| u32::from_be_bytes(*b)),
        _ => encode_words::<u64, 8>(plan, bytes, shape, scratch, out, |b| u64::from_be_bytes(*b)),
    }
}

fn encode_words<W: Word, const N: usize>(
    plan: &EncodePlan,
    bytes: &[u8],
    shape: &TileShape,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
    get: impl Fn(&[u8; N]) -> W,
) -> Result<()> {
    let mut words = std::mem::take(W::pool(&mut scratch.words));
    words.clear();
    words.extend(bytes.as_chunks::<N>().0.iter().map(get));
    let done = num::encode(&words, shape.ty, &shape.num_geometry(), plan, &mut scratch.num, out);
    *W::pool(&mut scratch.words) = words;
    done
}

/// Big-endian bytes as native words.
pub fn words_of<W: Word>(bytes: &[u8]) -> Vec<W> {
    let word = |b: &[u8]| W::from_u64(b.iter().fold(0, |n, &b| n << 8 | u64::from(b)));
    bytes.chunks_exact(W::BYTES).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_chain_gives_back_big_endian_bytes_of_every_type() {
        let chain = ChainSpec::from_value(&serde_json::json!([{"id":"nc3z.num"}]), &crate::Limits::default())
            .unwrap();
        let mut scratch = Scratch::default();
        for ty in NcType::ALL {
            let bytes: Vec<u8> = (0..240u32).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
            let shape = TileShape { ty, geometry: Geometry::of(&[2, 3, 5]) };
            let mut payload = Vec::new();
            encode_tile(TileCoder::Num(&EncodePlan::default()), &bytes, &shape, &mut scratch, &mut payload)
                .unwrap();
            let mut back = vec![0; bytes.len()];
            decode_tile(&chain, &payload, &shape, None, &mut scratch, &mut back).unwrap();
            assert_eq!(back, bytes, "{ty}");
        }
    }

    #[test]
    fn unknown_parameters_are_unsupported() {
        let chain =
            ChainSpec::from_value(&serde_json::json!([{"id":"nc3z.num","x":1}]), &crate::Limits::default());
        assert!(dictionary_number(&chain.unwrap()).unwrap_err().is_unsupported());
    }
}
