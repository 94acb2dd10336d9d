//! The encoder: runs a plan on a tile, and does something simpler where the plan does not fit the tile.

use super::bits::put_varint;
use super::ctx::{self, Shape};
use super::dict::Dictionary;
use super::domain::{self, Exceptions, Map};
use super::lattice::{self, Lattice, Segments};
use super::params::{Geometry, Strides};
use super::payload::Stages;
use super::scratch::Scratch;
use super::word::{Word, index};
use super::{delta, frame, mask, planes};
use crate::error::{Error, Result};
use crate::types::NcType;
use std::sync::Arc;

/// How residuals are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coder {
    /// As they are.
    #[default]
    Store,
    /// Little-endian words, zstd.
    Zstd,
    /// Byte planes, zstd.
    Planes,
    /// Magnitude tokens in context, tANS.
    Ctx,
}

/// Which domain map to try.
#[derive(Debug, Clone, Default)]
pub enum DomainPlan {
    /// Order-preserving integers; common low zero bits are trimmed.
    #[default]
    Ord,
    /// This lattice where it fits the tile, else one found for the tile.
    Lattice(Lattice),
    /// A lattice found for each plane of the tile.
    LatticePerPlane,
    /// Ranks in this dictionary.
    Rank(Arc<Dictionary>),
}

/// What to do with the tiles of a variable. Any plan can encode any tile.
#[derive(Debug, Clone)]
pub struct EncodePlan {
    /// Bit pattern to mask out.
    pub mask: Option<u64>,
    /// Domain map.
    pub domain: DomainPlan,
    /// Differences; strides that a tile does not have are left out.
    pub strides: Strides,
    /// Residual codec.
    pub coder: Coder,
    /// Fineness of [`Coder::Ctx`].
    pub shape: Shape,
    /// zstd level of residuals.
    pub level: i32,
}

impl Default for EncodePlan {
    fn default() -> Self {
        Self {
            mask: None,
            domain: DomainPlan::Ord,
            strides: Strides::NONE,
            coder: Coder::Store,
            shape: Shape { log: 9, north: 4, west: 4 },
            level: 9,
        }
    }
}

impl EncodePlan {
    /// The dictionary it refers to.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.domain {
            DomainPlan::Rank(dict) => Some(dict),
            _ => None,
        }
    }
}

/// A tile after all stages but the last; its residuals stand in the pool.
#[derive(Debug, Default)]
pub(super) struct Staged {
    stages: Stages,
    mask: Vec<u8>,
    base: Vec<u8>,
    domain: Vec<u8>,
    exceptions: Vec<u8>,
}

impl Staged {
    /// Bytes besides residuals.
    pub(super) fn side_len(&self) -> usize {
        self.mask.len() + self.base.len() + self.domain.len() + self.exceptions.len()
    }

    /// Those of them that are the domain map.
    pub(super) fn domain_len(&self) -> usize {
        self.domain.len()
    }

    pub(super) fn is_all_masked(&self) -> bool {
        self.stages.mask == 2
    }

    /// True where residuals are signed.
    pub(super) fn is_signed(&self) -> bool {
        self.stages.strides.0 != 0
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.stages.bytes());
        if self.stages.mask != 2 {
            for part in [&self.mask, &self.base, &self.domain, &self.exceptions] {
                if !part.is_empty() {
                    put_varint(out, part.len() as u64);
                }
            }
        }
        for part in [&self.mask, &self.base, &self.domain, &self.exceptions] {
            out.extend_from_slice(part);
        }
    }
}

