//! Arrays of the same identity become one variable.

use super::axis::{self, JoinedAxis};
use super::scan::{Array, Axis, Coordinate, MAX_STATIC, Scanned};
use super::{Report, Rules, common};
use crate::error::{Error, Result};
use crate::file::Convention;
use crate::master::cut::{Placed, cut};
use crate::master::values::{put_double, text};
use crate::master::{Data, FileRef, Partition, SubArray, UnitsOf};
use crate::units::conversion;
use crate::write::{NewAggregation, NewArray, NewVariable, attribute};
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use std::collections::{BTreeMap, HashSet};

/// Attributes that belong to the stored form of one file's values.
const STORED: [&str; 10] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
    "valid_min",
    "valid_max",
    "valid_range",
    "actual_range",
    "fragment_fingerprints",
];

/// Arrays that should be one.
struct Group<'a> {
    members: Vec<&'a Array>,
    /// Axes in the master's order.
    axes: Vec<JoinedAxis>,
    /// For each member, the number of each of its axes among the master's.
    orders: Vec<Vec<usize>>,
    /// Scalar coordinates that all members share.
    scalars: Vec<Axis>,
}

/// Joins all arrays of all files.
pub(super) fn join(
    scanned: &[Scanned],
    rules: &Rules,
    out: &mut NewAggregation,
    report: &mut Report,
) -> Result<()> {
    let mut groups = Vec::new();
    for members in by_identity(scanned) {
        groups.push(group(members, rules, report)?);
    }
    let varying: HashSet<String> =
        groups.iter().flat_map(|g| &g.axes).filter(|a| a.varies).map(|a| a.name.clone()).collect();
    let mut masters = Masters::default();
    for group in groups {
        let name = group.members[0].name.clone();
        let joined = group.axes.iter().any(|a| a.varies);
        let helper = group.members.iter().all(|m| m.helper || m.ty == NcType::Char);
        if !joined && group.members.len() > 1 {
            if varying.is_empty() && !helper {
                return Err(Error::refused(format!(
                    "`{}` and `{}` hold the same cells of `{name}`: nothing tells them apart",
                    group.members[0].file, group.members[1].file
                )));
            }
            constant(&group, rules, &mut masters, out)?;
        } else if !joined && helper {
            constant(&group, rules, &mut masters, out)?;
        } else {
            array(&group, rules, &mut masters, out, report)?;
        }
    }
    Ok(())
}

/// Arrays by identity; where a file has two of the same, by their names too.
fn by_identity(scanned: &[Scanned]) -> Vec<Vec<&Array>> {
    let mut twice = HashSet::new();
    for s in scanned {
        let mut seen = HashSet::new();
        twice.extend(s.arrays.iter().filter(|a| !seen.insert(&a.identity)).map(|a| a.identity.clone()));
    }
    let mut order: Vec<(String, Vec<&Array>)> = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for a in scanned.iter().flat_map(|s| &s.arrays) {
        let named = a.helper || twice.contains(&a.identity);
        let key = if named { format!("{}\0{}", a.identity, a.name) } else { a.identity.clone() };
        let n = *place.entry(key.clone()).or_insert_with(|| {
            order.push((key, vec![]));
            order.len() - 1
        });
        order[n].1.push(a);
    }
    order.into_iter().map(|(_, members)| members).collect()
}

fn own_text(a: &Array, name: &str) -> Option<String> {
    a.attributes.iter().find(|x| x.name == name.as_bytes()).map(text).filter(|t| !t.is_empty())
}

