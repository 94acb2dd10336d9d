//! The stored form of the head copy and of sections: unencoded, or *packed*: one zstd frame, with one of the
//! format's dictionaries if that is smaller, or one LZMA2 stream for heads with long lists of numbers.
//!
//! Most archives are small, and half of a small archive is the header: names of attributes, units, and
//! conventions that thousands of other files also have. One dictionary has these common words. The other has
//! whole templates of files from Argo and ERDDAP. `spec/dictionary` shows how they were made.

#[cfg(all(feature = "lzma", feature = "encode"))]
use crate::codec::{Lzma, encode_lzma};
use crate::codec::{
    ZstdDictionary, decode_lzma, decode_zstd_frame_with, encode_zstd_frame, encode_zstd_frame_with, is_lzma2,
};
use crate::error::Result;

/// Part of the format, never changed.
static DICTIONARY: ZstdDictionary =
    ZstdDictionary::new(50_017, include_bytes!("../../dictionary/head.dict"), HARD_LEVEL);

/// The dictionary of words, prepared for the level of quick estimates.
static QUICK_WORDS: ZstdDictionary =
    ZstdDictionary::new(50_017, include_bytes!("../../dictionary/head.dict"), TEMPLATES_LEVEL);

/// For heads of Argo floats and of tables by ERDDAP. A quick level suffices, since it finds the templates
/// too.
static TEMPLATES: ZstdDictionary =
    ZstdDictionary::new(50_018, include_bytes!("../../dictionary/argo.dict"), TEMPLATES_LEVEL);
const TEMPLATES_LEVEL: i32 = 9;
/// This dictionary is tried for heads that contain one of these texts.
const TEMPLATE_MARKS: [&[u8]; 2] = [b"Argo ", b"cdm_data_type"];

/// The format's dictionaries, by the names of their files in `spec/dictionary`. Together with the text of the
/// specification they suffice for decoding.
pub fn dictionaries() -> [(&'static str, &'static [u8]); 2] {
    [("head.dict", DICTIONARY.bytes()), ("argo.dict", TEMPLATES.bytes())]
}

/// Content up to this many bytes is compressed at zstd's highest level, and with the dictionary too. The highest level
/// takes some 200 ns a byte: the header of 16,000 short arrays took longer than the arrays.
const HARD_LEN: usize = 64 << 10;
const HARD_LEVEL: i32 = 19;
/// Longer content is compressed at this level and at `QUICK_LEVEL`, which packs lists of variables better at times. Levels
/// above this one take up to ten times as long for headers, and save nothing.
const LONG_LEVEL: i32 = 9;
const LEVEL: i32 = 6;
/// Content of more than `REPEATED_LEN` bytes counts as long if a quick frame leaves less than 1/`REPEATED` of it.
const REPEATED_LEN: usize = 8 << 10;
const REPEATED: usize = 12;
/// LZMA2 is not tried for longer heads.
#[cfg(all(feature = "lzma", feature = "encode"))]
const LONG_LEN: usize = 1 << 20;
/// A head whose frame has less than 1/`TEXT_SHARE` of its bytes is text.
#[cfg(all(feature = "lzma", feature = "encode"))]
const TEXT_SHARE: usize = 4;
#[cfg(all(feature = "lzma", feature = "encode"))]
const LZMA_PRESET: u32 = 6;
/// The level of estimates, and of the second frame that is tried for long content.
const QUICK_LEVEL: i32 = 3;
/// A dictionary is chosen without further trials if its frame saves more than about 1/CLEARLY of the bytes of
/// a quick frame without it.
const CLEARLY: usize = 8;
/// A frame with the dictionary must save this many bytes, since a reader without the dictionary cannot read
/// it.
const WORTH: usize = 16;

/// The effort to pack a head copy or a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackEffort {
    /// Quick levels of zstd, for content that is a small part of its archive.
    Quick,
    /// zstd's highest level, unless the content is long.
    Full,
}

/// One zstd frame, if it is smaller.
pub(super) fn pack(decoded: &[u8], effort: PackEffort) -> Result<Option<Vec<u8>>> {
    let quick = encode_zstd_frame(decoded, QUICK_LEVEL)?;
    let repeats = decoded.len() > REPEATED_LEN && quick.len() * REPEATED < decoded.len();
    let is_long = decoded.len() > HARD_LEN || repeats;
    let stored = match effort {
        PackEffort::Full if is_long => shorter(encode_zstd_frame(decoded, LONG_LEVEL)?, quick),
        PackEffort::Full => hard(decoded)?,
        PackEffort::Quick if is_long => quick,
        PackEffort::Quick => {
            let with = quick_frame(decoded)?;
            if with.len() + WORTH <= quick.len() { with } else { quick }
        }
    };
    Ok(Some(stored).filter(|s| s.len() < decoded.len()))
}

fn shorter(a: Vec<u8>, b: Vec<u8>) -> Vec<u8> {
    if b.len() < a.len() { b } else { a }
}

