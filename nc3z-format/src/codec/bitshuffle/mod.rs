//! Bit shuffle, as in HDF5's filter 32008 without compression. A block of elements is stored as the lowest bits of all
//! first bytes, then the next bits of all first bytes, and so on, then the bits of the second bytes. With a `cname`, each
//! block is then compressed ([`packed`]).

mod packed;

use super::shuffle::{element_size, for_elements, forward, inverse};
use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use packed::{Inner, Packed};
use serde_json::Value;

/// Elements of a block are a multiple of this. The remaining elements are not shuffled.
const GROUP: usize = 8;
/// Bytes that a block has where its length is not given, and the least elements of it.
const TARGET_LEN: usize = 8192;
const MIN_BLOCK: usize = 128;

pub(super) struct BitshuffleKind;

impl StageKind for BitshuffleKind {
    fn id(&self) -> &'static str {
        "bitshuffle"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"bitshuffle","elementsize":4,"blocksize":0,"cname":"zstd","clevel":3}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let inner = Inner::new(spec)?;
        let plain = spec.clone().without("cname").without("clevel");
        let [size, block] = plain.integers(["elementsize", "blocksize"]).ok_or(OTHER_KEYS)?;
        let blocksize = u32::try_from(block).ok().and_then(|n| usize::try_from(n).ok());
        let blocksize = blocksize.filter(|n| n % GROUP == 0).ok_or(OTHER_KEYS)?;
        let bits = Bitshuffle { elementsize: element_size(size)?, blocksize };
        Ok(match inner {
            Some(inner) => Box::new(Packed { bits, inner }),
            None => Box::new(bits),
        })
    }

    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        let spec = match spec.get("cname").and_then(Value::as_str) {
            Some("zstd") => spec.or_default("clevel", packed::ZSTD_LEVEL),
            Some("none") => spec.without("cname"),
            _ => spec,
        };
        for_elements(spec.or_default("blocksize", 0), ty.size())
    }
}

/// The filter: bytes of an element, elements of a block (0: the library's default).
struct Bitshuffle {
    elementsize: usize,
    blocksize: usize,
}

impl Bitshuffle {
    /// Bytes of a block.
    fn block_len(&self) -> usize {
        let elements = match self.blocksize {
            0 => (TARGET_LEN / self.elementsize / GROUP * GROUP).max(MIN_BLOCK),
            n => n,
        };
        elements.saturating_mul(self.elementsize)
    }

    /// Runs `each` over the blocks and copies the remaining bytes. Both slices have the same length.
    fn blocks(&self, input: &[u8], out: &mut [u8], mut each: impl FnMut(&[u8], &mut [u8])) {
        let group = self.elementsize.saturating_mul(GROUP);
        let whole = input.len() / group * group;
        let (blocks, rest) = input.split_at(whole);
        let (done, tail) = out.split_at_mut(whole);
        tail.copy_from_slice(rest);
        let len = self.block_len();
        blocks.chunks(len).zip(done.chunks_mut(len)).for_each(|(from, to)| each(from, to));
    }
}

impl Stage for Bitshuffle {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let at = out.len();
        out.resize(at + input.len(), 0);
        let mut planes = vec![0; self.block_len().min(input.len())];
        self.blocks(input, &mut out[at..], |from, to| bits_forward(self.elementsize, from, &mut planes, to));
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        if input.len() != out.len() {
            return Err(Error::corrupt("bit-shuffled bytes", None, "length", out.len(), input.len()));
        }
        let mut planes = vec![0; self.block_len().min(input.len())];
        self.blocks(input, out, |from, to| bits_inverse(self.elementsize, from, &mut planes, to));
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        Some(decoded_len)
    }

    fn decoded_len(&self, encoded_len: usize) -> Option<usize> {
        Some(encoded_len)
    }
}