/// Makes sure that members are of one kind, and puts their axes together.
fn group<'a>(members: Vec<&'a Array>, rules: &Rules, report: &mut Report) -> Result<Group<'a>> {
    let first = members[0];
    for m in &members[1..] {
        let differ = |what: &str, a: Option<String>, b: Option<String>| {
            let say = |t: Option<String>| t.map_or("none".to_owned(), |t| format!("`{t}`"));
            Err(Error::refused(format!(
                "variable `{}`: {what} {} in `{}` and {} in `{}`",
                first.name,
                say(a),
                first.file,
                say(b),
                m.file
            )))
        };
        let (a, b) = (own_text(first, "cell_methods"), own_text(m, "cell_methods"));
        let words =
            |t: &Option<String>| t.as_ref().map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
        if words(&a) != words(&b) {
            return differ("cell_methods", a, b);
        }
        let (a, b) = (own_text(first, "units"), own_text(m, "units"));
        if (first.ty == NcType::Char) != (m.ty == NcType::Char) {
            return differ("type", Some(first.ty.to_string()), Some(m.ty.to_string()));
        }
        match (&a, &b) {
            (Some(to), Some(from)) => {
                let (ca, cb) = (own_text(first, "calendar"), own_text(m, "calendar"));
                conversion(from, cb.as_deref(), to, ca.as_deref()).map_err(|e| {
                    Error::refused(format!(
                        "variable `{}` of `{}` and `{}`: {e}",
                        first.name, m.file, first.file
                    ))
                })?;
            }
            (None, None) => {}
            _ => return differ("units", a, b),
        }
    }
    let files: Vec<&str> = members.iter().map(|m| &*m.file).collect();
    let (keys, constant_scalars) = axis_keys(&members);
    let mut axes = Vec::new();
    for key in &keys {
        let own: Vec<&Axis> = members.iter().map(|m| find(m, key, &files)).collect::<Result<_>>()?;
        let may = rules.along.is_empty() || rules.along.iter().any(|a| a == key || *a == own[0].name);
        let in_order = may && !rules.along.is_empty() && own.iter().all(|a| a.coordinate.is_none());
        let joined = axis::join(&own, &files, rules.tolerance, in_order, rules.contiguous)
            .map_err(|e| Error::refused(format!("variable `{}`: {e}", first.name)))?;
        if joined.varies && !may {
            let other = joined.places.iter().position(|p| p.0 != joined.places[0].0).unwrap_or(0);
            return Err(Error::refused(format!(
                "variable `{}`: `{}` and `{}` differ along `{}`, along which nothing should be joined",
                first.name, files[0], files[other], joined.name
            )));
        }
        report
            .notes
            .extend(joined.notes.iter().filter(|n| !report.notes.contains(n)).cloned().collect::<Vec<_>>());
        axes.push(joined);
    }
    overlap(&members, &axes)?;
    let orders = members
        .iter()
        .map(|m| m.axes.iter().filter_map(|a| keys.iter().position(|k| *k == a.key)).collect())
        .collect();
    Ok(Group { members, axes, orders, scalars: constant_scalars })
}

/// Keys of the master's axes in order, and scalar coordinates that are none.
fn axis_keys(members: &[&Array]) -> (Vec<String>, Vec<Axis>) {
    let most = members.iter().map(|m| m.axes.len()).max().unwrap_or(0);
    let most = members.iter().find(|m| m.axes.len() == most).copied().unwrap_or(members[0]);
    let mut keys: Vec<String> = most.axes.iter().map(|a| a.key.clone()).collect();
    for axis in members.iter().flat_map(|m| &m.axes) {
        if !keys.contains(&axis.key) {
            keys.push(axis.key.clone());
        }
    }
    let mut constant = Vec::new();
    let mut new = Vec::new();
    for scalar in members[0].scalars.iter().filter(|s| !keys.contains(&s.key)) {
        let same = members.iter().all(|m| {
            m.scalars.iter().any(|s| {
                s.key == scalar.key
                    && s.coordinate.as_ref().map(|c| &c.values)
                        == scalar.coordinate.as_ref().map(|c| &c.values)
                    && s.coordinate.as_ref().map(|c| c.attribute("units"))
                        == scalar.coordinate.as_ref().map(|c| c.attribute("units"))
            })
        });
        if same {
            constant.push(scalar.clone());
        } else if members.iter().all(|m| m.scalars.iter().any(|s| s.key == scalar.key)) {
            new.push(scalar.key.clone());
        }
    }
    new.extend(keys);
    (new, constant)
}

fn find<'a>(m: &'a Array, key: &str, files: &[&str]) -> Result<&'a Axis> {
    let found = m.axes.iter().chain(&m.scalars).find(|a| a.key == key);
    found.ok_or_else(|| {
        Error::refused(format!(
            "variable `{}`: `{}` has no axis `{key}`, which others of `{}` and so on have",
            m.name, m.file, files[0]
        ))
    })
}

