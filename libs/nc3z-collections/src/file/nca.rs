//! Aggregation variables of NCA-0.1, whose ranges are half-open, and of NCA-0.2 to CFA-0.4, whose ranges include their ends.

use super::described::Described as Text;
use super::{Read, master_of, part};
use crate::error::{Error, Result};
use crate::master::conform::text;
use crate::master::{Data, FileRef, Indices, MAX_PARTITIONS, MasterArray, Partition, SubArray, UnitsOf};
use nc3z_format::Limits;
use nc3z_format::classic::VarId;
use nc3z_reader::{Dataset, Variable};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::Range;

type Object = Map<String, Value>;

pub(super) fn read(own: &Dataset, variable: &Variable) -> Result<Read> {
    let attribute = |names: [&str; 2]| names.iter().find_map(|n| variable.attribute(n)).map(text);
    let dimensions = attribute(["nca_dimensions", "cfa_dimensions"]).unwrap_or_default();
    let mut master = master_of(own, variable, dimensions.split_whitespace().map(str::to_owned).collect())?;
    let json = attribute(["nca_array", "cfa_array"]).unwrap_or_default();
    let name = master.name.clone();
    let wrong = |what: String| Error::malformed(&name, what);
    // The memory that `Limits` grant for a file of a few KB is enough for one partition, and for the
    // description of all.
    let limits = Limits::default().within(0);
    let text = Text::parse(&json, &limits).map_err(wrong)?;
    let described = Described::new(&master, &text).map_err(wrong)?;
    let (cuts, partitions) = described.partitions(&master, &text, &limits).map_err(wrong)?;
    master.cuts = cuts;
    let helpers = own_variables(own, &partitions, variable.id());
    master.partitions = Box::new(partitions);
    Ok(Read { master, helpers })
}

/// Private variables of the file itself that contain sub-arrays.
fn own_variables(own: &Dataset, partitions: &[Partition], but: VarId) -> Vec<VarId> {
    let subs = partitions.iter().filter_map(Partition::sub_array).filter(|sub| sub.file == FileRef::Own);
    let ids = subs.filter_map(|sub| own.header().variable(sub.variable.as_bytes()));
    ids.filter(|(id, v)| *id != but && super::is_private(v)).map(|(id, _)| id).collect()
}

/// The description of the master array, without its partitions.
struct Described {
    /// Numbers of the partitioned dimensions, in the order of `index`.
    pdimensions: Vec<usize>,
    pshape: Vec<usize>,
    /// The direction of the master's dimensions. A dimension that is not listed is increasing.
    directions: BTreeMap<String, bool>,
    /// True where ranges of `location` include their ends.
    inclusive: bool,
    base: Option<String>,
}

impl Described {
    fn new(master: &MasterArray, text: &Text<'_>) -> Result<Self, String> {
        let array = &text.fields;
        let later = ["pmdimensions", "pmshape", "base"].iter().any(|key| array.contains_key(*key));
        let inclusive = later || text.has_subarray;
        let names = strings(array.get("pmdimensions").or_else(|| array.get("pdimensions")), "pdimensions")?;
        let names = names.unwrap_or_default();
        let position = |name: &String| {
            let found = master.dimensions.iter().position(|d| d == name);
            found.ok_or_else(|| {
                format!("it is partitioned along `{name}`, which is not one of its dimensions")
            })
        };
        let pdimensions: Vec<usize> = names.iter().map(position).collect::<Result<_, _>>()?;
        if (1..pdimensions.len()).any(|n| pdimensions[..n].contains(&pdimensions[n])) {
            return Err("it is partitioned twice along the same dimension".into());
        }
        let pshape =
            numbers(array.get("pmshape").or_else(|| array.get("pshape")), "pshape")?.unwrap_or_default();
        let pshape: Vec<usize> = pshape.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        if pshape.len() != pdimensions.len() || pshape.contains(&0) {
            return Err(format!("its matrix of partitions has the shape {pshape:?} along {names:?}"));
        }
        let directions = match array.get("directions") {
            Some(Value::Object(each)) => {
                each.iter().filter_map(|(k, v)| Some((k.clone(), v.as_bool()?))).collect()
            }
            _ => BTreeMap::new(),
        };
        let base = array.get("base").and_then(Value::as_str).filter(|b| !b.is_empty()).map(str::to_owned);
        Ok(Described { pdimensions, pshape, directions, inclusive, base })
    }

