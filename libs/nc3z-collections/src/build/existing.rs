//! Takes the list of files from an existing aggregation, without reading the files.

use super::scan::{self, Array, Axis, Bounds, Coordinate, FileId, Form, Scalar, Scanned, shared};
use crate::error::{Error, Result};
use crate::file::as_aggregation;
use crate::master::cut::location;
use crate::master::{Data, FileRef, MasterArray};
use nc3z_format::classic::{Attribute, Variable};
use nc3z_reader::Dataset;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// One entry for each file of an aggregation.
pub(super) fn scan(dataset: &Dataset, name: &str) -> Result<Vec<Scanned>> {
    let refused = |what: &str| Error::refused(format!("`{name}` cannot be added to: {what}"));
    let aggregation = as_aggregation(dataset).ok_or_else(|| refused("it is not an aggregation"))?;
    let own = scan::scan(aggregation.fragments().own(), name, "", false)?;
    let mut files: BTreeMap<String, Scanned> = BTreeMap::new();
    // The aggregation's own coordinates and attributes.
    let stored = aggregation.fragments().own();
    let mut presented = scan_arrays(dataset)?;
    for array in &mut presented {
        let form = Arc::make_mut(&mut array.form);
        drop_presented_fill(stored, &form.name, &mut form.attributes);
    }
    for (_, _, master) in aggregation.masters().filter(|(.., m)| !is_values(m)) {
        let Some(template) = presented.iter().find(|a| a.name == master.name) else { continue };
        for n in 0..master.partitions.len() {
            let partition = master.partitions.get(n)?;
            let Data::Array(sub) = &partition.data else { return Err(refused("a part of it is not a file")) };
            let FileRef::Uri(uri) = &sub.file else {
                return Err(refused("a part of it is stored in the aggregation itself"));
            };
            if partition.part.is_some() || partition.dimensions.is_some() || !partition.reversed.is_empty() {
                return Err(refused("it does not hold its files unchanged; aggregate them again"));
            }
            let place = location(n, &master.cuts);
            let axes = template.axes.iter().zip(&place).map(|(axis, range)| slice(axis, range)).collect();
            let id = FileId::new(uri, uri, sub.fingerprint.as_deref().unwrap_or(""));
            let form = Form {
                name: sub.variable.trim_start_matches('/').to_owned(),
                shape: place.iter().map(|r| r.end - r.start).collect(),
                ..(*template.form).clone()
            };
            let array = Array { known: true, form: form.into(), id: id.clone(), axes, ..template.clone() };
            let entry = files.entry(uri.clone()).or_insert_with(|| Scanned {
                id,
                found_aggregation: false,
                known: true,
                attributes: own.attributes.clone(),
                arrays: vec![],
                scalars: vec![],
                points: vec![],
                loose: vec![],
            });
            entry.arrays.push(array);
        }
    }
    for (id, _, master) in aggregation.masters().filter(|(.., m)| is_values(m)) {
        let mut attributes = dataset.header().variables[id.index()].attributes.clone();
        drop_presented_fill(stored, &master.name, &mut attributes);
        let uris = aggregation.masters().find_map(|(_, _, other)| files_of(other, master));
        let uris = uris.ok_or_else(|| refused("it has values that belong to no file"))?;
        for (n, uri) in uris.into_iter().enumerate() {
            let values = match &master.partitions.get(n)?.data {
                Data::Value(values) => values.clone(),
                _ => continue,
            };
            let scalar = Scalar {
                name: master.name.clone(),
                helper: false,
                ty: master.ty,
                attributes: shared(&attributes),
                values,
            };
            files
                .get_mut(&uri)
                .ok_or_else(|| refused("it has values that belong to no file"))?
                .scalars
                .push(scalar);
        }
    }
    let mut out: Vec<Scanned> = files.into_values().collect();
    // Variables that are stored in the aggregation itself are added to its first file.
    if let Some(first) = out.first_mut() {
        let aggregated = |name: &str| aggregation.masters().any(|(_, _, m)| m.name == name);
        first.scalars.extend(own.scalars.into_iter().filter(|s| !aggregated(&s.name)));
        let named = |a: &Array| presented.iter().any(|p| p.name == a.name) && !aggregated(&a.name);
        for mut array in own.arrays.into_iter().filter(named) {
            array.helper = true;
            first.arrays.push(array);
        }
    }
    Ok(out)
}

/// Returns whether a master array has one value for each of its partitions, and none of them refers to a
/// file.
fn is_values(master: &MasterArray) -> bool {
    master.partitions.get(0).is_ok_and(|p| p.sub_array().is_none())
}

/// The files of an array that is cut only where `values` is cut, in their order.
fn files_of(array: &MasterArray, values: &MasterArray) -> Option<Vec<String>> {
    let [dim] = &values.dimensions[..] else { return None };
    let d = array.dimensions.iter().position(|name| name == dim)?;
    if array.cuts[d] != values.cuts[0] || array.partitions.len() != values.partitions.len() {
        return None;
    }
    let uris = (0..array.partitions.len()).map(|n| match &array.partitions.get(n).ok()?.sub_array()?.file {
        FileRef::Uri(uri) => Some(uri.clone()),
        FileRef::Own => None,
    });
    uris.collect()
}

/// The arrays that an aggregation presents, with whole axes.
fn scan_arrays(dataset: &Dataset) -> Result<Vec<Array>> {
    let mut out = Vec::new();
    for v in dataset.variables() {
        let axes = v.dimensions().zip(v.shape()).map(|(d, len)| {
            let name = d.name_lossy().into_owned();
            let found = dataset
                .variable(&name)
                .ok()
                .filter(|c| c.shape().len() == 1 && c.ty() != nc3z_format::NcType::Char);
            let coordinate = found.map(|c| scan::coordinate(dataset, &c).map(Arc::new)).transpose()?;
            let key = coordinate
                .as_ref()
                .and_then(|c| c.attribute("standard_name"))
                .unwrap_or_else(|| name.clone());
            Ok(Axis::new(key, name, *len, coordinate))
        });
        let axes = axes.collect::<nc3z_reader::Result<Vec<_>>>()?;
        // Scalars that became axes have dimensions here.
        let scalars = scan::scalar_axes(dataset, &v)?;
        out.push(Array { scalars, ..scan::array(&v, axes).map_err(Error::refused)? });
    }
    Ok(out)
}

/// A part of an axis.
fn slice(axis: &Axis, range: &Range<u64>) -> Axis {
    let Some(c) = axis.coordinate.as_ref().filter(|_| *range != (0..axis.len)) else { return axis.clone() };
    let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let bounds = c.bounds.as_ref().map(|b| {
        let values = b.values[at(range.start * b.vertices)..at(range.end * b.vertices)].to_vec();
        Box::new(Bounds { values, ..(**b).clone() })
    });
    let values = c.values[at(range.start)..at(range.end)].to_vec();
    let coordinate = Coordinate { form: c.form.clone(), values, bounds };
    Axis::new(axis.key.clone(), axis.name.clone(), range.end - range.start, Some(Arc::new(coordinate)))
}

/// Drops the fill value that the reader adds but the aggregation's file does not have: new files do not have
/// it either.
fn drop_presented_fill(stored: &Dataset, name: &str, attributes: &mut Vec<impl Borrow<Attribute>>) {
    let holds = |v: &Variable| v.attribute(b"_FillValue").is_some();
    if stored.header().variables.iter().any(|v| v.name == name.as_bytes() && !holds(v)) {
        attributes.retain(|a| a.borrow().name != b"_FillValue");
    }
}
