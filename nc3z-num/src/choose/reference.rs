//! Chooses the tile that another is coded against: an estimate on a few hundred elements, to be followed by real
//! encodes.

use super::cost::Bits;
use super::samples::find_mask;
use crate::element::ElementType;
use crate::encode::Runs;
use crate::encode::{Coder, ElementFilter, EncodePlan, TransformPlan, Values, common_zeros, hits, log2_q16};
use crate::error::{Error, Result, bad};
use crate::geometry::DeltaAxes;
use crate::reference::integers;
use crate::scale_offset::Segments;
use crate::transform::Transform;
use crate::word::Word;
use std::ops::Range;

/// The length of a compared window in elements, and the number of windows.
const WINDOW: usize = 64;
const WINDOWS: usize = 8;
/// The number of candidates that are worth real encodes.
const KEPT: usize = 2;
/// A reference must need less than this many hundredths of the bits without it.
const WORTH: u64 = 98;
/// Estimated bits of an exception.
const EXCEPTION: u64 = 28;

/// A way to code a tile against another.
#[derive(Debug, Clone)]
pub struct Against {
    /// The number of the candidate.
    pub candidate: usize,
    /// The plan for the tile.
    pub plan: EncodePlan,
    /// Estimated least bytes of the sample.
    pub least: u64,
}

impl Against {
    /// Returns the elements of a tile of `n` that [`crate::choose_reference`] uses.
    pub fn windows(n: usize) -> Vec<Range<usize>> {
        if n <= WINDOW * WINDOWS {
            return std::iter::once(0..n).collect();
        }
        let start = |i| (n - WINDOW) / (WINDOWS - 1) * i;
        (0..WINDOWS).map(|i| start(i)..start(i) + WINDOW).collect()
    }
}

/// Estimates the bits of a residual.
fn bits<W: Word>(r: W) -> Bits {
    let z = r.zigzag().to_u64();
    match u32::try_from(z) {
        Ok(z) if z < u32::MAX => Bits::of_q16(log2_q16(z + 1)),
        _ => Bits::whole((64 - z.leading_zeros()).into()),
    }
}

/// A sample of a tile under one transform.
struct Sample<'a, W> {
    integers: Vec<W>,
    valid: Vec<bool>,
    windows: &'a [Range<usize>],
}

impl<W: Word> Sample<'_, W> {
    /// Estimates the bits of the tile relative to `other`, without and with differences of neighbours.
    fn costs(&self, other: &[W]) -> [Bits; 2] {
        let (mut costs, mut at) = ([Bits::default(); 2], 0);
        for window in self.windows {
            let mut before = None;
            for i in at..at + window.len() {
                if self.valid[i] {
                    let r = self.integers[i].minus(other.get(i).copied().unwrap_or_default());
                    costs[0] += bits(r);
                    costs[1] += bits(r.minus(before.unwrap_or(r)));
                    before = Some(r);
                }
            }
            at += window.len();
        }
        costs
    }
}

/// A way to code the tile against a candidate: its cost, the candidate's number, the axes and the transform.
type Found = (Bits, usize, DeltaAxes, TransformPlan);

/// Sorts ways by cost. Of equal ways the nearest candidate, which has the highest number, comes first. The function does
/// not depend on the word width, so it is compiled once.
fn cheapest_and_nearest_first(found: &mut [Found]) {
    found.sort_by_key(|f| (f.0, std::cmp::Reverse(f.1)));
}

/// Chooses as [`crate::choose_reference`] does, for one width.
pub(crate) fn choose_against<W: Word>(
    (sample, ty): (&[W], ElementType),
    windows: &[Range<usize>],
    base: &EncodePlan,
    fill_values: &[W],
    candidates: &[Vec<W>],
) -> Result<Vec<Against>> {
    if ty.size() != W::BYTES || windows.iter().map(ExactSizeIterator::len).sum::<usize>() != sample.len() {
        return Err(Error::invalid(format!("a sample of {} words for type {ty}", sample.len())));
    }
    if let Some(other) = candidates.iter().find(|c| c.len() != sample.len()) {
        return Err(bad("length of a candidate", sample.len(), other.len()));
    }
    let mask =
        base.mask.and_then(crate::encode::pattern_of::<W>).or_else(|| find_mask(&[sample], fill_values));
    let valid: Vec<bool> = sample.iter().map(|e| Some(*e) != mask).collect();
    let values: Vec<W> = sample.iter().copied().filter(|e| Some(*e) != mask).collect();
    let mut held = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    let mut alone = Bits::MAX;
    for (transform, plan, exceptions) in transforms(&values, ty, base, sample.len()) {
        let of = (ty, None);
        let mut seen = Sample { integers: Vec::new(), valid: valid.clone(), windows };
        integers(sample, mask, &transform, of, &mut seen.integers, &mut held)?;
        let missed = Bits::whole(exceptions * EXCEPTION);
        alone = alone.min(seen.costs(&[])[1] + missed);
        let mut other = Vec::new();
        for (candidate, patterns) in candidates.iter().enumerate() {
            integers(patterns, mask, &transform, of, &mut other, &mut held)?;
            let [by_itself, differenced] = seen.costs(&other);
            let axes = if by_itself <= differenced { DeltaAxes::NONE } else { DeltaAxes::NEIGHBOURS };
            found.push((by_itself.min(differenced) + missed, candidate, axes, plan.clone()));
        }
    }
    found.retain(|f| f.0 < alone.hundredths(WORTH));
    cheapest_and_nearest_first(&mut found);
    let mut ways: Vec<Against> = Vec::new();
    for (bits, candidate, axes, transform) in found {
        if ways.len() < KEPT && ways.iter().all(|w| w.candidate != candidate) {
            let mask = mask.map(Word::to_u64);
            let coder = if base.coder == Coder::Planes { Coder::Planes } else { Coder::Ctx };
            ways.push(Against {
                candidate,
                plan: EncodePlan { mask, transform, axes, coder, ..base.clone() },
                least: bits.to_bytes(),
            });
        }
    }
    Ok(ways)
}

/// Returns the transforms to try, with the way to request each, and the number of exceptions among the values.
fn transforms<W: Word>(
    values: &[W],
    ty: ElementType,
    base: &EncodePlan,
    len: usize,
) -> Vec<(Transform, TransformPlan, u64)> {
    let mut runs = Runs::default();
    runs.all(values.len());
    let trim = if W::BITS == 8 { 0 } else { common_zeros(values, &runs) };
    let ordered = if trim > 0 { Transform::Trim(trim) } else { Transform::Ordered };
    let mut all = vec![(ordered, TransformPlan::Ordered, 0)];
    let scale_offset = match base.transform {
        _ if !ty.is_float() => None,
        TransformPlan::ScaleOffset(l) => Some(l),
        _ => Values::new(values, ElementFilter::All).detect(false).best(43),
    };
    if let Some(l) = scale_offset {
        let missed = (values.len() - hits(values, l)) as u64;
        let segments = Segments { len: len.max(1), list: vec![l] };
        all.push((Transform::ScaleOffset(segments), TransformPlan::ScaleOffset(l), missed));
    }
    all
}
