//! The range of the arithmetic coder, which encoder and decoder narrow alike.

#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]

/// The numbers that the stream may still stand for, from `low` to `high`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) low: u32,
    pub(crate) high: u32,
}

impl Range {
    /// The range before the first bit.
    pub(crate) const ALL: Self = Self { low: 0, high: u32::MAX };

    /// The last number of the part for a bit that is 1 with the probability `one`, in 65536ths.
    #[inline(always)]
    pub(crate) fn middle(self, one: u32) -> u32 {
        let range = self.high - self.low;
        self.low + (range >> 16) * one + (((range & 0xFFFF) * one) >> 16)
    }

    /// Narrows the range to the part for a bit.
    #[inline(always)]
    pub(crate) fn narrow(&mut self, middle: u32, bit: bool) {
        if bit {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
    }

    /// Removes the first byte and returns it, if all numbers of the range have it in common.
    #[inline(always)]
    pub(crate) fn shift(&mut self) -> Option<u32> {
        let first = self.high >> 24;
        if self.low >> 24 != first {
            return None;
        }
        self.low <<= 8;
        self.high = self.high << 8 | 0xFF;
        Some(first)
    }
}
