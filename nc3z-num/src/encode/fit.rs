//! Chooses the scale-offset for a tile.

use super::detect::{ElementFilter, Values};
use super::plan::TransformPlan;
use crate::geometry::Geometry;
use crate::scale_offset::{ScaleOffset, Segments};
use crate::word::Word;

/// Returns the scale-offsets of a plan for this tile; `valid` is not 0 for elements that are not masked, or empty
/// if none is masked.
pub(crate) fn segments<W: Word>(
    elements: &[W],
    geom: &Geometry,
    plan: &TransformPlan,
    valid: &[u8],
) -> Option<Segments> {
    let n = elements.len();
    match plan {
        TransformPlan::ScaleOffset(l) => {
            // A better fitting scale-offset takes precedence over one with many exceptions, if there are enough
            // values to decide.
            let values = Values::new(elements, ElementFilter::Valid(valid));
            let least = if values.len() < 64 { 43 } else { 54 };
            let planned = |least| Some(*l).filter(|l| values.hold(*l, least));
            let found = planned(least).or_else(|| {
                let detected = values.detect(false);
                detected.best(least).or_else(|| planned(43)).or_else(|| detected.best(43))
            })?;
            Some(Segments { len: n, list: vec![found] })
        }
        TransformPlan::ScaleOffsetPerPlane => {
            let len = Geometry::usable(geom.plane, n).unwrap_or(n);
            let list = per_plane(elements, len, valid);
            let found = list.iter().flatten().count();
            let none = ScaleOffset { off: 0.0, step: 1.0 };
            let list: Vec<_> = list.into_iter().map(|l| l.unwrap_or(none)).collect();
            (found * 3 > list.len() * 2).then_some(Segments { len, list })
        }
        _ => None,
    }
}

/// Returns the scale-offset of each run of `len` elements, if one fits.
fn per_plane<W: Word>(elements: &[W], len: usize, valid: &[u8]) -> Vec<Option<ScaleOffset>> {
    let mut last: Option<ScaleOffset> = None;
    let plane = |(plane, elements): (usize, &[W])| {
        let wanted = ElementFilter::Valid(valid.get(plane * len..).unwrap_or_default());
        let fit = of_plane(&Values::new(elements, wanted), last);
        last = fit.or(last);
        fit
    };
    elements.chunks(len).enumerate().map(plane).collect()
}

/// Returns the scale-offset of a plane: the previous plane's if it fits nearly everywhere, otherwise the best.
pub(crate) fn of_plane<W: Word>(values: &Values<'_, W>, last: Option<ScaleOffset>) -> Option<ScaleOffset> {
    let before = |least| last.filter(|l| values.hold(*l, least));
    before(62).or_else(|| values.detect(true).best(43)).or_else(|| before(43))
}
