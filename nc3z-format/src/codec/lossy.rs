//! Filters that round: BitRound, BitGroom, Granular BitRound (HDF5's 32032 and 37373, 32022, 32023) and NumCodecs' `bitround`
//! and `quantize`.
//!
//! All of them produce plain numbers, so decoding does nothing. The writer does the rounding
//! ([`crate::quantize`]): it proves and measures the errors and marks the archive. In a chain these filters
//! record the rounding of the values, and its position.

use super::dtype::{Dtype, NumberClass, for_elements};
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::quantize::Quantize;
use crate::types::NcType;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lossy {
    BitRound,
    BitGroom,
    GranularBitRound,
    Quantize,
}

impl Lossy {
    /// The bits or digits of a stored object.
    fn parameter(self, spec: &StageSpec) -> Option<u32> {
        let (key, most) = match self {
            Lossy::BitRound => ("keepbits", 52),
            Lossy::BitGroom | Lossy::GranularBitRound => ("nsd", 15),
            Lossy::Quantize => ("digits", 30),
        };
        let number = spec.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= most)?;
        let known = if self == Lossy::Quantize {
            // With another `astype` the bytes would not be numbers of the tile's type.
            let types = Dtype::stored(spec, "dtype").zip(Dtype::stored(spec, "astype"))?;
            spec.parameters().count() == 3 && types.0 == types.1 && types.0.kind == NumberClass::Float
        } else {
            spec.parameters().count() == 1 && number > 0
        };
        known.then_some(number)
    }
}

pub(super) struct LossyKind(pub(super) Lossy);

impl StageKind for LossyKind {
    fn id(&self) -> &'static str {
        match self.0 {
            Lossy::BitRound => "bitround",
            Lossy::BitGroom => "bitgroom",
            Lossy::GranularBitRound => "granularbr",
            Lossy::Quantize => "quantize",
        }
    }

    fn example(&self) -> &'static str {
        match self.0 {
            Lossy::BitRound => r#"{"id":"bitround","keepbits":9}"#,
            Lossy::BitGroom => r#"{"id":"bitgroom","nsd":3}"#,
            Lossy::GranularBitRound => r#"{"id":"granularbr","nsd":3}"#,
            Lossy::Quantize => r#"{"id":"quantize","digits":2,"dtype":">f4","astype":">f4"}"#,
        }
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        self.0.parameter(spec).ok_or(OTHER_KEYS)?;
        Ok(Box::new(AsItIs))
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        let spec = if self.0 == Lossy::Quantize { for_elements(spec, ty, true)? } else { spec };
        match self.rounding(&spec) {
            Some(mode) => mode.check(ty).map(|()| spec).map_err(|e| e.to_string()),
            None => Ok(spec),
        }
    }

    fn rounding(&self, spec: &StageSpec) -> Option<Quantize> {
        // Before it is completed, `quantize` may lack its types.
        let asked = match spec.get("digits").and_then(Value::as_u64) {
            Some(digits) if self.0 == Lossy::Quantize => u32::try_from(digits).ok().filter(|d| *d <= 30)?,
            _ => self.0.parameter(spec)?,
        };
        Some(match self.0 {
            Lossy::BitRound => Quantize::BitRound { keepbits: asked },
            Lossy::BitGroom => Quantize::BitGroom { nsd: asked },
            Lossy::GranularBitRound => Quantize::GranularBitRound { nsd: asked },
            // NumCodecs rounds to multiples of the next smaller power of two below 10^-digits.
            Lossy::Quantize => Quantize::Absolute { bound: binary_step(asked) / 2.0 },
        })
    }
}

/// The largest power of two that is at most 10^-digits.
fn binary_step(digits: u32) -> f64 {
    let power = (0..digits).fold(1.0_f64, |power, _| power * 10.0);
    let mut step = 1.0;
    while step * power > 1.0 {
        step /= 2.0;
    }
    step
}

/// The filter: values were rounded before they came here.
struct AsItIs;

impl Stage for AsItIs {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(input);
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if input.len() != out.len() {
            return Err(Error::corrupt("rounded values", None, "length", out.len(), input.len()));
        }
        out.copy_from_slice(input);
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        Some(decoded_len)
    }

    fn decoded_len(&self, encoded_len: usize) -> Option<usize> {
        Some(encoded_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_numcodecs() {
        // 2 ** -math.ceil(math.log2(10 ** digits))
        for (digits, bits) in [(0, 0), (1, 4), (2, 7), (3, 10), (6, 20), (9, 30)] {
            assert_eq!(binary_step(digits).to_bits(), 0.5_f64.powi(bits).to_bits(), "{digits}");
        }
    }
}