/// One block of a multiple of [`GROUP`] elements; `planes` has room for it, `to` its length.
pub(super) fn bits_forward(elementsize: usize, from: &[u8], planes: &mut [u8], to: &mut [u8]) {
    let planes = &mut planes[..from.len()];
    forward(elementsize, from, planes);
    let count = (from.len() / elementsize).max(1);
    planes.chunks_exact(count).zip(to.chunks_exact_mut(count)).for_each(|(p, t)| split_bits(p, t));
}

pub(super) fn bits_inverse(elementsize: usize, from: &[u8], planes: &mut [u8], to: &mut [u8]) {
    let planes = &mut planes[..from.len()];
    let count = (from.len() / elementsize).max(1);
    from.chunks_exact(count).zip(planes.chunks_exact_mut(count)).for_each(|(f, p)| join_bits(f, p));
    inverse(elementsize, planes, to);
}

/// One plane of bytes to eight rows of bits. The length is a multiple of [`GROUP`].
fn split_bits(plane: &[u8], rows: &mut [u8]) {
    let row = plane.len() / GROUP;
    for (i, bytes) in plane.as_chunks::<GROUP>().0.iter().enumerate() {
        let turned = transposed(u64::from_le_bytes(*bytes)).to_le_bytes();
        for (bit, byte) in turned.into_iter().enumerate() {
            rows[bit * row + i] = byte;
        }
    }
}

fn join_bits(rows: &[u8], plane: &mut [u8]) {
    let row = plane.len() / GROUP;
    for (i, bytes) in plane.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let mut turned = [0; GROUP];
        for (bit, byte) in turned.iter_mut().enumerate() {
            *byte = rows[bit * row + i];
        }
        *bytes = transposed(u64::from_le_bytes(turned)).to_le_bytes();
    }
}

/// An 8 × 8 matrix of bits, mirrored at its diagonal: bit `i` of byte `k` becomes bit `k` of byte `i`.
const fn transposed(x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    let x = x ^ t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    let x = x ^ t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(filter: &Bitshuffle, input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        filter.encode(input, &mut Contexts::default(), &mut out).unwrap();
        out
    }

    #[test]
    fn the_lowest_bits_come_first() {
        let filter = Bitshuffle { elementsize: 2, blocksize: 0 };
        // Eight elements whose first byte is their number and whose second is 0x80, then an incomplete
        // element.
        let input: Vec<u8> = (0..8).flat_map(|i| [i, 0x80]).chain([7, 9]).collect();
        let rows = [0xAA, 0xCC, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF];
        assert_eq!(encoded(&filter, &input), [&rows[..], &[7, 9]].concat());
    }

    #[test]
    fn blocks_have_the_length_that_the_library_takes() {
        let len = |elementsize| Bitshuffle { elementsize, blocksize: 0 }.block_len() / elementsize;
        assert_eq!((len(1), len(2), len(3), len(4), len(8), len(100)), (8192, 4096, 2728, 2048, 1024, 128));
    }

    proptest! {
        #[test]
        fn every_bit_is_where_the_definition_says(
            input in proptest::collection::vec(any::<u8>(), 0..3000), elementsize in 1_usize..10, blocks in 0_usize..5,
        ) {
            let filter = Bitshuffle { elementsize, blocksize: blocks * 16 };
            let block = filter.block_len() / elementsize;
            let count = input.len() / elementsize / 8 * 8;
            let mut expected = input.clone();
            expected[..count * elementsize].fill(0);
            for i in 0..count {
                let first = i / block * block;
                let n = block.min(count - first);
                for bit in 0..elementsize * 8 {
                    let set = input[i * elementsize + bit / 8] >> (bit % 8) & 1;
                    let at = (i - first) + bit * n;
                    expected[first * elementsize + at / 8] |= set << (at % 8);
                }
            }
            let out = encoded(&filter, &input);
            prop_assert_eq!(&out, &expected);
            let mut back = vec![0; input.len()];
            filter.decode_into(&out, &mut Contexts::default(), &mut back).unwrap();
            prop_assert_eq!(back, input);
        }
    }
}
