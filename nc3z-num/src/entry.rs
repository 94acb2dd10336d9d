//! The codec's entry points.
//!
//! They are compiled in this crate for each word width ([`Width`]). Otherwise each calling crate would compile the
//! generic functions with its own settings, and the codec's loops would be slow in a crate that is optimized for
//! size or built for tests.

use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::error::Result;
use crate::geometry::Geometry;
use crate::payload::decode_tile;
use crate::scratch::Scratch;
use crate::word::Word;
#[cfg(feature = "encode")]
use crate::{
    choose::{Against, Candidates, Effort, Extent, choose_against, choose_plans},
    encode::{DictionaryBuilder, EncodePlan, encode_tile},
};
use byteorder::{BigEndian, ByteOrder};
#[cfg(feature = "encode")]
use std::{ops::Range, sync::Arc};

/// A word for which the entry points are compiled: `u8`, `u16`, `u32` or `u64`.
pub trait Width: Word {
    /// Fills `out` with the words, big-endian; it has exactly the room for them.
    fn put_be(words: &[Self], out: &mut [u8]);

    /// Fills `words` from the same number of big-endian words.
    fn get_be(bytes: &[u8], words: &mut [Self]);

    /// [`decode_against`].
    ///
    /// # Errors
    /// As there.
    fn decode_tile(
        payload: &[u8],
        of: (ElementType, &Geometry),
        dict: Option<&Dictionary>,
        against: Option<&[Self]>,
        scratch: &mut Scratch,
        out: &mut [Self],
    ) -> Result<()>;

    /// [`encode_against`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "encode")]
    fn encode_tile(
        elements: &[Self],
        of: (ElementType, &Geometry),
        plan: &EncodePlan,
        against: Option<&[Self]>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<()>;

    /// [`choose_with`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "encode")]
    fn choose_plans(
        samples: &[&[Self]],
        of: (ElementType, &Geometry),
        effort: Effort,
        fill_values: &[Self],
        extent: Extent,
        dict: Option<&Arc<Dictionary>>,
    ) -> Result<Candidates>;

    /// [`choose_reference`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "encode")]
    fn choose_against(
        sample: (&[Self], ElementType),
        windows: &[Range<usize>],
        base: &EncodePlan,
        fill_values: &[Self],
        candidates: &[Vec<Self>],
    ) -> Result<Vec<Against>>;

    /// [`DictionaryBuilder::add`].
    #[cfg(feature = "encode")]
    fn add_to_dictionary(builder: &mut DictionaryBuilder<Self>, elements: &[Self], mask: Option<u64>)
    -> bool;

    /// [`DictionaryBuilder::finish`].
    #[cfg(feature = "encode")]
    fn finish_dictionary(builder: DictionaryBuilder<Self>, ty: ElementType) -> Option<Dictionary>;
}

/// Decodes a payload into exactly `out.len()` elements.
///
/// `dict` is the dictionary that the tile's chain names; payloads without ranks ignore it.
///
/// # Errors
/// Corrupt if the bytes are not a payload of this tile; unsupported if their version is newer.
pub fn decode<W: Width>(
    payload: &[u8],
    ty: ElementType,
    geom: &Geometry,
    dict: Option<&Dictionary>,
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    decode_against(payload, ty, geom, dict, None, scratch, out)
}

/// Decodes a tile that is coded against another: `against` has the other's elements as patterns of this type
/// ([`crate::convert`]).
///
/// # Errors
/// The errors of [`decode`], or a reference with another number of elements.
pub fn decode_against<W: Width>(
    payload: &[u8],
    ty: ElementType,
    geom: &Geometry,
    dict: Option<&Dictionary>,
    against: Option<&[W]>,
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    W::decode_tile(payload, (ty, geom), dict, against, scratch, out)
}

/// Appends the payload of a tile.
///
/// # Errors
/// If the words do not have the size of the type, or the tile has more than 2^30 elements.
#[cfg(feature = "encode")]
pub fn encode<W: Width>(
    elements: &[W],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    encode_against(elements, ty, geom, plan, None, scratch, out)
}

/// Encodes a tile against another: `against` has the other's elements as patterns of this type
/// ([`crate::convert`]).
///
/// # Errors
/// The errors of [`encode`], or a reference with another number of elements.
#[cfg(feature = "encode")]
pub fn encode_against<W: Width>(
    elements: &[W],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
    against: Option<&[W]>,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    W::encode_tile(elements, (ty, geom), plan, against, scratch, out)
}

/// Ranks plans for a variable by samples of its tiles. Each sample begins at the beginning of a tile; three are
/// enough.
///
/// # Errors
/// If the words do not have the size of the type.
#[cfg(feature = "encode")]
pub fn choose<W: Width>(
    samples: &[&[W]],
    ty: ElementType,
    geom: &Geometry,
    effort: Effort,
    fill_values: &[W],
) -> Result<Candidates> {
    choose_with(samples, ty, geom, effort, fill_values, Extent::default(), None)
}

/// Ranks plans as [`choose`] does, with the extent of the variable and a dictionary of all its values.
///
/// # Errors
/// If the words do not have the size of the type.
#[cfg(feature = "encode")]
pub fn choose_with<W: Width>(
    samples: &[&[W]],
    ty: ElementType,
    geom: &Geometry,
    effort: Effort,
    fill_values: &[W],
    extent: Extent,
    dict: Option<&Arc<Dictionary>>,
) -> Result<Candidates> {
    W::choose_plans(samples, (ty, geom), effort, fill_values, extent, dict)
}

/// Returns ways to code a tile against one of the candidates that are estimated smaller than the tile without a
/// reference. The best comes first; each has another candidate. `sample` and each candidate have the elements of
/// [`Against::windows`], one window after another, as patterns of the tile's type. `base` is the plan for the tile
/// without a reference.
///
/// # Errors
/// The words do not have the size of the type, or a candidate has another length.
#[cfg(feature = "encode")]
pub fn choose_reference<W: Width>(
    sample: &[W],
    ty: ElementType,
    windows: &[Range<usize>],
    base: &EncodePlan,
    fill_values: &[W],
    candidates: &[Vec<W>],
) -> Result<Vec<Against>> {
    W::choose_against((sample, ty), windows, base, fill_values, candidates)
}

#[cfg(feature = "encode")]
impl<W: Width> DictionaryBuilder<W> {
    /// Adds the elements of a tile, except `mask`; false once there are too many patterns.
    pub fn add(&mut self, elements: &[W], mask: Option<u64>) -> bool {
        W::add_to_dictionary(self, elements, mask)
    }

