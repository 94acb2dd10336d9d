//! The rounding itself, its bound for each element, and what it did.

use super::decimal::{granular_bits, groomed_bits};
use super::real::{Real, power_of_two};
use super::spec::Quantize;
use crate::error::{Error, Result};
use crate::types::NcType;

/// Rounds the elements of one variable.
#[derive(Debug, Clone)]
pub struct Quantizer {
    mode: Quantize,
    ty: NcType,
    /// Fill values, which are unchanged.
    fills: Vec<f64>,
    /// Parameter of the loop: bits that go, or the grid.
    drop: u32,
    grid: f64,
    /// Bits that the proof expects to go.
    proven_drop: u32,
}

/// The effect of rounding on the elements of a variable.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Loss {
    /// Elements that are another number now.
    pub changed: u64,
    /// The largest |new − old|.
    pub max_abs_error: f64,
    /// The largest |new − old| / |old|.
    pub max_rel_error: f64,
}

impl Loss {
    /// Combines the two results.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Loss {
            changed: self.changed + other.changed,
            max_abs_error: self.max_abs_error.max(other.max_abs_error),
            max_rel_error: self.max_rel_error.max(other.max_rel_error),
        }
    }
}

impl Quantizer {
    /// For a variable of this type; `fills` are big-endian values of the type that are not touched.
    ///
    /// # Errors
    /// As [`Quantize::check`].
    pub fn new(mode: Quantize, ty: NcType, fills: &[Vec<u8>]) -> Result<Self> {
        mode.check(ty)?;
        let mantissa = if ty == NcType::Float { f32::MANTISSA } else { f64::MANTISSA };
        let fills = fills.iter().filter_map(|bytes| match ty {
            NcType::Float => Some(f32::from_be_bytes(bytes.as_slice().try_into().ok()?).into()),
            _ => Some(f64::from_be_bytes(bytes.as_slice().try_into().ok()?)),
        });
        let (drop, grid) = match mode {
            Quantize::BitRound { keepbits } => (mantissa - keepbits, 0.0),
            Quantize::BitGroom { nsd } => (mantissa - groomed_bits(nsd), 0.0),
            Quantize::GranularBitRound { .. } => (0, 0.0),
            Quantize::Absolute { bound } => (0, Quantize::grid(bound)),
        };
        Ok(Quantizer { mode, ty, fills: fills.collect(), drop, grid, proven_drop: drop })
    }

    /// Returns the mode.
    pub fn mode(&self) -> &Quantize {
        &self.mode
    }

    /// Bytes of an element.
    pub const fn element_size(&self) -> usize {
        self.ty.size()
    }

    #[cfg(test)]
    pub(super) fn clone_bound_of(&mut self, other: &Self) {
        self.proven_drop = other.drop;
    }

    /// Rounds big-endian elements in place; `first` is the index of the first one in the variable's flattened array.
    ///
    /// # Panics
    /// Bytes that are not a multiple of the element size.
    pub fn apply(&self, first: u64, bytes: &mut [u8]) {
        self.each(first, bytes, |_, _, _| Ok(())).expect("nothing is checked");
    }

    /// Does the work of [`Self::apply`], checks the bound for every element, and measures the errors.
    ///
    /// # Errors
    /// An element changed more than the mode allows. This would be a defect of this code.
    ///
    /// # Panics
    /// Bytes that are not a multiple of the element size.
    pub fn apply_proven(&self, first: u64, bytes: &mut [u8]) -> Result<Loss> {
        let mut loss = Loss::default();
        self.each(first, bytes, |index, old, new| {
            // Exact: the two are within a factor of two of each other, or one is zero.
            let error = (new - old).abs();
            if error == 0.0 {
                return Ok(());
            }
            let bound = self.bound(old);
            if error > bound || error.is_nan() {
                return Err(Error::invalid(format!(
                    "{} made {new:e} of element {index}, {old:e}: the bound on the error is {bound:e}",
                    self.mode
                )));
            }
            loss.changed += 1;
            loss.max_abs_error = loss.max_abs_error.max(error);
            loss.max_rel_error = loss.max_rel_error.max(error / old.abs());
            Ok(())
        })?;
        Ok(loss)
    }

