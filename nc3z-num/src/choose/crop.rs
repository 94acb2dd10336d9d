//! Small pieces of samples, on which plans are compared.

use crate::encode::{ElementFilter, Runs, Values, of_plane};
use crate::geometry::Geometry;
use crate::scale_offset::{ScaleOffset, Segments};
use crate::word::Word;
use std::ops::Range;

/// The smallest number of rows of a plane in a crop, and the number of first rows and columns that are not judged
/// if the sample has more. Differences leave large values there: once in a plane or row, but more often in crops.
const ROWS: usize = 16;
const BORDER: usize = 3;
/// The interpretation of a sample's elements.
#[derive(Clone, Copy)]
pub(crate) struct Look<W> {
    pub(crate) mask: Option<W>,
    pub(crate) float: bool,
}

/// A small grid cut out of a sample: some columns of some rows of some planes of some volumes.
pub(crate) struct Crop<W> {
    pub(crate) words: Vec<W>,
    pub(crate) geom: Geometry,
    /// The number of elements in a plane of the sample divided by that of the crop.
    pub(crate) shrink: usize,
    pub(crate) border: Border,
    /// The scale-offsets of the sample's whole planes, for the planes of the crop: crops seldom contain the
    /// minimum.
    pub(crate) planes: Option<Segments>,
}

/// The elements of a crop that are not judged: the first ones of each plane, and of each row.
pub(crate) struct Border {
    plane: usize,
    row: usize,
    first_of_plane: usize,
    first_of_row: usize,
}

impl Border {
    /// All elements are judged.
    pub(crate) const NONE: Border =
        Border { plane: usize::MAX, row: usize::MAX, first_of_plane: 0, first_of_row: 0 };

    /// Returns the judged elements as ranges of the valid elements' numbers.
    pub(crate) fn judged(&self, runs: &Runs) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut before = 0;
        for run in &runs.list {
            let mut at = run.start;
            while at < run.end {
                let row = at / self.row * self.row;
                let end = run.end.min(row.saturating_add(self.row));
                let from = at.max(row + self.first_of_row);
                if from < end && row % self.plane >= self.first_of_plane {
                    ranges.push(before + from - run.start..before + end - run.start);
                }
                at = end;
            }
            before += run.len();
        }
        ranges
    }
}

/// Cuts about `len` elements from a sample, at `part` eighths of its length.
pub(crate) fn crop<W: Word>(
    sample: &[W],
    geom: &Geometry,
    len: usize,
    part: usize,
    look: Look<W>,
) -> Crop<W> {
    let n = sample.len();
    let place = |all: usize, taken: usize| (all - taken) / 8 * part + (all - taken) % 8 * part / 8;
    let Some(row) = Geometry::usable(geom.row, n).filter(|&r| n / r >= 2 && n > len) else {
        let taken = n.min(len);
        let from = place(n, taken);
        let words = sample[from..from + taken].to_vec();
        return Crop { words, geom: *geom, shrink: 1, border: Border::NONE, planes: None };
    };
    let multiple =
        |s: Option<u64>, of: usize| Geometry::usable(s, n).filter(|s| s.is_multiple_of(of) && *s > of);
    let plane = multiple(geom.plane, row);
    let volume = plane.and_then(|p| multiple(geom.volume, p));
    let volumes = volume.map_or(1, |v| (n / v).clamp(1, 2));
    let planes =
        plane.map_or(1, |p| (volume.unwrap_or(n) / p).min(n / p).clamp(1, if volumes > 1 { 2 } else { 4 }));
    let all_rows = plane.unwrap_or(n) / row;
    let columns = row.min((len / (volumes * planes * ROWS.min(all_rows))).clamp(64, 1 << 10));
    let rows = (len / (volumes * planes * columns)).max(2).min(all_rows);
    let first_volume = volume.map_or(0, |v| place(n / v.max(1), volumes.min(n / v.max(1))) * v);
    let first_plane = plane.map_or(0, |p| {
        let all = volume.map_or(n / p, |v| v / p);
        place(all, planes.min(all)) * p
    });
    let first = first_volume + first_plane + place(all_rows, rows) * row + place(row, columns);
    let mut words = Vec::with_capacity(volumes * planes * rows * columns);
    let mut known = PlaneScales { wanted: volumes * planes, missed: 0, last: None, list: Vec::new() };
    for v in 0..volumes {
        for p in 0..planes {
            if let Some(len) = plane {
                let at = first_volume + first_plane + v * volume.unwrap_or(0) + p * len;
                let whole = sample.get(at..n.min(at + len)).unwrap_or_default();
                known.add(whole, look);
            }
            for r in 0..rows {
                let at = first + v * volume.unwrap_or(0) + p * plane.unwrap_or(0) + r * row;
                words.extend_from_slice(sample.get(at..at + columns).unwrap_or_default());
            }
        }
    }
    let used = |on: bool, s: usize| on.then_some(s as u64);
    let geom = Geometry {
        row: Some(columns as u64),
        plane: used(plane.is_some(), rows * columns),
        volume: used(volume.is_some(), planes * rows * columns),
    };
    let shrink = plane.map_or(1, |p| p / (rows * columns).max(1)).max(1);
    let first_of_plane = if rows < all_rows && rows > 2 * BORDER { BORDER * columns } else { 0 };
    let first_of_row = if columns < row { BORDER } else { 0 };
    let border = Border { plane: rows * columns, row: columns, first_of_plane, first_of_row };
    let planes = known.are_enough().then(|| Segments { len: rows * columns, list: known.list });
    Crop { words, geom, shrink, border, planes }
}

