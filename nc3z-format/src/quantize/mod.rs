//! Lossy rounding of floats, only on request (`spec/quantize.md`): BitRound, Granular BitRound and BitGroom
//! with the same bits as netCDF-C, and rounding to a grid with a bound on the absolute error.
//!
//! Pure functions of an element, its index and a few parameters. Zeros, NaN, infinities and fill values are
//! unchanged, and so are values that would become infinite.

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
