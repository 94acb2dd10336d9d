//! Aggregation variables of CF-1.13 section 2.8, of its predecessor CFA-0.6.2, and of the drafts between
//! them.

use super::strings::Strings;
use super::{Read, fill_of, master_of};
use crate::error::{Error, Result};
use crate::master::conform::{Conform, text};
use crate::master::{Data, FileRef, MAX_PARTITIONS, Partition, PartitionList, SubArray, UnitsOf};
use nc3z_format::NcType;
use nc3z_format::units::Conversion;
use nc3z_reader::{Dataset, Variable};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) fn read(own: &Dataset, variable: &Variable) -> Result<Read> {
    let attribute = |name: &str| variable.attribute(name).map(text).unwrap_or_default();
    let dimensions = attribute("aggregated_dimensions").split_whitespace().map(str::to_owned).collect();
    let mut master = master_of(own, variable, dimensions)?;
    let name = master.name.clone();
    let terms = terms(&attribute("aggregated_data")).map_err(|what| Error::malformed(&name, what))?;
    let mut helpers = Vec::new();
    let mut term = |keys: &[&str]| -> Result<Option<Variable>> {
        let Some(value) = keys.iter().find_map(|key| terms.get(*key)) else { return Ok(None) };
        let found =
            own.variable(value).map_err(|_| Error::malformed(&name, format!("no variable `{value}`")))?;
        helpers.push(found.id());
        Ok(Some(found))
    };
    // In CFA-0.6 the map is called `location`. In the drafts the variable of URIs is called `location`.
    let draft = terms.contains_key("map") || terms.contains_key("shape");
    let (map_keys, uri_keys): (&[&str], &[&str]) = if draft {
        (&["map", "shape"], &["uris", "location", "file"])
    } else {
        (&["location"], &["uris", "file"])
    };
    let map = term(map_keys)?.ok_or_else(|| Error::malformed(&name, "`aggregated_data` names no `map`"))?;
    let uris = term(uri_keys)?;
    let identifiers = term(&["identifiers", "address", "variable"])?;
    let values = term(&["unique_values", "unique_value", "value"])?;
    let format = term(&["format"])?;
    let checks = variable.attribute("fragment_fingerprints").map(text);
    let checks = match checks.as_deref().map(|v| own.variable(v)) {
        Some(Ok(found)) => {
            helpers.push(found.id());
            Some(Strings::read(&name, &found)?)
        }
        _ => None,
    };
    read_map(&name, &map, &master.dimensions, &mut master.cuts)?;
    let matrix: Vec<u64> = master.matrix().iter().map(|n| *n as u64).collect();
    let count = matrix.iter().try_fold(1_u64, |n, m| n.checked_mul(*m));
    let count = count.filter(|n| *n <= MAX_PARTITIONS as u64).ok_or_else(|| {
        Error::malformed(&name, format!("{matrix:?} fragments are more than {MAX_PARTITIONS}"))
    })?;
    let grid = Grid {
        name: name.clone(),
        count: usize::try_from(count).unwrap_or(0),
        names: uris.as_ref().map(|v| Strings::read(&name, v)).transpose()?,
        substitutions: substitutions(uris.as_ref()),
        identifiers: identifiers.as_ref().map(|v| Strings::read(&name, v)).transpose()?,
        values: values.map(|v| unique(&master, &v)).transpose()?,
        checks,
        is_draft: ["location", "file", "address", "variable", "shape", "format"]
            .iter()
            .any(|key| terms.contains_key(*key)),
    };
    if let Some(format) = format {
        let formats = Strings::read(&name, &format)?;
        let other = (0..formats.count()).map(|n| formats.get(usize::try_from(n).unwrap_or(0)));
        if let Some(other) = other.into_iter().find(|f| !["", "nc", "netCDF"].contains(&f.as_str())) {
            return Err(Error::malformed(&name, format!("fragments of the format `{other}` are not read")));
        }
    }
    grid.check(&matrix)?;
    master.partitions = Box::new(grid);
    Ok(Read { master, helpers })
}

