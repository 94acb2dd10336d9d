//! Decoder of `mix`.

#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]

use super::model::BitCoder;
use super::range::Range;
use super::value::{Layout, MOST_FULL, Strides};
use super::{Workspace, code};
use crate::bits::{Cursor, finish_bits, load, pad_into};
use crate::error::{Result, bad};
use crate::word::{Word, index};

/// Reads bits of both streams. Bytes behind the end of a stream count as 0; the caller compares lengths at the end.
struct Decoder<'a> {
    range: Range,
    /// The next bytes of the stream as a number, minus the beginning of the interval.
    code: u32,
    stream: &'a [u8],
    /// The number of bytes that were read, including zeros after the end of the stream.
    read: usize,
    /// The stream of bits that are not predicted, padded.
    raw: &'a [u8],
    bit: u64,
}

impl<'a> Decoder<'a> {
    fn new(stream: &'a [u8], raw: &'a [u8]) -> Self {
        let mut decoder = Self { range: Range::ALL, code: 0, stream, read: 0, raw, bit: 0 };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    #[inline(always)]
    fn shift(&mut self) {
        let byte = self.stream.get(self.read).copied().unwrap_or_default();
        self.code = self.code << 8 | u32::from(byte);
        self.read += 1;
    }
}

impl BitCoder for Decoder<'_> {
    #[inline(always)]
    fn bit(&mut self, one: u32, _: bool) -> bool {
        let first = self.range.first_part(one);
        let bit = self.code < first;
        self.range.narrow(first, bit);
        if !bit {
            self.code -= first;
        }
        while self.range.widen() {
            self.shift();
        }
        bit
    }

    #[inline(always)]
    fn raw(&mut self, len: u32, _: u64) -> u64 {
        let part = |decoder: &mut Self, len: u32| {
            let bits = load(decoder.raw, decoder.bit).unwrap_or_default() & !(u64::MAX << len);
            decoder.bit += u64::from(len);
            bits
        };
        let low = part(self, len.min(32));
        if len > 32 { low | part(self, len - 32) << 32 } else { low }
    }

    #[inline]
    fn is_lost(&self) -> bool {
        self.read > self.stream.len() + 3
    }
}

/// Decodes a part into `out`, which has room for the valid elements of a tile of `n`: all, or those whose byte of
/// `valid` is 0xFF.
pub(crate) fn decode<W: Word>(
    part: &[u8],
    n: usize,
    valid: Option<&[u8]>,
    work: &mut Workspace,
    out: &mut [W],
) -> Result<()> {
    let mut cursor = Cursor::new(part);
    let row = index(cursor.varint()?);
    let plane = if row > 0 { index(cursor.varint()?) } else { 0 };
    if row == 1 || row >= n.max(1) || plane >= n.max(1) || (plane > 0 && plane <= row) {
        let rule = "a row of 0 or of 2 to less than the tile, a plane of 0 or of more than a row";
        return Err(bad("mix strides", rule, format_args!("{row} {plane}")));
    }
    let full = u32::from(cursor.byte()?);
    if full > MOST_FULL {
        return Err(bad("mix class", format_args!("at most {MOST_FULL}"), full));
    }
    let first = index(cursor.varint()?);
    let stream = cursor.take(first)?;
    let mut padded = std::mem::take(&mut work.padded);
    pad_into(cursor.rest(), &mut padded);
    let mut coder = Decoder::new(stream, &padded);
    let layout = Layout { bits: W::BITS, strides: Strides { row, plane }, full };
    let grid = W::pool(&mut work.grid);
    grid.clear();
    grid.resize(n, W::default());
    code::<W, _>(layout, valid, &mut coder, work);
    let (read, bit) = (coder.read, coder.bit);
    let grid = W::pool(&mut work.grid);
    match valid {
        None => out.copy_from_slice(grid),
        Some(valid) => {
            let values = grid.iter().zip(valid).filter(|(_, v)| **v != 0);
            out.iter_mut().zip(values).for_each(|(o, (value, _))| *o = *value);
        }
    }
    let end = finish_bits(&padded, bit, "mix stream 2");
    work.padded = padded;
    end?;
    // The encoder writes one byte of the last four.
    if read != stream.len() + 3 {
        return Err(bad("mix stream 1", format_args!("{} bytes", read - 3), stream.len()));
    }
    Ok(())
}
