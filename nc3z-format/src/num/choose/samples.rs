//! What the samples show before anything is tried: the pattern to mask, distinct patterns, the domain maps that fit.

use crate::num::crop::Crop;
use crate::num::dict::{Dictionary, DictionaryBuilder};
use crate::num::encode::DomainPlan;
use crate::num::lattice::{self, Lattice};
use crate::num::params::Geometry;
use crate::num::word::Word;
use crate::types::NcType;
use std::sync::Arc;

/// Elements whose distinct patterns are counted.
const COUNTED: usize = 48 << 10;
/// Elements from which the mask is found.
const MASK_SAMPLE: usize = 2 << 10;

/// The most frequent pattern, if it is worth a mask.
pub(super) fn find_mask<W: Word>(samples: &[&[W]], fill_values: &[W]) -> Option<W> {
    let total: usize = samples.iter().map(|p| p.len()).sum();
    let every = (total / MASK_SAMPLE).max(1) | 1;
    let mut sorted: Vec<W> = samples.iter().flat_map(|p| p.iter().step_by(every)).copied().collect();
    sorted.sort_unstable();
    let most = sorted.chunk_by(|a, b| a == b).max_by_key(|c| c.len())?;
    if most.len() * 20 > sorted.len() {
        return Some(most[0]);
    }
    let known = |f: &&W| samples.iter().any(|s| s.contains(f));
    fill_values.iter().find(known).copied()
}

/// Distinct valid patterns of a part of the samples and of the crops, and how many valid elements there are.
pub(super) fn distinct<W: Word>(
    samples: &[&[W]],
    crops: &[Crop<W>],
    mask: Option<W>,
    whole: bool,
) -> (Vec<W>, usize) {
    let share = if whole { usize::MAX } else { COUNTED / samples.len().max(1) };
    let mut seen = DictionaryBuilder::default();
    let mut valid = 0;
    let parts = samples.iter().map(|s| {
        let from = (s.len() - s.len().min(share)) / 2;
        &s[from..from + s.len().min(share)]
    });
    for part in parts.chain(crops.iter().map(|c| &c.words[..])) {
        valid += part.iter().filter(|&&e| Some(e) != mask).count();
        seen.add(part, mask.map(Word::to_u64));
    }
    (seen.patterns(), valid)
}

/// The domain maps that fit the samples.
pub(super) fn domains<W: Word>(
    pieces: &[Crop<W>],
    ty: NcType,
    mask: Option<W>,
    dict: Option<&Arc<Dictionary>>,
) -> Vec<DomainPlan> {
    let mut out = vec![DomainPlan::Ord];
    if ty.is_float() {
        let valid = |p: &[W]| -> Vec<W> {
            p.iter().copied().filter(|&e| Some(e) != mask && e.float_value().is_finite()).collect()
        };
        // Of all crops together, so that none of them shows only a part of the lattice; and the finest that a crop
        // shows, where the others are coarser.
        let each: Vec<Vec<W>> = pieces.iter().map(|p| valid(&p.words)).collect();
        let together = each.concat();
        let constant = lattice::detect(&together, 58, true);
        let fits = |l: &Lattice| lattice::holds(&together, *l, 58);
        let finest = each
            .iter()
            .filter_map(|words| lattice::detect(words, 58, true))
            .filter(|l| constant.is_none() || fits(l))
            .max_by(|a, b| a.frequency().total_cmp(&b.frequency()));
        let finer = finest.filter(|l| constant.is_none_or(|c| l.frequency() > 1.5 * c.frequency()));
        out.extend(constant.into_iter().chain(finer).map(DomainPlan::Lattice));
        let constant = constant.or(finest);
        let plane = |p: &Crop<W>| Geometry::usable(p.geom.plane, p.words.len()).map(|n| valid(&p.words[..n]));
        let planes: Vec<Vec<W>> = pieces.iter().filter_map(plane).filter(|p| p.len() > 8).collect();
        let fits = |p: &[W]| {
            constant.is_some_and(|l| lattice::holds(p, l, 43)) || lattice::detect(p, 43, false).is_some()
        };
        let fit = planes.iter().filter(|p| fits(p)).count();
        if fit > 0 && fit * 2 >= planes.len() {
            out.push(DomainPlan::LatticePerPlane);
        }
    }
    out.extend(dict.map(|d| DomainPlan::Rank(Arc::clone(d))));
    out
}
