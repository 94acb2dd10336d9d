//! Encodes a tile by a plan, or in a simpler way if the plan does not fit the tile.

use super::bits::put_varint;
use super::buffers::Buffers;
use super::exceptions::Exceptions;
use super::fit::segments;
use super::plan::{Coder, EncodePlan, TransformPlan};
use super::prepared::Prepared;
use super::transform::common_zeros;
use super::{delta, frame, lorenzo, mask, planes, scale_offset};
use crate::delta::Masked;
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::geometry::{DeltaAxes, Geometry};
use crate::mask::pairs as pairs_of;
use crate::payload::{MAX_ELEMENTS, Stages};
use crate::reference;
use crate::scale_offset::Segments;
use crate::scratch::Scratch;
use crate::transform::{Transform, to_integers};
use crate::word::Word;

/// A tile after all stages but the last; its residuals are in the pool.
#[derive(Debug, Default, Clone)]
pub(crate) struct Staged {
    pub(super) stages: Stages,
    /// True if it is coded against another tile.
    against: bool,
    /// Low bits that were removed from floats, if these are ordered integers without a reference: they can be predicted
    /// by their values.
    floats: Option<u32>,
    mask: Vec<u8>,
    base: Vec<u8>,
    transform: Vec<u8>,
    exceptions: Vec<u8>,
}

impl Staged {
    /// Bytes besides residuals.
    pub(crate) fn side_len(&self) -> usize {
        self.mask.len() + self.base.len() + self.transform.len() + self.exceptions.len()
    }

    /// Returns the bytes of the transform map among them.
    pub(crate) fn transform_len(&self) -> usize {
        self.transform.len()
    }

    pub(crate) fn is_all_masked(&self) -> bool {
        self.stages.mask == 2
    }

    /// True where residuals are signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.against || self.stages.axes.0 != 0
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        self.stages.put(out);
        if self.stages.mask != 2 {
            for part in [&self.mask, &self.base, &self.transform, &self.exceptions] {
                if !part.is_empty() {
                    put_varint(out, part.len() as u64);
                }
            }
        }
        for part in [&self.mask, &self.base, &self.transform, &self.exceptions] {
            out.extend_from_slice(part);
        }
    }
}

/// A tile to encode, or a piece of one on which plans are compared.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a, W> {
    pub(crate) elements: &'a [W],
    pub(crate) ty: ElementType,
    pub(crate) geom: &'a Geometry,
    /// The scale-offsets of its planes, if they are known.
    pub(crate) planes: Option<&'a Segments>,
    /// The tile that it is coded against, as patterns of its type.
    pub(crate) against: Option<&'a [W]>,
    /// If false, the mask part stays empty, for comparisons of size.
    pub(crate) with_mask: bool,
}

/// Transforms the patterns in the pool; returns the transform that was applied.
fn apply_transform<W: Word>(
    task: &Task<'_, W>,
    plan: &TransformPlan,
    scratch: &mut Scratch,
) -> (Transform, Exceptions<W>) {
    let Task { elements, ty, geom, planes, .. } = *task;
    let none = Exceptions { list: Vec::new() };
    let Scratch { runs, bytes, valid, encoder: Buffers { mapped, spare, .. }, .. } = scratch;
    let found = match (plan, planes) {
        (TransformPlan::ScaleOffsetPerPlane, Some(known)) => Some(known.clone()),
        _ if ty.is_float() && !elements.is_empty() => {
            let valid = if runs.valid < elements.len() { &valid[..] } else { &[] };
            segments(elements, geom, plan, valid)
        }
        _ => None,
    };
    let grid = W::pool(mapped);
    if let TransformPlan::Dictionary(dict) = plan {
        if let Some(exceptions) = dict.map(grid, runs, ty) {
            return (Transform::Dictionary, exceptions);
        }
        grid.copy_from_slice(elements);
    } else if let Some(segments) = found
        && let Some(exceptions) = scale_offset::map(grid, W::pool(spare), bytes, runs, &segments)
    {
        return (Transform::ScaleOffset(segments), exceptions);
    }
    let trim = if W::BITS == 8 { 0 } else { common_zeros(elements, runs) };
    to_integers(grid, ty, trim);
    (if trim > 0 { Transform::Trim(trim) } else { Transform::Ordered }, none)
}

