//! Classic files as array sources: nothing to decode, nothing to cache; a map is copied from directly.

use super::pieces;
use super::source::ArraySource;
use crate::classic::ClassicFile;
use crate::error::Result;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{Header, Layout, VarId, VarLayout};
use nc3z_format::tile::Tiling;
use std::borrow::Cow;
use std::ops::Range;

fn variable(file: &ClassicFile, var: VarId) -> Result<&VarLayout> {
    let known = file.layout().variables.len();
    let missing = || FormatError::invalid(format!("no variable {}, there are {known}", var.0)).into();
    file.layout().variable(var).ok_or_else(missing)
}

impl ArraySource for ClassicFile {
    fn header(&self) -> &Header {
        ClassicFile::header(self)
    }

    fn layout(&self) -> &Layout {
        ClassicFile::layout(self)
    }

    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>> {
        pieces::tiling(var, variable(self, var)?).map(Cow::Owned)
    }

    fn read_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()> {
        let v = variable(self, var)?;
        let first = tile * pieces::piece_elements(v);
        pieces::read_elements(v, first, out, &|at, out| self.source().read_into(at, out))
    }

    fn view_tile(
        &self,
        var: VarId,
        tile: u64,
        span: Range<u64>,
        sink: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let v = variable(self, var)?;
        let first = tile * pieces::piece_elements(v) + span.start;
        let count = span.end - span.start;
        if let Some(run) = v.element_run(first).filter(|run| run.count >= count) {
            let len = usize::try_from(count * v.element_size()).expect("a piece fits in memory");
            return sink(span.start, &self.source().read_at(run.offset, len)?);
        }
        let mut bytes = pieces::buffer(v, &span)?;
        pieces::read_elements(v, first, &mut bytes, &|at, out| self.source().read_into(at, out))?;
        sink(span.start, &bytes)
    }

    fn decode_cost(&self, _: VarId, _: u64) -> u64 {
        0
    }

    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        let v = variable(self, var)?;
        let total = v.present * v.element_size();
        if first.checked_add(out.len() as u64).is_none_or(|end| end > total) {
            let name = ClassicFile::header(self).variables[var.index()].name_lossy().into_owned();
            let left = total.saturating_sub(first);
            let place = format!("variable \"{name}\"");
            return Err(FormatError::truncated(place, None, "elements", out.len() as u64 - left, left).into());
        }
        self.read_array_bytes(ArrayId::variable(var.0), first, out)
    }

    fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.source().read_into(offset, out)
    }

    fn as_classic(&self) -> Option<&ClassicFile> {
        Some(self)
    }
}
