//! Strips: runs of a chunked array's flattened form that are kept, because their layer is too large.

use crate::archive::Archive;
use crate::error::Result;
use crate::source::Nearby;
use crate::tile::{TileStore, read_run};
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::selection;
use nc3z_format::tile::{TileLayout, Tiling};

/// A run of the flattened array.
pub(super) struct Strip {
    /// Bytes it has at most.
    most: u64,
    first: u64,
    bytes: Vec<u8>,
}

impl Strip {
    pub(super) fn new(most: u64) -> Self {
        Strip { most, first: 0, bytes: Vec::new() }
    }

    /// Releases a strip that ends before byte `done` of the original.
    pub(super) fn release(&mut self, archive: &Archive, array: ArrayId, done: u64) {
        if let Some(last) = (self.first + self.bytes.len() as u64).checked_sub(1)
            && archive
                .arrays()
                .byte_run(archive.layout(), array, last)
                .is_none_or(|(offset, _)| offset < done)
        {
            self.bytes = Vec::new();
        }
    }

    /// Copies a run of the array out of strips, and rebuilds strips as needed.
    pub(super) fn copy(
        &mut self,
        store: &TileStore,
        tiling: &Tiling,
        info: &ArrayInfo,
        mut first: u64,
        mut out: &mut [u8],
    ) -> Result<()> {
        while !out.is_empty() {
            let end = self.first + self.bytes.len() as u64;
            if first < self.first || first >= end {
                self.restore(store, info, tiling, first)?;
                continue;
            }
            let at = usize::try_from(first - self.first).expect("inside the strip");
            let n = (self.bytes.len() - at).min(out.len());
            let (here, rest) = out.split_at_mut(n);
            here.copy_from_slice(&self.bytes[at..at + n]);
            first += n as u64;
            out = rest;
        }
        Ok(())
    }

    /// Restores the strip that begins at byte `first`: as far as it may reach, to a border of chunks where there is one.
    fn restore(&mut self, store: &TileStore, info: &ArrayInfo, tiling: &Tiling, first: u64) -> Result<()> {
        let (shape, widths) = (tiling.shape(), selection::widths(tiling.shape()));
        let chunk = match tiling.layout() {
            TileLayout::Chunked { shape, .. } => shape,
            TileLayout::Linear { .. } => shape,
        };
        // The outermost dimension of which whole indices fit.
        let d = widths.iter().position(|w| *w <= self.most).unwrap_or(widths.len() - 1);
        let index = first / widths[d] % shape[d];
        let mut end = index + (self.most / widths[d]).max(1);
        if end / chunk[d] > index / chunk[d] {
            end = end / chunk[d] * chunk[d];
        }
        let end = first / widths[d] * widths[d] + (end.min(shape[d]) - index) * widths[d];
        self.first = first;
        self.bytes.clear();
        self.bytes.resize(usize::try_from(end - first).expect("a strip is held in memory"), 0);
        read_run(store, &Nearby::default(), info, first, &mut self.bytes)
    }
}
