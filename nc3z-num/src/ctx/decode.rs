//! Decoder of `ctx`.

use super::context::Model;
use super::lane::{AHEAD, Lane};
use super::limits::{
    MAX_CONTEXTS, MAX_LOG, MAX_NORTH, MAX_STATES, MAX_TABLES, MAX_WEST, MIN_LOG, MIN_STRIDE,
};
use super::numbers::numbers;
use super::table;
use super::token::{TOKENS, alphabet};
use super::workspace::{Block, Workspace};
use crate::bits::{Cursor, finish_bits, load, pad_into};
use crate::error::{Result, bad};
use crate::mask::Runs;
use crate::word::{Word, index, low8, low16, low32};
use multiversion::multiversion;

struct Header {
    log: u32,
    model: Model,
    /// Table of each context.
    map: Vec<u8>,
    tables: usize,
}

fn header(cursor: &mut Cursor<'_>, n: usize) -> Result<Header> {
    let log = u32::from(cursor.byte()?);
    let (kn, kw) = (usize::from(cursor.byte()?), usize::from(cursor.byte()?));
    let tables = usize::from(cursor.byte()?);
    let contexts = kn * kw;
    let fits = (MIN_LOG..=MAX_LOG).contains(&log)
        && (1..=MAX_NORTH).contains(&kn)
        && (1..=MAX_WEST).contains(&kw)
        && contexts <= MAX_CONTEXTS
        && (1..=MAX_TABLES.min(contexts)).contains(&tables)
        && contexts << log <= MAX_STATES;
    if !fits {
        return Err(bad("ctx header", "numbers within limits", format_args!("{log} {kn} {kw} {tables}")));
    }
    let stride = index(cursor.varint()?);
    let good = if kn == 1 { stride == 0 } else { stride >= MIN_STRIDE && stride < n.div_ceil(8) };
    if !good {
        return Err(bad("ctx stride", "0, or 16 or more and less than an eighth of the tile", stride));
    }
    let mut thresholds = |count: usize| -> Result<Vec<u8>> {
        let list = cursor.take(count)?.to_vec();
        if list.first() == Some(&0) || list.windows(2).any(|w| w[0] >= w[1]) {
            return Err(bad("ctx thresholds", "1 or more, ascending", format_args!("{list:?}")));
        }
        Ok(list)
    };
    let model = Model { stride, north: thresholds(kn - 1)?, west: thresholds(kw - 1)? };
    let packed = cursor.take(contexts.div_ceil(2))?;
    let mut map: Vec<u8> = packed.iter().flat_map(|b| [b & 15, b >> 4]).collect();
    if map.drain(contexts..).any(|pad| pad != 0) || map.iter().any(|&t| usize::from(t) >= tables) {
        return Err(bad("ctx map", "tables that exist", format_args!("{map:?}")));
    }
    Ok(Header { log, model, map, tables })
}

/// Fills `entries` with the decoding tables of all contexts.
fn build(header: &Header, cursor: &mut Cursor<'_>, bits: u32, work: &mut Workspace) -> Result<()> {
    let tail = cursor.rest();
    // The longest a table can be: 16 bits, then 4 + 12 bits for each token.
    let most = header.tables * (2 + 2 * TOKENS);
    pad_into(&tail[..tail.len().min(most)], &mut work.padded);
    let mut at = 0u64;
    let mut tables = Vec::with_capacity(header.tables);
    for _ in 0..header.tables {
        tables.push(table::take(&work.padded, &mut at, header.log, alphabet(bits))?);
    }
    // `take` went no further than the padded bytes, which are the first of the tail.
    let last = index(at / 8);
    if !at.is_multiple_of(8) && tail[last] >> (at % 8) != 0 {
        return Err(bad("ctx tables", "zero padding bits", tail[last]));
    }
    *cursor = Cursor::new(&tail[index(at.div_ceil(8))..]);
    let mut class = [0u16; 256];
    for (token, c) in (0u8..=255).zip(&mut class) {
        *c = low16(u32::try_from(header.model.west_class(token)).unwrap_or(0) << header.log);
    }
    work.entries.resize(MAX_STATES, 0);
    let size = 1usize << header.log;
    for (slot, &t) in work.entries.chunks_exact_mut(size).zip(&header.map) {
        table::decode_entries(&tables[usize::from(t)], header.log, &class, &mut work.spread, slot);
    }
    Ok(())
}

/// Decodes `count` tokens of each of four lanes.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn four_lanes(
    entries: &[u32; MAX_STATES],
    padded: &[u8],
    bit: &mut u64,
    states: &mut [usize; 4],
    block: &mut Block,
    count: usize,
) -> bool {
    let [mut s0, mut s1, mut s2, mut s3] = *states;
    let Some(mut window) = Window::at(padded, *bit) else { return false };
    let Block { contexts: [c0, c1, c2, c3], tokens: [t0, t1, t2, t3] } = block;
    for i in 0..count.min(AHEAD) {
        // The four look-ups do not wait for each other; where each finds its bits follows from the entries before it. Contexts and
        // states of sound tables stay below MAX_STATES together; asking costs less than cutting them to 16 bits.
        let Some(&e0) = entries.get(usize::from(c0[i]) + s0) else { return false };
        let Some(&e1) = entries.get(usize::from(c1[i]) + s1) else { return false };
        let Some(&e2) = entries.get(usize::from(c2[i]) + s2) else { return false };
        let Some(&e3) = entries.get(usize::from(c3[i]) + s3) else { return false };
        t0[i] = low8(u64::from(e0 >> 8));
        t1[i] = low8(u64::from(e1 >> 8));
        t2[i] = low8(u64::from(e2 >> 8));
        t3[i] = low8(u64::from(e3 >> 8));
        let w = window.bits;
        s0 = next(e0, w);
        let w = w.wrapping_shr(e0);
        s1 = next(e1, w);
        let w = w.wrapping_shr(e1);
        s2 = next(e2, w);
        let w = w.wrapping_shr(e2);
        s3 = next(e3, w);
        // Four numbers of bits, at most 48 together, in the low byte.
        let used = e0.wrapping_add(e1).wrapping_add(e2.wrapping_add(e3));
        if !window.advance(used) {
            return false;
        }
    }
    *bit = 8 * (padded.len() - window.rest.len()) as u64 - u64::from(window.held & 63);
    *states = [s0, s1, s2, s3];
    true
}