    /// Cuts, and partitions in row-major order of the master's dimensions.
    fn partitions(
        &self,
        master: &MasterArray,
        text: &Text<'_>,
        limits: &Limits,
    ) -> Result<(Vec<Vec<u64>>, Vec<Partition>), String> {
        let shape = master.shape();
        let found = text.count.ok_or("it has no `Partitions`")?;
        let count =
            self.pshape.iter().try_fold(1_usize, |n, m| n.checked_mul(*m)).filter(|n| *n <= MAX_PARTITIONS);
        let count =
            count.ok_or_else(|| format!("{:?} partitions are more than {MAX_PARTITIONS}", self.pshape))?;
        if found != count {
            return Err(format!("it has {found} partitions, its matrix of {:?} wants {count}", self.pshape));
        }
        let mut matrix = vec![1; shape.len()];
        for (d, n) in self.pdimensions.iter().zip(&self.pshape) {
            matrix[*d] = *n;
        }
        let mut ranges: Vec<Vec<Option<Range<u64>>>> = matrix.iter().map(|n| vec![None; *n]).collect();
        let mut cells: Vec<Option<Partition>> = vec![None; count];
        text.for_each(limits, &mut |_, partition| {
            let index = self.index(partition, &matrix)?;
            let location = self.location(partition, &shape)?;
            for (d, range) in location.iter().enumerate() {
                let known = ranges[d][index[d]].get_or_insert_with(|| range.clone());
                if known != range {
                    return Err(format!(
                        "it covers {range:?} of `{}`, but others of its row cover {known:?}",
                        master.dimensions[d]
                    ));
                }
            }
            let cell = index.iter().zip(&matrix).fold(0, |cell, (i, n)| cell * n + i);
            let read = self.partition(master, partition, &location)?;
            if cells[cell].replace(read).is_some() {
                return Err(format!("there are two at the index {index:?}"));
            }
            Ok(())
        })?;
        let mut cuts = Vec::new();
        for (d, row) in ranges.into_iter().enumerate() {
            let dim = &master.dimensions[d];
            let mut edges = vec![0];
            for range in row.into_iter().flatten() {
                let last = edges.last().copied().unwrap_or(0);
                if range.start != last || range.end <= range.start {
                    return Err(format!(
                        "its partitions along `{dim}` leave a gap or overlap: {range:?} follows {last}"
                    ));
                }
                edges.push(range.end);
            }
            if edges.last() != Some(&shape[d]) {
                return Err(format!(
                    "its partitions along `{dim}` end at {}, its length is {}",
                    edges[edges.len() - 1],
                    shape[d]
                ));
            }
            cuts.push(edges);
        }
        let all: Option<Vec<Partition>> = cells.into_iter().collect();
        Ok((cuts, all.ok_or("a partition is missing")?))
    }

    /// Returns the position of a partition in the matrix, in the master's order.
    fn index(&self, partition: &Object, matrix: &[usize]) -> Result<Vec<usize>, String> {
        let given = numbers(partition.get("index"), "index")?.unwrap_or_default();
        if given.len() != self.pdimensions.len() {
            return Err(format!("its index {given:?} must have one number for each partitioned dimension"));
        }
        let mut out = vec![0; matrix.len()];
        for (d, i) in self.pdimensions.iter().zip(&given) {
            let i = usize::try_from(*i).ok().filter(|i| *i < matrix[*d]);
            out[*d] = i.ok_or_else(|| format!("its index {given:?} is outside {:?}", self.pshape))?;
        }
        Ok(out)
    }

    /// Returns the box that a partition fills.
    fn location(&self, partition: &Object, shape: &[u64]) -> Result<Vec<Range<u64>>, String> {
        let Some(given) = partition.get("location") else {
            return Ok(shape.iter().map(|len| 0..*len).collect());
        };
        let given = given.as_array().filter(|l| l.len() == shape.len());
        let given = given.ok_or_else(|| format!("its location does not have {} ranges", shape.len()))?;
        let each = given.iter().zip(shape).map(|(pair, len)| {
            let pair = numbers(Some(pair), "location")?.unwrap_or_default();
            let [start, stop] = pair[..] else {
                return Err(format!("its location has {pair:?} for a range"));
            };
            let stop = if self.inclusive { stop.checked_add(1) } else { Some(stop) };
            let bounds = u64::try_from(start).ok().zip(stop.and_then(|s| u64::try_from(s).ok()));
            match bounds {
                Some((start, stop)) if start < stop && stop <= *len => Ok(start..stop),
                _ => Err(format!("its location {pair:?} is outside a dimension of {len}")),
            }
        });
        each.collect()
    }

