//! Tiles to the numeric codec and back: with the byte order, geometry and dictionary it needs.

use super::needs::Needs;
use super::scratch::CodecScratch;
use crate::error::{Error, Result};
use crate::tile::Geometry;
use crate::types::NcType;
#[cfg(feature = "encode")]
use nc3z_num::EncodePlan;
use nc3z_num::{Dictionary, Pool, Width};

/// The facts about a tile that its codec needs besides its bytes.
#[derive(Debug, Clone, Copy)]
pub struct TileShape {
    /// Type of the elements.
    pub ty: NcType,
    /// Distances to the previous row, plane and volume.
    pub geometry: Geometry,
}

/// The data fetched for a tile besides its payload, because its chain needs it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Dependencies<'a> {
    /// The dictionary of the tile's variable.
    pub dictionary: Option<&'a Dictionary>,
    /// The tile of another variable that the tile is coded against.
    pub reference: Option<ReferenceTile<'a>>,
    /// The older tile in its own place that the tile is coded against, big-endian, of any length.
    pub base: Option<&'a [u8]>,
}

/// A decoded tile that others are coded against.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceTile<'a> {
    /// Type of its elements.
    pub ty: NcType,
    /// Its elements, big-endian.
    pub bytes: &'a [u8],
}

impl<'a> Dependencies<'a> {
    /// With this dictionary, or none.
    #[must_use]
    pub fn with_dictionary(mut self, dictionary: Option<&'a Dictionary>) -> Self {
        self.dictionary = dictionary;
        self
    }

    /// With this older tile, or none.
    #[must_use]
    pub fn with_base(mut self, base: Option<&'a [u8]>) -> Self {
        self.base = base;
        self
    }

    /// With this reference, or none.
    #[must_use]
    pub fn with_reference(mut self, reference: Option<ReferenceTile<'a>>) -> Self {
        self.reference = reference;
        self
    }
}

/// Decodes the numeric codec's payload into exactly `out`, big-endian.
pub(super) fn decode_numeric(
    payload: &[u8],
    shape: &TileShape,
    needs: &Needs,
    given: &Dependencies<'_>,
    scratch: &mut CodecScratch,
    out: &mut [u8],
) -> Result<()> {
    if needs.reference.is_some() && given.reference.is_none() {
        return Err(Error::invalid("the tile that another is coded against was not given"));
    }
    // Only the data that the chain names is used.
    let given = Dependencies {
        dictionary: given.dictionary.filter(|_| needs.dictionary.is_some()),
        reference: given.reference.filter(|_| needs.reference.is_some()),
        base: None,
    };
    match shape.ty.size() {
        1 => decode_words::<u8>(payload, shape, &given, scratch, out),
        2 => decode_words::<u16>(payload, shape, &given, scratch, out),
        4 => decode_words::<u32>(payload, shape, &given, scratch, out),
        _ => decode_words::<u64>(payload, shape, &given, scratch, out),
    }
}

fn decode_words<W: Width>(
    payload: &[u8],
    shape: &TileShape,
    given: &Dependencies<'_>,
    scratch: &mut CodecScratch,
    out: &mut [u8],
) -> Result<()> {
    let size = size_of::<W>();
    if !out.len().is_multiple_of(size) {
        let expected = format!("a multiple of {size}");
        return Err(Error::corrupt("payload", None, "decoded length", expected, out.len()));
    }
    let against = given.reference.map(|other| patterns_of::<W>(other, shape.ty)).transpose()?;
    let mut words = std::mem::take(W::pool(&mut scratch.words));
    words.resize(out.len() / size, W::default());
    let done = nc3z_num::decode_against(
        payload,
        shape.ty.into(),
        &shape.geometry,
        given.dictionary,
        against.as_deref(),
        &mut scratch.num,
        &mut words,
    );
    if done.is_ok() {
        W::put_be(&words, out);
    }
    *W::pool(&mut scratch.words) = words;
    Ok(done?)
}

