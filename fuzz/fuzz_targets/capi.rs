#![no_main]
//! The C library with any bytes: a file in memory, every inquiry, and requests that the first bytes choose.

use nc3z::{
    nc3z_attribute, nc3z_attribute_values, nc3z_close, nc3z_dimension, nc3z_file, nc3z_fill_value,
    nc3z_info, nc3z_inquire, nc3z_open_memory, nc3z_read, nc3z_read_original, nc3z_type_size, nc3z_variable,
    nc3z_variable_shape, nc3z_versions,
};
use std::ptr::{null, null_mut};

/// The largest number of elements of a request: larger forged shapes test nothing new.
const MOST: u64 = 1 << 16;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((seed, bytes)) = data.split_first_chunk::<16>() else { return };
    let mut file: *mut nc3z_file = null_mut();
    // SAFETY: the bytes, and a place for the handle.
    if unsafe { nc3z_open_memory(bytes.as_ptr().cast(), bytes.len(), null(), &raw mut file) } != 0 {
        assert!(file.is_null());
        return;
    }
    use_file(file, seed);
    assert_eq!(nc3z_close(file), 0);
    assert_eq!(nc3z_close(file), -2, "a closed handle is found to be closed");
});

fn use_file(file: *const nc3z_file, seed: &[u8; 16]) {
    let byte = |n: usize| u64::from(seed[n % 16]);
    // SAFETY: a structure of zeros with its size.
    let mut info: nc3z_info = unsafe { std::mem::zeroed() };
    info.size = size_of::<nc3z_info>();
    // SAFETY: as the header says; buffers are as long as is said.
    unsafe {
        if nc3z_inquire(file, &raw mut info) != 0 {
            return;
        }
        let mut name = [0; 40];
        for d in 0..info.dimensions.min(8) {
            nc3z_dimension(file, d, name.as_mut_ptr(), name.len(), null_mut(), null_mut());
        }
        for v in -1..i32::try_from(info.variables.min(8)).unwrap_or(8) {
            let (mut ty, mut rank, mut attributes) = (0, 0, info.attributes);
            if v >= 0 {
                nc3z_variable(
                    file,
                    v.cast_unsigned(),
                    name.as_mut_ptr(),
                    name.len(),
                    null_mut(),
                    &raw mut ty,
                    &raw mut rank,
                    &raw mut attributes,
                );
            }
            for a in 0..attributes.min(8) {
                let (mut of, mut count) = (0, 0);
                nc3z_attribute(
                    file,
                    v,
                    a,
                    name.as_mut_ptr(),
                    name.len(),
                    null_mut(),
                    &raw mut of,
                    &raw mut count,
                );
                let wanted = 1 + i32::from(seed[0] % 11);
                let mut out = vec![0_u8; count.min(1 << 16) * nc3z_type_size(wanted)];
                nc3z_attribute_values(file, v, a, wanted, out.as_mut_ptr().cast(), out.len());
            }
            if v >= 0 && rank <= 16 {
                read(file, v.cast_unsigned(), ty, rank, &byte);
            }
        }
        let mut out = [0_u8; 100];
        nc3z_read_original(file, byte(1) * info.original_len / 256, out.as_mut_ptr().cast(), out.len());
        let mut count = 0;
        nc3z_versions(file, null_mut(), 0, &raw mut count);
    }
}

/// A block of a variable, in its own type and in another one.
///
/// # Safety
/// The number of dimensions is the variable's.
unsafe fn read(file: *const nc3z_file, v: u32, ty: i32, rank: u32, byte: &dyn Fn(usize) -> u64) {
    let mut shape = vec![0_u64; rank as usize];
    // SAFETY: as the header says; lists have as many items as the variable has dimensions.
    unsafe {
        let mut fill = [0_u8; 8];
        nc3z_fill_value(file, v, fill.as_mut_ptr().cast(), nc3z_type_size(ty).min(8));
        if nc3z_variable_shape(file, v, rank, null_mut(), shape.as_mut_ptr()) != 0 {
            return;
        }
        let mut left = MOST;
        let (mut start, mut count, mut stride) = (Vec::new(), Vec::new(), Vec::new());
        for (d, len) in shape.iter().enumerate() {
            let step = 1 + (byte(d + 2) % 3).cast_signed();
            let from = if *len == 0 { 0 } else { byte(d + 3) % *len };
            let n = ((len - from) / step.unsigned_abs()).min(left);
            left /= n.max(1);
            start.push(from);
            count.push(n);
            stride.push(step);
        }
        let elements: u64 = count.iter().product();
        for wanted in [ty, 1 + i32::from((byte(5) % 11) as u8)] {
            let mut out = vec![0_u8; elements as usize * nc3z_type_size(wanted)];
            nc3z_read(
                file,
                v,
                rank,
                start.as_ptr(),
                count.as_ptr(),
                stride.as_ptr(),
                wanted,
                out.as_mut_ptr().cast(),
                out.len(),
            );
        }
    }
}
