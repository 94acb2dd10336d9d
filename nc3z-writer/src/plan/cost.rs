//! Costs that plans are compared by. They have a unit, so that bytes are never added to time.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Bytes that something takes in the archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stored(pub(crate) u64);

impl Stored {
    /// The bytes of a buffer.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Stored(bytes.len() as u64)
    }

    /// Returns the bytes that this saves compared with `other`; 0 if this is larger.
    pub(crate) fn saved_against(self, other: Self) -> Self {
        Stored(other.0.saturating_sub(self.0))
    }

    /// Returns `hundredths` percent of this, rounded down.
    pub(crate) fn percent(self, hundredths: u64) -> Self {
        self.scaled(hundredths, 100)
    }

    /// Extrapolates the cost of `parts` parts to `of` parts, rounded down.
    pub(crate) fn scaled(self, of: u64, parts: u64) -> Self {
        Stored(
            u64::try_from(u128::from(self.0) * u128::from(of) / u128::from(parts.max(1))).unwrap_or(u64::MAX),
        )
    }
}

impl Add for Stored {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Stored(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Stored {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Stored {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Stored(0), Add::add)
    }
}
