//! Classic files as array sources. Nothing is decoded or cached; elements are copied directly from a map.

use super::mapped_read;
use super::pieces::{self, FileBytes};
use super::source::ArraySource;
use crate::classic::ClassicFile;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{Header, Layout, VarId, VarLayout};
use nc3z_format::plan::TilePlan;
use nc3z_format::tile::Tiling;
use std::borrow::Cow;
use std::sync::Arc;

fn variable(file: &ClassicFile, var: VarId) -> Result<&VarLayout> {
    let known = file.layout().variables.len();
    let missing = || FormatError::invalid(format!("no variable {}; there are {known}", var.0)).into();
    file.layout().variable(var).ok_or_else(missing)
}

impl FileBytes for ClassicFile {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.source().read_into(offset, out)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.source().read_at(offset, len)
    }

    fn reads_apart(&self) -> bool {
        self.source().reach().fetches_ahead()
    }
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

    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()> {
        pieces::fill(variable(self, var)?, tile, out, self)
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, _: bool) -> Result<(u64, Bytes)> {
        pieces::view(variable(self, var)?, tile, self)
    }

    fn mapped_bytes(&self, var: VarId) -> Option<Bytes> {
        let (begin, len) = mapped_read::extent(variable(self, var).ok()?)?;
        self.source().lends().then(|| self.source().read_at(begin, len).ok())?
    }

    fn fetches_ahead(&self) -> bool {
        self.source().reach().fetches_ahead()
    }

    fn fetch_parts(
        &self,
        var: VarId,
        tiles: &[TilePlan<'_>],
    ) -> Result<(usize, Option<Arc<dyn ArraySource>>)> {
        let (taken, nearby) = pieces::fetch(variable(self, var)?, tiles, &**self.source())?;
        Ok((taken, Some(Arc::new(self.with_nearby(nearby)))))
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
