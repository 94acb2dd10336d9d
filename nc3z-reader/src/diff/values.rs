//! Compares two variables, element by element.

use super::DiffOptions;
use super::blocks::Blocks;
use crate::archive::Archive;
use crate::dataset::Variable;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use nc3z_format::archive::{ArrayId, IndexEntry};
use nc3z_format::decode_value::{Decoding, Number};
use nc3z_format::tile::TileLayout;
use nc3z_format::{Hyperslab, NcType};

/// The names of the files in errors.
pub(super) const FILES: [&str; 2] = ["first file", "second file"];

/// Elements that are compared at a time.
const WINDOW: u64 = 1 << 19;

/// The element where two variables differ most.
#[derive(Debug, Clone, PartialEq)]
pub struct Extreme {
    /// The magnitude of the difference, or its fraction of the larger magnitude.
    pub difference: f64,
    /// The index of the element.
    pub index: Vec<u64>,
    /// The element before, big-endian.
    pub before: Vec<u8>,
    /// The element of the second file.
    pub after: Vec<u8>,
}

/// The differences between the elements of two variables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueDiff {
    /// The number of elements that both have.
    pub compared: u64,
    /// The number of elements that differ.
    pub differing: u64,
    /// The number of differing elements that are equal as numbers: zeros of two signs, and NaN with different bits.
    pub equal_in_value: u64,
    /// The largest difference of two numbers. `None` for text, and if each difference has a NaN.
    pub largest: Option<Extreme>,
    /// The largest relative difference.
    pub largest_relative: Option<Extreme>,
    /// For each dimension the first and the last index at which elements differ.
    pub bounds: Vec<(u64, u64)>,
    /// Values that became the fill value.
    pub became_missing: u64,
    /// Fill values that became values.
    pub became_present: u64,
    /// The number of elements that one incomplete file has and the other lacks.
    pub only_one: u64,
    /// The first differing elements: index, old value, new value.
    pub listed: Vec<(Vec<u64>, Vec<u8>, Vec<u8>)>,
}

