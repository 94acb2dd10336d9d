//! NumCodecs' `fixedscaleoffset`: `round((x - offset) * scale)` as another type. A tile whose values are not
//! restored exactly is an error, since this filter must not round.

use super::dtype::{Dtype, NumberClass, for_elements};
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use serde_json::Value;

pub(super) struct FixedScaleOffsetKind;

impl StageKind for FixedScaleOffsetKind {
    fn id(&self) -> &'static str {
        "fixedscaleoffset"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"fixedscaleoffset","offset":273.15,"scale":100,"dtype":">f4","astype":">i2"}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let number = |key| spec.get(key).and_then(Value::as_f64).filter(|x| x.is_finite());
        let types = Dtype::stored(spec, "dtype").zip(Dtype::stored(spec, "astype"));
        let (from, to) = types.filter(|_| spec.parameters().count() == 4).ok_or(OTHER_KEYS)?;
        let scale = number("scale").filter(|scale| *scale != 0.0).ok_or(OTHER_KEYS)?;
        Ok(Box::new(FixedScaleOffset { from, to, scale, offset: number("offset").ok_or(OTHER_KEYS)? }))
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        for_elements(spec, ty, true)
    }
}

struct FixedScaleOffset {
    from: Dtype,
    to: Dtype,
    scale: f64,
    offset: f64,
}

/// Returns true if NumPy computes with this type in binary32: a Python number combined with an array takes
/// the array's type, if that is a float.
fn is_single(dtype: Dtype) -> bool {
    (dtype.kind, dtype.size) == (NumberClass::Float, 4)
}

#[expect(clippy::cast_possible_truncation, reason = "binary32 is what is computed in")]
fn to_single(x: f64) -> f32 {
    x as f32
}

impl FixedScaleOffset {
    fn scaled(&self, x: f64) -> f64 {
        if is_single(self.from) {
            let scaled = (to_single(x) - to_single(self.offset)) * to_single(self.scale);
            scaled.round_ties_even().into()
        } else {
            ((x - self.offset) * self.scale).round_ties_even()
        }
    }

    fn unscaled(&self, x: f64) -> f64 {
        if is_single(self.to) {
            (to_single(x) / to_single(self.scale) + to_single(self.offset)).into()
        } else {
            x / self.scale + self.offset
        }
    }

    /// Both slices have the same number of elements.
    fn decode(&self, input: &[u8], out: &mut [u8]) {
        for (from, to) in input.chunks_exact(self.to.size).zip(out.chunks_exact_mut(self.from.size)) {
            self.from.put_number(self.unscaled(self.to.number(from)), to);
        }
    }
}

impl Stage for FixedScaleOffset {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let size = self.from.size;
        let Some(len) = self.encoded_len(input.len()) else {
            let why = format!("fixedscaleoffset: {} bytes are not whole elements of {size}", input.len());
            return Err(Error::invalid(why));
        };
        let begin = out.len();
        out.resize(begin + len, 0);
        for (from, to) in input.chunks_exact(size).zip(out[begin..].chunks_exact_mut(self.to.size)) {
            self.to.put_number(self.scaled(self.from.number(from)), to);
        }
        let mut back = vec![0; input.len()];
        self.decode(&out[begin..], &mut back);
        match back.iter().zip(input).position(|(a, b)| a != b) {
            Some(at) => Err(Error::invalid(format!(
                "fixedscaleoffset: element {} would not come back; it is for values that are multiples of 1/scale, as packed data are",
                at / size
            ))),
            None => Ok(()),
        }
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if self.encoded_len(out.len()) != Some(input.len()) {
            return Err(Error::corrupt("scaled values", None, "length", out.len(), input.len()));
        }
        self.decode(input, out);
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        self.from.converted_len(self.to, decoded_len)
    }
}
