//! Joins the same axis of many files: collects its values, and finds the index range of each file.

use super::scan::{Axis, Bounds, Coordinate, CoordinateForm};
use crate::error::{Error, Result};
use crate::master::conform::{put_double, text};
use nc3z_format::NcType;
use nc3z_format::units::{Calendar, Conversion, TimeUnit, conversion, dates_after_switch};
use std::ops::Range;
use std::sync::Arc;

/// The largest difference between two values that count as equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tolerance {
    /// The largest absolute difference.
    pub absolute: f64,
    /// The largest difference, as a share of the value.
    pub relative: f64,
}

/// An axis of a master array.
pub(super) struct JoinedAxis {
    pub(super) name: String,
    pub(super) len: u64,
    pub(super) ascending: bool,
    /// The coordinate, in the master's units and direction.
    pub(super) coordinate: Option<Coordinate>,
    pub(super) places: Places,
    /// True where members have different values on this axis.
    pub(super) varies: bool,
    pub(super) notes: Vec<String>,
}

/// For each member its index range, and whether it is reversed.
pub(super) enum Places {
    /// All members have the same one.
    Same((Range<u64>, bool)),
    Each(Vec<(Range<u64>, bool)>),
}

impl Places {
    pub(super) fn get(&self, member: usize) -> &(Range<u64>, bool) {
        match self {
            Places::Same(place) => place,
            Places::Each(places) => &places[member],
        }
    }

    /// Returns the first member for which `is` returns true.
    pub(super) fn position(&self, is: impl Fn(&(Range<u64>, bool)) -> bool) -> Option<usize> {
        match self {
            Places::Same(place) => is(place).then_some(0),
            Places::Each(places) => places.iter().position(is),
        }
    }
}

/// A member's values in the master's units, ascending.
struct Converted {
    values: Vec<f64>,
    bounds: Option<Vec<f64>>,
    /// True where the stored values descend, and were reversed.
    descending: bool,
}