/// The segments of a lattice plan on this tile.
fn segments<W: Word>(
    elements: &[W],
    geom: &Geometry,
    plan: &DomainPlan,
    scratch: &Scratch,
) -> Option<Segments> {
    let n = elements.len();
    let valid = |range: std::ops::Range<usize>| -> Vec<W> {
        let all = lattice::spread(range.len(), 2048).map(|i| range.start + i);
        let masked = scratch.runs.valid < n;
        all.filter(|&i| !masked || scratch.valid[i] != 0).map(|i| elements[i]).collect()
    };
    match plan {
        DomainPlan::Lattice(l) => {
            // Another that fits better goes before one with many exceptions, where there are values enough to tell.
            let values = valid(0..n);
            let least = if values.len() < 64 { 43 } else { 58 };
            let planned = |least| Some(*l).filter(|l| lattice::holds(&values, *l, least));
            let found = planned(least)
                .or_else(|| lattice::detect(&values, least, false))
                .or_else(|| planned(43))
                .or_else(|| lattice::detect(&values, 43, false))?;
            Some(Segments { len: n, list: vec![found] })
        }
        DomainPlan::LatticePerPlane => {
            let len = Geometry::usable(geom.plane, n).unwrap_or(n);
            let mut found = 0;
            let mut last = None;
            let list: Vec<Lattice> = (0..n)
                .step_by(len)
                .map(|start| {
                    let range = start..n.min(start + len);
                    let values = valid(range);
                    // That of the plane before where it holds nearly everywhere, else the best.
                    let before = |least| last.filter(|l| lattice::holds(&values, *l, least));
                    let fit =
                        before(62).or_else(|| lattice::detect(&values, 43, false)).or_else(|| before(43));
                    found += usize::from(fit.is_some());
                    last = fit.or(last);
                    fit.unwrap_or(Lattice { off: 0.0, step: 1.0 })
                })
                .collect();
            (found * 3 > list.len() * 2).then_some(Segments { len, list })
        }
        _ => None,
    }
}

/// Maps the patterns in the pool; gives what was done.
fn map_domain<W: Word>(
    elements: &[W],
    ty: NcType,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
) -> (Map, Exceptions<W>) {
    let none = Exceptions { list: Vec::new() };
    let found = if ty.is_float() && !elements.is_empty() {
        segments(elements, geom, &plan.domain, scratch)
    } else {
        None
    };
    let Scratch { mapped, spare, runs, bytes, .. } = scratch;
    let grid = W::pool(mapped);
    if let DomainPlan::Rank(dict) = &plan.domain {
        if let Some(exceptions) = dict.map(grid, runs, ty) {
            return (Map::Rank, exceptions);
        }
        grid.copy_from_slice(elements);
    } else if let Some(segments) = found
        && let Some(exceptions) = lattice::map(grid, W::pool(spare), bytes, runs, &segments)
    {
        return (Map::Lattice(segments), exceptions);
    }
    let trim = if W::BITS == 8 { 0 } else { domain::common_zeros(elements, runs) };
    domain::simple(grid, ty, trim);
    (if trim > 0 { Map::Trim(trim) } else { Map::Ord }, none)
}

/// Mask and domain map: the integers of all elements stand in `scratch.mapped`, unless all are masked.
/// `with_mask`: else the mask part stays empty, for comparisons of size.
pub(super) fn mapped<W: Word>(
    elements: &[W],
    ty: NcType,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
    with_mask: bool,
) -> Result<Staged> {
    let n = elements.len();
    let mut staged = Staged::default();
    match plan.mask.and_then(mask::pattern_of::<W>) {
        Some(pattern) if n > 0 => {
            let Scratch { valid, runs, zstd, .. } = &mut *scratch;
            mask::find(elements, pattern, valid, runs);
            if runs.valid == 0 {
                staged.stages.mask = 2;
                W::put_le(&[pattern], &mut staged.mask);
                return Ok(staged);
            }
            if runs.valid < n && with_mask {
                staged.stages.mask = 1;
                mask::encode(pattern, valid, geom, plan.level.min(9), zstd, &mut staged.mask)?;
            }
        }
        _ => scratch.runs.all(n),
    }
    let grid = W::pool(&mut scratch.mapped);
    grid.clear();
    grid.extend_from_slice(elements);
    let (map, exceptions) = map_domain(elements, ty, geom, plan, scratch);
    staged.stages.domain = map.code();
    map.put(&mut staged.domain);
    if !exceptions.list.is_empty() {
        staged.stages.exceptions = true;
        exceptions.put(plan.level.min(9), &mut scratch.zstd, &mut staged.exceptions)?;
    }
    Ok(staged)
}

