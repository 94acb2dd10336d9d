//! The codec's entry points for each word width, compiled in this crate. Otherwise each calling crate would compile
//! the generic functions with its own settings, and the codec's loops would be slow in a crate that is optimized
//! for size or built for tests.

use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::error::Result;
use crate::geometry::Geometry;
use crate::payload;
use crate::scratch::Scratch;
#[cfg(feature = "encode")]
use crate::{
    choose,
    choose::{Against, Candidates, Effort, Extent},
    encode,
    encode::{DictionaryBuilder, EncodePlan},
};
use byteorder::{BigEndian, ByteOrder};
#[cfg(feature = "encode")]
use std::{ops::Range, sync::Arc};

/// Implements the generic functions with the same names or meaning: [`crate::decode_against`] and others.
pub trait Width: Sized {
    /// Fills `out` with the words, big-endian; it has exactly the room for them.
    fn put_be(words: &[Self], out: &mut [u8]);

    /// Fills `words` from the same number of big-endian words.
    fn get_be(bytes: &[u8], words: &mut [Self]);

    /// [`crate::decode_against`].
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

    /// [`crate::encode_against`].
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

    /// [`crate::choose_with`].
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

    /// [`crate::choose_reference`].
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
                payload::decode_tile(payload, of, dict, against, scratch, out)
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
                encode::encode_tile(elements, of, plan, against, scratch, out)
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
                choose::choose_plans(samples, of, effort, fill_values, extent, dict)
            }

            #[cfg(feature = "encode")]
            fn choose_against(
                sample: (&[Self], ElementType),
                windows: &[Range<usize>],
                base: &EncodePlan,
                fill_values: &[Self],
                candidates: &[Vec<Self>],
            ) -> Result<Vec<Against>> {
                choose::choose_against(sample, windows, base, fill_values, candidates)
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
