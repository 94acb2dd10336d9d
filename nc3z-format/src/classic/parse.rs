//! The header grammar: one function for each rule of the classic format specification, over nom's streaming
//! parsers, so that one grammar serves whole files (input that ends is *truncated*) and remote prefixes (input that
//! ends means *fetch more*).
//!
//! Tolerant of unusual real files: any padding bytes, repeated or strange names, empty lists written as
//! `ABSENT` or as a tag and 0, several dimensions of length 0, any `vsize` and `begin`. Strict if the
//! structure is invalid.

use std::cell::Cell;

use nom::bytes::streaming::take;
use nom::number::streaming::{be_u32, be_u64};

use super::foreign::sniff;
use super::header::{Attribute, DimId, Dimension, Header, NumRecs, Variable, Version};
use crate::bytes::spaced_hex;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::types::NcType;

/// A parsed header and its length in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The header of the file.
    pub header: Header,
    /// Bytes of the header, padding included: the file's bytes `[0, header_len)`.
    pub header_len: u64,
}

/// The result of parsing a prefix of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parse {
    /// The header was complete.
    Done(Box<Header>, u64),
    /// The header is longer. It reaches at least to byte `at_least` of the file, which is after the given
    /// prefix and within the file.
    Incomplete {
        /// Length of the shortest prefix worth trying next.
        at_least: u64,
    },
}

/// Parses the header at the start of `input`, which is the whole header or the whole file.
///
/// # Errors
/// *Unsupported* for a file of another known format, *corrupt* or *truncated* for an invalid header, *limit*
/// for one that exceeds `limits`.
pub fn parse(input: &[u8], file_len: u64, limits: &Limits) -> Result<Parsed> {
    match parse_prefix(input, file_len, limits)? {
        Parse::Done(header, header_len) => Ok(Parsed { header: *header, header_len }),
        Parse::Incomplete { at_least } => {
            let available = input.len() as u64;
            Err(Error::truncated("header", available, "the header", at_least - available, 0))
        }
    }
}

/// Parses the header at the start of `input`, which may end anywhere.
///
/// # Errors
/// As [`parse()`]. A prefix that merely ends too early is not an error, as long as the file has more.
pub fn parse_prefix(input: &[u8], file_len: u64, limits: &Limits) -> Result<Parse> {
    let input = usize::try_from(file_len).ok().and_then(|len| input.get(..len)).unwrap_or(input);
    if input.len() < 4 && input.len() as u64 != file_len {
        return Ok(Parse::Incomplete { at_least: file_len.min(4) });
    }
    if let Some(foreign) = sniff(input) {
        return Err(Error::unsupported("header", 0, format!("this is {}: {}", foreign.name, foreign.hint)));
    }
    let version = match input {
        [b'C', b'D', b'F', byte, ..] => Version::from_byte(*byte),
        [_, _, _, _, ..] => None,
        _ => return Err(Error::truncated("header", 0, "magic", 4 - file_len, file_len)),
    };
    let Some(version) = version else {
        return Err(Error::corrupt("header", 0, "magic", "`CDF` and 1, 2 or 5", spaced_hex(&input[..4])));
    };
    let cap = limits.header_len.min(file_len);
    let grammar = Grammar { len: input.len() as u64, file_len, limits, version, reach: Cell::new(32) };
    match grammar.header(&input[4..]) {
        Ok((rest, header)) => {
            let header_len = grammar.at(rest);
            grammar.check_len(header_len)?;
            Ok(Parse::Done(Box::new(header), header_len))
        }
        Err(nom::Err::Incomplete(needed)) => {
            let missing = match needed {
                nom::Needed::Size(n) => n.get() as u64,
                nom::Needed::Unknown => 1,
            };
            let next = grammar.len.saturating_add(missing);
            if next > cap {
                grammar.check_len(next)?;
                return Err(Error::truncated(
                    "header",
                    grammar.len,
                    "the header",
                    missing,
                    file_len - grammar.len,
                ));
            }
            Ok(Parse::Incomplete { at_least: next.max(grammar.reach.get().min(cap)) })
        }
        Err(nom::Err::Error(Failure(e)) | nom::Err::Failure(Failure(e))) => Err(e),
    }
}

