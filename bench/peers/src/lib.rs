//! Peers that are crates without a Python package, for `bench/nc3zbench/arraypeers.py`. A function that stores an array returns the
//! bytes that it wrote; one that fetches an array returns true if the bytes filled it.

use fastalp::{CHUNK_SIZE, Encoder, decompress_into_slice, max_compressed_size};
use spdp_sys::{spdp_compress_batch, spdp_decompress_batch};
use std::slice;

/// A block with its length before it.
fn push(to: &mut [u8], at: &mut usize, block: &[u8]) {
    to[*at..*at + 4].copy_from_slice(&(block.len() as u32).to_le_bytes());
    to[*at + 4..*at + 4 + block.len()].copy_from_slice(block);
    *at += 4 + block.len();
}

fn pop<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = from.split_first_chunk()?;
    let (block, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *from = rest;
    Some(block)
}

/// The largest number of bytes that `alp_store_*` writes for `elements` elements.
#[unsafe(no_mangle)]
pub extern "C" fn alp_bound(elements: usize) -> usize {
    elements.div_ceil(CHUNK_SIZE) * (4 + max_compressed_size::<f64>(CHUNK_SIZE))
}

macro_rules! alp {
    ($store:ident, $fetch:ident, $float:ty) => {
        /// Blocks of 1,024 elements, the vector of ALP: `fastalp` takes what it is given as one block of one scale.
        ///
        /// # Safety
        ///
        /// `from` has `elements` floats, `to` at least `alp_bound(elements)` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(from: *const $float, elements: usize, to: *mut u8) -> usize {
            // SAFETY: the caller's promise.
            let (from, to) = unsafe {
                (slice::from_raw_parts(from, elements), slice::from_raw_parts_mut(to, alp_bound(elements)))
            };
            let (mut encoder, mut block, mut at) =
                (Encoder::<$float>::with_capacity(CHUNK_SIZE), Vec::new(), 0);
            for values in from.chunks(CHUNK_SIZE) {
                encoder.reset(); // else the scale of the block before is taken
                block.clear();
                encoder.compress_into(values, &mut block);
                push(to, &mut at, &block);
            }
            at
        }

        /// # Safety
        ///
        /// `from` has `bytes` bytes, `to` room for `elements` floats.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fetch(
            from: *const u8,
            bytes: usize,
            to: *mut $float,
            elements: usize,
        ) -> bool {
            // SAFETY: the caller's promise.
            let (mut from, to) =
                unsafe { (slice::from_raw_parts(from, bytes), slice::from_raw_parts_mut(to, elements)) };
            for values in to.chunks_mut(CHUNK_SIZE) {
                let Some(block) = pop(&mut from) else { return false };
                if decompress_into_slice(block, values).ok() != Some(values.len()) {
                    return false;
                }
            }
            from.is_empty()
        }
    };
}

alp!(alp_store_f4, alp_fetch_f4, f32);
alp!(alp_store_f8, alp_fetch_f8, f64);

/// The bytes of a block of SPDP's own program, and what a block may become.
const SPDP: usize = 1 << 23;
const SPDP_BOUND: usize = 2 * SPDP + 9;

/// The largest number of bytes that `spdp_store` writes for `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn spdp_bound(bytes: usize) -> usize {
    bytes.div_ceil(SPDP) * (4 + SPDP_BOUND)
}

/// # Safety
///
/// `from` has `bytes` bytes, `to` at least `spdp_bound(bytes)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spdp_store(level: u8, from: *const u8, bytes: usize, to: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    let (from, to) =
        unsafe { (slice::from_raw_parts(from, bytes), slice::from_raw_parts_mut(to, spdp_bound(bytes))) };
    let (mut block, mut at) = (vec![0; SPDP_BOUND.min(2 * bytes + 9)], 0);
    for part in from.chunks(SPDP) {
        let mut part = part.to_vec(); // SPDP writes into its input
        // SAFETY: at most 2^23 bytes, and room for twice as many and 9.
        let length = unsafe { spdp_compress_batch(level, part.len(), part.as_mut_ptr(), block.as_mut_ptr()) };
        push(to, &mut at, &block[..length]);
    }
    at
}

/// # Safety
///
/// `from` has `packed` bytes that `spdp_store` made of `bytes` bytes at this level, `to` room for these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spdp_fetch(
    level: u8,
    from: *const u8,
    packed: usize,
    to: *mut u8,
    bytes: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let (mut from, to) =
        unsafe { (slice::from_raw_parts(from, packed), slice::from_raw_parts_mut(to, bytes)) };
    let (mut block, mut plain) = (vec![0; SPDP_BOUND.min(2 * bytes + 9)], vec![0; SPDP.min(bytes)]);
    for part in to.chunks_mut(SPDP) {
        let Some(packed) = pop(&mut from) else { return false };
        block[..packed.len()].copy_from_slice(packed);
        // SAFETY: what `spdp_store` made of a block; SPDP writes into its input, too, and no more than a block.
        unsafe { spdp_decompress_batch(level, packed.len(), block.as_mut_ptr(), plain.as_mut_ptr()) };
        part.copy_from_slice(&plain[..part.len()]);
    }
    from.is_empty()
}
