//! Byte shuffle, as HDF5's filter 2 and NumCodecs' `shuffle` do it: all first bytes, all second bytes, …; what is left over at
//! the end stays as it is.

use super::registry::ByteStage;
use super::zstd::Contexts;
use crate::error::{Error, Result};

/// The filter, with its element size.
pub(super) struct Shuffle(pub(super) usize);

impl ByteStage for Shuffle {
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

    fn keeps_length(&self) -> bool {
        true
    }
}

/// Appends the shuffled form of `input`.
pub fn shuffle(size: usize, input: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + input.len(), 0);
    let out = &mut out[at..];
    match size {
        2 => forward_fixed::<2>(input, out),
        4 => forward_fixed::<4>(input, out),
        8 => forward_fixed::<8>(input, out),
        _ => forward_any(size.max(1), input, out),
    }
}

/// Appends the unshuffled form of `input`.
pub fn unshuffle(size: usize, input: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + input.len(), 0);
    inverse(size, input, &mut out[at..]);
}

fn inverse(size: usize, input: &[u8], out: &mut [u8]) {
    match size {
        2 => inverse_fixed::<2>(input, out),
        4 => inverse_fixed::<4>(input, out),
        8 => inverse_fixed::<8>(input, out),
        _ => inverse_any(size.max(1), input, out),
    }
}

/// Elements are taken in groups, so that the inner loops have constant bounds and become vector code.
const GROUP: usize = 32;

fn forward_fixed<const N: usize>(input: &[u8], out: &mut [u8]) {
    let n = input.len() / N;
    let (elements, rest) = input.as_chunks::<N>();
    let (groups, tail) = elements.as_chunks::<GROUP>();
    for (g, group) in groups.iter().enumerate() {
        for b in 0..N {
            let plane: &mut [u8; GROUP] =
                (&mut out[b * n + g * GROUP..][..GROUP]).try_into().expect("GROUP bytes");
            for (to, from) in plane.iter_mut().zip(group) {
                *to = from[b];
            }
        }
    }
    for (i, element) in tail.iter().enumerate() {
        for b in 0..N {
            out[b * n + groups.len() * GROUP + i] = element[b];
        }
    }
    out[n * N..].copy_from_slice(rest);
}

fn inverse_fixed<const N: usize>(input: &[u8], out: &mut [u8]) {
    let n = input.len() / N;
    let (elements, rest) = out.as_chunks_mut::<N>();
    let (groups, tail) = elements.as_chunks_mut::<GROUP>();
    let done = groups.len() * GROUP;
    for (g, group) in groups.iter_mut().enumerate() {
        let planes: [&[u8; GROUP]; N] =
            std::array::from_fn(|b| input[b * n + g * GROUP..][..GROUP].try_into().expect("GROUP bytes"));
        for (i, to) in group.iter_mut().enumerate() {
            for b in 0..N {
                to[b] = planes[b][i];
            }
        }
    }
    for (i, to) in tail.iter_mut().enumerate() {
        for b in 0..N {
            to[b] = input[b * n + done + i];
        }
    }
    rest.copy_from_slice(&input[n * N..]);
}

fn forward_any(size: usize, input: &[u8], out: &mut [u8]) {
    let n = input.len() / size;
    for (i, element) in input.chunks_exact(size).enumerate() {
        for (b, &byte) in element.iter().enumerate() {
            out[b * n + i] = byte;
        }
    }
    out[n * size..].copy_from_slice(&input[n * size..]);
}

fn inverse_any(size: usize, input: &[u8], out: &mut [u8]) {
    let n = input.len() / size;
    for (i, element) in out.chunks_exact_mut(size).enumerate() {
        for (b, byte) in element.iter_mut().enumerate() {
            *byte = input[b * n + i];
        }
    }
    out[n * size..].copy_from_slice(&input[n * size..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_stand_one_behind_the_other_and_the_rest_stays() {
        let mut out = Vec::new();
        shuffle(4, &[0, 1, 2, 3, 10, 11, 12, 13, 99, 98], &mut out);
        assert_eq!(out, [0, 10, 1, 11, 2, 12, 3, 13, 99, 98]);
    }

    #[test]
    fn fixed_and_general_forms_agree() {
        let input: Vec<u8> = (0..1003u32).map(|i| u8::try_from(i * 7 % 251).unwrap()).collect();
        for size in [2, 4, 8] {
            for len in [0, 1, 7, 8, 255, 256, 257, 1003] {
                let (mut a, mut b) = (Vec::new(), vec![0; len]);
                shuffle(size, &input[..len], &mut a);
                forward_any(size, &input[..len], &mut b);
                assert_eq!(a, b, "size {size}, {len} bytes");
                let mut back = Vec::new();
                unshuffle(size, &a, &mut back);
                assert_eq!(back, &input[..len]);
            }
        }
    }
}
