//! Writes NCA-0.1: the description of the master array is JSON in one attribute.

use super::NewArray;
use super::classic::{NewFile, NewVariable, text_attribute};
use crate::error::{Error, Result};
use crate::file::part_text;
use crate::master::cut::location;
use crate::master::{Data, FileRef, Partition, UnitsOf};
use serde_json::{Map, Value, json};

/// Adds aggregated variables to a file.
pub(super) fn add(file: &mut NewFile, arrays: &[NewArray<'_>]) -> Result<()> {
    for array in arrays {
        let dims: Vec<String> = array.dimensions.iter().map(|d| file.dimensions[*d].0.clone()).collect();
        let text = describe(array, &dims)?.to_string();
        let mut attributes = array.attributes.clone();
        attributes.push(text_attribute("nca_dimensions", &dims.join(" ")));
        attributes.push(text_attribute("nca_array", &text));
        let values = array.ty.default_fill().to_vec();
        file.variables.push(NewVariable {
            name: array.name.clone(),
            ty: array.ty,
            dimensions: vec![],
            attributes,
            values,
        });
    }
    Ok(())
}

fn describe(array: &NewArray<'_>, dims: &[String]) -> Result<Value> {
    let partitioned: Vec<usize> = (0..dims.len()).filter(|d| array.cuts[*d].len() > 2).collect();
    let mut partitions = Vec::with_capacity(array.partitions.len());
    for n in 0..array.partitions.len() {
        let p = array.partitions.get(n)?;
        let location = location(n, &array.cuts);
        let index = partitioned.iter().map(|d| array.cuts[*d].partition_point(|c| *c < location[*d].start));
        let ranges: Vec<[u64; 2]> = location.iter().map(|r| [r.start, r.end]).collect();
        let mut out = Map::new();
        out.insert("index".into(), index.collect::<Vec<_>>().into());
        out.insert("location".into(), json!(ranges));
        partition(array, dims, &p, &mut out)?;
        partitions.push(Value::Object(out));
    }
    let directions: Map<String, Value> =
        dims.iter().zip(&array.directions).map(|(d, up)| (d.clone(), (*up).into())).collect();
    let names: Vec<&String> = partitioned.iter().map(|d| &dims[*d]).collect();
    let pshape: Vec<usize> = partitioned.iter().map(|d| array.cuts[*d].len() - 1).collect();
    let directions = if dims.is_empty() { Value::Bool(true) } else { directions.into() };
    Ok(json!({"directions": directions, "pdimensions": names, "pshape": pshape, "Partitions": partitions}))
}

fn partition(
    array: &NewArray<'_>,
    dims: &[String],
    p: &Partition,
    out: &mut Map<String, Value>,
) -> Result<()> {
    let refused = |what: &str| Err(Error::refused(format!("variable `{}`: {what}", array.name)));
    let Data::Array(sub) = &p.data else { return refused("a partition without a file is not written") };
    if let Some(names) = p.dimensions.as_ref().filter(|names| *names != dims) {
        out.insert("dimensions".into(), names.clone().into());
    }
    let up = |dim: &String| dims.iter().position(|d| d == dim).is_none_or(|n| array.directions[n]);
    let mut directions: Map<String, Value> =
        p.reversed.iter().map(|dim| (dim.clone(), Value::Bool(!up(dim)))).collect();
    // Dimensions that the master does not have must be listed, even where their direction has no meaning.
    for extra in p.dimensions.iter().flatten().filter(|dim| !dims.contains(dim)) {
        directions.insert(extra.clone(), true.into());
    }
    if !directions.is_empty() {
        out.insert("directions".into(), directions.into());
    }
    match &p.units {
        UnitsOf::Variable => return refused("the units of a partition must be known"),
        UnitsOf::Given { units, calendar } => {
            units.iter().for_each(|u| drop(out.insert("units".into(), u.clone().into())));
            calendar.iter().for_each(|c| drop(out.insert("calendar".into(), c.clone().into())));
        }
    }
    p.part.iter().for_each(|part| drop(out.insert("part".into(), part_text(part).into())));
    let Some(shape) = &sub.shape else { return refused("the shape of a sub-array must be known") };
    let mut data = Map::new();
    data.insert("shape".into(), shape.clone().into());
    data.insert("ncvar".into(), sub.variable.clone().into());
    if let FileRef::Uri(uri) = &sub.file {
        data.insert("file".into(), uri.clone().into());
    }
    sub.fingerprint.iter().for_each(|f| drop(data.insert("fingerprint".into(), f.clone().into())));
    out.insert("data".into(), data.into());
    Ok(())
}
