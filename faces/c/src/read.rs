//! Reading hyperslabs, and bytes of the original.

#![expect(unsafe_code, reason = "symbols that C programs call")]

use crate::code::{Code, Failure, call};
use crate::inquire::{check_rank, nc_type, told, variable};
use crate::open::{find, nc3z_file};
use crate::pointers::{buffer, list};
use nc3z_c_common::{Asked, Fault, Read, check_strided};
use nc3z_format::classic::VarId;
use std::ffi::c_void;

/// `nc3z_read` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_read(
    file: *const nc3z_file,
    id: u32,
    rank: u32,
    start: *const u64,
    count: *const u64,
    stride: *const i64,
    ty: i32,
    out: *mut c_void,
    len: usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let header = variable(file.header(), id)?;
        check_rank(header, rank)?;
        let v = file.variable_at(VarId(id)).ok_or_else(|| Failure::not_found("no such variable"))?;
        let to = nc_type(ty)?;
        let n = v.shape().len();
        // SAFETY: the caller's promise: as many numbers as there are dimensions, which were counted above.
        let (start, count, stride) = unsafe { (list(start, n), list(count, n), list(stride, n)) };
        let start = start.unwrap_or_else(|| vec![0; n]);
        let stride = stride.unwrap_or_else(|| vec![1; n]);
        let rest = || {
            let left = v.shape().iter().zip(&start).map(|(len, start)| len.saturating_sub(*start));
            left.zip(&stride).map(|(left, step)| left.div_ceil(step.unsigned_abs().max(1))).collect()
        };
        let count = count.unwrap_or_else(rest);
        let is_record = file.header().is_record(header);
        let asked = Asked { shape: v.shape(), is_record, start: &start, count: &count, stride: &stride };
        let slab = check_strided(&asked)?;
        let read = Read::new(v, slab, to)?;
        if read.len() != len {
            return Err(Fault::Buffer { needed: read.len() as u64, given: len as u64 }.into());
        }
        // SAFETY: the caller's promise.
        told(read.into_buffer(unsafe { buffer(out, len)? })?)
    })
}

/// `nc3z_read_original` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_read_original(
    file: *const nc3z_file,
    offset: u64,
    out: *mut c_void,
    len: usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let all = file.original_len();
        if offset > all || len as u64 > all - offset {
            let words = format!("{len} bytes from byte {offset} exceed the file of {all} bytes");
            return Err(Failure::new(Code::Edge, words));
        }
        // SAFETY: the caller's promise.
        Ok(file.read_bytes(offset, unsafe { buffer(out, len)? })?)
    })
}
