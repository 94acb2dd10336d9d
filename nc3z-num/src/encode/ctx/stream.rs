//! Writes the encoder's bit streams: tokens through tANS, last one first, and raw bits.

use super::symbols::SYMBOLS;
use super::table::Encoder;
use crate::ctx::limits::MAX_STATES;
use crate::ctx::token::raw_bits;
use crate::encode::bits::put_varint;
use crate::word::{Word, low8, low32};
use std::ops::Range;

/// The step of every symbol: the addition to the state (low half), and the position of its states (high half).
pub(crate) struct Steps {
    symbols: Box<[u64; SYMBOLS]>,
    states: Box<[u16; MAX_STATES]>,
}

impl Default for Steps {
    fn default() -> Self {
        let states = vec![0u16; MAX_STATES].into_boxed_slice();
        let symbols = vec![0u64; SYMBOLS].into_boxed_slice();
        Steps {
            symbols: symbols.try_into().expect("made with this length"),
            states: states.try_into().expect("made with this length"),
        }
    }
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Steps")
    }
}

impl Steps {
    /// Lays out the tables of all contexts; `map` names the table of each.
    pub(crate) fn set(&mut self, encoders: &[Encoder], map: &[u8], log: u32) {
        for (i, encoder) in encoders.iter().enumerate() {
            self.states[i << log..(i + 1) << log].copy_from_slice(&encoder.states);
        }
        for (context, &table) in map.iter().enumerate() {
            let encoder = &encoders[usize::from(table)];
            let base = u32::from(table) << log;
            let entries = &mut self.symbols[context << 8..];
            for ((e, &bits), &first) in entries.iter_mut().zip(&encoder.delta_bits).zip(&encoder.first) {
                *e = u64::from(bits) | u64::from(first.wrapping_add(base)) << 32;
            }
        }
    }

    /// Returns the state before a symbol from the state after it (at least `size`), and the bits between.
    #[inline]
    fn step(&self, symbol: u16, x: u32, size: u32) -> (u32, u64, u32) {
        let entry = self.symbols[usize::from(symbol) % SYMBOLS];
        let nb = x.wrapping_add(low32(entry)) >> 16;
        let at = (x >> nb).wrapping_add(low32(entry >> 32));
        let before = size | u32::from(self.states[at as usize % MAX_STATES]);
        (before, u64::from(x & ((1 << nb) - 1)), nb)
    }
}

/// A bit stream (LSB first), written from its end to its beginning.
struct Backward<'a> {
    out: &'a mut [u8],
    /// Bytes from this one on are written.
    at: usize,
    acc: u64,
    /// Bits of `acc` that are not in `out` yet.
    used: u32,
}

impl Backward<'_> {
    /// Writes `n` bits before the existing ones; `flush` must follow before there are more than 64.
    #[inline]
    fn put(&mut self, bits: u64, n: u32) {
        self.acc = self.acc << n | bits;
        self.used += n;
    }

    #[inline]
    fn flush(&mut self) {
        let top = (self.acc << 1) << (63 - self.used);
        if let Some(place) = self.out.get_mut(self.at - 8..self.at) {
            place.copy_from_slice(&top.to_le_bytes());
        }
        self.at -= (self.used >> 3) as usize;
        self.used &= 7;
    }
}