/// One zstd frame of the highest level, or with a dictionary. It may be longer than the content.
fn hard(decoded: &[u8]) -> Result<Vec<u8>> {
    // Compressing twice at the highest level is slow. It is skipped if a quick estimate shows that the
    // dictionary is better.
    let quick = encode_zstd_frame(decoded, LEVEL)?;
    let with = with_dictionary(decoded, quick.len())?;
    if with.len() + with.len() / CLEARLY < quick.len().min(decoded.len()) {
        return Ok(with);
    }
    let without = encode_zstd_frame(decoded, HARD_LEVEL)?;
    Ok(if with.len() + WORTH <= without.len().min(decoded.len()) { with } else { without })
}

/// Packs as [`pack`] does, or into one LZMA2 stream if that is clearly smaller. zstd codes literals without contexts, so it
/// packs attributes with thousands of numbers, such as polygons, badly.
#[cfg(all(feature = "lzma", feature = "encode"))]
pub(super) fn pack_head(decoded: &[u8], effort: PackEffort) -> Result<Option<Vec<u8>>> {
    let stored = pack(decoded, effort)?;
    let len = stored.as_ref().map_or(decoded.len(), Vec::len);
    // Text is smaller than that by zstd.
    if decoded.len() <= HARD_LEN || decoded.len() > LONG_LEN || len < decoded.len() / TEXT_SHARE {
        return Ok(stored);
    }
    // Classic headers consist of words of four bytes.
    let lzma = encode_lzma(Lzma::for_elements(4, Lzma::MOST_DICT), LZMA_PRESET, decoded)?;
    Ok(if lzma.len() + lzma.len() / CLEARLY < len { Some(lzma) } else { stored })
}

/// As [`pack`].
#[cfg(not(all(feature = "lzma", feature = "encode")))]
pub(super) fn pack_head(decoded: &[u8], effort: PackEffort) -> Result<Option<Vec<u8>>> {
    pack(decoded, effort)
}

/// One zstd frame, even if it is not smaller. Uses the dictionary unless that does not help.
///
/// # Errors
/// The error of zstd.
pub fn pack_frame(decoded: &[u8]) -> Result<Vec<u8>> {
    let quick = encode_zstd_frame(decoded, LEVEL)?;
    let with = with_dictionary(decoded, quick.len())?;
    if with.len() <= quick.len() {
        return Ok(with);
    }
    encode_zstd_frame(decoded, HARD_LEVEL)
}

/// An estimate of that frame's length, seldom too low, in a tenth of the time.
pub(super) fn frame_estimate(decoded: &[u8]) -> Result<usize> {
    Ok(quick_frame(decoded)?.len())
}

/// One zstd frame with a dictionary, at a quick level.
fn quick_frame(decoded: &[u8]) -> Result<Vec<u8>> {
    let words = || encode_zstd_frame_with(&QUICK_WORDS, decoded);
    if !has_templates(decoded) {
        return words();
    }
    let templates = encode_zstd_frame_with(&TEMPLATES, decoded)?;
    if are_far_ahead(templates.len(), encode_zstd_frame(decoded, QUICK_LEVEL)?.len()) {
        return Ok(templates);
    }
    Ok(shorter(templates, words()?))
}

/// Returns true if the templates give less than half of the length of a frame without a dictionary. The other
/// dictionary is then not tried.
fn are_far_ahead(templates: usize, independent: usize) -> bool {
    templates * 2 < independent
}

fn has_templates(decoded: &[u8]) -> bool {
    let has = |mark: &&[u8]| decoded.windows(mark.len()).any(|w| w == *mark);
    TEMPLATE_MARKS.iter().any(has)
}

/// One zstd frame with the better dictionary. A frame without dictionary has about `independent` bytes.
fn with_dictionary(decoded: &[u8], independent: usize) -> Result<Vec<u8>> {
    if !has_templates(decoded) {
        return encode_zstd_frame_with(&DICTIONARY, decoded);
    }
    let templates = encode_zstd_frame_with(&TEMPLATES, decoded)?;
    if are_far_ahead(templates.len(), independent) {
        return Ok(templates);
    }
    let quick = encode_zstd_frame_with(&QUICK_WORDS, decoded)?;
    // The high level makes a frame with the other dictionary at most 1/CLEARLY shorter than this quick one.
    if templates.len() + templates.len() / CLEARLY < quick.len() {
        return Ok(templates);
    }
    let words = encode_zstd_frame_with(&DICTIONARY, decoded)?;
    Ok(if templates.len() < words.len() { templates } else { words })
}

