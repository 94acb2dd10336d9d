//! Byte shuffle, as in HDF5's filter 2 and NumCodecs' `shuffle`: all first bytes, all second bytes, …. An
//! incomplete element at the end is unchanged.

use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use serde_json::Value;

pub(super) struct ShuffleKind;

impl StageKind for ShuffleKind {
    fn id(&self) -> &'static str {
        "shuffle"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"shuffle","elementsize":4}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [size] = spec.integers(["elementsize"]).ok_or(OTHER_KEYS)?;
        Ok(Box::new(Shuffle(element_size(size)?)))
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        for_elements(generous(spec), ty.size())
    }
}

/// NCZarr writes `"elementsize":0` if no other was given.
fn generous(spec: StageSpec) -> StageSpec {
    let is_unknown = |value: &Value| value.as_u64() == Some(0) || value.is_null();
    if spec.get("elementsize").is_some_and(is_unknown) { spec.without("elementsize") } else { spec }
}

/// An element size as chains store it.
pub(super) fn element_size(stored: i64) -> Result<usize, String> {
    let size = u32::try_from(stored).ok().and_then(|n| usize::try_from(n).ok());
    size.filter(|n| *n > 0).ok_or_else(|| OTHER_KEYS.to_owned())
}

/// Fills in `elementsize`, and refuses another.
pub(super) fn for_elements(spec: StageSpec, size: usize) -> Result<StageSpec, String> {
    let spec = spec.or_default("elementsize", size);
    match spec.get("elementsize").and_then(Value::as_u64) {
        Some(given) if given != size as u64 => Err(format!(
            "{} with elementsize {given}, but the elements have {size} bytes; leave elementsize out",
            spec.id()
        )),
        _ => Ok(spec),
    }
}

/// The filter, with its element size.
struct Shuffle(usize);

impl Stage for Shuffle {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        shuffle(self.0, input, out);
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if input.len() != out.len() {
            return Err(Error::corrupt("shuffled bytes", None, "length", out.len(), input.len()));
        }
        inverse(self.0, input, out);
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        Some(decoded_len)
    }

    fn decoded_len(&self, encoded_len: usize) -> Option<usize> {
        Some(encoded_len)
    }
}

/// Appends the shuffled form of `input`.
pub fn shuffle(size: usize, input: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + input.len(), 0);
    forward(size, input, &mut out[at..]);
}

/// Appends the unshuffled form of `input`.
pub fn unshuffle(size: usize, input: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + input.len(), 0);
    inverse(size, input, &mut out[at..]);
}

/// Both slices have the same length.
pub(super) fn forward(size: usize, input: &[u8], out: &mut [u8]) {
    let count = input.len().checked_div(size).unwrap_or(0);
    if size <= 1 || count <= 1 {
        return out.copy_from_slice(input);
    }
    let (elements, rest) = input.split_at(count * size);
    let (planes, tail) = out.split_at_mut(count * size);
    tail.copy_from_slice(rest);
    match size {
        2 => split_planes::<2>(elements, planes, count),
        4 => split_planes::<4>(elements, planes, count),
        8 => split_planes::<8>(elements, planes, count),
        _ => {
            for (k, plane) in planes.chunks_exact_mut(count).enumerate() {
                for (byte, element) in plane.iter_mut().zip(elements.chunks_exact(size)) {
                    *byte = element[k];
                }
            }
        }
    }
}

pub(super) fn inverse(size: usize, input: &[u8], out: &mut [u8]) {
    let count = input.len().checked_div(size).unwrap_or(0);
    if size <= 1 || count <= 1 {
        return out.copy_from_slice(input);
    }
    let (planes, rest) = input.split_at(count * size);
    let (elements, tail) = out.split_at_mut(count * size);
    tail.copy_from_slice(rest);
    match size {
        2 => join_planes::<2>(planes, elements, count),
        4 => join_planes::<4>(planes, elements, count),
        8 => join_planes::<8>(planes, elements, count),
        _ => {
            for (k, plane) in planes.chunks_exact(count).enumerate() {
                for (byte, element) in plane.iter().zip(elements.chunks_exact_mut(size)) {
                    element[k] = *byte;
                }
            }
        }
    }
}

/// Bytes turned at a time: they stay in the first cache, whichever way they are walked.
const BLOCK: usize = 1024;
/// Pairs in a loop of fixed length, which the compiler turns into vector instructions.
const LANES: usize = 64;