fn terms(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut out = BTreeMap::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let (key, value) = match word.split_once(':') {
            Some((key, "")) => (key, words.next()),
            Some((key, value)) => (key, Some(value)),
            None => return Err(format!("`aggregated_data` has `{word}` where a `term: variable` belongs")),
        };
        let value = value.ok_or_else(|| format!("`aggregated_data` names no variable for `{key}`"))?;
        // `/name` and `name` are the same in a file without groups.
        let value = value.strip_prefix('/').unwrap_or(value).to_owned();
        if out.insert(key.to_ascii_lowercase(), value).is_some() {
            return Err(format!("`aggregated_data` has `{key}` twice"));
        }
    }
    Ok(out)
}

/// Sizes of fragments along each dimension.
fn read_map(name: &str, map: &Variable, dimensions: &[String], cuts: &mut [Vec<u64>]) -> Result<()> {
    let wrong = |what: String| Err(Error::malformed(name, format!("the map `{}` {what}", map.name())));
    if map.ty() == NcType::Char || map.ty().is_float() {
        return wrong(format!("should hold integers and is {}", map.ty()));
    }
    let shape = map.shape().to_vec();
    let (rows, columns) = match shape[..] {
        [] => (1, 1),
        [n] if dimensions.len() == 1 || dimensions.is_empty() => (1, n),
        [rows, columns] => (rows, columns),
        _ => return wrong(format!("has the shape {shape:?}")),
    };
    if rows.checked_mul(columns).is_none_or(|n| n > MAX_PARTITIONS as u64) {
        return wrong(format!("has the shape {shape:?}, more than is read"));
    }
    if !dimensions.is_empty() && rows != dimensions.len() as u64 {
        return wrong(format!("has {rows} rows for {} dimensions", dimensions.len()));
    }
    let bytes = map.read_bytes(&map.all())?;
    let fill = fill_of(map.header());
    let cells: Vec<Option<i64>> = bytes
        .chunks_exact(map.ty().size())
        .zip(map.read::<i64>(&map.all())?)
        .map(|(item, value)| (item != fill).then_some(value))
        .collect();
    let columns = usize::try_from(columns).unwrap_or(0).max(1);
    for ((dim, cuts), row) in dimensions.iter().zip(cuts).zip(cells.chunks(columns)) {
        let sizes: Vec<i64> = row.iter().map_while(|n| *n).collect();
        if row[sizes.len()..].iter().any(Option::is_some) {
            return wrong(format!("has a gap in the row of `{dim}`"));
        }
        let mut edges = vec![0_u64];
        for size in &sizes {
            let last = edges.last().copied().unwrap_or(0);
            let next = u64::try_from(*size).ok().filter(|n| *n > 0).and_then(|n| last.checked_add(n));
            let Some(next) = next else {
                return wrong(format!("has a fragment of size {size} along `{dim}`"));
            };
            edges.push(next);
        }
        let (sum, len) = (edges.last().copied().unwrap_or(0), cuts.last().copied().unwrap_or(0));
        if sum != len {
            return wrong(format!("has fragments of together {sum} along `{dim}`, whose length is {len}"));
        }
        *cuts = edges;
    }
    Ok(())
}

/// The values of fragments that have one value for all elements, in the master's type. None where they are
/// missing.
fn unique(master: &crate::master::MasterArray, v: &Variable) -> Result<Vec<Option<Vec<u8>>>> {
    let wrong = |what: String| Error::malformed(&master.name, format!("`{}`: {what}", v.name()));
    let count = v.shape().iter().try_fold(1_u64, |n, len| n.checked_mul(*len));
    if count.is_none_or(|n| n > MAX_PARTITIONS as u64) {
        return Err(wrong(format!("its shape {:?} is more than is read", v.shape())));
    }
    let bytes = v.read_bytes(&v.all())?;
    let conform = Conform::new(v.header(), master.ty, &master.fill, Conversion::IDENTITY, &master.limits)
        .map_err(wrong)?;
    let values = conform.apply(bytes).map_err(|(_, what)| wrong(what))?;
    let size = master.ty.size();
    Ok(values.chunks_exact(size).map(|item| (item != master.fill).then(|| item.to_vec())).collect())
}

/// `${name}: value` pairs of CFA-0.6.
fn substitutions(uris: Option<&Variable>) -> Vec<(String, String)> {
    let text = uris.and_then(|v| v.attribute("substitutions")).map(text).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words
        .chunks_exact(2)
        .filter_map(|pair| Some((pair[0].strip_suffix(':')?.to_owned(), pair[1].to_owned())));
    pairs.collect()
}

