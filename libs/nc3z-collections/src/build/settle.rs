//! Completes what one file leaves open from the other files: a variable without dimensions that has
//! dimensions elsewhere, a scalar that is a coordinate variable elsewhere, an axis without a standard name.

use super::join::own_text;
use super::scan::{Array, Axis, Coordinate, Scanned};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Names, axes and scalars of all files.
struct Inventory {
    /// Names and standard names of variables with dimensions.
    shaped: HashSet<String>,
    /// Variables by name or standard name, and the names of their dimensions.
    axes: HashSet<(String, String)>,
    /// Standard names of coordinates by the name of the dimension. None where a dimension has two.
    keys: HashMap<String, Option<String>>,
    /// Variables without dimensions whose scalar coordinates are not the same in all files.
    moving: HashSet<String>,
}

/// Combines what files say about their axes. Scalars that `along` names count as coordinates.
pub(super) fn settle(scanned: &mut [Scanned], along: &[String]) {
    let known = Inventory::new(scanned);
    for s in scanned.iter_mut() {
        let (points, rest) = std::mem::take(&mut s.points).into_iter().partition(|p| known.is_array(p));
        s.points = rest;
        let moved: Vec<Array> = points;
        s.scalars.retain(|scalar| moved.iter().all(|p| p.name != scalar.name));
        s.arrays.extend(moved);
        for array in s.arrays.iter_mut().filter(|a| !a.known) {
            for c in &s.loose {
                if known.is_coordinate(array, c, along) {
                    array.scalars.push(Axis::of_scalar(Arc::clone(c)));
                }
            }
            array.axes.iter_mut().chain(&mut array.scalars).for_each(|axis| known.name(axis));
        }
    }
}

/// The name and the standard name of a variable.
fn labels(a: &Array) -> impl Iterator<Item = String> {
    let standard = own_text(a, "standard_name").map(|t| format!("standard_name {t}"));
    std::iter::once(a.name.clone()).chain(standard)
}

impl Inventory {
    fn new(scanned: &[Scanned]) -> Self {
        let arrays = || scanned.iter().flat_map(|s| &s.arrays).filter(|a| !a.helper);
        let mut keys: HashMap<String, Option<String>> = HashMap::new();
        for axis in scanned.iter().flat_map(|s| &s.arrays).flat_map(|a| a.axes.iter().chain(&a.scalars)) {
            if axis.key != axis.name {
                let known = keys.entry(axis.name.clone()).or_insert_with(|| Some(axis.key.clone()));
                if known.as_ref() != Some(&axis.key) {
                    *known = None;
                }
            }
        }
        let axes = arrays().flat_map(|a| {
            labels(a).flat_map(|label| a.axes.iter().map(move |axis| (label.clone(), axis.name.clone())))
        });
        Inventory {
            shaped: arrays().flat_map(labels).collect(),
            axes: axes.collect(),
            keys,
            moving: moving(scanned),
        }
    }

    /// Returns true where a variable without dimensions has dimensions in another file, or has different
    /// scalar coordinates.
    fn is_array(&self, point: &Array) -> bool {
        !point.helper
            && (labels(point).any(|label| self.shaped.contains(&label)) || self.moving.contains(&point.name))
    }

    /// Returns true where a scalar is the coordinate of a variable that does not name it.
    fn is_coordinate(&self, array: &Array, c: &Coordinate, along: &[String]) -> bool {
        let has = array.axes.iter().chain(&array.scalars).any(|axis| axis.name == c.name);
        let elsewhere = || labels(array).any(|label| self.axes.contains(&(label, c.name.clone())));
        !array.helper && !has && array.name != c.name && (along.contains(&c.name) || elsewhere())
    }

    /// Gives an axis the standard name that it has in other files.
    fn name(&self, axis: &mut Axis) {
        if let Some(Some(key)) = self.keys.get(&axis.name).filter(|_| axis.key == axis.name) {
            Arc::make_mut(&mut axis.form).key.clone_from(key);
        }
    }
}

/// Variables without dimensions whose scalar coordinates differ between files.
fn moving(scanned: &[Scanned]) -> HashSet<String> {
    let mut first: HashMap<(&str, &str), &Axis> = HashMap::new();
    let mut out = HashSet::new();
    for point in scanned.iter().flat_map(|s| &s.points) {
        for axis in &point.scalars {
            let known = first.entry((&point.name, &axis.key)).or_insert(axis);
            let value =
                |axis: &Axis| axis.coordinate.as_ref().map(|c| (c.values.clone(), c.attribute("units")));
            if value(known) != value(axis) {
                out.insert(point.name.clone());
            }
        }
    }
    out
}
