//! Whole variables and byte ranges of them, as big-endian bytes.

use crate::archive::Archive;
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::{ArrayInfo, byte_run};
use nc3z_format::classic::{Header, VarId, VarLayout};
use nc3z_format::tile::TileLayout;
use rayon::prelude::*;

/// Reads of fewer bytes than this are done on the calling thread.
const PARALLEL_FROM: usize = 2 << 20;

/// Finds a variable by name.
pub(crate) fn find_variable(header: &Header, name: &str) -> Result<VarId> {
    header.variable(name.as_bytes()).map(|(id, _)| id).ok_or_else(|| {
        let mut names: Vec<_> = header.variables.iter().map(|v| String::from_utf8_lossy(&v.name)).collect();
        let more = names.len().saturating_sub(20);
        names.truncate(20);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        FormatError::invalid(format!("no variable \"{name}\"; there are {}{rest}", names.join(", "))).into()
    })
}

impl Archive {
    /// Where a variable lies in the original file.
    ///
    /// # Errors
    /// No such variable.
    pub fn variable_layout(&self, var: VarId) -> Result<&VarLayout> {
        let known = self.layout().variables.len();
        let missing = || FormatError::invalid(format!("no variable {}, there are {known}", var.0)).into();
        self.layout().variable(var).ok_or_else(missing)
    }

    /// All present elements of a variable as big-endian bytes, row-major, as libnetcdf would give them before conversion.
    ///
    /// # Errors
    /// Elements that the header claims but the original file does not hold; damage.
    pub fn read_variable_bytes(&self, var: VarId) -> Result<Vec<u8>> {
        let v = self.variable_layout(var)?;
        let size = v.ty.size() as u64;
        let claimed = v.elements.unwrap_or(u64::MAX);
        if v.present < claimed {
            let name = self.inner.describe(ArrayId::variable(var.0));
            return Err(FormatError::truncated(
                name,
                None,
                "elements",
                claimed.saturating_sub(v.present).saturating_mul(size),
                v.present * size,
            )
            .into());
        }
        let total = v.present * size;
        let len = usize::try_from(total)
            .map_err(|_| FormatError::limit("variable", None, "length", usize::MAX as u64, total))?;
        let mut out = Vec::new();
        out.try_reserve_exact(len)
            .map_err(|_| FormatError::limit("variable", None, "length in memory", 0, total))?;
        out.resize(len, 0);
        self.read_variable_range(var, 0, &mut out)?;
        Ok(out)
    }

    /// Bytes `[first, first + out.len())` of a variable's flattened, big-endian array.
    ///
    /// # Errors
    /// A range beyond what is present; damage.
    pub fn read_variable_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        let v = self.variable_layout(var)?;
        let total = v.present * v.ty.size() as u64;
        if first.checked_add(out.len() as u64).is_none_or(|end| end > total) {
            let left = total.saturating_sub(first);
            let name = self.inner.describe(ArrayId::variable(var.0));
            return Err(FormatError::truncated(name, None, "elements", out.len() as u64 - left, left).into());
        }
        if !v.owned {
            // Its bytes belong to others: read them through the rebuilt file.
            return self.read_aliased(var, first, out);
        }
        read_flat(self, self.inner.arrays.variable(var), first, out)
    }

    /// A decoded tile by way of the cache; `wanted` bytes of it are to be copied.
    pub(crate) fn cached_tile(&self, info: &ArrayInfo, tile: u64, wanted: u64, keep: bool) -> Result<Bytes> {
        let len = info.tile_len(tile)?;
        let decode = |out: &mut [u8]| self.inner.decode_tile(info.id, tile, out);
        self.inner.tiles.get(info.id, tile, len, wanted, keep, decode)
    }

    fn read_aliased(&self, var: VarId, mut first: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let (offset, run) =
                byte_run(self.layout(), ArrayId::variable(var.0), first).ok_or_else(|| {
                    Error::from(FormatError::invalid(format!(
                        "byte {first} of variable {} is not in the file",
                        var.0
                    )))
                })?;
            let n = usize::try_from(run).map_or(out.len(), |n| n.min(out.len()));
            let (here, rest) = out.split_at_mut(n);
            self.read_original(offset, here)?;
            first += n as u64;
            out = rest;
        }
        Ok(())
    }
}

/// Bytes of one array's flattened form, whatever its tiles.
pub(crate) fn read_flat(archive: &Archive, info: &ArrayInfo, first: u64, out: &mut [u8]) -> Result<()> {
    match info.tiling.layout() {
        TileLayout::Linear { .. } => read_linear(archive, info, first, out),
        TileLayout::Chunked { .. } => {
            crate::chunks::read_run(archive, info.id, &info.byte_tiling()?, first, out)
        }
    }
}

fn read_linear(archive: &Archive, info: &ArrayInfo, first: u64, out: &mut [u8]) -> Result<()> {
    let tile_len = info.linear_tile_len().expect("the caller looked at the layout");
    let mut jobs = Vec::new();
    let parallel = out.len() >= PARALLEL_FROM;
    let (mut at, mut rest) = (first, out);
    while !rest.is_empty() {
        let tile = at / tile_len;
        let (begin, len) = info.tile_bytes(tile)?;
        let from = usize::try_from(at - begin).expect("inside a tile");
        let (here, after) = rest.split_at_mut((len - from).min(rest.len()));
        at += here.len() as u64;
        rest = after;
        jobs.push((tile, from, len, here));
    }
    let run = |(tile, from, len, out): (u64, usize, usize, &mut [u8])| -> Result<()> {
        if out.len() == len {
            return archive.inner.decode_tile(info.id, tile, out);
        }
        let whole = archive.cached_tile(info, tile, out.len() as u64, true)?;
        out.copy_from_slice(&whole[from..from + out.len()]);
        Ok(())
    };
    if parallel { jobs.into_par_iter().try_for_each(run) } else { jobs.into_iter().try_for_each(run) }
}
