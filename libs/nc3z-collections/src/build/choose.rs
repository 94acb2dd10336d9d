//! Selects files and variables: those that were requested, and that have values.

use super::Report;
use super::join::own_text;
use super::scan::{Array, Axis, Coordinate, CoordinateForm, Scanned};
use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::names::hint_for;
use nc3z_writer::Advice;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Attributes that name other variables.
pub(crate) const REFERENCES: [&str; 5] =
    ["coordinates", "cell_measures", "grid_mapping", "formula_terms", "ancillary_variables"];

/// Keeps the variables of these names, and those that their attributes name.
pub(super) fn variables(scanned: &mut [Scanned], names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let all: BTreeSet<&str> = scanned.iter().flat_map(each).map(|a| a.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !all.contains(name.as_str())) {
        let hint = hint_for(all.iter().map(|name| name.as_bytes()));
        let known = all.into_iter().take(20).collect::<Vec<_>>().join(", ");
        return Err(Error::refused(format!("no file has a variable `{name}`; there are {known}{hint}")));
    }
    let mut kept: HashSet<String> = names.iter().cloned().collect();
    for a in scanned.iter().flat_map(each).filter(|a| names.contains(&a.name)) {
        kept.extend(references(a));
    }
    for s in scanned {
        s.arrays.retain(|a| kept.contains(&a.name));
        s.points.retain(|a| kept.contains(&a.name));
        s.scalars.retain(|a| kept.contains(&a.name));
    }
    Ok(())
}

fn each(s: &Scanned) -> impl Iterator<Item = &Array> {
    s.arrays.iter().chain(&s.points)
}

/// Names in the attributes of a variable, and of its coordinates.
fn references(a: &Array) -> Vec<String> {
    let of_coordinates = a.axes.iter().chain(&a.scalars).filter_map(|axis| axis.coordinate.as_ref());
    let terms = of_coordinates.filter_map(|c| c.attribute("formula_terms"));
    let texts = REFERENCES.iter().filter_map(|name| own_text(a, name)).chain(terms);
    texts.flat_map(|t| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Leaves out variables and files without values, and aggregations that are in the same directory as the
/// files that they were made of.
pub(super) fn with_values(scanned: &mut Vec<Scanned>, report: &mut Report) -> Result<()> {
    if scanned.iter().any(|s| !s.found_aggregation) {
        for s in scanned.iter().filter(|s| s.found_aggregation) {
            report.notes.push(format!(
                "`{}` is an aggregation itself and is left out; name it to include it",
                s.id.file()
            ));
        }
        scanned.retain(|s| !s.found_aggregation);
    }
    let empty = |a: &Array| a.shape.contains(&0);
    let mut last = None;
    for s in scanned.iter_mut() {
        let Some((array, axis)) =
            s.arrays.iter().find_map(|a| Some((a, a.axes.iter().find(|x| x.len == 0)?)))
        else {
            continue;
        };
        let what = format!(
            "`{}` has no values of `{}`: its dimension `{}` has length 0",
            s.id.file(),
            array.name,
            axis.name
        );
        report.notes.push(format!("{what}; it is left out there"));
        last = Some(what);
        // A file without any data does not decide what is constant.
        if s.arrays.iter().filter(|a| !a.helper).all(empty) {
            s.arrays.clear();
            s.scalars.clear();
            s.points.clear();
        }
        s.arrays.retain(|a| !empty(a));
    }
    let nothing = |s: &Scanned| s.arrays.is_empty() && s.scalars.is_empty() && s.points.is_empty();
    if let Some(what) = last {
        scanned.retain(|s| !nothing(s));
        if scanned.is_empty() {
            return Err(Error::refused(format!("no file has values to aggregate: {what}")));
        }
    }
    Ok(())
}

/// Gives each file its number along a new dimension.
pub(super) fn new_dimension(scanned: &mut [Scanned], name: &str) -> Result<()> {
    let taken = |s: &&Scanned| {
        let axes = s.arrays.iter().flat_map(|a| a.axes.iter().chain(&a.scalars));
        !s.known && (axes.map(|axis| &axis.name).any(|n| n == name) || each(s).any(|a| a.name == name))
    };
    if let Some(s) = scanned.iter().find(taken) {
        return Err(Error::refused(format!(
            "`{}` has a dimension or a variable `{name}` already",
            s.id.file()
        ))
        .advised(Advice::OtherDimension));
    }
    let known = scanned.iter().filter(|s| s.known).flat_map(|s| &s.arrays).flat_map(|a| &a.axes);
    let values = known.filter(|axis| axis.name == name).filter_map(|axis| axis.coordinate.as_ref());
    let mut next = values.flat_map(|c| &c.values).fold(-1.0_f64, |most, x| most.max(*x)) + 1.0;
    let shaped = scanned.iter().flat_map(|s| &s.arrays).any(|a| !a.helper);
    let form = Arc::new(CoordinateForm { name: name.to_owned(), ty: NcType::Int, attributes: Vec::new() });
    for s in scanned.iter_mut().filter(|s| !s.known) {
        if !shaped {
            let (points, rest) =
                std::mem::take(&mut s.points).into_iter().partition(|p| !p.helper && p.ty != NcType::Char);
            (s.arrays, s.points) = (points, rest);
            s.scalars.retain(|scalar| s.arrays.iter().all(|a| a.name != scalar.name));
        }
        let coordinate = Arc::new(Coordinate { form: form.clone(), values: vec![next], bounds: None });
        for array in s.arrays.iter_mut().filter(|a| !a.helper) {
            array.scalars.insert(0, Axis::of_scalar(Arc::clone(&coordinate)));
        }
        next += 1.0;
    }
    Ok(())
}
