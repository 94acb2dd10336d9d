//! A classic netCDF file: header, layout, and its arrays read by position. It is the writer's source, and has
//! the same interface as archives.

use crate::dataset::read_elements;
use crate::error::{Error, Result};
use crate::source::{Nearby, NearbySource, SharedSource};
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::byte_run;
use nc3z_format::classic::{Header, Layout, Parse, VarId, parse_prefix};
use nc3z_format::{Error as FormatError, Limits};
use std::sync::Arc;

/// Length in bytes of the first read of a header. Multiplied by `GROWTH` while it is too short, since each read is parsed
/// from the beginning.
const FIRST_READ: u64 = 64 << 10;
const GROWTH: u64 = 4;

/// An open classic netCDF file.
pub struct ClassicFile {
    source: SharedSource,
    parsed: ParsedHeader,
    arrays: Option<Arc<dyn FlatArrays>>,
}

/// A header and what is computed from it. A file shares it with the archives that are made of it.
#[derive(Debug, Clone)]
pub(crate) struct ParsedHeader {
    bytes: Arc<[u8]>,
    /// The length of the file.
    file_len: u64,
    pub(crate) header: Arc<Header>,
    pub(crate) layout: Arc<Layout>,
}

impl ParsedHeader {
    fn new(bytes: &[u8], header: Header, file_len: u64) -> Result<Self> {
        let layout = Layout::new(&header, bytes.len() as u64, file_len)?;
        Ok(ParsedHeader { bytes: bytes.into(), file_len, header: header.into(), layout: layout.into() })
    }

    /// True if these are the bytes of the header, of a file of this length.
    pub(crate) fn is_of(&self, bytes: &[u8], file_len: u64) -> bool {
        self.file_len == file_len && *self.bytes == *bytes
    }
}

/// A store of a file's arrays, which reads an array without going through the file's bytes record by record.
pub trait FlatArrays: Send + Sync {
    /// Reads bytes of an array's flattened form. The number of the array is its variable's position in the
    /// header.
    ///
    /// # Errors
    /// Bytes that the array does not have; errors of the store.
    fn read_flat(&self, array: ArrayId, first: u64, out: &mut [u8]) -> Result<()>;
}

impl ClassicFile {
    /// Reads the header and computes the layout.
    ///
    /// # Errors
    /// Not a classic netCDF file (the message names the kind of file, if known), a damaged header, limits.
    pub fn from_source(source: SharedSource, limits: &Limits) -> Result<Self> {
        let len = source.len();
        // The bytes in memory may contain the whole header.
        let loaded = if source.holds(&(0..1)) {
            source.ends(0, 0).map_or(0, |(head, _)| head.len() as u64)
        } else {
            0
        };
        let mut take = if loaded > 0 { loaded.min(FIRST_READ) } else { FIRST_READ }.min(len);
        loop {
            let size = usize::try_from(take).expect("Limits::header_len is checked below");
            let prefix = source.read_at(0, size)?;
            match parse_prefix(&prefix, len, limits)? {
                Parse::Done(header, header_len) => return Self::parsed(source, *header, header_len, &prefix),
                Parse::Incomplete { at_least } => {
                    if at_least > limits.header_len {
                        return Err(FormatError::limit(
                            "header",
                            None,
                            "length",
                            limits.header_len,
                            at_least,
                        )
                        .into());
                    }
                    // The parser requests only bytes inside the file.
                    take = at_least
                        .max(take.saturating_mul(GROWTH))
                        .max(FIRST_READ)
                        .min(len)
                        .min(limits.header_len);
                }
            }
        }
    }

    /// A file whose header's bytes are given. Nothing is read.
    ///
    /// # Errors
    /// A header that is damaged or incomplete, limits.
    pub fn with_header(source: SharedSource, header: &[u8], limits: &Limits) -> Result<Self> {
        match parse_prefix(header, source.len(), limits)? {
            Parse::Done(parsed, header_len) => Self::parsed(source, *parsed, header_len, header),
            Parse::Incomplete { at_least } => {
                let there = header.len() as u64;
                Err(FormatError::truncated("header", 0, "header", at_least, there).into())
            }
        }
    }

    fn parsed(source: SharedSource, header: Header, header_len: u64, prefix: &[u8]) -> Result<Self> {
        let end = usize::try_from(header_len).expect("the header is inside the prefix");
        let parsed = ParsedHeader::new(&prefix[..end], header, source.len())?;
        Ok(ClassicFile { source, parsed, arrays: None })
    }

    /// Returns the file with its arrays read from this store.
    #[must_use]
    pub fn with_arrays(mut self, arrays: Arc<dyn FlatArrays>) -> Self {
        self.arrays = Some(arrays);
        self
    }

    /// Returns the parsed header.
    pub fn header(&self) -> &Header {
        &self.parsed.header
    }

    /// The header's bytes.
    pub fn header_bytes(&self) -> &[u8] {
        &self.parsed.bytes
    }

    /// The layout of the file.
    pub fn layout(&self) -> &Layout {
        &self.parsed.layout
    }

    /// The header with its layout, to be shared.
    pub(crate) fn parsed_header(&self) -> &ParsedHeader {
        &self.parsed
    }

    /// The file's bytes.
    pub fn source(&self) -> &SharedSource {
        &self.source
    }

    /// Returns the file with a part of its bytes in memory.
    pub(crate) fn with_nearby(&self, nearby: Nearby) -> Self {
        let source = Arc::new(NearbySource { nearby, source: Arc::clone(&self.source) });
        ClassicFile { source, parsed: self.parsed.clone(), arrays: self.arrays.clone() }
    }

    /// Reads bytes of a variable's flattened array, of its padding, or of the gap. Short slots of a record variable are
    /// read many at a time.
    ///
    /// # Errors
    /// A range that exceeds the file.
    pub fn read_array_bytes(&self, array: ArrayId, mut first: u64, mut out: &mut [u8]) -> Result<()> {
        if let Some(arrays) = &self.arrays {
            return arrays.read_flat(array, first, out);
        }
        if let Role::Variable(number) = array.role()
            && let Some(variable) = self.layout().variable(VarId(number))
            && first.is_multiple_of(variable.element_size())
            && out.len().is_multiple_of(variable.ty.size())
        {
            return read_elements(variable, first / variable.element_size(), out, self);
        }
        while !out.is_empty() {
            let (offset, run) = byte_run(self.layout(), array, first).ok_or_else(|| {
                Error::from(FormatError::invalid(format!("byte {first} of {array} is not in the file")))
            })?;
            let n = usize::try_from(run).map_or(out.len(), |n| n.min(out.len()));
            let (here, rest) = out.split_at_mut(n);
            self.source.read_into(offset, here)?;
            first += n as u64;
            out = rest;
        }
        Ok(())
    }
}

impl std::fmt::Debug for ClassicFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClassicFile").field("header", self.header()).finish_non_exhaustive()
    }
}
