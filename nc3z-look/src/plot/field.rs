//! The values of a picture: no more than it has room for, unpacked, with NaN where there is none.

use super::axis;
use super::number::number;
use super::place::Place;
use super::shown::Shown;
use super::{Error, Note, Result};
use crate::selection::{Segment, Selection, coordinate_variable};
use crate::text;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, DimId};
use nc3z_reader::{Dataset, Variable};

/// Values along an axis of a map, and of a series, that are read at most.
const MAP: u64 = 1500;
const SERIES: u64 = 1 << 28;
/// Values of a series that are held at a time.
const PART: u64 = 1 << 18;

/// A dimension that becomes an axis.
pub(super) struct Dim {
    pub(super) id: DimId,
    pub(super) name: String,
    /// Which of its indices.
    pub(super) segments: Vec<Segment>,
    /// Which of these are drawn, by their positions; all of them where there is no list.
    pub(super) kept: Option<Vec<u64>>,
}

impl Dim {
    /// How many of its indices.
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|s| usize::try_from(s.count).unwrap_or(usize::MAX)).sum()
    }

    /// The values of a variable over this dimension alone, where something is drawn.
    pub(super) fn read(&self, variable: &Variable) -> Result<Vec<f64>> {
        let selection = Selection::new(vec![self.segments.clone()]);
        let stored = |selection: &Selection| -> Result<Vec<f64>> {
            let mut values = Vec::new();
            for (slab, _) in selection.slabs() {
                values.extend(variable.read::<f64>(&slab)?);
            }
            Ok(values)
        };
        let Some(kept) = &self.kept else { return stored(&selection) };
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

    /// The indices where something is drawn.
    pub(super) fn indices(&self) -> Vec<f64> {
        let selection = Selection::new(vec![self.segments.clone()]);
        let all = 0..selection.elements();
        let kept = self.kept.clone().unwrap_or_else(|| all.collect());
        #[expect(clippy::cast_precision_loss, reason = "an index on an axis")]
        kept.into_iter().map(|n| selection.index(0, n) as f64).collect()
    }
}

/// What is drawn.
pub(super) struct Field {
    /// One or two dimensions, slowest first; none where one value is left.
    pub(super) dims: Vec<Dim>,
    /// Which indices of each dimension.
    pub(super) all: Vec<(DimId, Vec<Segment>)>,
    /// Where the cells lie, if variables over these dimensions say it.
    pub(super) place: Option<Place>,
    pub(super) values: Vec<f64>,
    /// What is fixed along the other dimensions.
    pub(super) fixed: Vec<String>,
    /// What the user should know.
    pub(super) notes: Vec<Note>,
}

impl Field {
    /// Reads the selection of a variable. A long series keeps the values that a picture of `columns` columns shows.
    pub(super) fn read(
        dataset: &Dataset,
        variable: &Variable,
        selection: &Selection,
        columns: u32,
    ) -> Result<Self> {
        if variable.ty() == NcType::Char {
            return Err(Error::no_picture(variable, "is text, of which there is no picture"));
        }
        let counts = selection.counts();
        if counts.contains(&0) {
            return Err(Error::no_picture(variable, "has no values there"));
        }
        let long: Vec<usize> = (0..counts.len()).filter(|&d| counts[d] > 1).collect();
        // Of more than two dimensions the last two make the map; of the others the first index is taken.
        let ids: Vec<DimId> = long.iter().map(|&d| variable.header().dimensions[d]).collect();
        let place = Place::of(dataset, variable, &ids);
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
                segments = vec![Segment { start: at, count: 1, stride: 1 }];
            }
            each.push((id, segments));
        }
        let selection = Selection::new(each.iter().map(|(_, segments)| segments.clone()).collect());
        let values = match (&mut dims[..], kept, &place) {
            ([dim], [along], None) => {
                let (kept, values) = series(variable, &selection, *along, columns)?;
                dim.kept = kept;
                values
            }
            _ => read(variable, &selection)?,
        };
        Ok(Field { dims, all: each, place, values, fixed, notes })
    }
}

/// The values of a series; of a long one those that a picture of `columns` columns shows, and their positions.
fn series(
    variable: &Variable,
    selection: &Selection,
    along: usize,
    columns: u32,
) -> Result<(Option<Vec<u64>>, Vec<f64>)> {
    let count = selection.elements();
    let mut shown = Shown::new(count, columns);
    if shown.is_all() {
        return Ok((None, read(variable, selection)?));
    }
    let mut from = 0;
    while from < count {
        let to = (from + PART).min(count);
        read(variable, &selection.part(along, from, to))?.into_iter().for_each(|v| shown.add(v));
        from = to;
    }
    let (kept, values) = shown.finish();
    Ok((Some(kept), values))
}

/// One index in so many.
fn thinned(segments: &[Segment], every: u64) -> Vec<Segment> {
    let mut skip = 0;
    let mut out = Vec::new();
    for s in segments {
        let left = s.count.saturating_sub(skip);
        let count = left.div_ceil(every);
        if count > 0 {
            let start = s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(skip));
            let stride = s.stride.saturating_mul(i64::try_from(every).unwrap_or(i64::MAX));
            // A stride along one index means nothing, and must lead nowhere.
            out.push(Segment { start, count, stride: if count == 1 { 1 } else { stride } });
        }
        skip = (skip + count * every).saturating_sub(s.count);
    }
    out
}

