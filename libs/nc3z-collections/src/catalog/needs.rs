//! Which ranges of bytes a request needs, from the catalogue alone.

use super::member::{Head, HeadKind, Range};
use crate::error::{Error, Result};
use nc3z_format::classic::VarId;
use nc3z_format::plan::Plan;
use nc3z_format::{Hyperslab, TileLayout};
use nc3z_reader::Dataset;
use std::collections::BTreeSet;

/// Tiles and ranges of a request at most: some 400 MB. Catalogues that are forged claim more.
const MOST: usize = 16 << 20;

/// The tiles and bytes of one file that a request reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Need {
    /// Tiles that have selected elements, and all tiles of the variable.
    pub tiles: (u64, u64),
    /// Ranges of bytes in the object, in the order of their offsets, not adjacent.
    pub ranges: Vec<Range>,
    /// True if the file, or its group in a packed bundle, is read as a whole.
    pub whole: bool,
}

impl Need {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.len))
    }
}

/// A variable as the catalogue has it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The file of the request.
    pub head: &'a Head,
    /// The file as the catalogue describes it.
    pub dataset: &'a Dataset,
    /// The variable's position in the header.
    pub variable: VarId,
    /// Its division into tiles.
    pub layout: &'a TileLayout,
    /// The ranges of its tiles.
    pub places: &'a [Vec<Range>],
}

/// Returns the tiles and bytes that some hyperslabs of a variable read.
///
/// # Errors
/// A hyperslab that is not inside the variable; a catalogue that contradicts itself.
pub fn need(asked: Asked<'_>, slabs: &[Hyperslab]) -> Result<Need> {
    let Asked { head, variable, .. } = asked;
    let bad = || Error::refused(format!("the catalogue does not have the tiles of variable {}", variable.0));
    let shape = asked.dataset.layout().variable(variable).ok_or_else(bad)?;
    let tiling = asked.layout.bind(&shape.shape, shape.present)?;
    let mut tiles = BTreeSet::new();
    let mut ranges = Vec::new();
    for slab in slabs {
        for tile in Plan::with_tiling(&tiling, slab)?.tiles() {
            let known = !tiles.insert(tile.tile);
            if tiles.len() > MOST || ranges.len() > MOST {
                return Err(Error::refused(format!(
                    "the request takes more than {MOST} tiles or ranges of one file: select less"
                )));
            }
            if head.kind == HeadKind::Classic {
                let TileLayout::Linear { len } = *asked.layout else { return Err(bad()) };
                let (first, span) = (tile.tile.saturating_mul(len), tile.span());
                let elements = first.saturating_add(span.start)..first.saturating_add(span.end);
                classic(shape, elements, &mut ranges);
            } else if !known && head.kind == HeadKind::Archive {
                let places = usize::try_from(tile.tile).ok().and_then(|n| asked.places.get(n));
                ranges.extend(places.ok_or_else(bad)?);
            }
        }
    }
    let touched = tiles.len() as u64;
    let whole = matches!(head.kind, HeadKind::Short | HeadKind::Packed) && touched > 0;
    if whole {
        ranges = vec![Range { offset: 0, len: head.stored }];
    }
    if head.kind == HeadKind::Classic {
        // In a bundle, headers of blocks are between its bytes: each range moves by at most their length.
        let more = head.stored.saturating_sub(head.len);
        ranges.iter_mut().for_each(|range| range.len = range.len.saturating_add(more));
    }
    let mut need = Need { tiles: (touched, tiling.tile_count()), ranges: merged(ranges), whole };
    for range in &mut need.ranges {
        range.offset = range.offset.saturating_add(head.offset);
    }
    Ok(need)
}

/// The ranges of some elements of a classic file.
fn classic(
    layout: &nc3z_format::classic::VarLayout,
    elements: std::ops::Range<u64>,
    ranges: &mut Vec<Range>,
) {
    let mut at = elements.start;
    while at < elements.end
        && let Some(run) = layout.element_run(at)
    {
        let count = run.count.min(elements.end - at);
        ranges.push(Range { offset: run.offset, len: count * layout.element_size() });
        at += count;
        if ranges.len() > MOST {
            return;
        }
    }
}

/// Sorts ranges, and joins those that touch or overlap.
pub(super) fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut out: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.offset.saturating_add(last.len) >= range.offset => {
                let end = range.offset.saturating_add(range.len);
                last.len = last.len.max(end.saturating_sub(last.offset));
            }
            _ => out.push(range),
        }
    }
    out
}