/// This crate's error in the form that nom requires.
struct Failure(Error);

impl nom::error::ParseError<&[u8]> for Failure {
    fn from_error_kind(input: &[u8], kind: nom::error::ErrorKind) -> Self {
        Failure(Error::corrupt(
            "header",
            None,
            "bytes",
            kind.description(),
            spaced_hex(&input[..input.len().min(8)]),
        ))
    }

    fn append(_: &[u8], _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

type Rest<'a> = &'a [u8];
type Rule<'a, T> = nom::IResult<Rest<'a>, T, Failure>;

fn fail<T>(error: Error) -> Rule<'static, T> {
    Err(nom::Err::Failure(Failure(error)))
}

/// Puts an outer rule's name before an inner error. Costs nothing on success.
fn in_rule<T>(result: Rule<'_, T>, outer: impl FnOnce() -> String) -> Rule<'_, T> {
    result.map_err(|e| match e {
        nom::Err::Failure(Failure(e)) => nom::Err::Failure(Failure(e.within(&outer(), 0))),
        other => other,
    })
}

// The list tags of the specification; ABSENT is 0.
const NC_DIMENSION: u32 = 10;
const NC_VARIABLE: u32 = 11;
const NC_ATTRIBUTE: u32 = 12;

struct Grammar<'l> {
    /// Bytes of the input.
    len: u64,
    file_len: u64,
    limits: &'l Limits,
    version: Version,
    /// The header is known to reach at least to here.
    reach: Cell<u64>,
}

impl Grammar<'_> {
    /// Offset in the file of the remaining input.
    fn at(&self, rest: Rest<'_>) -> u64 {
        self.len - rest.len() as u64
    }

    fn check_len(&self, header_len: u64) -> Result<()> {
        let limit = self.limits.header_len;
        if header_len > limit && header_len <= self.file_len {
            return Err(Error::limit("header", None, "header length", limit, header_len));
        }
        Ok(())
    }

