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
pub(super) fn add(file: &mut NewFile, arrays: &[NewArray<'_>]) -> Result<()> {
    let mut maps = HashMap::new();
    let mut names = HashMap::new();
    let mut identifiers = HashMap::new();
    for array in arrays {
        let frags = fragment_dimensions(file, array);
        let key = (array.dimensions.clone(), array.cuts.clone());
        let map = match maps.get(&key) {
            Some(name) => String::clone(name),
            None => map(file, array)?,
        };
        maps.insert(key.clone(), map.clone());
        if has_only_values(array)? {
            let values = unique_values(file, array, frags)?;
            variable(file, array, &format!("map: {map} unique_values: {values}"), None);
            continue;
        }
        let (mut uris, mut ids, mut checks) = (Texts::default(), Texts::default(), Texts::default());
        for n in 0..array.partitions.len() {
            let partition = array.partitions.get(n)?;
            let found = reference(array, &partition)?;
            uris.push(found.uri);
            ids.push(found.variable);
            checks.push(found.fingerprint);
        }
        let uri_key = (key, uris);
        let (uri, checks) = if let Some(known) = names.get(&uri_key) {
            <(String, Option<String>)>::clone(known)
        } else {
            let uri = strings(file, "fragment_uris", &frags, &uri_key.1);
            let some = checks.iter().any(|c| !c.is_empty());
            (uri, some.then(|| strings(file, "fragment_fingerprints", &frags, &checks)))
        };
        let same = ids.iter().all(|id| Some(id) == ids.iter().next());
        if same {
            ids = ids.iter().take(1).collect();
        }
        let id_key = (if same { None } else { Some(uri_key.clone()) }, ids);
        names.insert(uri_key, (uri.clone(), checks.clone()));
        let id = if let Some(name) = identifiers.get(&id_key) {
            String::clone(name)
        } else {
            let dimensions: &[usize] = if same { &[] } else { &frags };
            strings(file, "fragment_identifiers", dimensions, &id_key.1)
        };
        identifiers.insert(id_key, id.clone());
        variable(file, array, &format!("map: {map} uris: {uri} identifiers: {id}"), checks.as_deref());
    }
    Ok(())
}

/// Texts of all fragments, one after another.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let mut begin = 0;
        self.ends.iter().map(move |end| &self.text[std::mem::replace(&mut begin, *end)..*end])
    }
}

impl<'t> FromIterator<&'t str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'t str>>(all: I) -> Self {
        let mut texts = Texts::default();
        all.into_iter().for_each(|text| texts.push(text));
        texts
    }
}

/// Returns whether no partition of an array is in a file.
fn has_only_values(array: &NewArray<'_>) -> Result<bool> {
    for n in 0..array.partitions.len() {
        if array.partitions.get(n)?.sub_array().is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn variable(file: &mut NewFile, array: &NewArray<'_>, data: &str, checks: Option<&str>) {
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
fn unique_values(file: &mut NewFile, array: &NewArray<'_>, dimensions: Vec<usize>) -> Result<String> {
    let own = array.attributes.iter().find(|a| a.name == b"_FillValue" && a.ty == array.ty);
    let fill = own.map_or(array.ty.default_fill(), |a| &a.values[..]);
    let mut values = Vec::with_capacity(array.partitions.len() * array.ty.size());
    for n in 0..array.partitions.len() {
        let p = array.partitions.get(n)?;
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

fn reference<'p>(array: &NewArray<'_>, p: &'p Partition) -> Result<Ref<'p>> {
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

fn fragment_dimensions(file: &mut NewFile, array: &NewArray<'_>) -> Vec<usize> {
    let each = array.dimensions.iter().zip(&array.cuts);
    let sizes: Vec<(String, u64)> =
        each.map(|(d, cuts)| (format!("f_{}", file.dimensions[*d].0), cuts.len() as u64 - 1)).collect();
    sizes.into_iter().map(|(name, len)| file.dimension(&name, len)).collect()
}

fn map(file: &mut NewFile, array: &NewArray<'_>) -> Result<String> {
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
fn strings(file: &mut NewFile, name: &str, dimensions: &[usize], texts: &Texts) -> String {
    let name = file.free_name(name);
    let len = texts.iter().map(str::len).max().unwrap_or(0).max(1);
    let mut dimensions = dimensions.to_vec();
    dimensions.push(file.dimension(&format!("strlen{len}"), len as u64));
    let mut values = Vec::with_capacity(texts.ends.len() * len);
    for text in texts.iter() {
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
