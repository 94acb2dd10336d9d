//! Decoder of `ctx`.

use super::context::Model;
use super::limits::{
    MAX_CONTEXTS, MAX_LOG, MAX_NORTH, MAX_STATES, MAX_TABLES, MAX_TABLES_OF_NIBBLES, MAX_WEST, MIN_LOG,
    MIN_STRIDE,
};
use super::numbers::numbers;
use super::table;
use super::token::{TOKENS, alphabet};
use super::tokens::tokens;
use super::workspace::Workspace;
use crate::bits::{Cursor, finish_bits, pad_into};
use crate::error::{Result, bad};
use crate::word::{Word, index, low16};

pub(super) struct Header {
    pub(super) log: u32,
    pub(super) model: Model,
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
    let mut map: Vec<u8> = if tables <= MAX_TABLES_OF_NIBBLES {
        cursor.take(contexts.div_ceil(2))?.iter().flat_map(|b| [b & 15, b >> 4]).collect()
    } else {
        cursor.take(contexts)?.to_vec()
    };
    if map.drain(contexts..).any(|pad| pad != 0) || map.iter().any(|&t| usize::from(t) >= tables) {
        return Err(bad("ctx map", "tables that exist", format_args!("{map:?}")));
    }
    Ok(Header { log, model, map, tables })
}

/// Fills `entries` with the decoding tables of all contexts.
fn build(header: &Header, cursor: &mut Cursor<'_>, bits: u32, work: &mut Workspace) -> Result<()> {
    let tail = cursor.rest();
    // The longest possible table: 16 bits, then 4 + 12 bits for each token.
    let most = header.tables * (2 + 2 * TOKENS);
    pad_into(&tail[..tail.len().min(most)], &mut work.padded);
    let mut at = 0u64;
    let mut tables = Vec::with_capacity(header.tables);
    for _ in 0..header.tables {
        tables.push(table::take(&work.padded, &mut at, header.log, alphabet(bits))?);
    }
    // `take` stays within the padded bytes, which are the first of the tail.
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

/// Decodes a part into `out`, which has room for the valid elements of a tile of `n`: all, or those whose byte of
/// `valid` is 0xFF. `signed` undoes the zigzag.
pub(crate) fn decode<W: Word>(
    part: &[u8],
    n: usize,
    valid: Option<&[u8]>,
    signed: bool,
    work: &mut Workspace,
    out: &mut [W],
) -> Result<()> {
    let mut cursor = Cursor::new(part);
    let header = header(&mut cursor, n)?;
    build(&header, &mut cursor, W::BITS, work)?;
    let first = index(cursor.varint()?);
    pad_into(cursor.take(first)?, &mut work.padded);
    tokens(&header, out.len(), valid, work)?;
    pad_into(cursor.rest(), &mut work.padded);
    let mut bit = 0u64;
    if !numbers(&work.tokens, &work.padded, signed, out, &mut bit) {
        return Err(bad("ctx stream 2", "more bits", "none"));
    }
    finish_bits(&work.padded, bit, "ctx stream 2")
}
