//! Writes CF-1.13 section 2.8, with arrays of characters for strings, so that the aggregation is a classic
//! file.

use super::NewArray;
use super::classic::{NewFile, NewVariable, attribute, text_attribute};
use crate::error::{Error, Result};
use crate::master::{Data, FileRef, Partition, UnitsOf};
use nc3z_format::NcType;
use std::collections::HashMap;

/// Adds aggregated variables to a file. Variables with the same fragments share the variables that describe
/// them.
pub(super) fn add(file: &mut NewFile, arrays: &[NewArray]) -> Result<()> {
    let mut maps = HashMap::new();
    let mut names = HashMap::new();
    let mut identifiers = HashMap::new();
    for array in arrays {
        if array.partitions.iter().all(|p| p.sub_array().is_none()) {
            let frags = fragment_dimensions(file, array);
            let key = (array.dimensions.clone(), array.cuts.clone());
            let map = match maps.get(&key) {
                Some(name) => String::clone(name),
                None => map(file, array)?,
            };
            maps.insert(key, map.clone());
            let values = unique_values(file, array, frags)?;
            variable(file, array, &format!("map: {map} unique_values: {values}"), None);
            continue;
        }
        let refs: Vec<Ref> = array.partitions.iter().map(|p| reference(array, p)).collect::<Result<_>>()?;
        let frags = fragment_dimensions(file, array);
        let key = (array.dimensions.clone(), array.cuts.clone());
        let map = match maps.get(&key) {
            Some(name) => String::clone(name),
            None => map(file, array)?,
        };
        maps.insert(key.clone(), map.clone());
        let uris: Vec<&str> = refs.iter().map(|r| r.uri).collect();
        let uri_key = (key, uris.join("\0"));
        let (uri, checks) = if let Some(known) = names.get(&uri_key) {
            <(String, Option<String>)>::clone(known)
        } else {
            let uri = strings(file, "fragment_uris", &frags, &uris);
            let checks: Vec<&str> = refs.iter().map(|r| r.fingerprint).collect();
            let some = checks.iter().any(|c| !c.is_empty());
            (uri, some.then(|| strings(file, "fragment_fingerprints", &frags, &checks)))
        };
        names.insert(uri_key.clone(), (uri.clone(), checks.clone()));
        let ids: Vec<&str> = refs.iter().map(|r| r.variable).collect();
        let same = ids.windows(2).all(|pair| pair[0] == pair[1]);
        let id_key = if same { (None, ids[..1].join("")) } else { (Some(uri_key), ids.join("\0")) };
        let id = match identifiers.get(&id_key) {
            Some(name) => String::clone(name),
            None if same => strings(file, "fragment_identifiers", &[], &ids[..1]),
            None => strings(file, "fragment_identifiers", &frags, &ids),
        };
        identifiers.insert(id_key, id.clone());
        variable(file, array, &format!("map: {map} uris: {uri} identifiers: {id}"), checks.as_deref());
    }
    Ok(())
}

fn variable(file: &mut NewFile, array: &NewArray, data: &str, checks: Option<&str>) {
    let dims: Vec<&str> = array.dimensions.iter().map(|d| file.dimensions[*d].0.as_str()).collect();
    let mut attributes = array.attributes.clone();
    attributes.push(text_attribute("aggregated_dimensions", &dims.join(" ")));
    attributes.push(text_attribute("aggregated_data", data));
    attributes.extend(checks.map(|c| text_attribute("fragment_fingerprints", c)));
    let values = array.ty.default_fill().to_vec();
    let (name, ty) = (array.name.clone(), array.ty);
    file.variables.push(NewVariable { name, ty, dimensions: vec![], attributes, values });
}

/// Adds one value for each fragment whose elements are all equal; the fill value where they are missing.
fn unique_values(file: &mut NewFile, array: &NewArray, dimensions: Vec<usize>) -> Result<String> {
    let own = array.attributes.iter().find(|a| a.name == b"_FillValue" && a.ty == array.ty);
    let fill = own.map_or(array.ty.default_fill(), |a| &a.values[..]);
    let mut values = Vec::with_capacity(array.partitions.len() * array.ty.size());
    for p in &array.partitions {
        let value = if let Data::Value(value) = &p.data { &value[..] } else { fill };
        if value.len() != array.ty.size() {
            return Err(Error::refused(format!("variable `{}`: a value has another type", array.name)));
        }
        values.extend_from_slice(value);
    }
    let name = file.free_name("fragment_unique_values");
    let attributes = own.cloned().into_iter().collect();
    file.variables.push(NewVariable { name: name.clone(), ty: array.ty, dimensions, attributes, values });
    Ok(name)
}