/// Applies mask and transform: the integers of all elements are then in `scratch.encoder.mapped`, unless all are
/// masked.
pub(crate) fn mapped<W: Word>(
    task: &Task<'_, W>,
    plan: &EncodePlan,
    scratch: &mut Scratch,
) -> Result<Staged> {
    let Task { elements, ty, geom, against, with_mask, .. } = *task;
    let n = elements.len();
    let mut staged = Staged { against: against.is_some(), ..Staged::default() };
    let mut masked = None;
    match plan.mask.and_then(mask::pattern_of::<W>) {
        Some(pattern) if n > 0 => {
            let Scratch { valid, runs, encoder: Buffers { zstd, .. }, .. } = &mut *scratch;
            mask::find(elements, pattern, valid, runs);
            if runs.valid == 0 {
                staged.stages.mask = 2;
                W::put_le(&[pattern], &mut staged.mask);
                return Ok(staged);
            }
            if runs.valid < n && with_mask {
                staged.stages.mask = 1;
                masked = Some(pattern);
                mask::encode(pattern, valid, geom, plan.level.min(9), zstd, &mut staged.mask)?;
            }
        }
        _ => scratch.runs.all(n),
    }
    let grid = W::pool(&mut scratch.encoder.mapped);
    grid.clear();
    grid.extend_from_slice(elements);
    let (map, exceptions) = apply_transform(task, &plan.transform, scratch);
    let is_ordered = matches!(map, Transform::Ordered | Transform::Trim(_));
    staged.floats = (is_ordered && ty.is_float() && against.is_none()).then(|| map.trim());
    staged.stages.transform = map.code();
    map.put(&mut staged.transform);
    if let Some(against) = against {
        subtract_reference(against, masked, &map, (ty, plan), scratch)?;
    }
    if !exceptions.list.is_empty() {
        let (level, zstd) = (plan.level.min(9), &mut scratch.encoder.zstd);
        staged.stages.exceptions = exceptions.put(n, level, zstd, &mut staged.exceptions)?;
    }
    Ok(staged)
}

/// Subtracts the reference's integers from those in the pool.
fn subtract_reference<W: Word>(
    against: &[W],
    masked: Option<W>,
    map: &Transform,
    (ty, plan): (ElementType, &EncodePlan),
    scratch: &mut Scratch,
) -> Result<()> {
    let Scratch { bytes, reference: pool, encoder: Buffers { mapped, .. }, .. } = scratch;
    let integers = W::pool(pool);
    let dict = plan.dictionary().map(AsRef::as_ref);
    reference::integers(against, masked, map, (ty, dict), integers, bytes)?;
    reference::subtract(W::pool(mapped), integers);
    Ok(())
}

/// Applies stage 3 to the mapped words of `n` elements in `scratch.encoder.mapped`, which become the residuals of
/// the valid ones.
pub(crate) fn predict<W: Word>(
    staged: &mut Staged,
    n: usize,
    geom: &Geometry,
    axes: DeltaAxes,
    scratch: &mut Scratch,
) {
    let axes = if staged.floats.is_some() { axes } else { axes.by_integer() }.reduced(geom, n);
    let Scratch { runs, valid, pairs, lorenzo: work, encoder: Buffers { mapped, spare, .. }, .. } = scratch;
    let grid = W::pool(mapped);
    staged.base.clear();
    staged.stages.axes = axes;
    if axes.are_alone() {
        let valid = (runs.valid < n).then_some(&valid[..]);
        delta::encode_alone(grid, W::pool(spare), valid, geom, axes);
    } else if axes != DeltaAxes::NONE {
        if runs.valid < n && axes != DeltaAxes::NEIGHBOURS {
            pairs_of(valid, pairs);
        }
        let base = if let (Some(trim), Some(stencil)) = (staged.floats, axes.stencil(geom, n)) {
            let masked = (runs.valid < n).then_some(Masked { valid, pairs });
            lorenzo::encode(grid, masked, runs, (stencil, trim), work)
        } else {
            delta::encode(grid, W::pool(spare), pairs, runs, geom, axes)
        };
        W::put_le(&[base], &mut staged.base);
    }
    if runs.valid < n {
        runs.gather(grid);
        grid.truncate(runs.valid);
    }
}

