//! Writes integers and bit fields.

use crate::word::{low8, low32};

/// Appends `x` as LEB128.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut x: u64) {
    while x >= 0x80 {
        out.push(low8(x) | 0x80);
        x >>= 7;
    }
    out.push(low8(x));
}

/// Appends bit fields, LSB first; `finish` fills the last byte with zeros.
pub(crate) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    acc: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, acc: 0, used: 0 }
    }

    /// Appends the `n <= 32` low bits of `bits`; its other bits are zero.
    #[inline]
    pub(crate) fn put(&mut self, bits: u64, n: u32) {
        self.acc |= bits << self.used;
        self.used += n;
        if self.used >= 32 {
            self.out.extend_from_slice(&low32(self.acc).to_le_bytes());
            self.acc >>= 32;
            self.used -= 32;
        }
    }

    pub(crate) fn finish(mut self) {
        while self.used > 0 {
            self.out.push(low8(self.acc));
            self.acc >>= 8;
            self.used = self.used.saturating_sub(8);
        }
    }
}