/// What a coordinate variable says of an index.
fn coordinate(dataset: &Dataset, id: DimId, at: u64) -> Result<Option<String>> {
    let Some(variable) = coordinate_variable(dataset, id) else { return Ok(None) };
    let value: Vec<f64> = variable.read(&nc3z_format::Hyperslab::new([at], [1], [1])?)?;
    let Some(&value) = value.first() else { return Ok(None) };
    let units = super::units(&variable);
    Ok(Some(match axis::dates(&variable) {
        Some(dates) => dates.show(value),
        None => number(value) + &units.map_or_else(String::new, |u| format!(" {u}")),
    }))
}

/// The values of a selection, slowest dimension first.
pub(super) fn read(variable: &Variable, selection: &Selection) -> Result<Vec<f64>> {
    let counts: Vec<usize> = selection.counts().into_iter().map(position).collect::<Result<_>>()?;
    let mut values = vec![f64::NAN; counts.iter().product()];
    for (slab, place) in selection.slabs() {
        let part: Vec<f64> = variable.read(&slab)?;
        let mut at: Vec<u64> = vec![0; counts.len()];
        for value in part {
            let mut flat = 0;
            for (d, n) in counts.iter().enumerate() {
                flat = flat * n + position(place[d] + at[d])?;
            }
            values[flat] = value;
            for d in (0..counts.len()).rev() {
                at[d] += 1;
                if at[d] < slab.count[d] {
                    break;
                }
                at[d] = 0;
            }
        }
    }
    let meaning = Meaning::of(variable);
    values.iter_mut().for_each(|v| *v = meaning.value(*v));
    Ok(values)
}

/// A number of values, of which there is room for only so many.
fn position(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(Error::drawing)
}

/// What numbers of a variable stand for.
struct Meaning {
    missing: Vec<f64>,
    min: f64,
    max: f64,
    scale: f64,
    offset: f64,
}

impl Meaning {
    fn of(variable: &Variable) -> Self {
        let header = variable.header();
        let first = |name: &str| variable.attribute(name).and_then(|a| numbers(a).first().copied());
        let mut missing: Vec<f64> = variable.attribute("missing_value").map(numbers).unwrap_or_default();
        // Single bytes have no fill value unless they say so.
        if header.own_fill_value().is_some() || variable.ty().size() > 1 {
            missing.extend(numbers(&Attribute {
                name: Vec::new(),
                ty: variable.ty(),
                values: header.fill_value().to_vec(),
            }));
        }
        if variable.ty() == NcType::Float {
            // An attribute of doubles means the floats that the values are.
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
            missing.iter_mut().for_each(|v| *v = f64::from(*v as f32));
        }
        let range = variable.attribute("valid_range").map(numbers).filter(|r| r.len() == 2);
        let (low, high) = range.map_or((None, None), |r| (Some(r[0]), Some(r[1])));
        Meaning {
            missing,
            min: first("valid_min").or(low).unwrap_or(f64::NEG_INFINITY),
            max: first("valid_max").or(high).unwrap_or(f64::INFINITY),
            scale: first("scale_factor").unwrap_or(1.0),
            offset: first("add_offset").unwrap_or(0.0),
        }
    }

    fn value(&self, v: f64) -> f64 {
        if !v.is_finite() || self.missing.contains(&v) || v < self.min || v > self.max {
            return f64::NAN;
        }
        let v = v * self.scale + self.offset;
        if v.is_finite() { v } else { f64::NAN }
    }
}

/// The numbers of an attribute.
pub(super) fn numbers(a: &Attribute) -> Vec<f64> {
    fn be<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    if a.ty == NcType::Char {
        return Vec::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "values are compared with it as doubles")]
    let number = |bytes: &[u8]| match a.ty {
        NcType::Byte => i8::from_be_bytes(be(bytes)).into(),
        NcType::UByte | NcType::Char => u8::from_be_bytes(be(bytes)).into(),
        NcType::Short => i16::from_be_bytes(be(bytes)).into(),
        NcType::UShort => u16::from_be_bytes(be(bytes)).into(),
        NcType::Int => i32::from_be_bytes(be(bytes)).into(),
        NcType::UInt => u32::from_be_bytes(be(bytes)).into(),
        NcType::Int64 => i64::from_be_bytes(be(bytes)) as f64,
        NcType::UInt64 => u64::from_be_bytes(be(bytes)) as f64,
        NcType::Float => f32::from_be_bytes(be(bytes)).into(),
        NcType::Double => f64::from_be_bytes(be(bytes)),
    };
    a.values.chunks_exact(a.ty.size()).take(64).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_goes_on_across_segments() {
        let all = |segments: &[Segment]| {
            let each = segments.iter().flat_map(|s| {
                let s = *s;
                (0..s.count).map(move |n| s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(n)))
            });
            each.collect::<Vec<u64>>()
        };
        let segments =
            [Segment { start: 350, count: 10, stride: 1 }, Segment { start: 0, count: 7, stride: 1 }];
        for every in 1..20 {
            let expected: Vec<u64> =
                all(&segments).into_iter().step_by(usize::try_from(every).unwrap()).collect();
            assert_eq!(all(&thinned(&segments, every)), expected, "{every}");
        }
        let back = [Segment { start: 9, count: 10, stride: -1 }];
        assert_eq!(all(&thinned(&back, 4)), [9, 5, 1]);
    }

    #[test]
    fn what_is_missing_is_not_a_number() {
        let m = Meaning { missing: vec![-99.0], min: 0.0, max: 10.0, scale: 2.0, offset: 1.0 };
        assert_eq!(m.value(3.0).to_bits(), 7.0_f64.to_bits());
        for v in [-99.0, -1.0, 11.0, f64::NAN, f64::INFINITY] {
            assert!(m.value(v).is_nan(), "{v}");
        }
    }
}