    fn each(
        &self,
        first: u64,
        bytes: &mut [u8],
        seen: impl FnMut(u64, f64, f64) -> Result<()>,
    ) -> Result<()> {
        if self.ty == NcType::Float {
            let (elements, rest) = bytes.as_chunks_mut::<4>();
            assert!(rest.is_empty(), "whole elements");
            return self.run(first, elements, |b| f32::from_be_bytes(*b), f32::to_be_bytes, seen);
        }
        let (elements, rest) = bytes.as_chunks_mut::<8>();
        assert!(rest.is_empty(), "whole elements");
        self.run(first, elements, |b| f64::from_be_bytes(*b), f64::to_be_bytes, seen)
    }

    fn run<T: Real, const N: usize>(
        &self,
        first: u64,
        elements: &mut [[u8; N]],
        get: impl Fn(&[u8; N]) -> T,
        put: impl Fn(T) -> [u8; N],
        mut seen: impl FnMut(u64, f64, f64) -> Result<()>,
    ) -> Result<()> {
        for (element, index) in elements.iter_mut().zip(first..) {
            let old = get(element);
            if !old.is_roundable() || self.fills.contains(&old.wide()) {
                continue;
            }
            let new = match self.mode {
                Quantize::BitRound { .. } => rounded(old, self.drop),
                Quantize::GranularBitRound { nsd } => {
                    rounded(old, T::MANTISSA.saturating_sub(granular_bits(old.wide(), nsd).0))
                }
                Quantize::BitGroom { .. } => groomed(old, self.drop, index % 2 == 1),
                Quantize::Absolute { .. } => on_grid(old, self.grid),
            };
            // Values that would become infinite are unchanged.
            if new.wide().is_finite() {
                *element = put(new);
                seen(index, old.wide(), new.wide())?;
            }
        }
        Ok(())
    }

    /// The largest error that the mode allows for an old value.
    fn bound(&self, old: f64) -> f64 {
        let (mantissa, exponent) = if self.ty == NcType::Float {
            (f32::MANTISSA, f32::nearest(old).exponent())
        } else {
            (f64::MANTISSA, old.exponent())
        };
        // One unit of the last kept bit, if `drop` bits are dropped.
        let unit = |drop: u32| {
            let shift = i32::try_from(mantissa).expect("23 or 52") - i32::try_from(drop).expect("at most 52");
            exponent - shift
        };
        match self.mode {
            Quantize::BitRound { .. } => power_of_two(unit(self.proven_drop) - 1),
            Quantize::BitGroom { .. } => power_of_two(unit(self.proven_drop)),
            Quantize::GranularBitRound { nsd } => {
                let (keep, power) = granular_bits(old, nsd);
                let half = power_of_two(unit(mantissa.saturating_sub(keep)) - 1);
                let smallest = if self.ty == NcType::Float { f32::MIN_EXPONENT } else { f64::MIN_EXPONENT };
                // Below the normal numbers netCDF-C's rule keeps fewer digits than documented.
                if old.abs() < power_of_two(smallest) { half } else { half.min(power_of_two(power - 1)) }
            }
            Quantize::Absolute { bound } => bound.min(self.grid / 2.0),
        }
    }
}

/// Adds half of the last kept bit to the magnitude, and clears the lower bits.
fn rounded<T: Real>(x: T, drop: u32) -> T {
    let below = (1_u64 << drop) - 1;
    let half = if drop == 0 { 0 } else { 1 << (drop - 1) };
    T::of_bits((x.bits() + half) & !below)
}

/// The lowest bits become zeros, at odd indices ones.
fn groomed<T: Real>(x: T, drop: u32, odd: bool) -> T {
    let below = (1_u64 << drop) - 1;
    T::of_bits(if odd { x.bits() | below } else { x.bits() & !below })
}

/// The nearest multiple of the grid, a power of two. A zero keeps the sign of the number.
fn on_grid<T: Real>(x: T, grid: f64) -> T {
    let steps = x.wide() / grid;
    // From here on every number is a multiple, and the quotient of a tiny grid is infinite.
    if steps.is_nan() || steps.abs() >= power_of_two(i32::try_from(T::MANTISSA).expect("23 or 52")) {
        return x;
    }
    T::nearest(steps.round_ties_even() * grid)
}