/// A reference's values as patterns of another type.
///
/// # Errors
/// Words that do not have the size of the type.
pub fn patterns_of<W: Width>(other: ReferenceTile<'_>, ty: NcType) -> Result<Vec<W>> {
    let (from, to) = (other.ty.into(), ty.into());
    Ok(match other.ty.size() {
        1 => nc3z_num::convert(&words_of::<u8>(other.bytes), from, to)?,
        2 => nc3z_num::convert(&words_of::<u16>(other.bytes), from, to)?,
        4 => nc3z_num::convert(&words_of::<u32>(other.bytes), from, to)?,
        _ => nc3z_num::convert(&words_of::<u64>(other.bytes), from, to)?,
    })
}

/// Reads the stored form of a dictionary.
///
/// # Errors
/// It is not the stored form of a dictionary of this type.
pub fn decode_dictionary(definition: &[u8], ty: NcType) -> Result<Dictionary> {
    Ok(Dictionary::decode_definition(definition, ty.into())?)
}

/// The stored form of a dictionary.
///
/// # Errors
/// The dictionary is of another type.
#[cfg(feature = "encode")]
pub fn encode_dictionary(dictionary: &Dictionary, ty: NcType) -> Result<Vec<u8>> {
    Ok(dictionary.encode_definition(ty.into())?)
}

/// Appends the numeric codec's payload of big-endian elements.
#[cfg(feature = "encode")]
pub(super) fn encode_numeric(
    plan: &EncodePlan,
    other: Option<ReferenceTile<'_>>,
    bytes: &[u8],
    shape: &TileShape,
    scratch: &mut CodecScratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let pool = std::mem::take(&mut scratch.words);
    let mut pool = read_words(shape.ty.size(), bytes, pool);
    let done = match shape.ty.size() {
        1 => encode_words::<u8>(&mut pool, (plan, other), shape, scratch, out),
        2 => encode_words::<u16>(&mut pool, (plan, other), shape, scratch, out),
        4 => encode_words::<u32>(&mut pool, (plan, other), shape, scratch, out),
        _ => encode_words::<u64>(&mut pool, (plan, other), shape, scratch, out),
    };
    scratch.words = pool;
    done
}

#[cfg(feature = "encode")]
fn encode_words<W: Width>(
    pool: &mut Pool,
    (plan, other): (&EncodePlan, Option<ReferenceTile<'_>>),
    shape: &TileShape,
    scratch: &mut CodecScratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let against = other.map(|other| patterns_of::<W>(other, shape.ty)).transpose()?;
    let (ty, geometry, words) = (shape.ty.into(), &shape.geometry, W::pool(pool));
    Ok(nc3z_num::encode_against(words, ty, geometry, plan, against.as_deref(), &mut scratch.num, out)?)
}

/// Big-endian bytes as native words.
pub fn words_of<W: Width>(bytes: &[u8]) -> Vec<W> {
    std::mem::take(W::pool(&mut read_words(size_of::<W>(), bytes, Pool::default())))
}

/// Fills the words of this size. Bytes of an incomplete word are omitted.
fn read_words(size: usize, bytes: &[u8], mut pool: Pool) -> Pool {
    fn fill<W: Width>(bytes: &[u8], pool: &mut Pool) {
        let words = W::pool(pool);
        words.resize(bytes.len() / size_of::<W>(), W::default());
        W::get_be(&bytes[..size_of_val(&words[..])], words);
    }
    match size {
        1 => fill::<u8>(bytes, &mut pool),
        2 => fill::<u16>(bytes, &mut pool),
        4 => fill::<u32>(bytes, &mut pool),
        _ => fill::<u64>(bytes, &mut pool),
    }
    pool
}

#[cfg(test)]
#[cfg(feature = "encode")]
mod tests {
    use super::*;

    #[test]
    fn numeric_payloads_give_back_big_endian_bytes_of_every_type() {
        let mut scratch = CodecScratch::default();
        for ty in NcType::ALL {
            let bytes: Vec<u8> = (0..240u32).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
            let shape = TileShape { ty, geometry: Geometry::new(&[2, 3, 5]) };
            let mut payload = Vec::new();
            encode_numeric(&EncodePlan::default(), None, &bytes, &shape, &mut scratch, &mut payload).unwrap();
            let mut back = vec![0; bytes.len()];
            let (needs, given) = (Needs::default(), Dependencies::default());
            decode_numeric(&payload, &shape, &needs, &given, &mut scratch, &mut back).unwrap();
            assert_eq!(back, bytes, "{ty}");
        }
    }
}