/// Appends the token stream: its length, the states, the bits. `work` is memory to reuse.
pub(crate) fn put_tokens(
    steps: &Steps,
    symbols: &[u16],
    log: u32,
    lanes: &[Range<usize>; 4],
    work: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    // At most MAX_LOG = 12 bits for each symbol and state, which is three bytes for two, and room for whole words
    // at both ends.
    let room = (symbols.len() + 4).div_ceil(2) * 3 + 32;
    if work.len() < room {
        work.resize(room, 0);
    }
    let end = room - 8;
    let mut stream = Backward { out: &mut work[..room], at: end, acc: 0, used: 0 };
    let size = 1u32 << log;
    let mut states = [size; 4];
    let [a, b, c, d] = lanes.clone().map(|l| &symbols[l]);
    let shortest = d.len();
    for j in (shortest..a.len()).rev() {
        for (lane, state) in [a, b, c, d].iter().zip(&mut states).rev() {
            if let Some(&symbol) = lane.get(j) {
                let (before, field, nb) = steps.step(symbol, *state, size);
                *state = before;
                stream.put(field, nb);
            }
        }
        stream.flush();
    }
    let (a, b, c) = (&a[..shortest], &b[..shortest], &c[..shortest]);
    for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d).rev() {
        for (symbol, state) in [d, c, b, a].into_iter().zip(states.iter_mut().rev()) {
            let (before, field, nb) = steps.step(symbol, *state, size);
            *state = before;
            stream.put(field, nb);
        }
        stream.flush();
    }
    for state in states.iter().rev() {
        stream.put(u64::from(state & (size - 1)), log);
    }
    stream.flush();
    let Backward { at, acc, used, .. } = stream;
    put_varint(out, (end - at) as u64 + u64::from(used.div_ceil(8)));
    shifted(&work[at..end], acc, used, out);
}

/// Appends `bytes`, shifted up by `used < 8` bits; the low bits of `first` come before them.
fn shifted(bytes: &[u8], first: u64, used: u32, out: &mut Vec<u8>) {
    if used == 0 {
        out.extend_from_slice(bytes);
        return;
    }
    let mut carry = first & ((1 << used) - 1);
    let (words, rest) = bytes.as_chunks::<8>();
    out.reserve(bytes.len() + 1);
    for word in words {
        let word = u64::from_le_bytes(*word);
        out.extend_from_slice(&(word << used | carry).to_le_bytes());
        carry = word >> (64 - used);
    }
    for &byte in rest {
        out.push(byte << used | low8(carry));
        carry = u64::from(byte >> (8 - used));
    }
    out.push(low8(carry));
}

/// Appends the raw bits of all numbers, LSB first. `work` is memory to reuse.
pub(crate) fn put_raw<W: Word>(numbers: &[W], tokens: &[u8], work: &mut Vec<u8>, out: &mut Vec<u8>) {
    const PART: usize = 1 << 10;
    // At most 62 raw bits for each number (less than its width), and a word after the last.
    let room = PART * W::BYTES + 16;
    if work.len() < room {
        work.resize(room, 0);
    }
    let (mut acc, mut used) = (0u64, 0u32);
    for (numbers, tokens) in numbers.chunks(PART).zip(tokens.chunks(PART)) {
        let buffer = &mut work[..room];
        let mut at = 0usize;
        let mut put = |numbers: &[W], tokens: &[u8]| {
            for (&z, &t) in numbers.iter().zip(tokens) {
                let n = u32::from(raw_bits(t));
                let mut raw = z.to_u64() & ((1 << n) - 1);
                let mut left = n;
                if W::BITS == 64 && n > 32 {
                    acc |= (raw & 0xFFFF_FFFF) << used;
                    if let Some(place) = buffer.get_mut(at..at + 8) {
                        place.copy_from_slice(&acc.to_le_bytes());
                    }
                    // Four complete bytes are written; the bits of the incomplete byte remain.
                    at += 4;
                    acc >>= 32;
                    raw >>= 32;
                    left = n - 32;
                }
                acc |= raw << used;
                used += left;
                if let Some(place) = buffer.get_mut(at..at + 8) {
                    place.copy_from_slice(&acc.to_le_bytes());
                }
                at += (used >> 3) as usize;
                acc >>= used & !7;
                used &= 7;
            }
        };
        let (eights, rest) = tokens.as_chunks::<8>();
        for (numbers, tokens) in numbers.chunks(8).zip(eights) {
            // Tokens below 16 have no raw bits.
            if u64::from_le_bytes(*tokens) & 0xF0F0_F0F0_F0F0_F0F0 != 0 {
                put(numbers, tokens);
            }
        }
        put(&numbers[eights.len() * 8..], rest);
        out.extend_from_slice(&work[..at]);
    }
    if used > 0 {
        out.push(low8(acc));
    }
}
