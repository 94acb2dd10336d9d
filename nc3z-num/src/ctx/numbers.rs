//! Computes numbers from tokens and their raw bits.
//!
//! Each step processes all tokens of a block before the next begins. In this form compilers generate vector
//! instructions for all steps but the second, which uses those of [`crate::avx2::fields`].

use super::fields::{BEHIND, GROUP, MOST, WINDOW, Window, take};
use super::token::{lead as lead_of, raw_bits};
#[cfg(target_arch = "x86_64")]
use crate::avx2::fields;
use crate::bits::load;
use crate::word::{Word, index};
use multiversion::{multiversion, target::match_target};

const BLOCK: usize = 256;

const _: () = assert!(BLOCK * MOST as usize / 8 < WINDOW);

/// The number of raw bits that one load always contains.
const ONE_LOAD: u8 = 57;

/// The steps of a block.
struct Fields {
    /// Raw bits of each token.
    lens: [u8; BLOCK],
    /// The bits before the raw bits.
    leads: [u8; BLOCK],
    /// The fields; the bits above the raw bits are those that follow them.
    raws: [u32; BLOCK],
}

impl Fields {
    /// Looks up the tokens; returns the largest number of raw bits.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn look_up(&mut self, tokens: &[u8]) -> u8 {
        let mut largest = 0;
        for ((len, lead), &token) in self.lens.iter_mut().zip(&mut self.leads).zip(tokens) {
            *len = raw_bits(token);
            *lead = lead_of(token);
            largest = largest.max(*len);
        }
        largest
    }

    /// Reads the fields of a block in which no field is longer than [`MOST`]; false if the stream ends before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn find(
        &mut self,
        take: impl Fn(u8, &[[u8; GROUP]], &Window, u64, &mut [[u32; GROUP]]) -> u64,
        largest: u8,
        count: usize,
        padded: &[u8],
        at: &mut u64,
    ) -> bool {
        let mut copy = [0; WINDOW + BEHIND];
        let window = match padded.get(index(*at >> 3)..) {
            None => return false,
            Some(rest) => rest.first_chunk().unwrap_or_else(|| {
                copy[..rest.len()].copy_from_slice(rest);
                &copy
            }),
        };
        // The last group may have fewer tokens; the missing ones get no bits.
        let whole = count.next_multiple_of(GROUP);
        self.lens[count..whole].fill(0);
        let (lens, _) = self.lens[..whole].as_chunks();
        let (raws, _) = self.raws.as_chunks_mut();
        *at = (*at & !7) + take(largest, lens, window, *at & 7, raws);
        true
    }

    /// Computes numbers from the fields that [`Fields::find`] read.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn finish<W: Word, const SIGNED: bool>(&self, out: &mut [W]) {
        for (((o, &raw), &lead), &len) in out.iter_mut().zip(&self.raws).zip(&self.leads).zip(&self.lens) {
            let len = u32::from(len);
            let z = u32::from(lead).wrapping_shl(len) | (raw & !u32::MAX.wrapping_shl(len));
            *o = signed::<W, SIGNED>(W::from_u64(z.into()));
        }
    }

    /// Computes numbers of a block with longer fields, one by one; each field needs `LOADS` loads.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn long<W: Word, const SIGNED: bool, const LOADS: usize>(
        &self,
        padded: &[u8],
        at: &mut u64,
        out: &mut [W],
    ) -> bool {
        for ((o, &lead), &len) in out.iter_mut().zip(&self.leads).zip(&self.lens) {
            let len = u32::from(len);
            let low = if LOADS == 1 { len } else { len.min(32) };
            let Some(mut raw) = load(padded, *at).map(|w| w & !(u64::MAX << low)) else { return false };
            if LOADS > 1 {
                let Some(w) = load(padded, *at + u64::from(low)) else { return false };
                raw |= (w & !(u64::MAX << (len - low))) << low;
            }
            *at += u64::from(len);
            *o = signed::<W, SIGNED>(W::from_u64(u64::from(lead) << len | raw));
        }
        true
    }

    /// Computes the numbers of tokens; false if the stream ends before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn numbers<W: Word, const SIGNED: bool>(
        &mut self,
        take: impl Fn(u8, &[[u8; GROUP]], &Window, u64, &mut [[u32; GROUP]]) -> u64,
        tokens: &[u8],
        padded: &[u8],
        at: &mut u64,
        out: &mut [W],
    ) -> bool {
        for (tokens, out) in tokens.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let largest = self.look_up(tokens);
            let found = match largest {
                0 => {
                    for (o, &token) in out.iter_mut().zip(tokens) {
                        *o = signed::<W, SIGNED>(W::from_u64(token.into()));
                    }
                    true
                }
                1..=MOST => {
                    let found = self.find(&take, largest, tokens.len(), padded, at);
                    self.finish::<W, SIGNED>(out);
                    found
                }
                _ if largest <= ONE_LOAD => self.long::<W, SIGNED, 1>(padded, at, out),
                _ => self.long::<W, SIGNED, 2>(padded, at, out),
            };
            if !found {
                return false;
            }
        }
        true
    }
}

/// Undoes the zigzag if `SIGNED`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn signed<W: Word, const SIGNED: bool>(z: W) -> W {
    if SIGNED { z.unzigzag() } else { z }
}

/// Computes numbers from tokens and the raw bits from `bit` on; undoes the zigzag if `signed`. Returns false if the
/// stream ends.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(super) fn numbers<W: Word>(
    tokens: &[u8],
    padded: &[u8],
    signed: bool,
    out: &mut [W],
    bit: &mut u64,
) -> bool {
    let mut f = Fields { lens: [0; BLOCK], leads: [0; BLOCK], raws: [0; BLOCK] };
    let take = |largest: u8, lens: &[[u8; GROUP]], window: &Window, at, raws: &mut [[u32; GROUP]]| {
        match_target! {
            "x86_64+avx2" => {
                if largest <= fields::MOST_OF_8 {
                    return fields::take::<false>(lens, window, at, raws);
                }
                if largest <= fields::MOST_OF_4 {
                    return fields::take::<true>(lens, window, at, raws);
                }
            },
            _ => {}
        }
        take(largest, lens, window, at, raws)
    };
    if signed {
        f.numbers::<W, true>(take, tokens, padded, bit, out)
    } else {
        f.numbers::<W, false>(take, tokens, padded, bit, out)
    }
}