/// Names two files that fill the same place, with values, where they differ along one axis only.
fn overlap(members: &[&Array], axes: &[JoinedAxis]) -> Result<()> {
    let varying: Vec<&JoinedAxis> = axes.iter().filter(|a| a.varies).collect();
    let [axis] = varying[..] else { return Ok(()) };
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|n| (axis.places[*n].0.start, axis.places[*n].0.end));
    for pair in order.windows(2) {
        let (a, b) = (&axis.places[pair[0]].0, &axis.places[pair[1]].0);
        if b.start < a.end {
            let say = |range: &std::ops::Range<u64>| match &axis.coordinate {
                Some(c) => {
                    let at = |n: u64| axis::show(c, c.values[usize::try_from(n).unwrap_or(0)]);
                    if range.end - range.start == 1 {
                        at(range.start)
                    } else {
                        format!("{} to {}", at(range.start), at(range.end - 1))
                    }
                }
                None => format!("{} to {}", range.start, range.end - 1),
            };
            return Err(Error::refused(format!(
                "variable `{}`: `{}` and `{}` overlap along `{}`: {} and {}",
                members[pair[0]].name,
                members[pair[0]].file,
                members[pair[1]].file,
                axis.name,
                say(a),
                say(b)
            )));
        }
    }
    Ok(())
}

/// Axes that are in the file already, by their values.
#[derive(Default)]
struct Masters {
    axes: Vec<(usize, String, u64, Option<Coordinate>)>,
}

