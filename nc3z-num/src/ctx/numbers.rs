//! Numbers from tokens and their raw bits.
//!
//! Each step goes over all tokens of a block before the next begins: in this form compilers make vector instructions of all but the second.

use super::token::{lead as lead_of, raw_bits};
use crate::bits::load;
use crate::word::{Word, index, low32};
use multiversion::multiversion;

/// Tokens of a block.
const BLOCK: usize = 256;
/// Tokens whose fields are found at once.
const GROUP: usize = 8;
/// Raw bits of a token, up to which a block's fields lie in one window.
const MOST: u8 = 28;
/// Bytes in which those fields begin: a power of two.
const WINDOW: usize = 1024;

const _: () = assert!(BLOCK * MOST as usize / 8 < WINDOW);

/// Raw bits that one load surely holds.
const ONE_LOAD: u8 = 57;

/// The steps of a block.
struct Fields {
    /// Raw bits of each token.
    lens: [u8; BLOCK],
    /// What stands before them.
    leads: [u8; BLOCK],
    /// Words of bits: one, two or four for each group.
    words: [u64; BLOCK],
    /// Where each field begins in its word.
    begins: [u8; BLOCK],
    /// The fields; above the raw bits stands what follows them.
    raws: [u32; BLOCK],
}

impl Fields {
    /// Looks the tokens up; gives the largest number of raw bits.
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

    /// The fields of whole groups from bit `at` of the window on, `EACH` of them in a word; gives the bit after them.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn fields<const LOADS: usize, const EACH: usize>(
        &mut self,
        count: usize,
        window: &[u8; WINDOW + 8],
        at: u64,
    ) -> u64 {
        let end = self.locate::<LOADS>(count, window, at);
        self.take::<EACH>(count);
        end
    }

    /// Finds them.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn locate<const LOADS: usize>(&mut self, count: usize, window: &[u8; WINDOW + 8], mut at: u64) -> u64 {
        let (lens, _) = self.lens[..count].as_chunks::<GROUP>();
        let (begins, _) = self.begins[..count].as_chunks_mut::<GROUP>();
        let (words, _) = self.words.as_chunks_mut::<LOADS>();
        for ((lens, begins), words) in lens.iter().zip(begins).zip(words) {
            // The product has in each byte the sum of all lengths up to it, below 256.
            let ends = u64::from_le_bytes(*lens).wrapping_mul(0x0101_0101_0101_0101);
            let before = ends << 8;
            let mut firsts = 0;
            for (n, word) in words.iter_mut().enumerate() {
                let shift = 64 / LOADS * n;
                let first = before >> shift & 0xFF;
                firsts |= (first * (0x0101_0101_0101_0101 >> (64 - 64 / LOADS))) << shift;
                *word = load_in(window, at + first);
            }
            *begins = (before - firsts).to_le_bytes();
            at += ends >> 56;
        }
        at
    }

    /// Takes them out of their words.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn take<const EACH: usize>(&mut self, count: usize) {
        let (begins, _) = self.begins[..count].as_chunks::<EACH>();
        let (raws, _) = self.raws.as_chunks_mut::<EACH>();
        for ((raws, begins), &word) in raws.iter_mut().zip(begins).zip(&self.words) {
            for (raw, &begin) in raws.iter_mut().zip(begins) {
                *raw = low32(word.wrapping_shr(begin.into()));
            }
        }
    }

    /// Finds the fields of a block none of which is longer than [`MOST`]; false where the stream ends before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn find(&mut self, largest: u8, count: usize, padded: &[u8], at: &mut u64) -> bool {
        let byte = index(*at >> 3);
        let mut copy = [0; WINDOW + 8];
        let window = match padded.get(byte..) {
            None => return false,
            Some(rest) => rest.first_chunk().unwrap_or_else(|| {
                copy[..rest.len()].copy_from_slice(rest);
                &copy
            }),
        };
        // The last group may have fewer tokens; the others have no bits.
        self.lens[count..count.next_multiple_of(GROUP)].fill(0);
        let (bit, count) = (*at & 7, count.next_multiple_of(GROUP));
        *at += match largest {
            0..=7 => self.fields::<1, 8>(count, window, bit),
            8..=14 => self.fields::<2, 4>(count, window, bit),
            _ => self.fields::<4, 2>(count, window, bit),
        } - bit;
        true
    }

    /// Numbers of what [`Fields::find`] found.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn finish<W: Word, const SIGNED: bool>(&self, out: &mut [W]) {
        for (((o, &raw), &lead), &len) in out.iter_mut().zip(&self.raws).zip(&self.leads).zip(&self.lens) {
            let len = u32::from(len);
            let z = u32::from(lead).wrapping_shl(len) | (raw & !u32::MAX.wrapping_shl(len));
            *o = signed::<W, SIGNED>(W::from_u64(z.into()));
        }
    }

    /// Numbers of a block some of whose fields are longer, one by one; `LOADS` are needed for each.
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

    /// Numbers of tokens; false where the stream ends before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn numbers<W: Word, const SIGNED: bool>(
        &mut self,
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
                    let found = self.find(largest, tokens.len(), padded, at);
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

/// Undoes the zigzag where `SIGNED`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn signed<W: Word, const SIGNED: bool>(z: W) -> W {
    if SIGNED { z.unzigzag() } else { z }
}

/// The 57 bits from `bit` on; whoever asks for more than the window has gets others.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn load_in(window: &[u8; WINDOW + 8], bit: u64) -> u64 {
    let byte = index(bit >> 3) % WINDOW;
    window[byte..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight) >> (bit & 7))
}

/// Makes numbers of tokens and the raw bits from `bit` on; undoes the zigzag where `signed`. False where the stream ends.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(super) fn numbers<W: Word>(
    tokens: &[u8],
    padded: &[u8],
    signed: bool,
    out: &mut [W],
    bit: &mut u64,
) -> bool {
    let mut f = Fields {
        lens: [0; BLOCK],
        leads: [0; BLOCK],
        words: [0; BLOCK],
        begins: [0; BLOCK],
        raws: [0; BLOCK],
    };
    if signed {
        f.numbers::<W, true>(tokens, padded, bit, out)
    } else {
        f.numbers::<W, false>(tokens, padded, bit, out)
    }
}
