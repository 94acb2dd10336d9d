//! BloscLZ, Blosc's own codec: of the family of LZF and FastLZ.

use crate::codec::matches::repeat;
#[cfg(feature = "encode")]
use crate::codec::matches::{Token, tokens};

const LITERALS: usize = 32;
/// Distances in 13 bits; all of them set, 16 bits more follow.
const NEAR: usize = 0x1FFF;

#[cfg(feature = "encode")]
fn low_byte(n: usize) -> u8 {
    u8::try_from(n & 0xFF).expect("masked")
}

#[cfg(feature = "encode")]
pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) {
    let mut first = true;
    tokens(input, NEAR, usize::MAX, |token| match token {
        Token::Literals(bytes) => bytes.chunks(LITERALS).for_each(|run| {
            out.push(low_byte(run.len() - 1));
            out.extend_from_slice(run);
            first = false;
        }),
        Token::Match { distance, len } => {
            debug_assert!(!first, "nothing can be repeated at the beginning");
            let (back, more) = (distance - 1, len - 2);
            out.push(low_byte(more.min(7) << 5 | back >> 8));
            if let Some(mut rest) = more.checked_sub(7) {
                while rest >= 255 {
                    out.push(255);
                    rest -= 255;
                }
                out.push(low_byte(rest));
            }
            out.push(low_byte(back));
        }
    });
}

/// Fills exactly `out`; `None` for what does not do that.
pub(super) fn decompress(input: &[u8], out: &mut [u8]) -> Option<()> {
    let mut at = 0;
    let mut bytes = input;
    let next = |bytes: &mut &[u8]| {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(usize::from(*first))
    };
    let mut first = true;
    while !bytes.is_empty() {
        let mut control = next(&mut bytes)?;
        if std::mem::take(&mut first) {
            // The highest bits once were a version.
            control &= 31;
        }
        if control < LITERALS {
            let (run, rest) = bytes.split_at_checked(control + 1)?;
            out.get_mut(at..at + run.len())?.copy_from_slice(run);
            (bytes, at) = (rest, at + run.len());
            continue;
        }
        let mut len = (control >> 5) + 2;
        if control >> 5 == 7 {
            loop {
                let more = next(&mut bytes)?;
                len = len.checked_add(more)?;
                if more != 255 {
                    break;
                }
            }
        }
        let mut distance = (control & 31) << 8 | next(&mut bytes)?;
        if distance == NEAR {
            distance += next(&mut bytes)? << 8;
            distance += next(&mut bytes)?;
        }
        repeat(out, at, distance + 1, len)?;
        at += len;
    }
    (at == out.len()).then_some(())
}

#[cfg(test)]
#[cfg(feature = "encode")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_comes_back(bytes in proptest::collection::vec(0_u8..3, 0..3000), damage in any::<(u16, u8)>()) {
            let mut packed = Vec::new();
            compress(&bytes, &mut packed);
            let mut back = vec![9; bytes.len()];
            prop_assert!(decompress(&packed, &mut back).is_some());
            prop_assert_eq!(&back, &bytes);
            if !packed.is_empty() {
                let at = usize::from(damage.0) % packed.len();
                packed[at] ^= damage.1;
                let _ = decompress(&packed, &mut back);
            }
        }
    }
}
