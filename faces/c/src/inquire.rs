//! Inquiries of a file: dimensions, variables, attributes.

#![expect(unsafe_code, reason = "symbols that C programs call")]

use crate::code::{Code, Failure, Result, call};
use crate::open::{find, nc3z_file};
use crate::pointers::{Sized0, buffer, fill, put, put_all, put_text, text};
use nc3z_c_common::{Fit, c_name, convert, find_attribute, find_dimension, find_variable};
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Dimension, Header, VarId, Variable, Version};
use std::ffi::{c_char, c_void};

/// `nc3z_info` of the header.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct nc3z_info {
    /// `sizeof(nc3z_info)`.
    pub size: usize,
    /// 1 for an archive, 0 for a classic file.
    pub is_archive: i32,
    /// 1, 2 or 5.
    pub format: i32,
    /// Dimensions.
    pub dimensions: u32,
    /// Variables.
    pub variables: u32,
    /// Global attributes.
    pub attributes: u32,
    /// The record dimension, or -1.
    pub record_dimension: i32,
    /// Records.
    pub records: u64,
    /// Bytes of the classic file.
    pub original_len: u64,
    /// Bytes of the file that was opened.
    pub stored_len: u64,
    /// The version of the file.
    pub version: u64,
}

impl Sized0 for nc3z_info {
    const EMPTY: Self = nc3z_info {
        size: size_of::<Self>(),
        is_archive: 0,
        format: 0,
        dimensions: 0,
        variables: 0,
        attributes: 0,
        record_dimension: -1,
        records: 0,
        original_len: 0,
        stored_len: 0,
        version: 1,
    };
}

/// Converts a count to the header's type. The format's limits are smaller.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn number(ty: NcType) -> i32 {
    i32::try_from(ty.code()).unwrap_or(0)
}

/// Returns the type with this number.
pub(crate) fn nc_type(ty: i32) -> Result<NcType> {
    let found = u32::try_from(ty).ok().and_then(|ty| NcType::from_code(ty).ok());
    found.ok_or_else(|| Failure::new(Code::Type, format!("unknown type {ty}")))
}

/// Returns a variable by its number.
pub(crate) fn variable(header: &Header, variable: u32) -> Result<&Variable> {
    let found = header.variables.get(VarId(variable).index());
    found.ok_or_else(|| Failure::not_found(format!("no variable {variable}")))
}

fn attributes(header: &Header, of: i32) -> Result<&[Attribute]> {
    if of == -1 {
        return Ok(&header.attributes);
    }
    let of = u32::try_from(of).map_err(|_| Failure::not_found(format!("no variable {of}")))?;
    Ok(&variable(header, of)?.attributes)
}

fn attribute(header: &Header, of: i32, attribute: u32) -> Result<&Attribute> {
    let found = attributes(header, of)?.get(VarId(attribute).index());
    found.ok_or_else(|| Failure::not_found(format!("no attribute {attribute}")))
}

fn no_name(what: &str, name: &[u8]) -> Failure {
    Failure::not_found(format!("no {what} \"{}\"", String::from_utf8_lossy(name).escape_debug()))
}

/// `nc3z_inquire` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_inquire(file: *const nc3z_file, info: *mut nc3z_info) -> i32 {
    call(|| {
        let file = find(file)?;
        let header = file.header();
        let record_dimension = header.dimensions.iter().position(Dimension::is_record);
        let found = nc3z_info {
            is_archive: i32::from(file.archive().is_some()),
            format: i32::from(header.version.byte()),
            dimensions: count(header.dimensions.len()),
            variables: count(header.variables.len()),
            attributes: count(header.attributes.len()),
            record_dimension: record_dimension.and_then(|d| i32::try_from(d).ok()).unwrap_or(-1),
            records: file.records(),
            original_len: file.original_len(),
            stored_len: file.source().len(),
            version: file.archive().map_or(Ok(1), |archive| archive.version().map(|v| v.number))?,
            ..nc3z_info::EMPTY
        };
        // SAFETY: the caller's promise.
        unsafe { fill("info", info, &found) }
    })
}

/// `nc3z_dimension` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_dimension(
    file: *const nc3z_file,
    dimension: u32,
    name: *mut c_char,
    capacity: usize,
    name_len: *mut usize,
    len: *mut u64,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let found = file.header().dimensions.get(VarId(dimension).index());
        let found = found.ok_or_else(|| Failure::not_found(format!("no dimension {dimension}")))?;
        // SAFETY: the caller's promise.
        unsafe {
            put_text(name, capacity, name_len, c_name(&found.name));
            put(len, if found.is_record() { file.records() } else { found.len });
        }
        Ok(())
    })
}

/// `nc3z_dimension_id` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_dimension_id(
    file: *const nc3z_file,
    name: *const c_char,
    dimension: *mut u32,
) -> i32 {
    call(|| {
        let file = find(file)?;
        // SAFETY: the caller's promise.
        let name = unsafe { text("name", name)? };
        let id = find_dimension(file.header(), name).ok_or_else(|| no_name("dimension", name))?;
        // SAFETY: the caller's promise.
        unsafe { put(dimension, count(id)) };
        Ok(())
    })
}