/// Joins an axis. `files` are the members' names. Where `in_order` is true, dimensions without a coordinate
/// are joined in the order given.
pub(super) fn join(
    axes: &[&Axis],
    files: &[&str],
    tolerance: Tolerance,
    in_order: bool,
    contiguous: bool,
) -> Result<JoinedAxis> {
    let first = axes[0];
    let with: Vec<Option<&Arc<Coordinate>>> = axes.iter().map(|a| a.coordinate.as_ref()).collect();
    let Some(first_coordinate) = with[0].filter(|_| !in_order || with.iter().all(Option::is_some)) else {
        return without_coordinate(axes, files, in_order);
    };
    if let Some(n) = with.iter().position(Option::is_none) {
        let what = format!(
            "`{}` has the coordinate `{}`, and `{}` has none for its dimension `{}`",
            files[0], first_coordinate.name, files[n], axes[n].name
        );
        return Err(Error::misfit(files[odd(&with, Option::is_some, 0, n)], what));
    }
    let coordinates: Vec<&Arc<Coordinate>> = with.into_iter().flatten().collect();
    let same = |a: &Arc<Coordinate>, b: &Arc<Coordinate>| Arc::ptr_eq(a, b);
    let master_direction = coordinates.iter().find_map(|c| c.direction().ok().flatten());
    let ascending = master_direction.unwrap_or(true);
    if coordinates.iter().all(|c| same(c, first_coordinate)) || first_coordinate.direction().is_err() {
        return equal(axes, files, &coordinates, ascending);
    }
    let mut notes = Vec::new();
    let values = converted(files, &coordinates)?;
    let narrow = coordinates.iter().any(|c| c.ty == NcType::Float);
    let is_time = first_coordinate.attribute("units").is_some_and(|u| TimeUnit::is_time(&u));
    // Neighbours in one file are not the same, such as northings in metres, which are floats.
    let steps = values.iter().flat_map(|v| v.values.windows(2).map(|pair| pair[1] - pair[0]));
    let most = steps.fold(f64::INFINITY, f64::min) / 4.0;
    let near = |a: f64, b: f64| {
        let epsilon = if narrow && !is_time { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let size = a.abs().max(b.abs());
        let rounding = (4.0 * epsilon * size).min(most);
        (a - b).abs() <= rounding + tolerance.absolute + tolerance.relative * size
    };
    let narrower =
        |v: &Converted| v.values.windows(2).find(|pair| near(pair[0], pair[1])).map(<[f64]>::to_vec);
    if let Some((n, pair)) = values.iter().enumerate().find_map(|(n, v)| Some((n, narrower(v)?))) {
        let (a, b) = (show(first_coordinate, pair[0]), show(first_coordinate, pair[1]));
        let what = format!(
            "two values of `{}` in `{}` are equal within the tolerance: {a} and {b}; make it smaller",
            first.name, files[n]
        );
        return Err(Error::refused(what));
    }
    let all = union(&values, near);
    let show = |x: f64| show(first_coordinate, x);
    let mut places = Vec::with_capacity(values.len());
    for (n, v) in values.iter().enumerate() {
        let begin = position(&all, v.values[0], near);
        for (i, x) in v.values.iter().enumerate() {
            if all.get(begin + i).is_none_or(|y| !near(*x, *y)) {
                let between = all.get(begin + i).copied().unwrap_or(*x);
                let other =
                    values.iter().position(|o| o.values.iter().any(|y| near(*y, between))).unwrap_or(0);
                let misfit = odd(&values, |v| v.values.clone(), n, other);
                let what = format!(
                    "the values of `{}` interleave: `{}` has {} and {}, and `{}` has {} between; if they are meant to be the same, \
                     widen the tolerance",
                    first.name,
                    files[n],
                    show(v.values[i.saturating_sub(1)]),
                    show(*x),
                    files[other],
                    show(between)
                );
                return Err(Error::misfit(files[misfit], what));
            }
        }
        let turned = v.descending && ascending || !v.descending && !ascending && v.values.len() > 1;
        places.push((begin as u64..(begin + v.values.len()) as u64, turned));
    }
    let bounds = joined_bounds(&coordinates, &values, &places, all.len());
    if bounds.is_none() && coordinates.iter().any(|c| c.bounds.is_some()) {
        notes.push(format!("the bounds of `{}` are left out: not all files have them alike", first.name));
    }
    let climatology = first_coordinate.bounds.as_ref().is_some_and(|b| b.climatology);
    let cells = bounds.as_deref().filter(|_| !climatology);
    gaps(&all, cells, &show, &first.name, contiguous, &mut notes)?;
    let varies = places.iter().any(|p| p.0 != places[0].0);
    let len = all.len() as u64;
    if !ascending {
        for (range, _) in &mut places {
            *range = len - range.end..len - range.start;
        }
    }
    let coordinate = assemble(&coordinates, all, bounds, ascending);
    Ok(JoinedAxis {
        name: first.name.clone(),
        len,
        ascending,
        coordinate: Some(coordinate),
        places: if places.iter().all(|p| *p == places[0]) {
            Places::Same(places[0].clone())
        } else {
            Places::Each(places)
        },
        varies,
        notes,
    })
}

/// Joins dimensions without coordinates: all have the same length, or they follow each other.
fn without_coordinate(axes: &[&Axis], files: &[&str], in_order: bool) -> Result<JoinedAxis> {
    let (name, mut len) = (axes[0].name.clone(), axes[0].len);
    let places = if in_order {
        len = 0;
        let each = axes.iter().map(|axis| {
            len += axis.len;
            (len - axis.len..len, false)
        });
        Places::Each(each.collect())
    } else {
        if let Some(n) = axes.iter().position(|a| a.len != len || a.coordinate.is_some()) {
            let what = format!(
                "the dimension `{name}` has length {len} in `{}` and {} in `{}`, and no coordinates that tell where each belongs; \
                 files can be joined along it in the order given",
                files[0], axes[n].len, files[n]
            );
            let misfit = odd(axes, |a| (a.len, a.coordinate.is_some()), 0, n);
            return Err(Error::misfit(files[misfit], what));
        }
        Places::Same((0..len, false))
    };
    let varies = in_order && axes.len() > 1;
    Ok(JoinedAxis { name, len, ascending: true, coordinate: None, places, varies, notes: vec![] })
}

/// Joins coordinates with the same values, in any order.
fn equal(
    axes: &[&Axis],
    files: &[&str],
    coordinates: &[&Arc<Coordinate>],
    ascending: bool,
) -> Result<JoinedAxis> {
    let first = coordinates[0];
    let differs = coordinates
        .iter()
        .position(|c| c.values != first.values || c.attribute("units") != first.attribute("units"));
    if let Some(n) = differs {
        let what = format!(
            "the values of `{}` in `{}` neither ascend nor descend, and `{}` has others",
            first.name, files[0], files[n]
        );
        let sorted = |n: usize| coordinates[n].direction().is_ok();
        let misfit = if sorted(0) == sorted(n) {
            odd(coordinates, |c| c.values.clone(), 0, n)
        } else {
            odd(coordinates, |c| c.direction().is_ok(), 0, n)
        };
        return Err(Error::misfit(files[misfit], what));
    }
    let len = axes[0].len;
    Ok(JoinedAxis {
        name: axes[0].name.clone(),
        len,
        ascending,
        coordinate: Some((**first).clone()),
        places: Places::Same((0..len, false)),
        varies: false,
        notes: vec![],
    })
}

/// Of two members, returns the one that agrees with fewer of the others. Where both agree with equally many, returns the
/// second.
fn odd<M, T: PartialEq>(members: &[M], of: impl Fn(&M) -> T, a: usize, b: usize) -> usize {
    let count = |n: usize| {
        let own = of(&members[n]);
        members.iter().filter(|m| of(m) == own).count()
    };
    if count(a) < count(b) { a } else { b }
}

/// Returns the conversion from a member's units to those of the first.
fn to_first(coordinates: &[&Arc<Coordinate>], n: usize, files: &[&str]) -> Result<Conversion> {
    let (first, c, file) = (coordinates[0], coordinates[n], files[n]);
    let units = |c: &&Arc<Coordinate>| c.attribute("units");
    match (units(&c), units(&first)) {
        (Some(from), Some(to)) => {
            let calendars = (c.attribute("calendar"), first.attribute("calendar"));
            let (a, b) = (calendars.0.as_deref(), calendars.1.as_deref());
            let found = (a != b)
                .then(|| dates_after_switch(&from, a, &all_values(c), &to, b, &all_values(first)))
                .flatten();
            found.map_or_else(|| conversion(&from, a, &to, b), Ok).map_err(|e| {
                let both = |c: &&Arc<Coordinate>| (units(c), c.attribute("calendar"));
                let what = format!("`{}` of `{file}` and `{}`: {e}", c.name, files[0]);
                Error::misfit(files[odd(coordinates, both, 0, n)], what)
            })
        }
        (None, None) => Ok(Conversion::IDENTITY),
        (a, b) => {
            let say = |u: Option<String>| u.map_or("none".to_owned(), |u| format!("`{u}`"));
            let (name, mine, theirs) = (&c.name, say(a), say(b));
            let what = format!("`{name}` has the units {mine} in `{file}` and {theirs} in `{}`", files[0]);
            Err(Error::misfit(files[odd(coordinates, |c| units(c).is_some(), 0, n)], what))
        }
    }
}

/// The values of a coordinate and of its bounds.
fn all_values(c: &Coordinate) -> Vec<f64> {
    let bounds = c.bounds.iter().flat_map(|b| &b.values);
    c.values.iter().chain(bounds).copied().collect()
}

/// The values of all members in the units of the first.
fn converted(files: &[&str], coordinates: &[&Arc<Coordinate>]) -> Result<Vec<Converted>> {
    let mut out = Vec::with_capacity(files.len());
    for (n, (c, file)) in coordinates.iter().zip(files).enumerate() {
        let to_first = to_first(coordinates, n, files)?;
        let wrong = |what: String| Err(Error::misfit(file, what));
        let Ok(direction) = c.direction() else {
            return wrong(format!("the values of `{}` in `{file}` neither ascend nor descend", c.name));
        };
        if c.values.is_empty() {
            return wrong(format!("`{}` of `{file}` has no values", c.name));
        }
        if let Some(x) = c.values.iter().find(|x| !x.is_finite()) {
            return wrong(format!("`{}` of `{file}` has the value {x}", c.name));
        }
        let mut values: Vec<f64> = c.values.iter().map(|x| to_first.apply(*x)).collect();
        let mut bounds: Option<Vec<f64>> =
            c.bounds.as_ref().map(|b| b.values.iter().map(|x| to_first.apply(*x)).collect());
        let descending = values.len() > 1 && values[0] > values[1];
        debug_assert!(direction.is_some() || values.len() == 1, "strictly monotonic");
        if descending {
            values.reverse();
            let vertices = c.bounds.as_ref().map_or(1, |b| usize::try_from(b.vertices).unwrap_or(1)).max(1);
            bounds = bounds.map(|b| b.chunks(vertices).rev().flatten().copied().collect());
        }
        out.push(Converted { values, bounds, descending });
    }
    Ok(out)
}

/// All values in ascending order, without duplicates.
fn union(values: &[Converted], near: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let mut all: Vec<f64> = values.iter().flat_map(|v| v.values.iter().copied()).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup_by(|next, kept| near(*next, *kept));
    all
}

fn position(all: &[f64], x: f64, near: impl Fn(f64, f64) -> bool) -> usize {
    let at = all.partition_point(|y| *y < x);
    if at > 0 && near(all[at - 1], x) { at - 1 } else { at }
}

/// The bounds of all values, where all members have bounds with the same number of vertices.
fn joined_bounds(
    coordinates: &[&Arc<Coordinate>],
    values: &[Converted],
    places: &[(Range<u64>, bool)],
    len: usize,
) -> Option<Vec<f64>> {
    let vertices = coordinates[0].bounds.as_ref()?.vertices;
    if coordinates.iter().any(|c| c.bounds.as_ref().is_none_or(|b| b.vertices != vertices)) {
        return None;
    }
    let vertices = usize::try_from(vertices).ok()?;
    let mut out = vec![f64::NAN; len * vertices];
    for (v, (place, _)) in values.iter().zip(places) {
        let at = usize::try_from(place.start).ok()? * vertices;
        let from = v.bounds.as_ref()?;
        out[at..at + from.len()].copy_from_slice(from);
    }
    Some(out)
}

/// Finds values whose distance to the next value differs from the usual one.
fn gaps(
    all: &[f64],
    bounds: Option<&[f64]>,
    show: &impl Fn(f64) -> String,
    name: &str,
    contiguous: bool,
    notes: &mut Vec<String>,
) -> Result<()> {
    let found = match bounds {
        Some(bounds) if bounds.len() == 2 * all.len() => {
            let cells: Vec<(f64, f64)> = bounds.chunks(2).map(|c| (c[0].min(c[1]), c[0].max(c[1]))).collect();
            let apart = |a: f64, b: f64| (a - b).abs() > 1e-9 * a.abs().max(b.abs()).max(1e-9);
            let gap = cells.windows(2).find(|pair| apart(pair[0].1, pair[1].0));
            gap.map(|pair| {
                let what = if pair[0].1 < pair[1].0 { "leave a gap" } else { "overlap" };
                format!(
                    "cells of `{name}` {what}: one ends at {}, the next begins at {}",
                    show(pair[0].1),
                    show(pair[1].0)
                )
            })
        }
        _ => {
            let mut steps: Vec<f64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
            steps.sort_unstable_by(f64::total_cmp);
            let usual = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
            let gap = all.windows(2).find(|pair| pair[1] - pair[0] > 1.5 * usual && all.len() > 2);
            gap.map(|pair| format!("`{name}` has a gap between {} and {}", show(pair[0]), show(pair[1])))
        }
    };
    match found {
        Some(what) if contiguous => Err(Error::refused(what)),
        Some(what) => {
            notes.push(what);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Formats a value for people: times as dates.
pub(super) fn show(c: &Coordinate, x: f64) -> String {
    let units = c.attribute("units").unwrap_or_default();
    let calendar = Calendar::new(c.attribute("calendar").as_deref());
    match calendar.map(|calendar| TimeUnit::parse(&units, calendar)) {
        Some(Ok(unit)) => unit.show(x),
        _ => x.to_string(),
    }
}

fn assemble(
    coordinates: &[&Arc<Coordinate>],
    mut values: Vec<f64>,
    mut bounds: Option<Vec<f64>>,
    ascending: bool,
) -> Coordinate {
    let first = coordinates[0];
    let vertices = first.bounds.as_ref().map_or(1, |b| usize::try_from(b.vertices).unwrap_or(1)).max(1);
    if !ascending {
        values.reverse();
        bounds = bounds.map(|b| b.chunks(vertices).rev().flatten().copied().collect());
    }
    // The master has one type. Whole numbers may have become fractions when their units were converted.
    let same = |ty: NcType, of: &dyn Fn(&Coordinate) -> Option<NcType>| {
        coordinates.iter().all(|c| of(c) == Some(ty))
    };
    let units = first.attribute("units");
    let converted = coordinates.iter().any(|c| c.attribute("units") != units);
    let fit = |values: &[f64], ty: NcType| {
        let mut bytes = Vec::new();
        // Converted values would be rounded to floats.
        !(converted && ty == NcType::Float) && values.iter().all(|x| put_double(*x, ty, &mut bytes).is_ok())
    };
    let ty = match first.ty {
        ty if same(ty, &|c| Some(c.ty)) && fit(&values, ty) => ty,
        _ => NcType::Double,
    };
    let first_bounds = first.bounds.as_ref();
    let bounds = bounds.zip(first_bounds).map(|(values, b)| {
        let of = |c: &Coordinate| c.bounds.as_ref().map(|b| b.ty);
        let ty = if same(b.ty, &of) && fit(&values, b.ty) { b.ty } else { NcType::Double };
        Box::new(Bounds { ty, values, ..(**b).clone() })
    });
    let mut attributes = first.attributes.clone();
    let is_bounds = |a: &nc3z_format::classic::Attribute| a.name == b"bounds" || a.name == b"climatology";
    attributes.retain(|a| {
        a.name == b"units"
            || a.name == b"calendar"
            || a.name == b"standard_name"
            || is_bounds(a) && bounds.is_some()
            || !is_bounds(a)
                && coordinates
                    .iter()
                    .all(|c| c.attributes.iter().any(|b| b.name == a.name && text(b) == text(a)))
    });
    let form = CoordinateForm { name: first.name.clone(), ty, attributes };
    Coordinate { form: Arc::new(form), values, bounds }
}