/// Compares the elements that two variables of the same rank both have. With `shortly` it stops at the first
/// difference.
pub(super) fn compare(
    v: &Variable,
    w: &Variable,
    options: &DiffOptions,
    shortly: bool,
    monitor: &dyn Monitor,
) -> Result<ValueDiff> {
    let shape: Vec<u64> = v.shape().iter().zip(w.shape()).map(|(a, b)| *a.min(b)).collect();
    let mut found = ValueDiff::default();
    let known = VersionPair::new(v, w, options);
    if let Some((a, b)) = parts_of(v, w, options)? {
        return compare_parts(v, w, (&a, &b), options, shortly, monitor);
    }
    let boxes: Box<dyn Iterator<Item = nc3z_format::Result<(Vec<u64>, Hyperslab)>>> = match incomplete(v, w) {
        None => Box::new(Blocks::new(&shape, WINDOW)),
        Some(run) => {
            found.only_one = run.only_one;
            if run.only_one > 0 {
                found.note(&index_of(&vec![0; shape.len()], &shape, run.both), run.only_one, &shape);
            }
            Box::new(windows(&shape, run.both))
        }
    };
    let judge = Judge::new(v, w, options);
    for block in boxes {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let (start, slab) = block?;
        let elements: u64 = slab.count.iter().product();
        found.compared += elements;
        monitor.advance(elements * v.ty().size() as u64);
        if known.as_ref().is_some_and(|known| known.is_equal(&start, elements)) {
            continue;
        }
        let (a, b) = (read(v, &slab, FILES[0])?, read(w, &slab, FILES[1])?);
        if v.ty() == w.ty() && a == b {
            continue;
        }
        let (n, m) = (v.ty().size(), w.ty().size());
        for (i, (x, y)) in a.chunks_exact(n).zip(b.chunks_exact(m)).enumerate() {
            if judge.is_other(x, y) {
                found.add(&judge, index_of(&start, &slab.count, i as u64), x, y);
                if shortly {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// Reads a part of a variable. An error says which file is damaged.
fn read(v: &Variable, slab: &Hyperslab, file: &str) -> Result<Vec<u8>> {
    v.read_bytes(slab).map_err(|e| e.needed_by(file))
}

/// The parts of two variables to compare, if these are not compared as a whole.
fn parts_of(
    v: &Variable,
    w: &Variable,
    options: &DiffOptions,
) -> Result<Option<(Vec<Hyperslab>, Vec<Hyperslab>)>> {
    let Some(part) = &options.part else { return Ok(None) };
    Ok(match (part.slabs(0, v)?, part.slabs(1, w)?) {
        (None, None) => None,
        (a, b) => Some((a.unwrap_or_else(|| vec![v.all()]), b.unwrap_or_else(|| vec![w.all()]))),
    })
}

/// Compares parts: the first hyperslab of one with the first of the other, and so on. Indices are those of the first variable.
fn compare_parts(
    v: &Variable,
    w: &Variable,
    parts: (&[Hyperslab], &[Hyperslab]),
    options: &DiffOptions,
    shortly: bool,
    monitor: &dyn Monitor,
) -> Result<ValueDiff> {
    let counts = |slabs: &[Hyperslab]| slabs.iter().map(|s| s.count.clone()).collect::<Vec<_>>();
    if counts(parts.0) != counts(parts.1) {
        return Err(nc3z_format::Error::invalid(format!(
            "the selected parts of variable \"{}\" have other lengths: {:?} before, {:?} after",
            v.name(),
            counts(parts.0),
            counts(parts.1)
        ))
        .into());
    }
    let mut found = ValueDiff::default();
    let judge = Judge::new(v, w, options);
    let (n, m) = (v.ty().size(), w.ty().size());
    for (before, after) in parts.0.iter().zip(parts.1) {
        for block in Blocks::new(&before.count, WINDOW) {
            if monitor.is_cancelled() {
                return Err(Error::interrupted());
            }
            let (start, slab) = block?;
            let inside = |whole: &Hyperslab| {
                let at = |d: usize| {
                    whole.start[d].wrapping_add(whole.stride[d].cast_unsigned().wrapping_mul(start[d]))
                };
                let start: Vec<u64> = (0..start.len()).map(at).collect();
                Hyperslab::new(start, slab.count.clone(), whole.stride.clone())
            };
            let (a, b) = (read(v, &inside(before)?, FILES[0])?, read(w, &inside(after)?, FILES[1])?);
            let elements: u64 = slab.count.iter().product();
            found.compared += elements;
            monitor.advance(elements * n as u64);
            for (i, (x, y)) in a.chunks_exact(n).zip(b.chunks_exact(m)).enumerate() {
                if judge.is_other(x, y) {
                    let mut index = index_of(&start, &slab.count, i as u64);
                    for (d, i) in index.iter_mut().enumerate() {
                        *i = before.start[d].wrapping_add(before.stride[d].cast_unsigned().wrapping_mul(*i));
                    }
                    found.add(&judge, index, x, y);
                    if shortly {
                        return Ok(found);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// The elements present in two incomplete files, counted from the first.
struct Run {
    /// The number of elements in both files.
    both: u64,
    /// The number of further elements in only one of them.
    only_one: u64,
}

/// The elements present in two variables of one shape, if a file is incomplete. `None` if both are complete.
fn incomplete(v: &Variable, w: &Variable) -> Option<Run> {
    let count = |v: &Variable| v.shape().iter().try_fold(1_u64, |n, len| n.checked_mul(*len));
    let is_whole = |v: &Variable| count(v).is_some_and(|count| v.layout().present >= count);
    // If the shapes differ, missing elements are an error of reading.
    if (is_whole(v) && is_whole(w)) || v.shape() != w.shape() {
        return None;
    }
    let (a, b) = (v.layout().present, w.layout().present);
    Some(Run { both: a.min(b), only_one: a.abs_diff(b) })
}

/// The first elements of an array in boxes of bounded size.
fn windows(
    shape: &[u64],
    elements: u64,
) -> impl Iterator<Item = nc3z_format::Result<(Vec<u64>, Hyperslab)>> + use<'_> {
    let step = usize::try_from(WINDOW).unwrap_or(usize::MAX);
    (0..elements).step_by(step).flat_map(move |from| {
        nc3z_format::selection::boxes(shape, from, elements.min(from + WINDOW)).map(|b| {
            let slab = Hyperslab::new(b.start.clone(), b.count.clone(), vec![1; b.start.len()]);
            slab.map(|slab| (b.start, slab))
        })
    })
}

/// The index of element `i` of a box.
fn index_of(start: &[u64], count: &[u64], mut i: u64) -> Vec<u64> {
    let mut index = start.to_vec();
    for (at, &n) in index.iter_mut().zip(count).rev() {
        *at += i % n;
        i /= n;
    }
    index
}

struct Judge<'a> {
    types: (NcType, NcType),
    decodings: (Decoding, Decoding),
    options: &'a DiffOptions,
}

#[expect(clippy::float_cmp, reason = "equal is what is asked")]
fn are_equal(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a == b,
        (a, b) => a.real() == b.real() || (a.is_nan() && b.is_nan()),
    }
}

/// The magnitude of the difference. `None` if one is not a number.
#[expect(clippy::cast_precision_loss, reason = "differences are shown as doubles")]
fn distance(a: Number, b: Number) -> Option<f64> {
    let distance = match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a.abs_diff(b) as f64,
        (a, b) => (a.real() - b.real()).abs(),
    };
    (!distance.is_nan()).then_some(distance)
}

fn number(ty: NcType, bytes: &[u8]) -> Option<Number> {
    (ty != NcType::Char).then(|| Number::for_type(ty, bytes))
}

impl<'a> Judge<'a> {
    fn new(v: &Variable, w: &Variable, options: &'a DiffOptions) -> Self {
        let decodings = (Decoding::without_bounds(v.header()), Decoding::without_bounds(w.header()));
        Judge { types: (v.ty(), w.ty()), decodings, options }
    }

    /// Returns true if two elements differ.
    fn is_other(&self, x: &[u8], y: &[u8]) -> bool {
        (x != y || self.types.0 != self.types.1) && self.differ(x, y)
    }

    fn numbers(&self, x: &[u8], y: &[u8]) -> Option<(Number, Number)> {
        Some((number(self.types.0, x)?, number(self.types.1, y)?))
    }

    /// Returns true if two elements differ. They have the same type, or their bits differ.
    fn differ(&self, x: &[u8], y: &[u8]) -> bool {
        let tolerant = self.options.abs.is_some() || self.options.rel.is_some();
        let Some((a, b)) = self.numbers(x, y) else { return x != y };
        if self.types.0 == self.types.1 && !tolerant {
            return x != y;
        }
        if are_equal(a, b) {
            return false;
        }
        let (is_near, is_alike) = match distance(a, b) {
            None => (false, false),
            Some(distance) => {
                let largest = a.real().abs().max(b.real().abs());
                let within = self.options.abs.is_some_and(|most| distance <= most);
                // No share of an infinite value is a distance to another one.
                let share = self.options.rel.filter(|_| distance.is_finite());
                (within, share.is_some_and(|most| distance <= most * largest))
            }
        };
        !(is_near || is_alike)
    }
}

impl ValueDiff {
    /// Counts elements that only one file holds, from `first` on, as differing.
    fn note(&mut self, first: &[u64], elements: u64, shape: &[u64]) {
        self.differing += elements;
        self.bounds = first.iter().zip(shape).map(|(_, len)| (0, len.saturating_sub(1))).collect();
        if let (Some(bound), Some(at)) = (self.bounds.first_mut(), first.first()) {
            bound.0 = *at;
        }
    }

    fn add(&mut self, judge: &Judge<'_>, index: Vec<u64>, x: &[u8], y: &[u8]) {
        self.differing += 1;
        if self.bounds.is_empty() {
            self.bounds = index.iter().map(|&i| (i, i)).collect();
        }
        for ((first, last), &i) in self.bounds.iter_mut().zip(&index) {
            (*first, *last) = ((*first).min(i), (*last).max(i));
        }
        let was_missing = judge.decodings.0.is_missing(x);
        let is_missing = judge.decodings.1.is_missing(y);
        self.became_missing += u64::from(!was_missing && is_missing);
        self.became_present += u64::from(was_missing && !is_missing);
        if let Some((a, b)) = judge.numbers(x, y) {
            if are_equal(a, b) {
                self.equal_in_value += 1;
            }
            // A change from or to a fill value has no magnitude.
            if let Some(difference) = distance(a, b).filter(|_| !was_missing && !is_missing) {
                let extreme = |difference| Extreme {
                    difference,
                    index: index.clone(),
                    before: x.to_vec(),
                    after: y.to_vec(),
                };
                if self.largest.as_ref().is_none_or(|l| difference > l.difference) {
                    self.largest = Some(extreme(difference));
                }
                let share = difference / a.real().abs().max(b.real().abs());
                if !share.is_nan() && self.largest_relative.as_ref().is_none_or(|l| share > l.difference) {
                    self.largest_relative = Some(extreme(share));
                }
            }
        }
        if self.listed.len() < judge.options.listed {
            self.listed.push((index, x.to_vec(), y.to_vec()));
        }
    }
}

/// Two versions of one array in one archive. Tiles with the same index entry are equal, and are not read.
struct VersionPair<'a> {
    archives: (&'a Archive, &'a Archive),
    arrays: (ArrayId, ArrayId),
    /// The number of elements of a tile.
    len: u64,
    /// Lengths after the first dimension.
    inner: Vec<u64>,
}

impl<'a> VersionPair<'a> {
    fn new(v: &'a Variable, w: &'a Variable, options: &DiffOptions) -> Option<Self> {
        let archives = (v.source().as_archive()?, w.source().as_archive()?);
        // Flat positions are the same in both.
        let alike = v.ty() == w.ty() && v.shape().get(1..) == w.shape().get(1..);
        let owned = v.layout().owned && w.layout().owned;
        if !options.same_archive || !alike || !owned || v.shape().is_empty() {
            return None;
        }
        let infos = (archives.0.arrays().variable(v.id()), archives.1.arrays().variable(w.id()));
        let lens = (infos.0.tiling.layout(), infos.1.tiling.layout());
        let (TileLayout::Linear { len }, TileLayout::Linear { len: other }) = lens else { return None };
        let inner = v.shape()[1..].to_vec();
        (len == other).then_some(VersionPair { archives, arrays: (infos.0.id, infos.1.id), len: *len, inner })
    }

    /// Returns true if `elements` elements from this index on, a run of the flattened array, are known to be
    /// equal.
    fn is_equal(&self, start: &[u64], elements: u64) -> bool {
        let mut at = start[0];
        for (&i, &n) in start[1..].iter().zip(&self.inner) {
            let Some(next) = at.checked_mul(n).and_then(|at| at.checked_add(i)) else { return false };
            at = next;
        }
        let Some(last) = at.checked_add(elements - 1) else { return false };
        (at / self.len..=last / self.len).all(|tile| {
            let entry = |archive: &Archive, array| archive.entry(array, tile).ok();
            match (entry(self.archives.0, self.arrays.0), entry(self.archives.1, self.arrays.1)) {
                // The last tile of one variable may be shorter than that of the other. Then constants differ in length, and
                // blocks differ.
                (Some(a), Some(b)) => a == b && !matches!(a, IndexEntry::Absent | IndexEntry::Lost),
                _ => false,
            }
        })
    }
}