/// The content of a head copy or section that is stored packed, of at most `limit` bytes.
///
/// # Errors
/// Damage; no content size; a larger one; another dictionary.
pub fn unpack(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    if is_lzma2(stored) {
        return decode_lzma(stored, limit);
    }
    decode_zstd_frame_with(&[&DICTIONARY, &TEMPLATES], stored, limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::decode_zstd_frame;
    use sha2::{Digest, Sha256};

    #[test]
    fn words_of_headers_need_the_dictionary_and_noise_does_not() {
        let header = b"\0\0\0\x0dstandard_name\0\0\0\0\0\0\x02\0\0\0\x08latitude\0\0\0\x05units\0\0\0\0\0\0\x02\0\0\0\x0ddegrees_north";
        let stored = pack(header, PackEffort::Full).unwrap().expect("smaller");
        assert!(stored.len() * 2 < header.len(), "{}", stored.len());
        assert_eq!(unpack(&stored, 1000).unwrap(), header);
        assert!(unpack(&stored, 50).is_err());
        let e = decode_zstd_frame(&stored, 1000).unwrap_err().to_string();
        assert!(e.contains("dictionary"), "{e}");

        let mut seed = 1u32;
        let noise: Vec<u8> = (0..3000)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24 & 15) as u8 ^ 0xA0
            })
            .collect();
        let stored = pack(&noise, PackEffort::Full).unwrap().expect("half of the bits are free");
        assert_eq!(decode_zstd_frame(&stored, 5000).unwrap(), noise);
        assert_eq!(unpack(&stored, 5000).unwrap(), noise);
    }

    #[test]
    fn quick_frames_have_the_same_content() {
        let header = b"standard_name latitude units degrees_north long_name air_temperature ";
        for content in
            [header.to_vec(), header.repeat(1500), b"Argo float vertical profile".to_vec(), vec![7; 20_000]]
        {
            let full = pack(&content, PackEffort::Full).unwrap().expect("smaller");
            let quick = pack(&content, PackEffort::Quick).unwrap().expect("smaller");
            assert!(quick.len() <= full.len() + full.len() / 4 + WORTH, "{} and {}", quick.len(), full.len());
            assert_eq!(unpack(&quick, 200_000).unwrap(), content);
        }
        assert_eq!(pack(b"q", PackEffort::Quick).unwrap(), None);
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_an_error_or_some_bytes() {
        let header = b"\0\0\0\x0dstandard_name\0\0\0\0\0\0\x02\0\0\0\x08latitude\0\0\0\x05units\0\0\0\0\0\0\x02\0\0\0\x0ddegrees_north";
        let stored = pack(header, PackEffort::Full).unwrap().expect("smaller");
        for len in 0..stored.len() {
            assert!(unpack(&stored[..len], 1000).is_err(), "{len}");
        }
        for bit in 0..stored.len() * 8 {
            let mut bad = stored.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(bytes) = unpack(&bad, 1000) {
                assert!(bytes.len() <= 1000);
            }
        }
    }

    #[test]
    #[cfg(all(feature = "lzma", feature = "encode"))]
    fn long_lists_of_numbers_are_packed_by_lzma_and_text_is_not() {
        // The outline of a region: a walk of small random steps.
        let (mut at, mut seed) = (41.25f32, 1u32);
        let numbers: Vec<u8> = (0..20_000)
            .flat_map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                at += f32::from((seed >> 24) as u8) * 0.0001 - 0.012_75;
                at.to_be_bytes()
            })
            .collect();
        let stored = pack_head(&numbers, PackEffort::Full).unwrap().expect("smaller");
        assert!(
            is_lzma2(&stored)
                && stored.len() < pack(&numbers, PackEffort::Full).unwrap().expect("smaller").len()
        );
        assert_eq!(unpack(&stored, 80_000).unwrap(), numbers);
        assert!(unpack(&stored, 79_999).is_err());
        let text = b"standard_name air_temperature units K ".repeat(3000);
        assert!(!is_lzma2(&pack_head(&text, PackEffort::Full).unwrap().expect("smaller")));
    }

    #[test]
    fn the_dictionaries_are_those_of_the_specification() {
        let spec = include_str!("../../../spec/archive.md");
        for dictionary in [&DICTIONARY, &TEMPLATES] {
            let hex = crate::bytes::hex(&Sha256::digest(dictionary.bytes()));
            assert!(spec.contains(&hex), "{hex}");
        }
    }

    #[test]
    fn templates_of_argo_need_the_second_dictionary() {
        let header = b"\0\0\0\x05title\0\0\0\0\0\0\x02\0\0\0\x1bArgo float vertical profile\0\0\0\0\x0binstitution\0\0\0\0\x02\0\0\0\x07FR GDAC\0\0\0\0\x06source\0\0";
        let stored = pack(header, PackEffort::Full).unwrap().expect("smaller");
        assert_eq!(&stored[5..7], &50_018u16.to_le_bytes()[..]);
        assert_eq!(unpack(&stored, 1000).unwrap(), header);
    }

    #[test]
    fn another_dictionary_is_refused() {
        let header = b"\0\0\0\x0dstandard_name\0\0\0\0\0\0\x02\0\0\0\x08latitude\0\0\0\x05units\0\0\0\0\0\0\x02\0\0\0\x0ddegrees_north";
        let mut stored = pack(header, PackEffort::Full).unwrap().expect("smaller");
        // Magic, descriptor (two bytes of dictionary id, one of content size), id.
        assert_eq!((stored[4] & 3, &stored[5..7]), (2, &50_017u16.to_le_bytes()[..]));
        stored[5] ^= 1;
        let e = unpack(&stored, 1000).unwrap_err().to_string();
        assert!(e.contains("dictionary") && e.contains("50017"), "{e}");
    }
}