/// `W` is 2, 4 or 8. Halving a block log2(W) times, even bytes before odd ones, leaves plane `k` at the place whose
/// number is `k` with its bits in reverse order.
fn split_planes<const W: usize>(elements: &[u8], planes: &mut [u8], count: usize) {
    let (blocks, rest) = elements.as_chunks::<BLOCK>();
    let (mut front, mut back) = ([0; BLOCK], [0; BLOCK]);
    let each = BLOCK / W;
    let mut done = 0;
    for block in blocks {
        halve(block, &mut front);
        let mut segment = BLOCK / 2;
        while segment > each {
            for (from, to) in front.chunks_exact(segment).zip(back.chunks_exact_mut(segment)) {
                halve(from, to);
            }
            std::mem::swap(&mut front, &mut back);
            segment /= 2;
        }
        for (k, plane) in planes.chunks_exact_mut(count).enumerate() {
            let at = reversed::<W>(k) * each;
            plane[done..done + each].copy_from_slice(&front[at..at + each]);
        }
        done += each;
    }
    for element in rest.as_chunks::<W>().0 {
        for (plane, byte) in planes.chunks_exact_mut(count).zip(element) {
            plane[done] = *byte;
        }
        done += 1;
    }
}

fn join_planes<const W: usize>(planes: &[u8], elements: &mut [u8], count: usize) {
    let (blocks, rest) = elements.as_chunks_mut::<BLOCK>();
    let (mut front, mut back) = ([0; BLOCK], [0; BLOCK]);
    let each = BLOCK / W;
    let mut done = 0;
    for block in blocks {
        for (k, plane) in planes.chunks_exact(count).enumerate() {
            let at = reversed::<W>(k) * each;
            front[at..at + each].copy_from_slice(&plane[done..done + each]);
        }
        let mut segment = each * 2;
        while segment < BLOCK {
            for (from, to) in front.chunks_exact(segment).zip(back.chunks_exact_mut(segment)) {
                double(from, to);
            }
            std::mem::swap(&mut front, &mut back);
            segment *= 2;
        }
        double(&front, block);
        done += each;
    }
    for element in rest.as_chunks_mut::<W>().0 {
        for (plane, byte) in planes.chunks_exact(count).zip(element) {
            *byte = plane[done];
        }
        done += 1;
    }
}

/// The bits of a plane number, in reverse order.
const fn reversed<const W: usize>(k: usize) -> usize {
    match W {
        2 => k,
        4 => (k & 1) << 1 | k >> 1,
        _ => (k & 1) << 2 | k & 2 | k >> 2,
    }
}

/// Even bytes into the first half, odd ones into the second.
fn halve(from: &[u8], to: &mut [u8]) {
    let (even, odd) = to.split_at_mut(from.len() / 2);
    let pairs = from.as_chunks::<2>().0.as_chunks::<LANES>().0;
    let halves = even.as_chunks_mut::<LANES>().0.iter_mut().zip(odd.as_chunks_mut::<LANES>().0);
    for (pairs, (even, odd)) in pairs.iter().zip(halves) {
        // Words and two loops: single-byte stores from pairs would prevent the compiler from using vectors.
        let words = pairs.map(u16::from_le_bytes);
        for i in 0..LANES {
            even[i] = (words[i] & 0xFF).to_le_bytes()[0];
        }
        for i in 0..LANES {
            odd[i] = (words[i] >> 8).to_le_bytes()[0];
        }
    }
}

fn double(from: &[u8], to: &mut [u8]) {
    let (even, odd) = from.split_at(from.len() / 2);
    let pairs = to.as_chunks_mut::<2>().0.as_chunks_mut::<LANES>().0;
    let halves = even.as_chunks::<LANES>().0.iter().zip(odd.as_chunks::<LANES>().0);
    for (pairs, (even, odd)) in pairs.iter_mut().zip(halves) {
        for i in 0..LANES {
            pairs[i] = [even[i], odd[i]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn planes_stand_one_behind_the_other_and_the_rest_stays() {
        let mut out = Vec::new();
        shuffle(4, &[0, 1, 2, 3, 10, 11, 12, 13, 99, 98], &mut out);
        assert_eq!(out, [0, 10, 1, 11, 2, 12, 3, 13, 99, 98]);
    }

    #[test]
    fn elements_longer_than_the_input_leave_it_as_it_is() {
        for size in [4, usize::MAX] {
            let (mut out, mut back) = (Vec::new(), Vec::new());
            shuffle(size, &[3, 2, 1], &mut out);
            unshuffle(size, &out, &mut back);
            assert_eq!((&out[..], &back[..]), (&[3, 2, 1][..], &[3, 2, 1][..]));
        }
    }

    proptest! {
        #[test]
        fn shuffle_is_what_hdf5_does(input in proptest::collection::vec(any::<u8>(), 0..5000), size in 1_usize..10) {
            let count = input.len() / size;
            let mut expected = Vec::new();
            for k in 0..size {
                expected.extend((0..count).map(|i| input[i * size + k]));
            }
            expected.extend_from_slice(&input[count * size..]);
            let (mut out, mut back) = (Vec::new(), Vec::new());
            shuffle(size, &input, &mut out);
            prop_assert_eq!(&out, &expected);
            unshuffle(size, &out, &mut back);
            prop_assert_eq!(back, input);
        }
    }
}
