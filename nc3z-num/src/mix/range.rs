//! The range of the arithmetic coder, which encoder and decoder narrow alike.

#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]

/// The length of the interval of numbers that the stream may still stand for. It is at least 2^24.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range(u32);

impl Range {
    /// The range before the first bit.
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// The length of the first part, which is for 1: a bit with the probability `one`, in 65536ths.
    #[inline(always)]
    pub(crate) fn first_part(self, one: u32) -> u32 {
        (self.0 >> 16) * one
    }

    /// Narrows the range to the part for a bit.
    #[inline(always)]
    pub(crate) fn narrow(&mut self, first_part: u32, bit: bool) {
        self.0 = if bit { first_part } else { self.0 - first_part };
    }

    /// Makes room for the next byte of the stream if the range is too short; returns true if it was.
    #[inline(always)]
    pub(crate) fn widen(&mut self) -> bool {
        let is_short = self.0 < 1 << 24;
        if is_short {
            self.0 <<= 8;
        }
        is_short
    }
}
