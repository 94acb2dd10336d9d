//! A file as its catalogue knows it: a dataset with the header and the coordinates. Other values cannot be read.

use super::member::{CoordinateValues, Head, HeadKind};
use super::table::wrong;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::Limits;
use nc3z_format::classic::{Header, Layout, Parse, VarId, parse_prefix};
use nc3z_format::plan::TilePlan;
use nc3z_format::tile::{TileExtent, Tiling};
use nc3z_reader::source::ByteSource;
use nc3z_reader::{ArraySource, ClassicFile, Dataset, Error};
use std::borrow::Cow;
use std::sync::Arc;

/// A file of which only the header is there.
struct Absent(u64);

/// The error for values that are not there.
fn absent(what: impl std::fmt::Display) -> Error {
    Error::other(crate::Error::refused(format!(
        "the catalogue has no values of {what}, only statistics; read them from the file"
    )))
}

impl ByteSource for Absent {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_into(&self, _: u64, out: &mut [u8]) -> Result<(), Error> {
        if out.is_empty() { Ok(()) } else { Err(absent("the file")) }
    }
}

struct Described {
    file: ClassicFile,
    known: Vec<CoordinateValues>,
}

impl Described {
    /// The bytes of some elements of a coordinate.
    fn elements(&self, var: VarId, first: u64, count: u64) -> Result<Bytes, Error> {
        let name = || {
            self.file
                .header()
                .variables
                .get(var.index())
                .map_or_else(String::new, |v| format!("`{}`", v.name_lossy()))
        };
        let known = self.known.iter().find(|known| known.variable == var.0).ok_or_else(|| absent(name()))?;
        let layout = self.file.layout().variable(var).ok_or_else(|| absent(name()))?;
        let bytes = |n: u64| n.checked_mul(layout.element_size()).and_then(|n| usize::try_from(n).ok());
        let end = first.checked_add(count).filter(|end| *end <= layout.present);
        let range = bytes(first).zip(end.and_then(bytes)).zip(bytes(layout.present));
        let ((first, end), all) = range.ok_or_else(|| absent(name()))?;
        // Of the ends, the last value is the second one that is there.
        let at = match all.checked_sub(known.size) {
            _ if known.whole => Some((first, end)),
            Some(last) if first >= last => Some((first - last + known.size, end - last + known.size)),
            Some(_) if end <= known.size => Some((first, end)),
            _ => return Err(absent(format!("{} but the first and the last", name()))),
        };
        let at = at.filter(|(_, end)| *end <= known.bytes.len());
        let (first, end) = at.ok_or_else(|| absent(name()))?;
        Ok(known.bytes.slice(first..end))
    }
}

impl ArraySource for Described {
    fn header(&self) -> &Header {
        self.file.header()
    }

    fn layout(&self) -> &Layout {
        self.file.layout()
    }

    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>, Error> {
        ArraySource::tiling(&self.file, var)
    }

    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<(), Error> {
        let TileExtent::Linear { first, count } = self.tiling(var)?.extent(tile)? else {
            return Err(absent("a chunk"));
        };
        copy(&self.elements(var, first, count)?, out)
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, _: bool) -> Result<(u64, Bytes), Error> {
        let TileExtent::Linear { first, .. } = self.tiling(var)?.extent(tile.tile)? else {
            return Err(absent("a chunk"));
        };
        let span = tile.span();
        Ok((span.start, self.elements(var, first.saturating_add(span.start), span.end - span.start)?))
    }

    fn decode_cost(&self, _: VarId, _: u64) -> u64 {
        0
    }

    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<(), Error> {
        let size = self.layout().variable(var).map_or(1, nc3z_format::classic::VarLayout::element_size);
        if !first.is_multiple_of(size) || !(out.len() as u64).is_multiple_of(size) {
            return Err(absent("a part of a value"));
        }
        copy(&self.elements(var, first / size, out.len() as u64 / size)?, out)
    }

    fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let header = self.file.header_bytes().get(from..from.saturating_add(out.len()));
        copy(header.ok_or_else(|| absent("the file"))?, out)
    }
}

fn copy(bytes: &[u8], out: &mut [u8]) -> Result<(), Error> {
    if bytes.len() != out.len() {
        return Err(absent("all of these elements"));
    }
    out.copy_from_slice(bytes);
    Ok(())
}

/// A file with this header and these coordinates.
///
/// # Errors
/// A damaged header.
pub fn described(head: &Head, header: &Bytes, coordinates: Vec<CoordinateValues>) -> Result<Dataset> {
    // An aggregation is not a file and has no length of its own.
    let len = if head.kind == HeadKind::Other { u64::MAX } else { head.len };
    let limits = Limits::default();
    if let Parse::Incomplete { .. } = parse_prefix(header, len, &limits)? {
        return Err(wrong("a header is not complete"));
    }
    let file = ClassicFile::with_header(Arc::new(Absent(len)), header, &limits)?;
    Ok(Dataset::new(Arc::new(Described { file, known: coordinates })))
}
