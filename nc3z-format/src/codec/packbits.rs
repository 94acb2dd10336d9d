//! NumCodecs' `packbits`: bytes that are 0 or 1 as bits, the first one highest. The first byte is the number
//! of unused bits of the last byte.

use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};

pub(super) struct PackbitsKind;

impl StageKind for PackbitsKind {
    fn id(&self) -> &'static str {
        "packbits"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"packbits"}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [] = spec.integers([]).ok_or(OTHER_KEYS)?;
        Ok(Box::new(Packbits))
    }
}

struct Packbits;

/// The number of unused bits of the last byte.
const fn unused(len: usize) -> u8 {
    match len % 8 {
        0 => 0,
        1 => 7,
        2 => 6,
        3 => 5,
        4 => 4,
        5 => 3,
        6 => 2,
        _ => 1,
    }
}

impl Stage for Packbits {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        if let Some(at) = input.iter().position(|byte| *byte > 1) {
            let found = input[at];
            return Err(Error::invalid(format!(
                "packbits: byte {at} is {found}; it packs bytes that are 0 or 1"
            )));
        }
        out.push(unused(input.len()));
        out.extend(input.chunks(8).map(|eight| {
            let bits = eight.iter().fold(0, |bits, byte| bits << 1 | byte);
            bits << (8 - eight.len())
        }));
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let wrong =
            |what, expected: usize, found: usize| Error::corrupt("packed bits", None, what, expected, found);
        let Some((front, bytes)) = input.split_first().filter(|(_, b)| b.len() == out.len().div_ceil(8))
        else {
            return Err(wrong("length", out.len().div_ceil(8).saturating_add(1), input.len()));
        };
        if *front != unused(out.len()) {
            return Err(wrong("unused bits", unused(out.len()).into(), (*front).into()));
        }
        for (eight, byte) in out.chunks_mut(8).zip(bytes) {
            for (bit, place) in eight.iter_mut().zip((0..8).rev()) {
                *bit = byte >> place & 1;
            }
        }
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        decoded_len.div_ceil(8).checked_add(1)
    }
}