    fn partition(
        &self,
        master: &MasterArray,
        p: &Object,
        location: &[Range<u64>],
    ) -> Result<Partition, String> {
        let dimensions = strings(p.get("dimensions").or_else(|| p.get("pdimensions")), "dimensions")?;
        let part = match p.get("part") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(part::parse(text)?),
            Some(Value::Array(lists)) => Some(
                lists
                    .iter()
                    .map(|l| part::list(&numbers(Some(l), "part")?.unwrap_or_default()))
                    .collect::<Result<Vec<Indices>, String>>()?,
            ),
            Some(_) => return Err("its part is neither text nor a list".into()),
        };
        let text = |names: [&str; 2]| {
            names.iter().find_map(|n| p.get(*n)).and_then(Value::as_str).map(str::to_owned)
        };
        let data = p.get("data").or_else(|| p.get("subarray")).and_then(Value::as_object);
        let data = data.ok_or("it has no `data`")?;
        let format = p.get("format").or_else(|| data.get("format")).and_then(Value::as_str);
        if let Some(format) =
            format.filter(|f| !f.eq_ignore_ascii_case("netcdf") && !f.eq_ignore_ascii_case("nc"))
        {
            return Err(format!("sub-arrays of the format `{format}` are not read"));
        }
        for key in ["file_offset", "lbpack"] {
            if data.get(key).is_some_and(|v| !v.is_null() && v.as_i64() != Some(0)) {
                return Err(format!("sub-arrays with `{key}` are not netCDF, and cannot be read"));
            }
        }
        let variable = data.get("ncvar").and_then(Value::as_str).ok_or("its data has no `ncvar`")?.to_owned();
        let shape = numbers(data.get("shape"), "shape")?.ok_or("its data has no `shape`")?;
        let shape: Vec<u64> = shape.iter().map(|n| u64::try_from(*n).unwrap_or(u64::MAX)).collect();
        let file = match data.get("file").and_then(Value::as_str).filter(|f| !f.is_empty()) {
            None => FileRef::Own,
            Some(file) => FileRef::Uri(match &self.base {
                Some(base) if !file.starts_with('/') && !file.contains("://") => {
                    format!("{}/{file}", base.trim_end_matches('/'))
                }
                _ => file.to_owned(),
            }),
        };
        let rank = part.as_ref().map_or(shape.len(), Vec::len);
        if dimensions.is_none() && rank > location.len() {
            return Err("it has more dimensions than the array, and does not name them".into());
        }
        let fingerprint = data.get("fingerprint").and_then(Value::as_str).map(str::to_owned);
        Ok(Partition {
            reversed: self.reversed(master, p, dimensions.as_deref())?,
            dimensions,
            units: UnitsOf::Given {
                units: text(["units", "punits"]),
                calendar: text(["calendar", "pcalendar"]),
            },
            part,
            data: Data::Array(SubArray { file, variable, shape: Some(shape), fingerprint }),
        })
    }

    /// Returns the dimensions whose direction differs from the master's.
    fn reversed(
        &self,
        master: &MasterArray,
        p: &Object,
        dimensions: Option<&[String]>,
    ) -> Result<Vec<String>, String> {
        if let Some(list) = strings(p.get("reverse"), "reverse")? {
            return Ok(list);
        }
        let names = dimensions.unwrap_or(&master.dimensions);
        let mine = |dim: &String| self.directions.get(dim).copied().unwrap_or(true);
        Ok(match p.get("directions") {
            Some(Value::Object(each)) => each
                .iter()
                .filter_map(|(dim, sense)| Some((dim, sense.as_bool()?)))
                .filter(|(dim, sense)| {
                    names.contains(dim) && master.dimensions.contains(dim) && *sense != mine(dim)
                })
                .map(|(dim, _)| dim.clone())
                .collect(),
            // A dimension that the master lacks has one element, and no direction.
            _ => Vec::new(),
        })
    }
}

fn strings(value: Option<&Value>, what: &str) -> Result<Option<Vec<String>>, String> {
    let list = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("`{what}` is not a list")),
    };
    let each = list
        .iter()
        .map(|v| v.as_str().map(str::to_owned).ok_or_else(|| format!("`{what}` is not a list of names")));
    each.collect::<Result<_, _>>().map(Some)
}

fn numbers(value: Option<&Value>, what: &str) -> Result<Option<Vec<i64>>, String> {
    let list = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("`{what}` is not a list")),
    };
    let each =
        list.iter().map(|v| v.as_i64().ok_or_else(|| format!("`{what}` is not a list of whole numbers")));
    each.collect::<Result<_, _>>().map(Some)
}
