//! From a stage's specification to what does it, and chains of byte stages run forward and back.

use super::chain::{ChainSpec, StageSpec};
use super::{Scratch, bitshuffle, lz4, shuffle, zlib, zstd};
use crate::error::{Error, Result};

/// Contexts of the codecs, made when first needed and used again.
#[derive(Default)]
pub struct Contexts {
    pub(super) zstd: zstd::Contexts,
    pub(super) zlib: zlib::Contexts,
    pub(super) gzip: zlib::Contexts,
}

/// One step of a byte chain.
pub trait ByteStage {
    /// Appends the encoded form of `input` to `out`.
    ///
    /// # Errors
    /// The library's refusal, which would be a lack of memory.
    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()>;

    /// Decodes into exactly `out`; any input gives that or an error.
    ///
    /// # Errors
    /// Damage; more or fewer bytes than `out` has.
    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()>;

    /// The decoded length, where the encoded length tells it: filters keep it.
    fn keeps_length(&self) -> bool;
}

/// The stage for a specification: one line for each that is known.
fn stage(spec: &StageSpec) -> Result<Box<dyn ByteStage>> {
    Ok(match spec {
        StageSpec::Shuffle { elementsize } => Box::new(shuffle::Shuffle(*elementsize)),
        StageSpec::Zstd { level } => Box::new(zstd::Zstd(*level)),
        StageSpec::Zlib { level } => Box::new(zlib::Deflate::zlib(*level)),
        StageSpec::Gzip { level } => Box::new(zlib::Deflate::gzip(*level)),
        StageSpec::Lz4 { .. } => Box::new(lz4::Lz4),
        StageSpec::Lzma(lzma) => Box::new(*lzma),
        StageSpec::Bitshuffle { elementsize, blocksize } => {
            Box::new(bitshuffle::Bitshuffle { elementsize: *elementsize, blocksize: *blocksize })
        }
        StageSpec::Num(_) | StageSpec::Other(_) => {
            let json = ChainSpec(vec![spec.clone()]);
            let what = format!(
                "filter or codec \"{}\" with {json}; another build or version of nc3z may have it",
                spec.id()
            );
            return Err(Error::unsupported("chain", None, what));
        }
    })
}

/// The stages of a chain. Filters keep the length and a codec stands only last, so that every intermediate length is known.
fn stages(chain: &ChainSpec) -> Result<Vec<Box<dyn ByteStage>>> {
    let stages = chain.0.iter().map(stage).collect::<Result<Vec<_>>>()?;
    if let Some((_, filters)) = stages.split_last()
        && filters.iter().any(|s| !s.keeps_length())
    {
        return Err(Error::unsupported(
            "chain",
            None,
            format!("{chain}: a codec must be the last of its chain"),
        ));
    }
    Ok(stages)
}

/// Tells whether this build can run a byte chain.
///
/// # Errors
/// Stages that are not known; a codec that is not the last.
pub(super) fn check_chain(chain: &ChainSpec) -> Result<()> {
    stages(chain).map(|_| ())
}