/// Runs all stages but the last. The residuals of the valid elements are then in `scratch.encoder.mapped`.
pub(crate) fn stage<W: Word>(task: &Task<'_, W>, plan: &EncodePlan, scratch: &mut Scratch) -> Result<Staged> {
    let mut staged = mapped(task, plan, scratch)?;
    if !staged.is_all_masked() {
        predict::<W>(&mut staged, task.elements.len(), task.geom, plan.axes, scratch);
    }
    Ok(staged)
}

#[multiversion::multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn zigzag_all<W: Word>(words: &mut [W]) {
    for w in words {
        *w = w.zigzag();
    }
}

/// Runs the last stage: appends the payload of a staged tile of `n` elements. Overwrites the residuals.
pub(crate) fn finish<W: Word>(
    staged: Staged,
    n: usize,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    if plan.coder == Coder::Ctx && !staged.is_all_masked() && n > 0 {
        Prepared::new::<W>(staged, (n, geom), &[plan.shape], scratch).put::<W>(0, scratch, out);
        return Ok(());
    }
    finish_within::<W>(staged, (n, geom), plan, usize::MAX, scratch, out).map(drop)
}

/// Does the work of [`finish`] for any coder but contexts, and stops if zstd leaves more than `most` bytes; returns
/// true if the payload is complete.
pub(crate) fn finish_within<W: Word>(
    mut staged: Staged,
    (n, geom): (usize, &Geometry),
    plan: &EncodePlan,
    most: usize,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<bool> {
    if staged.is_all_masked() || n == 0 {
        staged.put(out);
        return Ok(true);
    }
    let Scratch { bytes, runs, valid, mix, encoder: Buffers { mapped, zstd, .. }, .. } = scratch;
    let words = W::pool(mapped);
    if staged.is_signed() && plan.coder == Coder::Planes {
        zigzag_all(words);
    }
    staged.stages.coder = plan.coder.code();
    staged.put(out);
    bytes.clear();
    match plan.coder {
        Coder::Zstd => {
            W::put_le(words, bytes);
            frame::compress_within(bytes, plan.level, most, zstd, out)
        }
        Coder::Planes => {
            planes::shuffle(words, bytes);
            frame::compress_planes(bytes, words.len(), (plan.level, most), zstd, out)
        }
        Coder::Mix => {
            super::mix::encode(words, (n, geom), (runs, valid), mix, out);
            Ok(true)
        }
        Coder::Store | Coder::Ctx => {
            W::put_le(words, out);
            Ok(true)
        }
    }
}

/// Returns the largest size of a payload of `n` elements: longer ones are replaced by the stored elements.
pub(crate) fn longest<W: Word>(n: usize) -> usize {
    n * W::BYTES + 3
}

/// Does the work of [`crate::encode_against`] for one width.
pub(crate) fn encode_tile<W: Word>(
    elements: &[W],
    (ty, geom): (ElementType, &Geometry),
    plan: &EncodePlan,
    against: Option<&[W]>,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let n = elements.len();
    reference::check(against, n)?;
    if ty.size() != W::BYTES || n > MAX_ELEMENTS {
        return Err(Error::invalid(format!("{n} elements of {} bytes of type {ty}", W::BYTES)));
    }
    let start = out.len();
    let task = Task { elements, ty, geom, planes: None, against, with_mask: true };
    let staged = stage(&task, plan, scratch)?;
    finish::<W>(staged, n, geom, plan, scratch, out)?;
    if out.len() - start > longest::<W>(n) {
        // The payload is not smaller than the elements: stores integers.
        out.truncate(start);
        let plain = EncodePlan::default();
        scratch.runs.all(n);
        let grid = W::pool(&mut scratch.encoder.mapped);
        grid.clear();
        grid.extend_from_slice(elements);
        to_integers(grid, ty, 0);
        if let Some(against) = against {
            subtract_reference(against, None, &Transform::Ordered, (ty, &plain), scratch)?;
        }
        let staged = Staged { against: against.is_some(), ..Staged::default() };
        finish::<W>(staged, n, geom, &plain, scratch, out)?;
    }
    Ok(())
}