/// The scale-offsets of whole planes. The search stops when a third of the planes has none.
struct PlaneScales {
    wanted: usize,
    missed: usize,
    /// The scale-offset of the last plane that has one.
    last: Option<ScaleOffset>,
    list: Vec<ScaleOffset>,
}

impl PlaneScales {
    /// Adds the scale-offset of the next plane. An empty plane ends the search.
    fn add<W: Word>(&mut self, plane: &[W], look: Look<W>) {
        if plane.is_empty() || !look.float {
            self.missed = self.wanted;
        }
        if self.missed * 3 >= self.wanted {
            return;
        }
        let found = of_plane(&Values::fewer_of(plane, ElementFilter::Not(look.mask)), self.last);
        self.last = found.or(self.last);
        self.missed += usize::from(found.is_none());
        self.list.push(found.unwrap_or(ScaleOffset { off: 0.0, step: 1.0 }));
    }

    fn are_enough(&self) -> bool {
        self.list.len() == self.wanted && self.missed * 3 < self.wanted
    }
}

/// Returns crops of all samples: one of each, or three of a single sample.
pub(crate) fn crops<W: Word>(samples: &[&[W]], geom: &Geometry, len: usize, look: Look<W>) -> Vec<Crop<W>> {
    match samples {
        [sample] if sample.len() > len => [1, 4, 7].map(|part| crop(sample, geom, len, part, look)).into(),
        _ => places(samples).zip(samples).map(|(part, s)| crop(s, geom, len, part, look)).collect(),
    }
}

/// Returns parts of samples with at most `len` elements together, whole planes or rows if those are short enough,
/// at the positions of the crops. Samples that are shorter are returned whole.
pub(crate) fn parts<'a, W>(samples: &[&'a [W]], geom: &Geometry, len: usize) -> Vec<&'a [W]> {
    let each = len / samples.len().max(1);
    let part = |(eighths, sample): (usize, &&'a [W])| {
        let all = sample.len();
        if all <= each {
            return *sample;
        }
        let lengths = [geom.plane, geom.row].into_iter().filter_map(|s| Geometry::usable(s, all));
        let unit = lengths.filter(|&s| s <= each).max().unwrap_or(1);
        let taken = each / unit * unit;
        let from = (all - taken) / unit * eighths / 8 * unit;
        &sample[from..from + taken]
    };
    places(samples).zip(samples).map(part).collect()
}

/// Returns the positions of the cuts in the samples, in eighths of their lengths.
fn places<W>(samples: &[&[W]]) -> impl Iterator<Item = usize> {
    let lone = samples.len() == 1;
    (0..).map(move |i: usize| if lone { 4 } else { (1 + 3 * i).min(7) })
}

/// Keeps only these ranges.
pub(crate) fn compact<W: Word>(words: &mut Vec<W>, ranges: &[Range<usize>]) {
    let mut kept = 0;
    for range in ranges {
        words.copy_within(range.clone(), kept);
        kept += range.len();
    }
    words.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_planes_or_rows_within_their_samples() {
        let words: Vec<u32> = (0..60_000).collect();
        let geom = Geometry { row: Some(100), plane: Some(5000), volume: None };
        for (samples, len, unit) in [
            (vec![&words[..]], 20_000, 5000),
            (vec![&words[..]], 3000, 100),
            (vec![&words[..], &words[..10_000], &words[..700]], 18_000, 5000),
            (vec![&words[..], &words[..]], 90, 1),
        ] {
            let found = parts(&samples, &geom, len);
            assert_eq!(found.len(), samples.len());
            assert!(found.iter().map(|p| p.len()).sum::<usize>() <= len);
            for (part, sample) in found.iter().zip(&samples) {
                let from = part[0] as usize;
                assert_eq!(*part, &sample[from..from + part.len()]);
                assert!(
                    part.len() == sample.len()
                        || (from.is_multiple_of(unit) && part.len().is_multiple_of(unit))
                );
            }
        }
        assert_eq!(parts(&[&words[..]], &geom, usize::MAX), [&words[..]]);
    }
}
