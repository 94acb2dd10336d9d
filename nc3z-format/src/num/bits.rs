//! Bytes and bits of the payload: a checked cursor, canonical LEB128, LSB-first bit streams.

use super::bad;
use super::word::{low8, low32};
use crate::error::Result;

/// Zero bytes that follow a bit stream in memory, so that eight bytes can be loaded anywhere in it.
pub(super) const PAD: usize = 16;

/// Reads a slice from front to back.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    data: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let (&b, rest) = self.data.split_first().ok_or_else(|| bad("length", "one more byte", 0))?;
        self.data = rest;
        Ok(b)
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (a, rest) = self.data.split_at_checked(len).ok_or_else(|| bad("length", len, self.data.len()))?;
        self.data = rest;
        Ok(a)
    }

    /// A LEB128 number of at most 64 bits in its shortest form.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut x = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            let bits = u64::from(b & 0x7F);
            if (shift == 63 && bits > 1) || (b == 0 && shift > 0) {
                return Err(bad("varint", "the shortest form of 64 bits", b));
            }
            x |= bits << shift;
            if b < 0x80 {
                return Ok(x);
            }
        }
        Err(bad("varint", "at most 10 bytes", 11))
    }

    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.data)
    }

    pub(super) fn finish(&self, what: &'static str) -> Result<()> {
        if self.data.is_empty() { Ok(()) } else { Err(bad(what, "no further bytes", self.data.len())) }
    }
}

/// Appends `x` as LEB128.
pub(super) fn put_varint(out: &mut Vec<u8>, mut x: u64) {
    while x >= 0x80 {
        out.push(low8(x) | 0x80);
        x >>= 7;
    }
    out.push(low8(x));
}

/// Appends bit fields, LSB first; `finish` fills the last byte with zeros.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    acc: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, acc: 0, used: 0 }
    }

    /// Appends the `n <= 32` low bits of `bits`, which has no others.
    #[inline]
    pub(super) fn put(&mut self, bits: u64, n: u32) {
        self.acc |= bits << self.used;
        self.used += n;
        if self.used >= 32 {
            self.out.extend_from_slice(&low32(self.acc).to_le_bytes());
            self.acc >>= 32;
            self.used -= 32;
        }
    }

    pub(super) fn finish(mut self) {
        while self.used > 0 {
            self.out.push(low8(self.acc));
            self.acc >>= 8;
            self.used = self.used.saturating_sub(8);
        }
    }
}

/// The (at least 57) bits from `bit` on; `padded` ends in [`PAD`] zero bytes.
#[inline]
pub(super) fn load(padded: &[u8], bit: usize) -> Option<u64> {
    let chunk = padded.get(bit >> 3..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*chunk) >> (bit & 7))
}

/// Checks that exactly the bits before `bit` were the stream: less than a byte is left, and it is zero.
pub(super) fn finish_bits(padded: &[u8], bit: usize, what: &'static str) -> Result<()> {
    let len = padded.len() - PAD;
    if bit.div_ceil(8) != len {
        return Err(bad(what, format_args!("{} bytes", bit.div_ceil(8)), len));
    }
    if !bit.is_multiple_of(8) && padded[len - 1] >> (bit % 8) != 0 {
        return Err(bad(what, "zero padding bits", padded[len - 1]));
    }
    Ok(())
}

/// Copies `stream` behind which [`PAD`] zero bytes stand.
pub(super) fn pad_into(stream: &[u8], padded: &mut Vec<u8>) {
    padded.clear();
    padded.extend_from_slice(stream);
    padded.extend_from_slice(&[0; PAD]);
}