/// Runs a byte chain forward; appends to `out`.
///
/// # Errors
/// A chain that this build cannot run.
pub fn encode_bytes(chain: &ChainSpec, input: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<()> {
    let stages = stages(chain)?;
    let Some((last, filters)) = stages.split_last() else {
        out.extend_from_slice(input);
        return Ok(());
    };
    let Scratch { contexts, between: [held, next], .. } = scratch;
    let mut current = input;
    for filter in filters {
        next.clear();
        filter.encode(current, contexts, next)?;
        std::mem::swap(held, next);
        current = held;
    }
    last.encode(current, contexts, out)
}

/// Runs a byte chain back, into exactly `out`.
///
/// # Errors
/// An unknown chain; a payload that does not decode to just so many bytes.
pub fn decode_bytes(chain: &ChainSpec, payload: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    let stages = stages(chain)?;
    if stages.last().is_none_or(|s| s.keeps_length()) && payload.len() != out.len() {
        return Err(Error::corrupt("payload", None, "length", out.len(), payload.len()));
    }
    let Scratch { contexts, between: [held, next], .. } = scratch;
    match &stages[..] {
        [] => out.copy_from_slice(payload),
        [only] => only.decode_into(payload, contexts, out)?,
        [first, middle @ .., last] => {
            held.resize(out.len(), 0);
            last.decode_into(payload, contexts, held)?;
            for stage in middle.iter().rev() {
                next.resize(out.len(), 0);
                stage.decode_into(held, contexts, next)?;
                std::mem::swap(held, next);
            }
            first.decode_into(held, contexts, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::lzma::Lzma;
    use proptest::prelude::*;

    fn chains() -> Vec<ChainSpec> {
        let mut all = vec![ChainSpec::default()];
        let codecs = [
            StageSpec::Zstd { level: 3 },
            StageSpec::Zlib { level: 6 },
            StageSpec::Gzip { level: 6 },
            StageSpec::Lz4 { acceleration: 1 },
            StageSpec::Lzma(Lzma::for_elements(4, Lzma::LEAST_DICT)),
        ];
        for codec in codecs {
            all.push(ChainSpec(vec![codec.clone()]));
            for elementsize in [1, 2, 3, 4, 8, 24] {
                all.push(ChainSpec(vec![StageSpec::Shuffle { elementsize }]));
                all.push(ChainSpec(vec![StageSpec::Shuffle { elementsize }, codec.clone()]));
                let bits = StageSpec::Bitshuffle { elementsize, blocksize: elementsize * 8 };
                all.push(ChainSpec(vec![bits.clone()]));
                all.push(ChainSpec(vec![bits, codec.clone()]));
                let two = StageSpec::Shuffle { elementsize: 5 };
                all.push(ChainSpec(vec![
                    two.clone(),
                    StageSpec::Shuffle { elementsize },
                    two,
                    codec.clone(),
                ]));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn every_chain_gives_back_what_it_took(bytes in proptest::collection::vec(0u8..8, 0..700)) {
            let mut scratch = Scratch::default();
            for chain in chains() {
                let mut payload = Vec::new();
                encode_bytes(&chain, &bytes, &mut scratch, &mut payload).unwrap();
                let mut back = vec![0xEE; bytes.len()];
                decode_bytes(&chain, &payload, &mut scratch, &mut back).unwrap();
                prop_assert_eq!(&back, &bytes);
                let mut longer = vec![0; bytes.len() + 1];
                prop_assert!(decode_bytes(&chain, &payload, &mut scratch, &mut longer).is_err());
                if !bytes.is_empty() {
                    let n = bytes.len() - 1;
                    prop_assert!(decode_bytes(&chain, &payload, &mut scratch, &mut back[..n]).is_err());
                }
                for cut in 0..payload.len().min(40) {
                    prop_assert!(decode_bytes(&chain, &payload[..cut], &mut scratch, &mut back).is_err());
                }
                payload.push(0);
                prop_assert!(decode_bytes(&chain, &payload, &mut scratch, &mut back).is_err());
            }
        }

        #[test]
        fn any_payload_gives_an_error_or_the_declared_length(payload in proptest::collection::vec(any::<u8>(), 0..200), n in 0usize..300) {
            let mut scratch = Scratch::default();
            let mut out = vec![0; n];
            for chain in chains() {
                let _ = decode_bytes(&chain, &payload, &mut scratch, &mut out);
            }
        }
    }

    #[test]
    fn unknown_codec_is_named_with_its_parameters() {
        let chain =
            ChainSpec::from_value(&serde_json::json!([{"id":"lz9","window":7}]), &crate::Limits::default())
                .unwrap();
        let e = decode_bytes(&chain, b"", &mut Scratch::default(), &mut []).unwrap_err();
        assert!(e.is_unsupported());
        assert!(e.to_string().contains("lz9") && e.to_string().contains("\"window\":7"), "{e}");
    }

    #[test]
    fn both_ways_refuse_a_codec_before_the_end() {
        let zstd = StageSpec::Zstd { level: 1 };
        let shuffle = StageSpec::Shuffle { elementsize: 2 };
        for chain in [
            vec![zstd.clone(), shuffle.clone()],
            vec![zstd.clone(), zstd.clone()],
            vec![shuffle, zstd.clone(), zstd],
        ] {
            let chain = ChainSpec(chain);
            let mut out = Vec::new();
            let e = encode_bytes(&chain, b"abcdef", &mut Scratch::default(), &mut out).unwrap_err();
            assert!(e.is_unsupported() && out.is_empty(), "{chain}");
            let e = decode_bytes(&chain, b"abcdef", &mut Scratch::default(), &mut [0; 6]).unwrap_err();
            assert!(e.is_unsupported(), "{chain}");
        }
    }

    #[test]
    fn contexts_are_sound_after_errors() {
        let bytes: Vec<u8> = (0..3000_u32).flat_map(|i| (i / 3).to_be_bytes()).collect();
        let mut scratch = Scratch::default();
        for chain in chains() {
            let mut payload = Vec::new();
            encode_bytes(&chain, &bytes, &mut scratch, &mut payload).unwrap();
            let mut out = vec![0; bytes.len()];
            for at in (0..payload.len()).step_by(payload.len() / 50 + 1) {
                payload[at] ^= 0x10;
                let _ = decode_bytes(&chain, &payload, &mut scratch, &mut out);
                payload[at] ^= 0x10;
            }
            decode_bytes(&chain, &payload, &mut scratch, &mut out).unwrap();
            assert_eq!(out, bytes, "{chain}");
        }
    }

    #[test]
    fn zlib_and_gzip_have_levels_up_to_9() {
        for codec in [StageSpec::Zlib { level: 10 }, StageSpec::Gzip { level: 10 }] {
            let chain = ChainSpec(vec![codec]);
            assert!(encode_bytes(&chain, b"abc", &mut Scratch::default(), &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn every_bit_flip_is_an_error_or_honest_bytes() {
        let bytes: Vec<u8> = (0..400_u32).flat_map(|i| (i * i / 7).to_be_bytes()).collect();
        let mut scratch = Scratch::default();
        let mut out = vec![0; bytes.len()];
        let lzma = StageSpec::Lzma(Lzma::for_elements(1, 1 << 16));
        for codec in [StageSpec::Lz4 { acceleration: 1 }, StageSpec::Gzip { level: 6 }, lzma] {
            let bits = StageSpec::Bitshuffle { elementsize: 4, blocksize: 0 };
            let chain = ChainSpec(vec![bits, codec]);
            let mut payload = Vec::new();
            encode_bytes(&chain, &bytes, &mut scratch, &mut payload).unwrap();
            for n in 0..payload.len() {
                assert!(decode_bytes(&chain, &payload[..n], &mut scratch, &mut out).is_err(), "{chain}: {n}");
            }
            for bit in 0..payload.len() * 8 {
                payload[bit / 8] ^= 1 << (bit % 8);
                let done = decode_bytes(&chain, &payload, &mut scratch, &mut out);
                // Gzip has a checksum of its own; some bits of its header, and its padding, mean nothing.
                let checked = chain.0[1].id() == "gzip";
                assert!(done.is_err() || !checked || out == bytes, "{chain}: bit {bit}");
                payload[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