    /// Returns the dictionary, if the variable has one.
    pub fn finish(self, ty: ElementType) -> Option<Dictionary> {
        W::finish_dictionary(self, ty)
    }
}

macro_rules! widths {
    ($($word:ty, $put:expr, $get:expr;)+) => {$(
        impl Width for $word {
            #[multiversion::multiversion(targets("x86_64+avx+avx2"))]
            fn put_be(words: &[$word], out: &mut [u8]) {
                ($put)(words, out);
            }

            #[multiversion::multiversion(targets("x86_64+avx+avx2"))]
            fn get_be(bytes: &[u8], words: &mut [$word]) {
                ($get)(bytes, words);
            }

            fn decode_tile(
                payload: &[u8],
                of: (ElementType, &Geometry),
                dict: Option<&Dictionary>,
                against: Option<&[Self]>,
                scratch: &mut Scratch,
                out: &mut [Self],
            ) -> Result<()> {
                decode_tile(payload, of, dict, against, scratch, out)
            }

            #[cfg(feature = "encode")]
            fn encode_tile(
                elements: &[Self],
                of: (ElementType, &Geometry),
                plan: &EncodePlan,
                against: Option<&[Self]>,
                scratch: &mut Scratch,
                out: &mut Vec<u8>,
            ) -> Result<()> {
                encode_tile(elements, of, plan, against, scratch, out)
            }

            #[cfg(feature = "encode")]
            fn choose_plans(
                samples: &[&[Self]],
                of: (ElementType, &Geometry),
                effort: Effort,
                fill_values: &[Self],
                extent: Extent,
                dict: Option<&Arc<Dictionary>>,
            ) -> Result<Candidates> {
                choose_plans(samples, of, effort, fill_values, extent, dict)
            }

            #[cfg(feature = "encode")]
            fn choose_against(
                sample: (&[Self], ElementType),
                windows: &[Range<usize>],
                base: &EncodePlan,
                fill_values: &[Self],
                candidates: &[Vec<Self>],
            ) -> Result<Vec<Against>> {
                choose_against(sample, windows, base, fill_values, candidates)
            }

            #[cfg(feature = "encode")]
            fn add_to_dictionary(
                builder: &mut DictionaryBuilder<Self>,
                elements: &[Self],
                mask: Option<u64>,
            ) -> bool {
                builder.add_all(elements, mask)
            }

            #[cfg(feature = "encode")]
            fn finish_dictionary(builder: DictionaryBuilder<Self>, ty: ElementType) -> Option<Dictionary> {
                builder.made(ty)
            }
        }
    )+};
}
widths! {
    u8, |words: &[u8], out: &mut [u8]| out.copy_from_slice(words), |bytes: &[u8], words: &mut [u8]| words.copy_from_slice(bytes);
    u16, BigEndian::write_u16_into, BigEndian::read_u16_into;
    u32, BigEndian::write_u32_into, BigEndian::read_u32_into;
    u64, BigEndian::write_u64_into, BigEndian::read_u64_into;
}
