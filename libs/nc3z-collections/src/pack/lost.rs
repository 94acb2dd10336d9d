//! Lost tiles of a group: which parts of its members they are, and the values that replace them.

use super::arrays::Own;
use super::read::PackedMember;
use crate::error::{Error, Result};
use nc3z_format::Error as FormatError;
use nc3z_format::Limits;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::classic::{Header, Parse, VarId, parse_prefix};
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Archive, Error as ReadError};
use std::ops::Range;

/// A part of a file whose bytes are lost, and were written as fill values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostPart {
    /// The variable, or other bytes of the file.
    pub what: String,
    /// The number of lost bytes.
    pub bytes: u64,
    /// The number of all bytes of the variable.
    pub of: u64,
}

impl LostPart {
    /// Returns the parts of the original of an archive that reads replaced by fill values so far.
    pub fn of_archive(archive: &Archive) -> Vec<LostPart> {
        let mut out: Vec<LostPart> = Vec::new();
        let (mut last, header) = (None, archive.header());
        for &(array, tile) in archive.filled().keys() {
            let Some(info) = archive.arrays().get(array) else { continue };
            if last != Some(array) {
                last = Some(array);
                out.push(LostPart { what: name_of(header, array), bytes: 0, of: info.total_bytes() });
            }
            if let (Some(part), Ok((_, len))) = (out.last_mut(), info.tile_bytes(tile)) {
                part.bytes += len as u64;
            }
        }
        out
    }
}

/// The name of a variable, or what an array without a name is.
fn name_of(header: &Header, id: ArrayId) -> String {
    let variable = match id.role() {
        Role::Variable(v) => header.variables.get(VarId(v).index()),
        _ => None,
    };
    variable.map_or_else(|| id.to_string(), |v| v.name_lossy().into_owned())
}

/// Returns an error that says that `what` of a group is lost.
pub(super) fn error(what: &str, why: &str) -> Error {
    FormatError::corrupt(what, None, "content", "whole", format!("lost ({why})")).into()
}

/// Returns an error that says that `what` of a group is lost. Errors other than damage stay what they are.
pub(super) fn of_error(what: &str, e: ReadError) -> Error {
    if e.is_corrupt() { error(what, &e.with_causes()) } else { e.into() }
}

/// Returns the places in an array of a group that were replaced by fill values so far, in bytes, and the reasons.
pub(super) fn lost_tiles(archive: &Archive, id: ArrayId) -> Vec<(Range<u64>, String)> {
    let Some(info) = archive.arrays().get(id) else { return Vec::new() };
    let filled = archive.filled();
    let own = filled.iter().filter(|((array, _), _)| *array == id);
    own.filter_map(|((_, tile), fill)| {
        let (first, len) = info.tile_bytes(*tile).ok()?;
        Some((first..first + len as u64, fill.message.clone()))
    })
    .collect()
}

/// Returns the fill values of a member's arrays, in their order.
pub(super) fn fill_values(header: &Header, own: &[Own]) -> Vec<Vec<u8>> {
    let value = |own: &Own| match own.id.role() {
        Role::Variable(v) => header.variables.get(VarId(v).index()).map(|v| v.fill_value().to_vec()),
        _ => None,
    };
    own.iter().map(|own| value(own).unwrap_or_else(|| vec![0; own.ty.size()])).collect()
}

/// Replaces lost bytes of a column, which were read from `at` on to `out`, by the fill value of the member.
pub(super) fn fill(archive: &Archive, column: u32, at: u64, value: &[u8], out: &mut [u8]) {
    let (end, size) = (at + out.len() as u64, value.len() as u64);
    for (tile, _) in lost_tiles(archive, ArrayId::variable(column)) {
        for byte in tile.start.max(at)..tile.end.min(end) {
            // Elements begin at multiples of their length. Both indices are below those of slices.
            let (n, of) = (usize::try_from(byte - at), usize::try_from(byte % size));
            if let (Ok(n), Ok(of)) = (n, of) {
                out[n] = value[of];
            }
        }
    }
}

impl PackedMember {
    /// Returns the parts of the file that reads replaced by fill values so far.
    ///
    /// # Errors
    /// The header cannot be parsed.
    pub fn lost(&self) -> Result<Vec<LostPart>> {
        if self.fills.is_none() {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        for (own, place) in self.own.iter().zip(&self.places) {
            let first = place.begin(own.ty);
            let tiles = lost_tiles(&self.archive, ArrayId::variable(place.column));
            let shared = |(tile, _): &(Range<u64>, String)| {
                tile.end.min(first + own.len).saturating_sub(tile.start.max(first))
            };
            let bytes = tiles.iter().map(shared).sum();
            if bytes > 0 {
                let what = match parse_prefix(&self.header, self.len(), &Limits::default())? {
                    Parse::Done(header, _) => name_of(&header, own.id),
                    Parse::Incomplete { .. } => own.id.to_string(),
                };
                out.push(LostPart { what, bytes, of: own.len });
            }
        }
        Ok(out)
    }
}
