//! Collects the runs and segments of a band until its end.

use super::runs::later;
use super::{Bands, Each, FORCED};
use crate::error::Result;
use nc3z_staged::{FlatRun, IndexSelection, Segment};

/// Runs of linear tiles, until the end of their band.
pub(super) struct LinearBand<'b, 'e> {
    bands: &'b Bands,
    each: Each<'e>,
    runs: Vec<FlatRun>,
    bytes: usize,
    last: Option<usize>,
}

impl<'b, 'e> LinearBand<'b, 'e> {
    pub(super) fn new(bands: &'b Bands, each: Each<'e>) -> Self {
        LinearBand { bands, each, runs: Vec::new(), bytes: 0, last: None }
    }

    /// Adds a run after the others; ends bands before and within it.
    pub(super) fn push(&mut self, mut run: FlatRun) -> Result<()> {
        let Bands { ref tile, tile_bytes, most_bytes, most_boxes, .. } = *self.bands;
        loop {
            let first = run.at / tile[0];
            let is_new = self.last.is_none_or(|last| first > last);
            let full = self.bytes >= most_bytes || self.runs.len() >= most_boxes;
            if full && is_new || self.runs.len() >= most_boxes * FORCED {
                self.end()?;
            }
            let room = (most_bytes.saturating_sub(self.bytes) / tile_bytes).max(1);
            let end = first.saturating_add(room).saturating_mul(tile[0]);
            let here = (end - run.at).div_ceil(run.step).min(run.count);
            let taken = FlatRun { count: here, ..run };
            let last = (run.at + (here - 1) * run.step) / tile[0];
            let touched = (last - first + usize::from(is_new)).min(here);
            self.bytes = self.bytes.saturating_add(touched.saturating_mul(tile_bytes));
            self.last = Some(last);
            self.runs.push(taken);
            if here == run.count {
                return Ok(());
            }
            run = later(&run, here);
            self.end()?;
        }
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.runs);
        (self.bytes, self.last) = (0, None);
        if runs.is_empty() {
            Ok(())
        } else {
            (self.each)(IndexSelection::grid(vec![runs], &self.bands.array())?)
        }
    }

    pub(super) fn finish_with(mut self, run: FlatRun) -> Result<()> {
        self.push(run)?;
        self.end()
    }
}

/// Segments, until the end of their band.
pub(super) struct SegmentBand<'b, 'e> {
    bands: &'b Bands,
    each: Each<'e>,
    segments: Vec<Segment>,
    bytes: usize,
    last: Option<usize>,
}

impl<'b, 'e> SegmentBand<'b, 'e> {
    pub(super) fn new(bands: &'b Bands, each: Each<'e>) -> Self {
        SegmentBand { bands, each, segments: Vec::new(), bytes: 0, last: None }
    }

    /// Marks the end of a tile: the next segments are in another one.
    pub(super) fn tile_ends(&mut self) -> Result<()> {
        self.last = None;
        if self.bytes >= self.bands.most_bytes || self.segments.len() >= self.bands.most_boxes {
            self.end()?;
        }
        Ok(())
    }

    pub(super) fn push(&mut self, segment: Segment) -> Result<()> {
        // The tile, if `tile_ends` does not mark the ends of tiles.
        let tile = if self.bands.is_linear { segment.at[0] / self.bands.tile[0] } else { 0 };
        if self.last.is_some_and(|last| last != tile) {
            self.tile_ends()?;
        }
        if self.last.is_none() {
            let end = segment.at.last().copied().unwrap_or(0) + segment.count - 1;
            let tiles = if self.bands.is_linear { end / self.bands.tile[0] - tile + 1 } else { 1 };
            self.bytes = self.bytes.saturating_add(self.bands.tile_bytes.saturating_mul(tiles));
        }
        self.last = Some(tile);
        if self.segments.len() >= self.bands.most_boxes * FORCED {
            self.end()?;
            self.last = Some(tile);
        }
        self.segments.push(segment);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let segments = std::mem::take(&mut self.segments);
        (self.bytes, self.last) = (0, None);
        if segments.is_empty() {
            Ok(())
        } else {
            (self.each)(IndexSelection::segments(segments, &self.bands.array())?)
        }
    }
}
