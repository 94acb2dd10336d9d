//! Archives as array sources.

use super::pieces;
use super::source::ArraySource;
use crate::archive::Archive;
use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::tile::Tiling;
use std::borrow::Cow;
use std::ops::Range;

impl ArraySource for Archive {
    fn header(&self) -> &Header {
        Archive::header(self)
    }

    fn layout(&self) -> &Layout {
        Archive::layout(self)
    }

    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>> {
        let v = self.variable_layout(var)?;
        if v.owned {
            return Ok(Cow::Borrowed(&self.arrays().variable(var).tiling));
        }
        pieces::tiling(var, v).map(Cow::Owned)
    }

    fn read_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()> {
        let v = self.variable_layout(var)?;
        if v.owned {
            return self.read_tile_into(ArrayId::variable(var.0), tile, out);
        }
        let first = tile * pieces::piece_elements(v);
        pieces::read_elements(v, first, out, &|at, out| self.read_original(at, out))
    }

    fn view_tile(
        &self,
        var: VarId,
        tile: u64,
        span: Range<u64>,
        sink: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let v = self.variable_layout(var)?;
        if v.owned {
            return sink(0, &Archive::read_tile(self, ArrayId::variable(var.0), tile)?);
        }
        let mut bytes = pieces::buffer(v, &span)?;
        let first = tile * pieces::piece_elements(v) + span.start;
        pieces::read_elements(v, first, &mut bytes, &|at, out| self.read_original(at, out))?;
        sink(span.start, &bytes)
    }

    fn decode_cost(&self, var: VarId, tile: u64) -> u64 {
        let info = self.arrays().get(ArrayId::variable(var.0));
        info.and_then(|i| i.tile_len(tile).ok()).map_or(0, |n| n as u64)
    }

    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        self.read_variable_range(var, first, out)
    }

    fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read_original(offset, out)
    }

    fn as_archive(&self) -> Option<&Archive> {
        Some(self)
    }
}
