//! Collects the runs and rows of a band until its end.

use super::{Bands, Each, FORCED};
use crate::error::Result;
use nc3z_format::selection::{Placed, Row, Run};

/// Runs of linear tiles, until the end of their band.
pub(super) struct LinearBand<'b, 'e> {
    bands: &'b Bands,
    each: Each<'e>,
    runs: Vec<Run>,
    bytes: u64,
    last: Option<u64>,
}

impl<'b, 'e> LinearBand<'b, 'e> {
    pub(super) fn new(bands: &'b Bands, each: Each<'e>) -> Self {
        LinearBand { bands, each, runs: Vec::new(), bytes: 0, last: None }
    }

    /// Adds a run after the others; ends bands before and within it.
    pub(super) fn push(&mut self, mut run: Run) -> Result<()> {
        let Bands { ref tile, tile_bytes, most_bytes, most_boxes, .. } = *self.bands;
        loop {
            let first = run.low / tile[0];
            let is_new = self.last.is_none_or(|last| first > last);
            let full = self.bytes >= most_bytes || self.runs.len() >= most_boxes;
            if full && is_new || self.runs.len() >= most_boxes * FORCED {
                self.end()?;
            }
            let room = (most_bytes.saturating_sub(self.bytes) / tile_bytes).max(1);
            let end = first.saturating_add(room).saturating_mul(tile[0]);
            let here = (end - run.low).div_ceil(run.step).min(run.count);
            let taken = run.part(0, here);
            let last = taken.last() / tile[0];
            let touched = (last - first + u64::from(is_new)).min(here);
            self.bytes = self.bytes.saturating_add(touched.saturating_mul(tile_bytes));
            self.last = Some(last);
            self.runs.push(taken);
            if here == run.count {
                return Ok(());
            }
            run = run.part(here, run.count);
            self.end()?;
        }
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.runs);
        (self.bytes, self.last) = (0, None);
        if runs.is_empty() { Ok(()) } else { (self.each)(Placed::grid(vec![runs], &self.bands.array())?) }
    }

    pub(super) fn finish_with(mut self, run: Run) -> Result<()> {
        self.push(run)?;
        self.end()
    }
}

/// Rows, until the end of their band.
pub(super) struct RowBand<'b, 'e> {
    bands: &'b Bands,
    each: Each<'e>,
    rows: Vec<Row>,
    bytes: u64,
    last: Option<u64>,
}

impl<'b, 'e> RowBand<'b, 'e> {
    pub(super) fn new(bands: &'b Bands, each: Each<'e>) -> Self {
        RowBand { bands, each, rows: Vec::new(), bytes: 0, last: None }
    }

    /// Marks the end of a tile: the next rows are in another one.
    pub(super) fn tile_ends(&mut self) -> Result<()> {
        self.last = None;
        if self.bytes >= self.bands.most_bytes || self.rows.len() >= self.bands.most_boxes {
            self.end()?;
        }
        Ok(())
    }

    pub(super) fn push(&mut self, row: Row) -> Result<()> {
        // The tile, if `tile_ends` does not mark the ends of tiles.
        let tile = if self.bands.is_linear { row.at[0] / self.bands.tile[0] } else { 0 };
        if self.last.is_some_and(|last| last != tile) {
            self.tile_ends()?;
        }
        if self.last.is_none() {
            let end = row.at.last().copied().unwrap_or(0) + row.count - 1;
            let tiles = if self.bands.is_linear { end / self.bands.tile[0] - tile + 1 } else { 1 };
            self.bytes = self.bytes.saturating_add(self.bands.tile_bytes.saturating_mul(tiles));
        }
        self.last = Some(tile);
        if self.rows.len() >= self.bands.most_boxes * FORCED {
            self.end()?;
            self.last = Some(tile);
        }
        self.rows.push(row);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        (self.bytes, self.last) = (0, None);
        if rows.is_empty() { Ok(()) } else { (self.each)(Placed::rows(rows, &self.bands.array())?) }
    }
}
