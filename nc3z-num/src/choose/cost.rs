//! The two units of costs: bits of an estimate, bytes of a trial. Both are finer than their names, so that small savings count.

use crate::encode::EncodePlan;
use std::ops::{Add, AddAssign};

/// An estimate, in 65,536ths of a bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bits(u64);

impl Bits {
    /// The cost of no plan.
    pub(crate) const MAX: Bits = Bits(u64::MAX);

    /// From 65,536ths of a bit.
    pub(crate) const fn of_q16(q16: u64) -> Self {
        Bits(q16)
    }

    /// From whole bits.
    pub(crate) const fn whole(bits: u64) -> Self {
        Bits(bits << 16)
    }

    /// From bytes.
    pub(crate) const fn bytes(bytes: u64) -> Self {
        Bits(bytes << 19)
    }

    /// Returns whole bytes, rounded down.
    pub(crate) const fn to_bytes(self) -> u64 {
        self.0 >> 19
    }

    /// Returns some hundredths of the estimate.
    pub(crate) const fn hundredths(self, count: u64) -> Self {
        Bits((self.0 / 100).saturating_mul(count))
    }

    /// Returns some thousandths of the estimate.
    pub(crate) const fn thousandths(self, count: u64) -> Self {
        Bits((self.0 / 1000).saturating_mul(count))
    }

    /// Returns the estimate less one part of `parts`.
    pub(crate) const fn less_one_of(self, parts: u64) -> Self {
        Bits(self.0 - self.0 / parts)
    }
}

impl Add for Bits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Bits(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bits {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The size of a plan by a trial, in thousandths of a byte. Each byte of a plan that is slow to decode costs more than
/// 1,000 thousandths, so that the plan is chosen only if it saves enough bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(u64);

impl Bytes {
    /// The cost of a plan whose trial was stopped. As a limit: no limit.
    pub(crate) const MORE: Bytes = Bytes(u64::MAX);

    /// Returns the cost of bytes without a weight: 1,000 thousandths each.
    pub(crate) const fn whole(bytes: u64) -> Self {
        Bytes(bytes * 1000)
    }

    /// Returns the cost of bytes that cost `weight` thousandths each.
    pub(crate) const fn weighted(bytes: u64, weight: u64) -> Self {
        Bytes(bytes * weight)
    }

    /// Returns the number of bytes, if each cost `weight` thousandths.
    pub(crate) const fn unweighted(self, weight: u64) -> u64 {
        self.0 / weight
    }

    /// Returns some hundredths of the size.
    pub(crate) const fn hundredths(self, count: u64) -> Self {
        Bytes((self.0 / 100).saturating_mul(count))
    }

    /// Returns some thousandths of the size.
    pub(crate) const fn thousandths(self, count: u64) -> Self {
        Bytes((self.0 / 1000).saturating_mul(count))
    }

    /// Returns 5/4 of the size.
    pub(crate) const fn and_a_quarter(self) -> Self {
        Bytes(self.0.saturating_mul(5) / 4)
    }

    /// Returns the size in the ratio of two numbers, which are elements or sizes of the same plan.
    pub(crate) fn scaled(self, to: u64, from: u64) -> Self {
        let scaled = u128::from(self.0) * u128::from(to) / u128::from(from.max(1));
        Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// Returns the size in the ratio of two sizes.
    pub(crate) fn in_ratio(self, to: Bytes, from: Bytes) -> Self {
        self.scaled(to.0, from.0)
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A plan with its estimate.
pub(crate) type Estimated = (Bits, EncodePlan);
/// A plan with its size by trials.
pub(crate) type Tried = (Bytes, EncodePlan);

/// Sorts plans by cost, the cheapest first.
pub(crate) fn sort_by_cost<C: Ord + Copy>(plans: &mut [(C, EncodePlan)]) {
    plans.sort_by_key(|plan| plan.0);
}
