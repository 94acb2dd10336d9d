//! Lossy rounding of floats, only where it is asked for (`spec/quantize.md`): BitRound, Granular BitRound and BitGroom in
//! the bits of netCDF-C, and rounding to a grid with a bound on the absolute error.
//!
//! Pure functions of an element, its index and a few parameters. Zeros, NaN, infinities and fill values stay as they are, and so
//! do values that would become infinite.

mod decimal;
mod log10;
mod real;
mod record;
mod rounding;
mod spec;

pub use record::{LOSSY_KEY, LossRecord, VariableLoss};
pub use rounding::{Loss, Quantizer};
pub use spec::Quantize;

#[cfg(test)]
mod tests;
