//! Reads bytes and bits of a payload: a checked cursor, canonical LEB128, bit streams whose first bit is the lowest.

use crate::error::{Result, bad};
use crate::word::index;

/// Number of zero bytes after a bit stream in memory, so that eight bytes can be loaded at any position.
pub(crate) const PAD: usize = 16;

/// Reads a slice from front to back.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&b, rest) = self.data.split_first().ok_or_else(|| bad("length", "one more byte", 0))?;
        self.data = rest;
        Ok(b)
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (a, rest) = self.data.split_at_checked(len).ok_or_else(|| bad("length", len, self.data.len()))?;
        self.data = rest;
        Ok(a)
    }

    /// Reads a LEB128 number of at most 64 bits in its shortest form.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64> {
        match *self.data {
            [a @ 0..0x80, ref rest @ ..] => {
                self.data = rest;
                Ok(u64::from(a))
            }
            [a, b @ 1..0x80, ref rest @ ..] => {
                self.data = rest;
                Ok(u64::from(a & 0x7F) | u64::from(b) << 7)
            }
            [a, b @ 0x80..=0xFF, c @ 1..0x80, ref rest @ ..] => {
                self.data = rest;
                Ok(u64::from(a & 0x7F) | u64::from(b & 0x7F) << 7 | u64::from(c) << 14)
            }
            _ => self.long_varint(),
        }
    }

    /// Reads the next eight LEB128 numbers, if each has one byte; otherwise reads nothing.
    #[inline]
    pub(crate) fn eight_short(&mut self) -> Option<[u8; 8]> {
        let (eight, rest) = self.data.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*eight) & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        self.data = rest;
        Some(*eight)
    }

    fn long_varint(&mut self) -> Result<u64> {
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

    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.data)
    }

    pub(crate) fn finish(&self, what: &'static str) -> Result<()> {
        if self.data.is_empty() { Ok(()) } else { Err(bad(what, "no further bytes", self.data.len())) }
    }
}

/// Returns the bits (at least 57) from `bit` on, which has 64 bits because a stream may have more than 2^32.
/// `padded` ends in [`PAD`] zero bytes.
#[inline]
pub(crate) fn load(padded: &[u8], bit: u64) -> Option<u64> {
    let chunk = padded.get(index(bit >> 3)..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*chunk) >> (bit & 7))
}

/// Checks that the stream ends at `bit`: less than a byte remains, and it is zero.
pub(crate) fn finish_bits(padded: &[u8], bit: u64, what: &'static str) -> Result<()> {
    let len = padded.len() - PAD;
    if bit.div_ceil(8) != len as u64 {
        return Err(bad(what, format_args!("{} bytes", bit.div_ceil(8)), len));
    }
    if !bit.is_multiple_of(8) && padded[len - 1] >> (bit % 8) != 0 {
        return Err(bad(what, "zero padding bits", padded[len - 1]));
    }
    Ok(())
}

/// Copies `stream` and appends [`PAD`] zero bytes.
pub(crate) fn pad_into(stream: &[u8], padded: &mut Vec<u8>) {
    padded.clear();
    padded.extend_from_slice(stream);
    padded.extend_from_slice(&[0; PAD]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_read_as_long_ones_are() {
        for n in 0..1u32 << 24 {
            let bytes = n.to_le_bytes();
            let (mut quick, mut plain) = (Cursor::new(&bytes), Cursor::new(&bytes));
            let found = (quick.varint().ok(), plain.long_varint().ok());
            assert_eq!(found.0, found.1, "{bytes:?}");
            assert!(found.0.is_none() || quick.len() == plain.len(), "{bytes:?}");
        }
    }
}