/// Stage 3 on the mapped words of `n` elements in `scratch.mapped`, which become the residuals of the valid ones.
pub(super) fn predict<W: Word>(
    staged: &mut Staged,
    n: usize,
    geom: &Geometry,
    strides: Strides,
    scratch: &mut Scratch,
) {
    let strides = strides.reduced(geom, n);
    let Scratch { mapped, spare, runs, pairs, .. } = scratch;
    let grid = W::pool(mapped);
    staged.base.clear();
    staged.stages.strides = strides;
    if strides != Strides::NONE {
        if runs.valid < n && strides != Strides::W {
            mask::pairs(runs, n, pairs);
        }
        let base = delta::encode(grid, W::pool(spare), pairs, runs, geom, strides);
        W::put_le(&[base], &mut staged.base);
    }
    if runs.valid < n {
        runs.gather(grid);
        grid.truncate(runs.valid);
    }
}

/// All stages but the last. The residuals of the valid elements stand in `scratch.mapped`.
/// `with_mask`: else the mask part stays empty, for comparisons of size.
pub(super) fn stage<W: Word>(
    elements: &[W],
    ty: NcType,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
    with_mask: bool,
) -> Result<Staged> {
    let mut staged = mapped(elements, ty, geom, plan, scratch, with_mask)?;
    if !staged.is_all_masked() {
        predict::<W>(&mut staged, elements.len(), geom, plan.strides, scratch);
    }
    Ok(staged)
}

#[multiversion::multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(super) fn zigzag_all<W: Word>(words: &mut [W]) {
    for w in words {
        *w = w.zigzag();
    }
}

/// The last stage: appends the payload of a staged tile of `n` elements. Spoils the residuals.
pub(super) fn finish<W: Word>(
    staged: &mut Staged,
    n: usize,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    if staged.is_all_masked() || n == 0 {
        staged.put(out);
        return Ok(());
    }
    let Scratch { mapped, runs, zstd, bytes, ctx: work, .. } = scratch;
    let words = W::pool(mapped);
    if staged.is_signed() && matches!(plan.coder, Coder::Planes | Coder::Ctx) {
        zigzag_all(words);
    }
    staged.stages.coder = match plan.coder {
        Coder::Store => 0,
        Coder::Zstd => 1,
        Coder::Planes => 2,
        Coder::Ctx => 3,
    };
    staged.put(out);
    bytes.clear();
    match plan.coder {
        Coder::Store => W::put_le(words, out),
        Coder::Zstd => {
            W::put_le(words, bytes);
            frame::compress(bytes, plan.level, zstd, out)?;
        }
        Coder::Planes => {
            planes::shuffle(words, bytes);
            frame::compress(bytes, plan.level, zstd, out)?;
        }
        Coder::Ctx => ctx::encode(words, n, runs, index(geom.row), plan.shape, work, out),
    }
    Ok(())
}

/// Appends the payload of a tile.
///
/// # Errors
/// If the words do not have the size of the type, or the tile has more than 2^30 elements.
pub fn encode<W: Word>(
    elements: &[W],
    ty: NcType,
    geom: &Geometry,
    plan: &EncodePlan,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let n = elements.len();
    if ty.size() != W::BYTES || n > super::MAX_ELEMENTS {
        return Err(Error::invalid(format!("{n} elements of {} bytes of type {ty}", W::BYTES)));
    }
    let start = out.len();
    let mut staged = stage(elements, ty, geom, plan, scratch, true)?;
    finish::<W>(&mut staged, n, geom, plan, scratch, out)?;
    if out.len() - start > n * W::BYTES + 3 {
        // Nothing was gained: integers as they are.
        out.truncate(start);
        let plain = EncodePlan::default();
        scratch.runs.all(n);
        let grid = W::pool(&mut scratch.mapped);
        grid.clear();
        grid.extend_from_slice(elements);
        domain::simple(grid, ty, 0);
        finish::<W>(&mut Staged::default(), n, geom, &plain, scratch, out)?;
    }
    Ok(())
}
