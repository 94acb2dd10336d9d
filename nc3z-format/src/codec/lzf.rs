//! LZF without a header, as written by HDF5's filter 32000.

use super::matches::repeat;
#[cfg(feature = "encode")]
use super::matches::{Token, tokens};
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};

pub(super) struct LzfKind;

impl StageKind for LzfKind {
    fn id(&self) -> &'static str {
        "lzf"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"lzf"}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [] = spec.integers([]).ok_or(OTHER_KEYS)?;
        Ok(Box::new(Lzf))
    }
}

struct Lzf;

/// The longest run of literals, and the farthest and the longest repetition.
const LITERALS: usize = 32;
#[cfg(feature = "encode")]
const MOST_DISTANCE: usize = 8192;
#[cfg(feature = "encode")]
const MOST_LEN: usize = 264;

#[cfg(feature = "encode")]
fn low_byte(n: usize) -> u8 {
    u8::try_from(n & 0xFF).expect("masked")
}

impl Stage for Lzf {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        tokens(input, MOST_DISTANCE, MOST_LEN, |token| match token {
            Token::Literals(bytes) => bytes.chunks(LITERALS).for_each(|run| {
                out.push(low_byte(run.len() - 1));
                out.extend_from_slice(run);
            }),
            Token::Match { distance, len } => {
                let (back, more) = (distance - 1, len - 2);
                out.push(low_byte(more.min(7) << 5 | back >> 8));
                if let Some(rest) = more.checked_sub(7) {
                    out.push(low_byte(rest));
                }
                out.push(low_byte(back));
            }
        });
        Ok(())
    }

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let len = self.decode_up_to(input, contexts, out)?;
        if len != out.len() {
            return Err(Error::corrupt("lzf bytes", None, "decoded length", out.len(), len));
        }
        Ok(())
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let most = out.len();
        let cut = || Error::corrupt("lzf bytes", None, "length", "more", input.len());
        let wrong = |at: usize| {
            Error::corrupt(
                "lzf bytes",
                None,
                "content",
                format!("bytes that fill {most}"),
                format!("others at {at}"),
            )
        };
        let (mut rest, mut at) = (input, 0);
        let next = |rest: &mut &[u8]| -> Result<usize> {
            let (first, others) = rest.split_first().ok_or_else(cut)?;
            *rest = others;
            Ok(usize::from(*first))
        };
        while !rest.is_empty() {
            let control = next(&mut rest)?;
            if control < LITERALS {
                let (run, others) = rest.split_at_checked(control + 1).ok_or_else(cut)?;
                out.get_mut(at..at + run.len()).ok_or_else(|| wrong(at))?.copy_from_slice(run);
                (rest, at) = (others, at + run.len());
                continue;
            }
            let mut len = control >> 5;
            if len == 7 {
                len += next(&mut rest)?;
            }
            let distance = ((control & 31) << 8 | next(&mut rest)?) + 1;
            repeat(out, at, distance, len + 2).ok_or_else(|| wrong(at))?;
            at += len + 2;
        }
        Ok(at)
    }
}
