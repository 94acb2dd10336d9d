//! The values of a picture: at most as many as it can show, unpacked, with NaN where one is missing.

use crate::cell_positions::CellPositions;
use crate::dates::Dates;
use crate::shown::Shown;
use crate::ticks::number;
use crate::{Error, Note, Options, Result};
use nc3z_format::NcType;
use nc3z_format::classic::DimId;
use nc3z_format::decode_value::Decoding;
use nc3z_look::coordinate::Coordinate;
use nc3z_look::selection::{Segment, Selection};
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};

/// The maximal number of values that are read along an axis of a map.
const MAP: u64 = 1500;
const SERIES: u64 = 1 << 28;
/// The number of values of a series that are in memory at a time.
const PART: u64 = 1 << 18;

/// A dimension that becomes an axis.
pub(super) struct Dim {
    pub(super) id: DimId,
    pub(super) name: String,
    /// The indices of the selection.
    pub(super) segments: Vec<Segment>,
    /// The positions in them that are drawn. None means all.
    pub(super) kept: Option<Vec<u64>>,
}

impl Dim {
    /// The number of its indices.
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|s| usize::try_from(s.count).unwrap_or(usize::MAX)).sum()
    }

    /// Returns the values of a coordinate of this dimension where a value is drawn.
    pub(super) fn read(&self, coordinate: &Coordinate) -> Result<Vec<f64>> {
        let selection = Selection::new(vec![self.segments.clone()]);
        let stored = |selection: &Selection| coordinate.values(selection.segments(0));
        let Some(kept) = &self.kept else { return Ok(stored(&selection)?) };
        let mut out = Vec::with_capacity(kept.len());
        for part in kept.chunk_by(|a, b| a / PART == b / PART) {
            let from = part[0];
            let values = stored(&selection.part(0, from, part[part.len() - 1] + 1))?;
            for n in part {
                out.push(values.get(position(n - from)?).copied().unwrap_or(f64::NAN));
            }
        }
        Ok(out)
    }

    /// Returns the values of a variable over this dimension where a value is drawn. Of its other dimensions, `all` has the indices.
    pub(super) fn read_variable(
        &self,
        variable: &Variable,
        all: &[(DimId, Vec<Segment>)],
    ) -> Result<Vec<f64>> {
        let dims = &variable.header().dimensions;
        let Some(along) = dims.iter().position(|d| *d == self.id) else { return Ok(Vec::new()) };
        let segments = dims.iter().map(|d| {
            let first = Segment::at(0);
            let found = all.iter().find(|(id, _)| id == d).and_then(|(_, segments)| segments.first());
            let first = found.map_or(first, |s| Segment { start: s.start, ..first });
            if *d == self.id { self.segments.clone() } else { vec![first] }
        });
        let selection = Selection::new(segments.collect());
        let decoding = Decoding::without_bounds(variable.header());
        let Some(kept) = &self.kept else { return read(variable, &decoding, &selection) };
        let mut out = Vec::with_capacity(kept.len());
        for part in kept.chunk_by(|a, b| a / PART == b / PART) {
            let (from, to) = (part[0], part[part.len() - 1] + 1);
            let values = read(variable, &decoding, &selection.part(along, from, to))?;
            for n in part {
                out.push(values.get(position(n - from)?).copied().unwrap_or(f64::NAN));
            }
        }
        Ok(out)
    }

    /// Returns the indices where a value is drawn.
    pub(super) fn indices(&self) -> Vec<f64> {
        let selection = Selection::new(vec![self.segments.clone()]);
        let all = 0..selection.elements();
        let kept = self.kept.clone().unwrap_or_else(|| all.collect());
        #[expect(clippy::cast_precision_loss, reason = "an index on an axis")]
        kept.into_iter().map(|n| selection.index(0, n) as f64).collect()
    }
}

/// The values and dimensions of a picture.
pub(super) struct Field {
    /// One or two dimensions, slowest first; none for a single value.
    pub(super) dims: Vec<Dim>,
    /// The indices of each dimension.
    pub(super) all: Vec<(DimId, Vec<Segment>)>,
    /// The positions of the cells, if variables over these dimensions contain them.
    pub(super) place: Option<CellPositions>,
    pub(super) values: Vec<f64>,
    /// The fixed indices of the other dimensions, as text.
    pub(super) fixed: Vec<String>,
    pub(super) notes: Vec<Note>,
}

