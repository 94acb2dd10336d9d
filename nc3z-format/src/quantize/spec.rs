//! The requested quantization: the mode and its parameter.

use crate::error::{Error, Result};
use crate::types::NcType;
use std::fmt;
use std::str::FromStr;

/// The quantization of a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantize {
    /// Rounds to `keepbits` explicit bits of the significand.
    BitRound {
        /// Bits that are kept, at least 1.
        keepbits: u32,
    },
    /// Keeps `nsd` significant decimal digits. The number of bits is computed for each value.
    GranularBitRound {
        /// Number of significant digits, at least 1.
        nsd: u32,
    },
    /// Keeps `nsd` significant decimal digits. The lower bits are set alternately to zeros and ones.
    BitGroom {
        /// Number of significant digits, at least 1.
        nsd: u32,
    },
    /// Rounds to multiples of a power of two, so that no value changes by more than this.
    Absolute {
        /// The largest absolute error that is allowed; positive and finite.
        bound: f64,
    },
}

/// The accepted forms, for messages.
const FORMS: &str = "bitround:KEEPBITS, granularbr:NSD, bitgroom:NSD or abs:BOUND";

impl Quantize {
    /// The algorithm's name in CF's vocabulary; `absolute_grid`, which is not in it, for [`Quantize::Absolute`].
    pub const fn algorithm(&self) -> &'static str {
        match self {
            Quantize::BitRound { .. } => "bitround",
            Quantize::GranularBitRound { .. } => "granular_bitround",
            Quantize::BitGroom { .. } => "bitgroom",
            Quantize::Absolute { .. } => "absolute_grid",
        }
    }

    /// Refuses types that are not quantized, and parameters beyond netCDF-C's limits for the type.
    ///
    /// # Errors
    /// *InvalidArgument* with the limits.
    pub fn check(&self, ty: NcType) -> Result<()> {
        let (bits, digits) = match ty {
            NcType::Float => (23, 6),
            NcType::Double => (52, 15),
            _ => {
                return Err(Error::invalid(format!("type {ty}; only float and double can be quantized")));
            }
        };
        let (what, found, most) = match *self {
            Quantize::BitRound { keepbits } => ("bits", keepbits, bits),
            Quantize::GranularBitRound { nsd } | Quantize::BitGroom { nsd } => ("digits", nsd, digits),
            Quantize::Absolute { .. } => return Ok(()),
        };
        if (1..=most).contains(&found) {
            return Ok(());
        }
        Err(Error::invalid(format!("{self} for type {ty}: expected 1 to {most} {what}")))
    }

    /// The grid of [`Quantize::Absolute`]: the largest power of two that is at most twice the bound.
    pub(super) fn grid(bound: f64) -> f64 {
        let twice = bound * 2.0;
        let twice = if twice.is_finite() { twice } else { f64::MAX };
        // Clearing the significand leaves the power of two. Below the normal numbers nothing is rounded.
        f64::from_bits(twice.to_bits() & 0x7FF0_0000_0000_0000)
    }
}

impl fmt::Display for Quantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantize::BitRound { keepbits } => write!(f, "bitround:{keepbits}"),
            Quantize::GranularBitRound { nsd } => write!(f, "granularbr:{nsd}"),
            Quantize::BitGroom { nsd } => write!(f, "bitgroom:{nsd}"),
            Quantize::Absolute { bound } => write!(f, "abs:{bound:?}"),
        }
    }
}

impl FromStr for Quantize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("`{text}` is not {FORMS}"));
        let (mode, parameter) = text.split_once(':').ok_or_else(wrong)?;
        let whole = || parameter.parse().ok().filter(|n| *n > 0).ok_or_else(wrong);
        Ok(match mode {
            "bitround" => Quantize::BitRound { keepbits: whole()? },
            "granularbr" => Quantize::GranularBitRound { nsd: whole()? },
            "bitgroom" => Quantize::BitGroom { nsd: whole()? },
            "abs" => {
                let bound: f64 = parameter.parse().map_err(|_| wrong())?;
                if !(bound.is_finite() && bound > 0.0) {
                    return Err(Error::invalid(format!("`{text}`: the bound is a number above 0")));
                }
                Quantize::Absolute { bound }
            }
            _ => return Err(wrong()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_and_written_alike() {
        for text in ["bitround:7", "granularbr:3", "bitgroom:15", "abs:0.001", "abs:1e-300", "abs:2.0"] {
            assert_eq!(text.parse::<Quantize>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "bitround",
            "bitround:",
            "bitround:0",
            "bitround:x",
            "round:3",
            "abs:-1",
            "abs:nan",
            "abs:inf",
            "abs:0",
        ] {
            assert!(bad.parse::<Quantize>().is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_are_those_of_netcdf_c() {
        let fits = |text: &str, ty| text.parse::<Quantize>().unwrap().check(ty).is_ok();
        assert!(fits("bitround:23", NcType::Float) && !fits("bitround:24", NcType::Float));
        assert!(fits("bitround:52", NcType::Double) && !fits("bitround:53", NcType::Double));
        assert!(fits("bitgroom:6", NcType::Float) && !fits("granularbr:7", NcType::Float));
        assert!(fits("bitgroom:15", NcType::Double) && !fits("granularbr:16", NcType::Double));
        assert!(!fits("abs:1", NcType::Int) && fits("abs:1", NcType::Float));
    }

    #[test]
    fn the_grid_is_a_power_of_two_at_most_twice_the_bound() {
        for (bound, grid) in
            [(0.5, 1.0), (1e-3, 1.0 / 512.0), (0.1, 0.125), (3.0, 4.0), (f64::MAX, 8.988_465_674_311_58e307)]
        {
            assert_eq!(Quantize::grid(bound).to_bits(), f64::to_bits(grid), "{bound}");
        }
        assert_eq!(Quantize::grid(5e-324).to_bits(), 0);
    }
}