/// Fragments in a grid. Each partition is made when it is requested.
struct Grid {
    name: String,
    count: usize,
    names: Option<Strings>,
    substitutions: Vec<(String, String)>,
    identifiers: Option<Strings>,
    values: Option<Vec<Option<Vec<u8>>>>,
    checks: Option<Strings>,
    /// True for CFA-0.6, where names may be missing and a fragment may have several alternative names.
    is_draft: bool,
}

impl Grid {
    /// Checks that there are as many names as fragments.
    fn check(&self, matrix: &[u64]) -> Result<()> {
        let wrong = |what: String| Err(Error::malformed(&self.name, what));
        if let Some(values) = &self.values {
            if values.len() != self.count {
                return wrong(format!(
                    "there are {} unique values for {} fragments",
                    values.len(),
                    self.count
                ));
            }
            return Ok(());
        }
        if self.names.is_none() && !self.is_draft {
            return wrong("`aggregated_data` names neither `uris` nor `unique_values`".into());
        }
        if self.identifiers.is_none() {
            return wrong("`aggregated_data` names no `identifiers`".into());
        }
        if let Some(names) = &self.names {
            let alternatives = self.is_draft && names.shape.len() == matrix.len() + 1;
            let fits = names.shape == matrix
                || (alternatives && names.shape.starts_with(matrix))
                // CFA-0.6 gives scalar data one fragment in a dimension of length 1.
                || (self.count == 1 && names.count() == 1);
            if !fits {
                return wrong(format!(
                    "the names of fragments have the shape {:?}, the map says {matrix:?}",
                    names.shape
                ));
            }
        }
        if let Some(ids) = &self.identifiers {
            let fits = ids.shape.is_empty()
                || ids.shape == matrix
                || ids.count() == 1
                || ids.shape.starts_with(matrix);
            if !fits {
                return wrong(format!(
                    "the identifiers have the shape {:?}, the map says {matrix:?}",
                    ids.shape
                ));
            }
        }
        Ok(())
    }

    fn uri(&self, n: usize) -> Option<String> {
        let names = self.names.as_ref()?;
        // Of several alternatives, the first that is given.
        let each = usize::try_from(names.count()).unwrap_or(0) / self.count.max(1);
        let mut found = (n * each..(n + 1) * each).map(|n| names.get(n)).find(|name| !name.is_empty())?;
        for (from, to) in &self.substitutions {
            found = found.replace(from, to);
        }
        Some(found)
    }

    fn identifier(&self, n: usize) -> String {
        self.identifiers.as_ref().map_or_else(String::new, |ids| {
            let each = usize::try_from(ids.count()).unwrap_or(0) / self.count.max(1);
            if ids.count() == 1 { ids.get(0) } else { ids.get(n * each.max(1)) }
        })
    }
}

impl PartitionList for Grid {
    fn len(&self) -> usize {
        self.count
    }

    fn get(&self, n: usize) -> Result<Cow<'_, Partition>> {
        let data = if let Some(values) = &self.values {
            match values.get(n) {
                Some(Some(value)) => Data::Value(value.clone()),
                _ => Data::Missing,
            }
        } else {
            let (uri, variable) = (self.uri(n), self.identifier(n));
            let file = match uri {
                Some(uri) => FileRef::Uri(uri),
                None if self.is_draft => FileRef::Own,
                None => return Err(Error::malformed(&self.name, format!("fragment {n} has no name"))),
            };
            if variable.is_empty() {
                if self.is_draft && file == FileRef::Own {
                    return Ok(Cow::Owned(whole(Data::Missing)));
                }
                return Err(Error::malformed(&self.name, format!("fragment {n} has no identifier")));
            }
            let checks = self.checks.as_ref().map(|c| c.get(n)).filter(|c| !c.is_empty());
            Data::Array(SubArray { file, variable, shape: None, fingerprint: checks })
        };
        Ok(Cow::Owned(whole(data)))
    }
}

fn whole(data: Data) -> Partition {
    Partition { dimensions: None, reversed: Vec::new(), units: UnitsOf::Variable, part: None, data }
}