/// A fragment with the names that CF uses.
struct Ref<'a> {
    uri: &'a str,
    variable: &'a str,
    fingerprint: &'a str,
}

fn reference<'a>(array: &NewArray, p: &'a Partition) -> Result<Ref<'a>> {
    let cannot = |what: String| {
        Err(Error::unsayable(format!(
            "variable `{}`: {what}; CF-1.13 cannot express that, NCA can",
            array.name
        )))
    };
    let Data::Array(sub) = &p.data else {
        return Err(Error::refused(format!(
            "variable `{}`: a partition without a file is not written",
            array.name
        )));
    };
    let FileRef::Uri(uri) = &sub.file else {
        return cannot("a partition is stored in the file of the aggregation".into());
    };
    if !p.reversed.is_empty() {
        return cannot(format!("`{uri}` runs in the opposite direction along {}", p.reversed.join(", ")));
    }
    if p.part.is_some() {
        return cannot(format!("only a part of `{uri}` applies here, since edges of files are not aligned"));
    }
    if p.dimensions.is_some() {
        return cannot(format!("`{uri}` has its dimensions in another order"));
    }
    if matches!(p.units, UnitsOf::Given { .. }) {
        return cannot(format!("the units of `{uri}` differ from those of its variable"));
    }
    Ok(Ref { uri, variable: &sub.variable, fingerprint: sub.fingerprint.as_deref().unwrap_or("") })
}

fn fragment_dimensions(file: &mut NewFile, array: &NewArray) -> Vec<usize> {
    let each = array.dimensions.iter().zip(&array.cuts);
    let sizes: Vec<(String, u64)> =
        each.map(|(d, cuts)| (format!("f_{}", file.dimensions[*d].0), cuts.len() as u64 - 1)).collect();
    sizes.into_iter().map(|(name, len)| file.dimension(&name, len)).collect()
}

fn map(file: &mut NewFile, array: &NewArray) -> Result<String> {
    let name = file.free_name("fragment_map");
    let rank = array.cuts.len() as u64;
    let columns = array.cuts.iter().map(|cuts| cuts.len() - 1).max().unwrap_or(1);
    let dimensions = if rank == 0 {
        vec![]
    } else {
        vec![file.dimension("fragment_map_j", rank), file.dimension("fragment_map_i", columns as u64)]
    };
    let mut values = Vec::new();
    for cuts in &array.cuts {
        let sizes = cuts.windows(2).map(|pair| {
            let size = pair[1] - pair[0];
            i32::try_from(size)
                .map_err(|_| Error::unsayable(format!("a fragment of length {size} is too long for a map")))
        });
        let sizes: Vec<i32> = sizes.collect::<Result<_>>()?;
        for n in 0..columns {
            let bytes = sizes.get(n).map(|s| s.to_be_bytes().to_vec());
            values.extend(bytes.unwrap_or_else(|| NcType::Int.default_fill().to_vec()));
        }
    }
    if rank == 0 {
        values = 1_i32.to_be_bytes().to_vec();
    }
    let attributes = vec![attribute("_FillValue", NcType::Int, NcType::Int.default_fill())];
    file.variables.push(NewVariable { name: name.clone(), ty: NcType::Int, dimensions, attributes, values });
    Ok(name)
}

/// Adds a variable of texts, padded with zeros: readers do not remove blanks.
fn strings(file: &mut NewFile, name: &str, dimensions: &[usize], texts: &[&str]) -> String {
    let name = file.free_name(name);
    let len = texts.iter().map(|t| t.len()).max().unwrap_or(0).max(1);
    let mut dimensions = dimensions.to_vec();
    dimensions.push(file.dimension(&format!("strlen{len}"), len as u64));
    let mut values = Vec::with_capacity(texts.len() * len);
    for text in texts {
        values.extend_from_slice(text.as_bytes());
        values.resize(values.len() + len - text.len(), 0);
    }
    file.variables.push(NewVariable {
        name: name.clone(),
        ty: NcType::Char,
        dimensions,
        attributes: vec![],
        values,
    });
    name
}
