//! zstd: the codec of tiles (one frame, RFC 8878), and the frames of the archive's own structures.
//!
//! By the C library (feature `zstd`), else decoding in Rust (feature `ruzstd`), else not at all.

mod frame;
#[cfg_attr(feature = "zstd", path = "native.rs")]
#[cfg_attr(all(feature = "ruzstd", not(feature = "zstd")), path = "pure.rs")]
#[cfg_attr(not(any(feature = "zstd", feature = "ruzstd")), path = "absent.rs")]
mod library;
#[cfg(not(feature = "zstd"))]
mod no_encoder;
#[cfg(test)]
#[cfg(all(feature = "zstd", feature = "ruzstd"))]
#[expect(dead_code, reason = "compared with the C library in tests")]
mod pure;

#[cfg(feature = "zstd")]
use super::scratch::CodecScratch;
use super::spec::{ChainSpec, StageSpec};
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
use crate::error::{Error, Result};
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
use crate::types::NcType;
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
use frame::{SECTION, check_frame, check_len};
pub use frame::{
    ZstdDictionary, decode_zstd_frame, decode_zstd_frame_after, decode_zstd_frame_after_within,
    decode_zstd_frame_with, encode_zstd_frame, encode_zstd_frame_after, encode_zstd_frame_with,
};
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
use serde_json::Value;

/// The length of the frame that the codec makes of bytes at a level, if it is at most `most`. Otherwise
/// encoding stops when the buffer is full. A frame that nearly fills the buffer may be refused too: zstd
/// needs some room for its last block, and 1 KiB suffices.
///
/// # Errors
/// An error of zstd, which means a lack of memory.
#[cfg(feature = "zstd")]
pub fn zstd_len_within(
    decoded: &[u8],
    level: i32,
    most: usize,
    scratch: &mut CodecScratch,
) -> Result<Option<usize>> {
    scratch.contexts.get::<library::Encoder>().len_within(level, decoded, most)
}

const ID: &str = "zstd";

fn level(spec: &StageSpec) -> Option<i32> {
    let [level] = spec.integers(["level"])?;
    i32::try_from(level).ok()
}

impl ChainSpec {
    /// True if the chain is only zstd, at any level. Decoders need not know the level.
    pub fn is_zstd(&self) -> bool {
        matches!(&self.0[..], [stage] if stage.id() == ID && level(stage).is_some())
    }
}

#[cfg(any(feature = "zstd", feature = "ruzstd"))]
pub(super) struct ZstdKind;

#[cfg(any(feature = "zstd", feature = "ruzstd"))]
impl StageKind for ZstdKind {
    fn id(&self) -> &'static str {
        ID
    }

    fn example(&self) -> &'static str {
        r#"{"id":"zstd","level":9}"#
    }

    fn takes(&self, key: &str) -> bool {
        ["level", "checksum"].contains(&key)
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        Ok(Box::new(Zstd(level(spec).ok_or(OTHER_KEYS)?)))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        match spec.get("checksum") {
            // Blocks have checksums of their own.
            Some(Value::Bool(true)) => Err("zstd with a checksum: put crc32c behind zstd for one".to_owned()),
            Some(_) => Ok(spec.without("checksum")),
            None => Ok(spec),
        }
    }
}

/// The codec, with the level it writes at.
#[cfg(any(feature = "zstd", feature = "ruzstd"))]
pub(super) struct Zstd(pub(super) i32);

#[cfg(any(feature = "zstd", feature = "ruzstd"))]
impl Stage for Zstd {
    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if let Some(size) = check_frame(input)?.content_size
            && size != out.len() as u64
        {
            return Err(Error::corrupt(SECTION, None, "content size", out.len(), size));
        }
        let len = contexts.get::<library::Decoder>().decode_into(None, input, out)?;
        check_len(out.len(), len)
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        check_frame(input)?;
        contexts.get::<library::Decoder>().decode_into(None, input, out)
    }

    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        contexts.get::<library::Encoder>().encode(self.0, input, out)
    }
}

#[cfg(test)]
#[cfg(feature = "encode")]
mod tests {
    use super::*;

