//! Properties of the samples before any trial: the pattern to mask, distinct patterns, the fitting transforms.

use super::crop::Crop;
use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::encode::{DictionaryBuilder, ElementFilter, TransformPlan, Values, spread};
use crate::geometry::Geometry;
use crate::word::Word;
use std::sync::Arc;

/// The number of elements whose distinct patterns are counted.
const COUNTED: usize = 16 << 10;
/// The number of elements used to decide whether counting is worth its time.
const PICKED: usize = 2 << 10;
/// The largest number of patterns in an array of categories, such as types of clouds. The context coder has 16 classes
/// of neighbours, so that rare categories may share one.
pub(crate) const MAX_CATEGORIES: usize = 32;
/// The number of elements used to find the mask.
const MASK_SAMPLE: usize = 512;

/// The most frequent pattern, if it is worth a mask.
pub(crate) fn find_mask<W: Word>(samples: &[&[W]], fill_values: &[W]) -> Option<W> {
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

/// Returns the distinct valid patterns of a part of the samples and of the crops, if they are fewer than half of
/// the valid elements.
pub(crate) fn distinct<W: Word>(
    samples: &[&[W]],
    crops: &[Crop<W>],
    mask: Option<W>,
    whole: bool,
) -> Option<Vec<W>> {
    let share = if whole { usize::MAX } else { COUNTED / samples.len().max(1) };
    let parts = samples.iter().map(|s| {
        let from = (s.len() - s.len().min(share)) / 2;
        &s[from..from + s.len().min(share)]
    });
    let parts: Vec<&[W]> = parts.chain(crops.iter().map(|c| &c.words[..])).collect();
    let valid = parts.iter().flat_map(|part| part.iter()).filter(|&&e| Some(e) != mask).count();
    if whole && valid > COUNTED && !recurs(samples, mask, valid) {
        return None;
    }
    let mut seen = DictionaryBuilder::default();
    for part in parts.iter().flat_map(|part| part.chunks(COUNTED / 4)) {
        seen.add_all(part, mask.map(Word::to_u64));
        if seen.len() * 2 >= valid {
            return None;
        }
    }
    Some(seen.patterns())
}

/// Returns the distinct patterns of the samples, masked or not, if they are at most [`MAX_CATEGORIES`]; of a part of
/// the samples, unless they are the `whole` array.
pub(crate) fn categories<W: Word>(samples: &[&[W]], whole: bool) -> Option<Vec<W>> {
    let mut seen = DictionaryBuilder::default();
    for sample in samples {
        let share = if whole { sample.len() } else { sample.len().min(COUNTED) };
        let from = (sample.len() - share) / 2;
        for part in sample[from..from + share].chunks(COUNTED / 4) {
            seen.add_all(part, None);
            if seen.len() > MAX_CATEGORIES {
                return None;
            }
        }
    }
    Some(seen.patterns()).filter(|p| p.len() > 1)
}

/// Returns whether each pattern may occur about twice, as the number of equal elements in a spread selection shows.
fn recurs<W: Word>(samples: &[&[W]], mask: Option<W>, valid: usize) -> bool {
    let each = (PICKED / samples.len().max(1)).max(1);
    let picked = samples.iter().flat_map(|s| spread(s.len(), each).map(|i| s[i]));
    let picked: Vec<W> = picked.filter(|&e| Some(e) != mask).collect();
    let mut seen = DictionaryBuilder::default();
    seen.add_all(&picked, None);
    // If each pattern occurs twice, 1/`valid` of the n * n / 2 pairs of n selected elements are equal. Half of these pairs
    // is enough.
    (picked.len() - seen.len()).saturating_mul(valid) >= picked.len().saturating_mul(picked.len()) / 4
}

/// Returns the transforms that fit the samples.
pub(crate) fn transforms<W: Word>(
    pieces: &[Crop<W>],
    ty: ElementType,
    mask: Option<W>,
    dict: Option<&Arc<Dictionary>>,
) -> Vec<TransformPlan> {
    let mut out = vec![TransformPlan::Ordered];
    if ty.is_float() {
        scale_offsets(pieces, mask, &mut out);
    }
    out.extend(dict.map(|d| TransformPlan::Dictionary(Arc::clone(d))));
    out
}

fn scale_offsets<W: Word>(pieces: &[Crop<W>], mask: Option<W>, out: &mut Vec<TransformPlan>) {
    let valid = |p: &[W]| -> Vec<W> { p.iter().copied().filter(|&e| Some(e) != mask).collect() };
    // The scale-offset of all crops together, since a single crop may have only a part of the values; and the
    // finest scale-offset of a crop, if the others are coarser.
    let each: Vec<Vec<W>> = pieces.iter().map(|p| valid(&p.words)).collect();
    let all = each.concat();
    let together = Values::new(&all, ElementFilter::All);
    let constant = together.detect(true).best(58);
    // If one scale-offset represents all values, no other is searched.
    let all_met = constant.is_some_and(|l| together.hold(l, 64));
    let mut finest = None;
    if each.len() > 1 && !all_met {
        let of = |words: &Vec<W>| Values::fewer_of(words, ElementFilter::All).detect(false).best(58);
        let found = each.iter().filter_map(of).filter(|l| constant.is_none() || together.hold(*l, 58));
        finest = found.max_by(|a, b| a.frequency().total_cmp(&b.frequency()));
    }
    let finer = finest.filter(|l| constant.is_none_or(|c| l.frequency() > 1.5 * c.frequency()));
    out.extend(constant.into_iter().chain(finer).map(TransformPlan::ScaleOffset));
    let constant = constant.or(finest);
    let fits = |p: &Crop<W>| {
        if p.planes.is_some() {
            return Some(true);
        }
        let n = Geometry::usable(p.geom.plane, p.words.len())?;
        let values = Values::fewer_of(&p.words[..n], ElementFilter::Not(mask));
        let enough = values.len() > 8;
        enough
            .then(|| constant.is_some_and(|l| values.hold(l, 43)) || values.detect(false).best(43).is_some())
    };
    let (mut fit, mut unfit) = (0, 0);
    for (piece, left) in pieces.iter().zip((0..pieces.len()).rev()) {
        match fits(piece) {
            Some(true) => fit += 1,
            Some(false) => unfit += 1,
            None => {}
        }
        if unfit > fit + left {
            return;
        }
    }
    if fit > 0 {
        out.push(TransformPlan::ScaleOffsetPerPlane);
    }
}