/// `nc3z_variable` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_variable(
    file: *const nc3z_file,
    id: u32,
    name: *mut c_char,
    capacity: usize,
    name_len: *mut usize,
    ty: *mut i32,
    rank: *mut u32,
    attributes: *mut u32,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let found = variable(file.header(), id)?;
        // SAFETY: the caller's promise.
        unsafe {
            put_text(name, capacity, name_len, c_name(&found.name));
            put(ty, number(found.ty));
            put(rank, count(found.dimensions.len()));
            put(attributes, count(found.attributes.len()));
        }
        Ok(())
    })
}

/// `nc3z_variable_id` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_variable_id(file: *const nc3z_file, name: *const c_char, id: *mut u32) -> i32 {
    call(|| {
        let file = find(file)?;
        // SAFETY: the caller's promise.
        let name = unsafe { text("name", name)? };
        let found = find_variable(file.header(), name).ok_or_else(|| no_name("variable", name))?;
        // SAFETY: the caller's promise.
        unsafe { put(id, count(found)) };
        Ok(())
    })
}

/// Compares the caller's number of dimensions with the variable's.
pub(crate) fn check_rank(found: &Variable, rank: u32) -> Result {
    if found.dimensions.len() as u64 == u64::from(rank) {
        return Ok(());
    }
    let (name, has) = (found.name_lossy(), found.dimensions.len());
    let name = name.escape_debug();
    Err(Failure::invalid(format!("variable \"{name}\" has {has} dimensions, not {rank}")))
}

/// `nc3z_variable_shape` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_variable_shape(
    file: *const nc3z_file,
    id: u32,
    rank: u32,
    dimensions: *mut u32,
    shape: *mut u64,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let found = variable(file.header(), id)?;
        check_rank(found, rank)?;
        let lengths = file.layout().variable(VarId(id)).map_or(&[][..], |layout| &layout.shape);
        // SAFETY: the caller's promise, and the number of dimensions is as the caller says.
        unsafe {
            put_all(dimensions, found.dimensions.iter().map(|d| d.0));
            put_all(shape, lengths.iter().copied());
        }
        Ok(())
    })
}

/// `nc3z_attribute` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_attribute(
    file: *const nc3z_file,
    of: i32,
    id: u32,
    name: *mut c_char,
    capacity: usize,
    name_len: *mut usize,
    ty: *mut i32,
    values: *mut usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let found = attribute(file.header(), of, id)?;
        // SAFETY: the caller's promise.
        unsafe {
            put_text(name, capacity, name_len, c_name(&found.name));
            put(ty, number(found.ty));
            put(values, found.count());
        }
        Ok(())
    })
}

/// `nc3z_attribute_id` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_attribute_id(
    file: *const nc3z_file,
    of: i32,
    name: *const c_char,
    id: *mut u32,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let all = attributes(file.header(), of)?;
        // SAFETY: the caller's promise.
        let name = unsafe { text("name", name)? };
        let found = find_attribute(all, name).ok_or_else(|| no_name("attribute", name))?;
        // SAFETY: the caller's promise.
        unsafe { put(id, count(found)) };
        Ok(())
    })
}

/// `nc3z_attribute_values` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_attribute_values(
    file: *const nc3z_file,
    of: i32,
    id: u32,
    ty: i32,
    out: *mut c_void,
    len: usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let found = attribute(file.header(), of, id)?;
        let to = nc_type(ty)?;
        if (to == NcType::Char) != (found.ty == NcType::Char) {
            return Err(nc3z_c_common::Fault::Text.into());
        }
        let needed = found.count() * to.size();
        check_len(needed, len)?;
        // SAFETY: the caller's promise.
        let out = unsafe { buffer(out, len)? };
        let from = convert::source_type(found.ty, to, file.header().version == Version::Cdf5);
        told(convert::convert(from, &found.values, to, out))
    })
}

/// Compares the length of a buffer with the needed length.
fn check_len(needed: usize, given: usize) -> Result {
    if needed == given {
        return Ok(());
    }
    Err(nc3z_c_common::Fault::Buffer { needed: needed as u64, given: given as u64 }.into())
}

/// Returns true if all numbers fit.
pub(crate) fn told(fit: Fit) -> Result {
    match fit {
        Fit::All => Ok(()),
        Fit::NotAll => {
            let words = "numbers do not fit the requested type; they are replaced by fill values";
            Err(Failure::new(Code::Range, words))
        }
    }
}

/// `nc3z_fill_value` of the header.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nc3z_fill_value(
    file: *const nc3z_file,
    id: u32,
    out: *mut c_void,
    len: usize,
) -> i32 {
    call(|| {
        let file = find(file)?;
        let found = variable(file.header(), id)?;
        check_len(found.ty.size(), len)?;
        // SAFETY: the caller's promise.
        let out = unsafe { buffer(out, len)? };
        told(convert::convert(found.ty, found.fill_value(), found.ty, out))
    })
}

/// `nc3z_type_size` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nc3z_type_size(ty: i32) -> usize {
    nc_type(ty).map_or(0, NcType::size)
}