    #[test]
    fn lengths_within_a_bound_are_those_of_frames() {
        let text = b"a line of text that comes again, and again\n".repeat(4000);
        let noise: Vec<u8> = (0..300_000u32)
            .map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3] ^ text[i as usize % 7000])
            .collect();
        let mut scratch = CodecScratch::default();
        for content in [&text[..], &noise, &[], &noise[..40]] {
            let len = encode_zstd_frame(content, 3).unwrap().len();
            for most in [0, 1, len / 2, len - 1, len + 1024, usize::MAX] {
                let found = zstd_len_within(content, 3, most, &mut scratch).unwrap();
                assert_eq!(found, (most > len).then_some(len), "{} within {most}", content.len());
            }
        }
    }

    #[test]
    fn two_frames_skippable_frames_and_lying_sizes_are_refused() {
        let frame = encode_zstd_frame(b"hello hello hello", 3).unwrap();
        assert_eq!(decode_zstd_frame(&frame, 100).unwrap(), b"hello hello hello");
        assert!(decode_zstd_frame(&frame, 16).is_err());
        let two = [frame.clone(), frame.clone()].concat();
        assert!(decode_zstd_frame(&two, 100).is_err());
        let skippable = [b"\x50\x2a\x4d\x18\x04\0\0\0abcd".as_slice(), &frame].concat();
        assert!(Zstd(3).decode_into(&skippable, &mut Contexts::default(), &mut [0; 17]).is_err());
        assert!(Zstd(3).decode_into(&frame, &mut Contexts::default(), &mut [0; 18]).is_err());
        for n in 0..frame.len() {
            assert!(decode_zstd_frame(&frame[..n], 100).is_err(), "{n}");
        }
    }

    #[test]
    fn claims_of_size_are_believed_only_of_frames_that_can_hold_so_much() {
        // Single segment, content size in four bytes: 1 GiB. One raw block of three bytes, the last.
        let claim =
            [&[0x28, 0xB5, 0x2F, 0xFD, 0xA0][..], &(1_u32 << 30).to_le_bytes(), &[0x19, 0, 0], b"abc"]
                .concat();
        let start = std::time::Instant::now();
        for _ in 0..200 {
            let e = decode_zstd_frame(&claim, 1 << 30).unwrap_err();
            assert!(e.is_corrupt() && e.to_string().contains("content size"), "{e}");
        }
        assert!(start.elapsed().as_millis() < 100, "nothing was filled");
        // An honest frame of 128 MiB of zeros is as dense as frames get.
        let zeros = vec![0; 128 << 20];
        let frame = encode_zstd_frame(&zeros, 1).unwrap();
        assert_eq!(decode_zstd_frame(&frame, 1 << 30).unwrap(), zeros);
    }

    #[test]
    fn frames_without_a_size_serve_for_tiles_only_and_windows_cost_nothing() {
        let mut out = [0; 3];
        let untold = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x00, 0x19, 0, 0, b'a', b'b', b'c'];
        Zstd(3).decode_into(&untold, &mut Contexts::default(), &mut out).unwrap();
        assert_eq!(&out, b"abc");
        assert!(decode_zstd_frame(&untold, 100).is_err());
        // A window of 2^41 bytes: refused or decoded, but never allocated.
        let wide = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8, 0x19, 0, 0, b'a', b'b', b'c'];
        let _ = Zstd(3).decode_into(&wide, &mut Contexts::default(), &mut out);
        let huge = [&[0x28, 0xB5, 0x2F, 0xFD, 0xE0][..], &(1_u64 << 62).to_le_bytes(), &[1, 0, 0]].concat();
        assert!(decode_zstd_frame(&huge, 1 << 30).is_err());
    }

    #[cfg(feature = "ruzstd")]
    #[test]
    fn the_decoder_in_rust_reads_frames_that_continue_others() {
        let head: Vec<u8> =
            (0..40_000u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 8).to_be_bytes()).collect();
        for before in [&b""[..], b"short", &head[..5000], &head] {
            for content in
                [&b""[..], b"x", b"short and more", &head[1000..4000], &[&head[..], b"tail", &head].concat()]
            {
                let frame = encode_zstd_frame_after(before, content).unwrap();
                assert!(decode_zstd_frame_after(before, &frame, content.len() as u64).unwrap() == content);
                let mut out = Vec::with_capacity(content.len());
                let len = pure::Decoder::decode_after(before, &frame, &mut out).unwrap();
                assert!(len == content.len() && out == content, "{} behind {}", content.len(), before.len());
                for bit in 0..frame.len().min(60) * 8 {
                    let mut bad = frame.clone();
                    bad[bit / 8] ^= 1 << (bit % 8);
                    if check_frame(&bad).is_ok() {
                        let mut out = Vec::with_capacity(content.len());
                        let _ = pure::Decoder::decode_after(before, &bad, &mut out);
                    }
                }
            }
        }
        // With a checksum after its content, and room for a dictionary id in its header.
        let mut sealed = vec![0x28, 0xB5, 0x2F, 0xFD, 0x26, 0, 3];
        sealed.extend([0x19, 0, 0, b'a', b'b', b'c', 1, 2, 3, 4]);
        sealed.insert(6, 0);
        let mut out = Vec::with_capacity(3);
        pure::Decoder::decode_after(b"before", &sealed, &mut out).unwrap();
        assert_eq!(out, b"abc");
    }

    #[cfg(feature = "ruzstd")]
    #[test]
    fn the_decoder_in_rust_reads_what_the_c_library_writes() {
        static DICTIONARY: ZstdDictionary =
            ZstdDictionary::new(50_017, include_bytes!("../../../dictionary/head.dict"), 19);
        let mut decoder = pure::Decoder::default();
        let words = "standard_name long_name units degrees_north ".repeat(300);
        let numbers: Vec<u8> =
            (0..200_000u32).flat_map(|i| (i.wrapping_mul(i) / 977).to_be_bytes()).collect();
        for content in [words.as_bytes(), &words.as_bytes()[..60], &numbers, b""] {
            for level in [1, 9, 19] {
                let frame = encode_zstd_frame(content, level).unwrap();
                let mut out = vec![0; content.len()];
                assert_eq!(decoder.decode_into(None, &frame, &mut out).unwrap(), content.len());
                assert!(out == content, "{} at {level}", content.len());
                if let Some(short) = out.len().checked_sub(1) {
                    assert!(decoder.decode_into(None, &frame, &mut out[..short]).is_err());
                }
                for bit in 0..frame.len().min(40) * 8 {
                    let mut bad = frame.clone();
                    bad[bit / 8] ^= 1 << (bit % 8);
                    let _ = decoder.decode_into(None, &bad, &mut out);
                }
            }
            let frame = encode_zstd_frame_with(&DICTIONARY, content).unwrap();
            let mut out = Vec::with_capacity(content.len());
            let len = decoder.decode_to_vec(Some(&DICTIONARY), &frame, &mut out).unwrap();
            assert!(len == content.len() && out == content, "{} with the dictionary", content.len());
        }
    }
}