impl Field {
    /// Reads the selection of a variable. For a long series, only the values that are visible in a picture are kept.
    pub(super) fn read(
        dataset: &Dataset,
        variable: &Variable,
        selection: &Selection,
        options: &Options,
    ) -> Result<Self> {
        if variable.ty() == NcType::Char {
            return Err(Error::no_picture(variable, "is text, which cannot be drawn"));
        }
        let counts = selection.counts();
        if counts.contains(&0) {
            return Err(Error::no_picture(variable, "has no values there"));
        }
        let long: Vec<usize> = (0..counts.len()).filter(|&d| counts[d] > 1).collect();
        // If more than two dimensions are longer than one, the last two make the map. Of the others the first
        // index is drawn.
        let ids: Vec<DimId> = long.iter().map(|&d| variable.header().dimensions[d]).collect();
        let has_axes = options.x.is_some() || options.y.is_some();
        let place = if has_axes { None } else { CellPositions::new(dataset, variable, &ids) };
        let kept = &long[long.len().saturating_sub(place.as_ref().map_or(2, |p| p.rank))..];
        let room = if kept.len() == 2 { MAP } else { SERIES };
        let (mut fixed, mut notes, mut dims, mut each) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let named = variable.dimensions().zip(&variable.header().dimensions).enumerate();
        for (d, (dim, &id)) in named {
            let name = text::name(&dim.name);
            let mut segments = selection.segments(d).to_vec();
            if kept.contains(&d) {
                let every = counts[d].div_ceil(room);
                if every > 1 {
                    notes.push(Note::Thinned { dimension: name.clone(), every });
                    segments = thinned(&segments, every);
                }
                dims.push(Dim { id, name, segments: segments.clone(), kept: None });
            } else {
                let at = selection.index(d, 0);
                let value = coordinate(dataset, id, at)?.unwrap_or_else(|| format!("index {at}"));
                if counts[d] > 1 {
                    notes.push(Note::First { dimension: name.clone(), value: value.clone() });
                }
                fixed.push(format!("{name} = {value}"));
                segments = vec![Segment::at(at)];
            }
            each.push((id, segments));
        }
        let decoding = Decoding::new(dataset.header(), variable.header());
        let parts = Selection::new(each.iter().map(|(_, segments)| segments.clone()).collect());
        let selection = parts.with_mask(selection.shared_mask());
        let values = match (&mut dims[..], kept, &place) {
            ([dim], [along], None) => {
                let (kept, values) = series(variable, &decoding, &selection, *along, options.width)?;
                dim.kept = kept;
                values
            }
            _ => read(variable, &decoding, &selection)?,
        };
        Ok(Field { dims, all: each, place, values, fixed, notes })
    }
}

/// Returns the values of a series. For a long one, the values that are visible in a picture of `columns`
/// columns, and their positions.
fn series(
    variable: &Variable,
    decoding: &Decoding,
    selection: &Selection,
    along: usize,
    columns: u32,
) -> Result<(Option<Vec<u64>>, Vec<f64>)> {
    let count = selection.elements();
    let mut shown = Shown::new(count, columns);
    if shown.is_all() {
        return Ok((None, read(variable, decoding, selection)?));
    }
    let mut from = 0;
    while from < count {
        let to = (from + PART).min(count);
        read(variable, decoding, &selection.part(along, from, to))?.into_iter().for_each(|v| shown.add(v));
        from = to;
    }
    let (kept, values) = shown.finish();
    Ok((Some(kept), values))
}

fn thinned(segments: &[Segment], every: u64) -> Vec<Segment> {
    let mut skip = 0;
    let mut out = Vec::new();
    for s in segments {
        let left = s.count.saturating_sub(skip);
        let count = left.div_ceil(every);
        if count > 0 {
            let start = s.index(skip);
            let stride = s.stride.saturating_mul(i64::try_from(every).unwrap_or(i64::MAX));
            // A segment of one index needs no stride, and a large one would lead outside the dimension.
            out.push(Segment { start, count, stride: if count == 1 { 1 } else { stride } });
        }
        skip = (skip + count * every).saturating_sub(s.count);
    }
    out
}

/// Returns the coordinate's value at an index, as text.
fn coordinate(dataset: &Dataset, id: DimId, at: u64) -> Result<Option<String>> {
    let Some(coordinate) = Coordinate::new(dataset, id) else { return Ok(None) };
    let values = coordinate.values(&[Segment::at(at)])?;
    let Some(&value) = values.first().filter(|v| !v.is_nan()) else { return Ok(None) };
    let units = super::units(coordinate.variable());
    Ok(Some(match coordinate.time() {
        Some(unit) => Dates::new(*unit, unit.calendar()).show(value),
        None => number(value) + &units.map_or_else(String::new, |u| format!(" {u}")),
    }))
}

/// Returns the values of a selection, slowest dimension first, with NaN for values that are missing or not
/// finite.
fn read(variable: &Variable, decoding: &Decoding, selection: &Selection) -> Result<Vec<f64>> {
    let mut values = nc3z_look::values::read(variable, decoding, selection)?;
    values.iter_mut().filter(|v| v.is_infinite()).for_each(|v| *v = f64::NAN);
    Ok(values)
}

/// Converts a number of values to `usize`, or returns an error.
fn position(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(Error::drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_goes_on_across_segments() {
        let all = |segments: &[Segment]| {
            let each = segments.iter().flat_map(|s| {
                let s = *s;
                (0..s.count).map(move |n| s.index(n))
            });
            each.collect::<Vec<u64>>()
        };
        let segments = [Segment::new(350, 10), Segment::new(0, 7)];
        for every in 1..20 {
            let expected: Vec<u64> =
                all(&segments).into_iter().step_by(usize::try_from(every).unwrap()).collect();
            assert_eq!(all(&thinned(&segments, every)), expected, "{every}");
        }
        let back = [Segment { start: 9, count: 10, stride: -1 }];
        assert_eq!(all(&thinned(&back, 4)), [9, 5, 1]);
    }
}