/// The next bits of a stream, loaded before it is known how many of those before them are used.
struct Window<'a> {
    /// At least 48 bits that are still to be used, the next one lowest. Those above `held` are right, too, but counted later.
    bits: u64,
    /// Modulo 64.
    held: u32,
    /// The bytes after those counted.
    rest: &'a [u8],
}

impl<'a> Window<'a> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn at(padded: &'a [u8], bit: u64) -> Option<Self> {
        let below = low32(bit & 7);
        Some(Self { bits: load(padded, bit)?, held: 56 - below, rest: padded.get(index(bit >> 3) + 7..)? })
    }

    /// Goes on by `used` modulo 64, at most 48 bits; false where the stream and its padding end.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
    fn advance(&mut self, used: u32) -> bool {
        let Some(more) = self.rest.first_chunk::<8>() else { return false };
        self.held = self.held.wrapping_sub(used);
        self.bits = self.bits.wrapping_shr(used) | u64::from_le_bytes(*more).wrapping_shl(self.held);
        let Some(rest) = self.rest.get(index(u64::from(!self.held >> 3 & 7))..) else { return false };
        self.rest = rest;
        self.held |= 0b11_1000;
        true
    }
}

/// The state after an entry, whose number of bits are the lowest of `w`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn next(e: u32, w: u64) -> usize {
    index(u64::from(e >> 16) + (w & !(u64::MAX << (e & 63))))
}

/// Decodes all tokens from the padded stream in `work`.
fn tokens(header: &Header, runs: &Runs, n: usize, work: &mut Workspace) -> Result<()> {
    let short = || bad("ctx stream", "more bits", "none");
    let entries: &[u32; MAX_STATES] =
        work.entries.as_slice().try_into().map_err(|_| bad("ctx tables", MAX_STATES, 0))?;
    let padded = work.padded.as_slice();
    let size = 1usize << header.log;
    let mut bit = 0u64;
    let mut states = [0; 4];
    for s in &mut states {
        let w = load(padded, bit).ok_or_else(short)?;
        *s = index(w & (size as u64 - 1));
        bit += u64::from(header.log);
    }
    work.tokens.clear();
    work.tokens.resize(runs.valid, 0);
    work.grid.clear();
    if runs.valid < n && header.model.stride > 0 {
        work.grid.resize(n, 0);
    }
    let unit = low16(u32::try_from(header.model.kw()).unwrap_or(1) << header.log);
    let block = work.block.get_or_insert_default();
    let mut lanes = Lane::all(&mut work.tokens, &mut work.grid, runs);
    loop {
        for lane in &mut lanes {
            if lane.done == lane.ready_to && lane.done < lane.tokens.len() {
                lane.refill(&header.model, unit);
            }
        }
        let common = lanes.iter().map(|l| l.ready_to - l.done).min().unwrap_or(0);
        if common > 0 {
            for (l, lane) in lanes.iter().enumerate() {
                let from = lane.done - lane.ready_from;
                block.contexts[l][..common].copy_from_slice(&lane.contexts[from..from + common]);
            }
            if !four_lanes(entries, padded, &mut bit, &mut states, block, common) {
                return Err(short());
            }
            for (l, lane) in lanes.iter_mut().enumerate() {
                lane.tokens[lane.done..lane.done + common].copy_from_slice(&block.tokens[l][..common]);
                lane.done += common;
            }
        } else {
            // Lanes of unequal length, at the end: one value each.
            let mut any = false;
            for (lane, state) in lanes.iter_mut().zip(&mut states) {
                if lane.done < lane.ready_to {
                    let context = lane.contexts[lane.done - lane.ready_from];
                    let &e = entries.get(usize::from(context) + *state).ok_or_else(short)?;
                    *state = next(e, load(padded, bit).ok_or_else(short)?);
                    lane.tokens[lane.done] = low8(u64::from(e >> 8));
                    bit += u64::from(e & 63);
                    lane.done += 1;
                    any = true;
                }
            }
            if !any {
                break;
            }
        }
    }
    if states.iter().any(|s| s & (size - 1) != 0) {
        return Err(bad("ctx final state", 0, format_args!("{states:?}")));
    }
    finish_bits(padded, bit, "ctx stream 1")
}

/// Decodes a part into `out`, which has the valid elements of a tile of `n`; `signed` undoes the zigzag.
pub(crate) fn decode<W: Word>(
    part: &[u8],
    n: usize,
    runs: &Runs,
    signed: bool,
    work: &mut Workspace,
    out: &mut [W],
) -> Result<()> {
    let mut cursor = Cursor::new(part);
    let header = header(&mut cursor, n)?;
    build(&header, &mut cursor, W::BITS, work)?;
    let first = index(cursor.varint()?);
    pad_into(cursor.take(first)?, &mut work.padded);
    tokens(&header, runs, n, work)?;
    pad_into(cursor.rest(), &mut work.padded);
    let mut bit = 0u64;
    if !numbers(&work.tokens, &work.padded, signed, out, &mut bit) {
        return Err(bad("ctx stream 2", "more bits", "none"));
    }
    finish_bits(&work.padded, bit, "ctx stream 2")
}
