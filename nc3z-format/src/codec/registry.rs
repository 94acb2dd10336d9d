//! From a stage's specification to what does it, and chains of byte stages run forward and back.

use super::chain::{ChainSpec, StageSpec};
use super::{Scratch, shuffle, zlib, zstd};
use crate::error::{Error, Result};

/// One step of a byte chain.
pub trait ByteStage {
    /// Appends the encoded form of `input` to `out`.
    ///
    /// # Errors
    /// The library's refusal, which would be a lack of memory.
    fn encode(&self, input: &[u8], scratch: &mut zstd::Contexts, out: &mut Vec<u8>) -> Result<()>;

    /// Decodes into exactly `out`; any input gives that or an error.
    ///
    /// # Errors
    /// Damage; more or fewer bytes than `out` has.
    fn decode_into(&self, input: &[u8], scratch: &mut zstd::Contexts, out: &mut [u8]) -> Result<()>;

    /// The decoded length, where the encoded length tells it: filters keep it.
    fn keeps_length(&self) -> bool;
}

/// The stage for a specification: one line for each that is known.
fn stage(spec: &StageSpec) -> Result<Box<dyn ByteStage>> {
    Ok(match spec {
        StageSpec::Shuffle { elementsize } => Box::new(shuffle::Shuffle(*elementsize)),
        StageSpec::Zstd { level } => Box::new(zstd::Zstd(*level)),
        StageSpec::Zlib { level } => Box::new(zlib::Zlib(*level)),
        StageSpec::Num(_) | StageSpec::Other(_) => {
            let json = ChainSpec(vec![spec.clone()]);
            let what = format!("filter or codec \"{}\" with {json}; another build or version of nc3z may have it", spec.id());
            return Err(Error::unsupported("chain", None, what));
        }
    })
}

/// Runs a byte chain forward; appends to `out`.
///
/// # Errors
/// A chain that this build cannot run.
pub fn encode_bytes(chain: &ChainSpec, input: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<()> {
    let Some((last, filters)) = chain.0.split_last() else {
        out.extend_from_slice(input);
        return Ok(());
    };
    let Scratch { zstd, between: [held, next], .. } = scratch;
    let mut current = input;
    for spec in filters {
        next.clear();
        stage(spec)?.encode(current, zstd, next)?;
        std::mem::swap(held, next);
        current = held;
    }
    stage(last)?.encode(current, zstd, out)
}

/// Runs a byte chain back, into exactly `out`.
///
/// # Errors
/// An unknown chain; a payload that does not decode to just so many bytes.
pub fn decode_bytes(chain: &ChainSpec, payload: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    let stages = chain.0.iter().map(stage).collect::<Result<Vec<_>>>()?;
    // Filters keep the length and at most one codec changes it, so that every intermediate length is known.
    let codecs = stages.iter().filter(|s| !s.keeps_length()).count();
    if codecs > 1 || (codecs == 1 && stages.last().is_some_and(|s| s.keeps_length())) {
        return Err(Error::unsupported("chain", None, format!("{chain}: a codec must be the last of its chain")));
    }
    if codecs == 0 && payload.len() != out.len() {
        return Err(Error::corrupt("payload", None, "length", out.len(), payload.len()));
    }
    let Scratch { zstd, between: [held, next], .. } = scratch;
    match &stages[..] {
        [] => out.copy_from_slice(payload),
        [only] => only.decode_into(payload, zstd, out)?,
        [first, middle @ .., last] => {
            held.resize(out.len(), 0);
            last.decode_into(payload, zstd, held)?;
            for stage in middle.iter().rev() {
                next.resize(out.len(), 0);
                stage.decode_into(held, zstd, next)?;
                std::mem::swap(held, next);
            }
            first.decode_into(held, zstd, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chains() -> Vec<ChainSpec> {
        let mut all = vec![ChainSpec::default()];
        for codec in [StageSpec::Zstd { level: 3 }, StageSpec::Zlib { level: 6 }] {
            all.push(ChainSpec(vec![codec.clone()]));
            for elementsize in [1, 2, 3, 4, 8, 24] {
                all.push(ChainSpec(vec![StageSpec::Shuffle { elementsize }]));
                all.push(ChainSpec(vec![StageSpec::Shuffle { elementsize }, codec.clone()]));
                let two = StageSpec::Shuffle { elementsize: 5 };
                all.push(ChainSpec(vec![two.clone(), StageSpec::Shuffle { elementsize }, two, codec.clone()]));
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
        let chain = ChainSpec::from_value(&serde_json::json!([{"id":"lz9","window":7}]), &crate::Limits::default()).unwrap();
        let e = decode_bytes(&chain, b"", &mut Scratch::default(), &mut []).unwrap_err();
        assert!(e.is_unsupported());
        assert!(e.to_string().contains("lz9") && e.to_string().contains("\"window\":7"), "{e}");
    }
}