impl Masters {
    /// The dimension of an axis, with its coordinate variable.
    fn dimension(&mut self, joined: &JoinedAxis, out: &mut NewAggregation) -> Result<usize> {
        let same = |(_, name, len, c): &&(usize, String, u64, Option<Coordinate>)| {
            *name == joined.name
                && *len == joined.len
                && c.as_ref().map(|c| &c.values) == joined.coordinate.as_ref().map(|c| &c.values)
        };
        if let Some((n, ..)) = self.axes.iter().find(same) {
            return Ok(*n);
        }
        let taken =
            |n: &str| self.axes.iter().any(|a| a.1 == n) || out.own.dimensions.iter().any(|d| d.0 == n);
        let numbered = (2..).map(|n| format!("{}_{n}", joined.name));
        let name =
            std::iter::once(joined.name.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or_default();
        out.own.dimensions.push((name.clone(), joined.len));
        let dim = out.own.dimensions.len() - 1;
        if let Some(c) = &joined.coordinate {
            coordinate(c, &name, Some(dim), out)?;
        }
        self.axes.push((dim, joined.name.clone(), joined.len, joined.coordinate.clone()));
        Ok(dim)
    }
}

/// Adds a coordinate variable and its bounds.
fn coordinate(c: &Coordinate, name: &str, dim: Option<usize>, out: &mut NewAggregation) -> Result<()> {
    let encode = |values: &[f64], ty: NcType| {
        let mut bytes = Vec::with_capacity(values.len() * ty.size());
        values
            .iter()
            .try_for_each(|x| put_double(*x, ty, &mut bytes))
            .map_err(|what| Error::refused(format!("`{name}`: {what}")))?;
        Ok::<_, Error>(bytes)
    };
    let mut attributes = c.attributes.clone();
    if let Some(b) = &c.bounds {
        let own = out.own.free_name(&b.name);
        for a in attributes.iter_mut().filter(|a| a.name == b"bounds") {
            a.values = own.clone().into_bytes();
        }
        let vertices = out.own.dimension("nv", b.vertices);
        let dimensions = dim.into_iter().chain([vertices]).collect();
        let values = encode(&b.values, b.ty)?;
        out.own.variables.push(NewVariable {
            name: own,
            ty: b.ty,
            dimensions,
            attributes: b.attributes.clone(),
            values,
        });
    }
    let values = encode(&c.values, c.ty)?;
    let dimensions = dim.into_iter().collect();
    out.own.variables.push(NewVariable { name: name.to_owned(), ty: c.ty, dimensions, attributes, values });
    Ok(())
}

/// An array that is the same in all files, and not cut: its values go into the aggregation.
fn constant(group: &Group<'_>, rules: &Rules, masters: &mut Masters, out: &mut NewAggregation) -> Result<()> {
    let first = group.members[0];
    let too_long = first.shape.iter().product::<u64>().saturating_mul(8) > MAX_STATIC;
    let mut values: Option<Vec<u8>> = None;
    for m in &group.members {
        let read = read_whole(m, rules)?;
        match &values {
            None => values = Some(read),
            Some(known) if *known == read => {}
            Some(_) => {
                return Err(Error::refused(format!(
                    "`{}` and `{}` have different values of `{}`, and nothing tells where each belongs",
                    first.file, m.file, first.name
                )));
            }
        }
        if too_long {
            break;
        }
    }
    let dimensions = group.axes.iter().map(|a| masters.dimension(a, out)).collect::<Result<_>>()?;
    let name = out.own.free_name(&first.name);
    let ty = first.raw.unwrap_or(NcType::Double);
    let mut attributes = first.attributes.clone();
    if first.raw.is_none() {
        attributes.retain(|a| !STORED.iter().any(|n| n.as_bytes() == a.name));
    }
    let values = values.unwrap_or_default();
    out.own.variables.push(NewVariable { name, ty, dimensions, attributes, values });
    Ok(())
}

/// All values of an array: as they stand, or unpacked as doubles.
fn read_whole(m: &Array, rules: &Rules) -> Result<Vec<u8>> {
    let dataset = crate::file::open(std::path::Path::new(&*m.file), &rules.options)?;
    let v = dataset.variable(&m.name)?;
    let bytes = v.read_bytes(&v.all())?;
    if m.raw.is_some() {
        return Ok(bytes);
    }
    let fill = NcType::Double.default_fill();
    let conform = crate::master::values::Conform::new(
        v.header(),
        NcType::Double,
        fill,
        crate::units::Conversion::IDENTITY,
    )
    .map_err(|what| Error::fragment(&m.file, what))?;
    conform.apply(bytes).map_err(|(_, what)| Error::fragment(&m.file, what))
}

/// An array whose files are referred to.
fn array(
    group: &Group<'_>,
    rules: &Rules,
    masters: &mut Masters,
    out: &mut NewAggregation,
    report: &mut Report,
) -> Result<()> {
    let first = group.members[0];
    let nca = rules.convention != Convention::Cf;
    let dimensions: Vec<usize> =
        group.axes.iter().map(|a| masters.dimension(a, out)).collect::<Result<_>>()?;
    let names: Vec<String> = dimensions.iter().map(|d| out.own.dimensions[*d].0.clone()).collect();
    let shape: Vec<u64> = group.axes.iter().map(|a| a.len).collect();
    let mut placed = Vec::with_capacity(group.members.len());
    for (n, m) in group.members.iter().enumerate() {
        let order = &group.orders[n];
        let stored: Vec<String> = order.iter().map(|d| names[*d].clone()).collect();
        let reversed: Vec<String> =
            order.iter().filter(|d| group.axes[**d].places[n].1).map(|d| names[*d].clone()).collect();
        let ordered = order.windows(2).all(|pair| pair[0] < pair[1]);
        if !nca && let Some(d) = (0..group.axes.len()).find(|d| group.axes[*d].places[n].1) {
            let axis = &group.axes[d];
            let other = axis.places.iter().position(|p| !p.1).unwrap_or(0);
            let (runs, others) =
                if axis.ascending { ("descending", "ascending") } else { ("ascending", "descending") };
            return Err(Error::refused(format!(
                "variable `{}`: `{}` in `{}` is {runs}, in `{}` {others}. CF-1.13 cannot say that, and the convention NCA can",
                m.name, axis.name, m.file, group.members[other].file
            )));
        }
        if !nca && !ordered {
            return Err(Error::refused(format!(
                "variable `{}`: `{}` has its dimensions in the order {stored:?}, others {names:?}. CF-1.13 cannot say that, and the convention NCA can",
                m.name, m.file
            )));
        }
        let units = if nca {
            let differs =
                |name: &str| own_text(m, name).filter(|u| Some(u) != own_text(first, name).as_ref());
            UnitsOf::Given { units: differs("units"), calendar: differs("calendar") }
        } else {
            UnitsOf::Variable
        };
        let sub = SubArray {
            file: FileRef::Uri(m.uri.to_string()),
            variable: m.name.clone(),
            shape: nca.then(|| m.shape.clone()),
            fingerprint: Some(m.fingerprint.to_string()).filter(|f| !f.is_empty()),
        };
        let partition = Partition {
            dimensions: (stored != names && nca).then_some(stored),
            reversed,
            units,
            part: None,
            data: Data::Array(sub),
        };
        let location = group.axes.iter().map(|a| a.places[n].0.clone()).collect();
        placed.push(Placed { location, partition, name: m.file.to_string() });
    }
    let (cuts, partitions) = cut(&names, &shape, &placed)
        .map_err(|e| Error::refused(format!("variable `{}`: {e}", first.name)))?;
    let (ty, attributes) = stored_form(group, report);
    let name = first.name.clone();
    let fragments = cuts.iter().map(|c| c.len() as u64 - 1).collect();
    report.arrays.push(super::Joined { name: name.clone(), dimensions: names, shape, fragments });
    for scalar in &group.scalars {
        if let Some(c) =
            scalar.coordinate.as_ref().filter(|c| out.own.variables.iter().all(|v| v.name != c.name))
        {
            coordinate(c, &c.name, None, out)?;
        }
    }
    let directions = group.axes.iter().map(|a| a.ascending).collect();
    out.arrays.push(NewArray { name, ty, attributes, dimensions, directions, cuts, partitions });
    Ok(())
}

/// Type, and attributes with the fill value, of the whole.
fn stored_form(group: &Group<'_>, report: &mut Report) -> (NcType, Vec<Attribute>) {
    let first = group.members[0];
    let members = &group.members;
    let mut ty = members.iter().fold(first.ty, |ty, m| promote(ty, m.ty));
    let units = own_text(first, "units");
    let converted = members.iter().any(|m| own_text(m, "units") != units);
    if converted && !ty.is_float() && ty != NcType::Char {
        ty = NcType::Double;
    }
    let lists: Vec<&[Attribute]> = members.iter().map(|m| &m.attributes[..]).collect();
    let (mut attributes, dropped) = common(&lists);
    let plain = members.iter().all(|m| m.raw == Some(ty)) && !converted;
    attributes.retain(|a| {
        !STORED.iter().any(|n| n.as_bytes() == a.name) || (plain && a.name.starts_with(b"valid_"))
    });
    if converted {
        let own = first.attributes.iter().find(|a| a.name == b"units").cloned();
        attributes.retain(|a| a.name != b"units");
        attributes.extend(own);
    }
    let named = ["units", "scale_factor", "add_offset", "_FillValue", "missing_value", "long_name"];
    let dropped: Vec<String> = dropped.into_iter().filter(|n| !named.contains(&n.as_str())).collect();
    if !dropped.is_empty() {
        report.notes.push(format!(
            "attributes of `{}` that are not alike in all files are left out: {}",
            first.name,
            dropped.join(", ")
        ));
    }
    if ty != NcType::Char {
        // The fill value that all have, else the type's own: said in any case, so that no reader has to know it.
        let same = members.iter().all(|m| m.raw == Some(ty) && m.fill == first.fill);
        let fill = if same { first.fill.clone() } else { ty.default_fill().to_vec() };
        attributes.push(attribute("_FillValue", ty, fill));
    }
    (ty, attributes)
}

/// A type that has the values of both.
fn promote(a: NcType, b: NcType) -> NcType {
    if a == b {
        return a;
    }
    let small = |ty: NcType| ty.size() <= 2;
    match (a, b) {
        (NcType::Float, other) | (other, NcType::Float) if small(other) => NcType::Float,
        (x, y)
            if !x.is_float()
                && !y.is_float()
                && x.size().max(y.size()) <= 4
                && !x.is_unsigned()
                && !y.is_unsigned() =>
        {
            if x.size() >= y.size() {
                x
            } else {
                y
            }
        }
        _ => NcType::Double,
    }
}
