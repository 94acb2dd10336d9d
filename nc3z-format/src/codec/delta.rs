//! NumCodecs' `delta`: the first element, then differences of neighbours. Integers wrap around and always come back; floats need
//! not, and a tile that does not is an error.

use super::dtype::{Dtype, NumberClass, double_bits, for_elements, single, single_bits};
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;

pub(super) struct DeltaKind;

impl StageKind for DeltaKind {
    fn id(&self) -> &'static str {
        "delta"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"delta","dtype":">i4","astype":">i4"}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let types = Dtype::stored(spec, "dtype").zip(Dtype::stored(spec, "astype"));
        let (from, to) = types.filter(|_| spec.parameters().count() == 2).ok_or(OTHER_KEYS)?;
        let are_floats = (from.kind == NumberClass::Float, to.kind == NumberClass::Float);
        if are_floats.0 != are_floats.1 || (are_floats.0 && from.size != to.size) {
            return Err(
                "differences of integers must be integers, and differences of floats must be floats of the same size".to_owned()
            );
        }
        Ok(Box::new(Delta { from, to }))
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        for_elements(spec, ty, true)
    }
}

struct Delta {
    from: Dtype,
    to: Dtype,
}

impl Delta {
    /// A number more, and a number less.
    fn arithmetic(&self) -> (fn(u64, u64) -> u64, fn(u64, u64) -> u64) {
        match (self.from.kind, self.from.size) {
            (NumberClass::Float, 4) => {
                (|a, b| single_bits(single(a) + single(b)), |a, b| single_bits(single(a) - single(b)))
            }
            (NumberClass::Float, _) => (
                |a, b| double_bits(f64::from_bits(a) + f64::from_bits(b)),
                |a, b| double_bits(f64::from_bits(a) - f64::from_bits(b)),
            ),
            _ => (u64::wrapping_add, u64::wrapping_sub),
        }
    }

    /// Both slices have the same number of elements.
    fn sums(&self, input: &[u8], out: &mut [u8]) {
        let (add, _) = self.arithmetic();
        let mut sum = None;
        for (difference, element) in
            input.chunks_exact(self.to.size).zip(out.chunks_exact_mut(self.from.size))
        {
            let difference = self.to.extended(difference);
            let bits = sum.map_or(difference, |sum| add(sum, difference));
            self.from.put_bits(bits, element);
            sum = Some(bits);
        }
    }
}

impl Stage for Delta {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let size = self.from.size;
        let Some(len) = self.encoded_len(input.len()) else {
            return Err(Error::invalid(format!(
                "delta: {} bytes are not whole elements of {size}",
                input.len()
            )));
        };
        let (_, subtract) = self.arithmetic();
        let begin = out.len();
        out.resize(begin + len, 0);
        let mut before = None;
        for (element, difference) in input.chunks_exact(size).zip(out[begin..].chunks_exact_mut(self.to.size))
        {
            let bits = self.from.extended(element);
            self.to.put_bits(before.map_or(bits, |before| subtract(bits, before)), difference);
            before = Some(bits);
        }
        let mut back = vec![0; input.len()];
        self.sums(&out[begin..], &mut back);
        match back.iter().zip(input).position(|(a, b)| a != b) {
            Some(at) => Err(Error::invalid(format!(
                "delta from {} to {}: element {} would not come back",
                self.from.name(),
                self.to.name(),
                at / size
            ))),
            None => Ok(()),
        }
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if self.encoded_len(out.len()) != Some(input.len()) {
            return Err(Error::corrupt("differences", None, "length", out.len(), input.len()));
        }
        self.sums(input, out);
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        self.from.converted_len(self.to, decoded_len)
    }
}
