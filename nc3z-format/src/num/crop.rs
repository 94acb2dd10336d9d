//! Small pieces of samples, on which plans are compared.

use super::Geometry;
use super::mask::Runs;
use super::word::Word;
use std::ops::Range;

/// The least rows of a plane in a crop, and how many first rows and columns are not judged where the sample has more: what
/// differences leave there stands once in a plane or row, but often in crops.
const ROWS: usize = 16;
const BORDER: usize = 3;
/// A small grid cut out of a sample: some columns of some rows of some planes of some volumes.
pub(super) struct Crop<W> {
    pub(super) words: Vec<W>,
    pub(super) geom: Geometry,
    /// One plane of the sample has so many times the elements of one of the crop.
    pub(super) shrink: usize,
    pub(super) border: Border,
}

/// The elements of a crop that are not judged: the first ones of each plane, and of each row.
pub(super) struct Border {
    plane: usize,
    row: usize,
    first_of_plane: usize,
    first_of_row: usize,
}

impl Border {
    /// All are judged.
    pub(super) const NONE: Border =
        Border { plane: usize::MAX, row: usize::MAX, first_of_plane: 0, first_of_row: 0 };

    /// Which of the valid elements are judged, as ranges of their numbers.
    pub(super) fn judged(&self, runs: &Runs) -> Vec<Range<usize>> {
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

/// Cuts about `len` elements out of a sample, `part` eighths away from its beginning.
pub(super) fn crop<W: Word>(sample: &[W], geom: &Geometry, len: usize, part: usize) -> Crop<W> {
    let n = sample.len();
    let place = |all: usize, taken: usize| (all - taken) * part / 8;
    let Some(row) = Geometry::usable(geom.row, n).filter(|&r| n / r >= 2 && n > len) else {
        let taken = n.min(len);
        let from = place(n, taken);
        let words = sample[from..from + taken].to_vec();
        return Crop { words, geom: *geom, shrink: 1, border: Border::NONE };
    };
    let multiple = |s: u64, of: usize| Geometry::usable(s, n).filter(|s| s.is_multiple_of(of) && *s > of);
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
    for v in 0..volumes {
        for p in 0..planes {
            for r in 0..rows {
                let at = first + v * volume.unwrap_or(0) + p * plane.unwrap_or(0) + r * row;
                words.extend_from_slice(sample.get(at..at + columns).unwrap_or_default());
            }
        }
    }
    let used = |on: bool, s: usize| if on { s as u64 } else { 0 };
    let geom = Geometry {
        row: columns as u64,
        plane: used(plane.is_some(), rows * columns),
        volume: used(volume.is_some(), planes * rows * columns),
    };
    let shrink = plane.map_or(1, |p| p / (rows * columns).max(1)).max(1);
    let first_of_plane = if rows < all_rows && rows > 2 * BORDER { BORDER * columns } else { 0 };
    let first_of_row = if columns < row { BORDER } else { 0 };
    let border = Border { plane: rows * columns, row: columns, first_of_plane, first_of_row };
    Crop { words, geom, shrink, border }
}

/// Crops of all samples: one of each, or three of a lone one.
pub(super) fn crops<W: Word>(samples: &[&[W]], geom: &Geometry, len: usize) -> Vec<Crop<W>> {
    match samples {
        [sample] if sample.len() > len => [1, 4, 7].map(|part| crop(sample, geom, len, part)).into(),
        _ => (1..).step_by(3).zip(samples).map(|(part, s)| crop(s, geom, len, part.min(7))).collect(),
    }
}

/// Keeps these ranges.
pub(super) fn compact<W: Word>(words: &mut Vec<W>, ranges: &[Range<usize>]) {
    let mut kept = 0;
    for range in ranges {
        words.copy_within(range.clone(), kept);
        kept += range.len();
    }
    words.truncate(kept);
}