    /// `count * unit` more bytes must follow `rest`: compared with the file and the limits, before anything is
    /// allocated or fetched for them.
    fn check_count<'a>(
        &self,
        rest: Rest<'a>,
        count: u64,
        unit: u64,
        rule: &'static str,
        what: &'static str,
    ) -> Rule<'a, ()> {
        let at = self.at(rest);
        let left = self.file_len - at;
        match count.checked_mul(unit) {
            Some(bytes) if bytes <= left => {
                if at + bytes > self.limits.header_len {
                    let limit = self.limits.header_len;
                    return fail(Error::limit(rule, at, "header length", limit, at + bytes));
                }
                self.reach.set(self.reach.get().max(at + bytes));
                Ok((rest, ()))
            }
            Some(bytes) => fail(Error::truncated(rule, at, what, bytes - left, left)),
            None => fail(Error::corrupt(rule, at, what, format!("at most {}", left / unit), count)),
        }
    }

    /// `header = magic numrecs dim_list gatt_list var_list` (the magic is read already).
    fn header<'a>(&self, i: Rest<'a>) -> Rule<'a, Header> {
        let (i, numrecs) = self.numrecs(i)?;
        let (i, dimensions) = in_rule(self.dim_list(i), || "dimension list".into())?;
        let (i, attributes) = in_rule(self.att_list(i), || "global attributes".into())?;
        let (i, variables) = in_rule(self.var_list(i, dimensions.len()), || "variable list".into())?;
        Ok((i, Header { version: self.version, numrecs, dimensions, attributes, variables }))
    }

    /// `numrecs = NON_NEG | STREAMING`
    fn numrecs<'a>(&self, i: Rest<'a>) -> Rule<'a, NumRecs> {
        let (i, field) = self.count(i)?;
        let streaming = if self.version == Version::Cdf5 { u64::MAX } else { u32::MAX.into() };
        Ok((i, if field == streaming { NumRecs::Streaming } else { NumRecs::Count(field) }))
    }

    /// `NON_NEG`: 32 bits, in CDF-5 64.
    fn count<'a>(&self, i: Rest<'a>) -> Rule<'a, u64> {
        if self.version == Version::Cdf5 { be_u64(i) } else { be_u32(i).map(|(i, n)| (i, n.into())) }
    }

    /// `OFFSET`: 32 bits in CDF-1, else 64.
    fn offset<'a>(&self, i: Rest<'a>) -> Rule<'a, u64> {
        if self.version == Version::Cdf1 { be_u32(i).map(|(i, n)| (i, n.into())) } else { be_u64(i) }
    }

    /// `list = ABSENT | tag nelems [item ...]`, where `ABSENT = ZERO ZERO`. Every item takes `unit` bytes or more.
    fn list<'a, T>(
        &self,
        i: Rest<'a>,
        tag: u32,
        unit: u64,
        mut item: impl FnMut(Rest<'a>, usize) -> Rule<'a, T>,
    ) -> Rule<'a, Vec<T>> {
        let at = self.at(i);
        let (i, found) = be_u32(i)?;
        if found != tag && found != 0 {
            return fail(Error::corrupt("list", at, "tag", format!("{tag} or 0"), found));
        }
        let (mut i, count) = self.count(i)?;
        if found == 0 && count != 0 {
            return fail(Error::corrupt("list", at, "element count of an absent list", 0, count));
        }
        self.check_count(i, count, unit, "list", "element count")?;
        if u32::try_from(count).is_err() {
            return fail(Error::limit("list", at, "element count", u32::MAX.into(), count));
        }
        // Memory is allocated for the bytes in the input, not for the bytes of the file: the rest may be
        // remote, or a hole.
        let in_hand = i.len() as u64 / unit;
        let mut items = Vec::with_capacity(usize::try_from(count.min(in_hand)).unwrap_or(0));
        for index in 0..usize::try_from(count).unwrap_or(usize::MAX) {
            let (rest, value) = item(i, index)?;
            items.push(value);
            i = rest;
        }
        Ok((i, items))
    }

    /// `dim_list = ABSENT | NC_DIMENSION nelems [dim ...]`
    fn dim_list<'a>(&self, i: Rest<'a>) -> Rule<'a, Vec<Dimension>> {
        let unit = 2 * self.version.count_size();
        self.list(i, NC_DIMENSION, unit, |i, n| in_rule(self.dim(i), || format!("dimension {n}")))
    }

    fn dim<'a>(&self, i: Rest<'a>) -> Rule<'a, Dimension> {
        let (i, name) = self.name(i)?;
        let (i, len) = self.count(i)?;
        Ok((i, Dimension { name, len }))
    }

    /// `att_list = ABSENT | NC_ATTRIBUTE nelems [attr ...]`
    fn att_list<'a>(&self, i: Rest<'a>) -> Rule<'a, Vec<Attribute>> {
        let unit = 2 * self.version.count_size() + 4;
        self.list(i, NC_ATTRIBUTE, unit, |i, n| in_rule(self.attr(i), || format!("attribute {n}")))
    }

    /// `attr = name nc_type nelems [values ...]`
    fn attr<'a>(&self, i: Rest<'a>) -> Rule<'a, Attribute> {
        let (i, name) = self.name(i)?;
        let (i, ty) = self.nc_type(i)?;
        let (i, count) = self.count(i)?;
        self.check_count(i, count, ty.size() as u64, "attribute", "value count")?;
        let (i, values) = self.padded(i, count * ty.size() as u64)?;
        Ok((i, Attribute { name, ty, values }))
    }

    /// `var_list = ABSENT | NC_VARIABLE nelems [var ...]`
    fn var_list<'a>(&self, i: Rest<'a>, dims: usize) -> Rule<'a, Vec<Variable>> {
        // name length, rank, empty attribute list (tag and count), type, vsize, begin
        let unit = 4 * self.version.count_size() + 8 + self.version.offset_size();
        // In memory a variable is many times what the header needs for it.
        if let Ok((rest, count)) = be_u32::<_, Failure>(i).and_then(|(rest, _)| self.count(rest))
            && count > self.limits.variables
        {
            return fail(Error::limit("list", self.at(rest), "variables", self.limits.variables, count));
        }
        self.list(i, NC_VARIABLE, unit, |i, n| in_rule(self.var(i, dims), || format!("variable {n}")))
    }

    /// `var = name nelems [dimid ...] vatt_list nc_type vsize begin`
    fn var<'a>(&self, i: Rest<'a>, dims: usize) -> Rule<'a, Variable> {
        let (i, name) = self.name(i)?;
        let (i, dimensions) = self.dim_ids(i, dims)?;
        let (i, attributes) = self.att_list(i)?;
        let (i, ty) = self.nc_type(i)?;
        let (i, vsize) = self.count(i)?;
        let (i, begin) = self.offset(i)?;
        Ok((i, Variable { name, dimensions, attributes, ty, vsize, begin }))
    }

    /// `nelems [dimid ...]`, each below the number of dimensions.
    fn dim_ids<'a>(&self, i: Rest<'a>, dims: usize) -> Rule<'a, Vec<DimId>> {
        let at = self.at(i);
        let (mut i, rank) = self.count(i)?;
        let unit = self.version.count_size();
        self.check_count(i, rank, unit, "dimension ids", "rank")?;
        if rank > self.limits.rank {
            return fail(Error::limit("dimension ids", at, "rank", self.limits.rank, rank));
        }
        let in_hand = i.len() as u64 / unit;
        let mut ids = Vec::with_capacity(usize::try_from(rank.min(in_hand)).unwrap_or(0));
        for _ in 0..rank {
            let at = self.at(i);
            let (rest, id) = self.count(i)?;
            match u32::try_from(id) {
                Ok(id) if (id as usize) < dims => ids.push(DimId(id)),
                _ => {
                    let expected = format!("below {dims}, the number of dimensions");
                    return fail(Error::corrupt("dimension ids", at, "dimension id", expected, id));
                }
            }
            i = rest;
        }
        Ok((i, ids))
    }

    /// `nc_type`: 1 to 6, in CDF-5 to 11.
    fn nc_type<'a>(&self, i: Rest<'a>) -> Rule<'a, NcType> {
        let at = self.at(i);
        let (i, code) = be_u32(i)?;
        match NcType::from_code(code) {
            Ok(ty) if self.version == Version::Cdf5 || !ty.needs_cdf5() => Ok((i, ty)),
            _ => {
                let expected = if self.version == Version::Cdf5 { "1 to 11" } else { "1 to 6" };
                fail(Error::corrupt("type", at, "type code", expected, code))
            }
        }
    }

    /// `name = nelems namestring`, padded to 4.
    fn name<'a>(&self, i: Rest<'a>) -> Rule<'a, Vec<u8>> {
        let at = self.at(i);
        let (i, len) = self.count(i)?;
        self.check_count(i, len, 1, "name", "name length")?;
        if len > self.limits.name_len {
            return fail(Error::limit("name", at, "name length", self.limits.name_len, len));
        }
        self.padded(i, len)
    }

    /// `len` bytes and their padding to a multiple of 4. The padding bytes may have any value: the archive
    /// keeps the header's bytes.
    fn padded<'a>(&self, i: Rest<'a>, len: u64) -> Rule<'a, Vec<u8>> {
        // `check_count` has seen that `len` bytes are in the file; the padding may still be missing.
        let padded = len.next_multiple_of(4);
        self.check_count(i, padded, 1, "padding", "padded bytes")?;
        let (Ok(len), Ok(padded)) = (usize::try_from(len), usize::try_from(padded)) else {
            return fail(Error::limit("padding", self.at(i), "length", usize::MAX as u64, padded));
        };
        let (i, bytes) = take(padded)(i)?;
        Ok((i, bytes[..len].to_vec()))
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
