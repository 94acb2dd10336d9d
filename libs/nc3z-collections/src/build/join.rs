//! Joins arrays of the same identity to one variable.

use super::alike::{alike, axis_of_each};
use super::axis::{self, JoinedAxis};
use super::constant::constant;
use super::dimensions::{Masters, coordinate};
use super::identity;
use super::scan::{Array, Axis, Scanned};
use super::stored::stored_form;
use super::{Report, Rules};
use crate::error::{Error, Result};
use crate::file::Convention;
use crate::master::conform::text;
use crate::master::cut::{self, Placed, part_of};
use crate::master::{Data, FileRef, Partition, PartitionList, SubArray, UnitsOf};
use crate::write::{NewAggregation, NewArray};
use nc3z_format::NcType;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// An aggregation while it is put together.
pub(super) struct Making<'a> {
    pub(super) rules: &'a Rules,
    pub(super) convention: Convention,
    pub(super) out: NewAggregation<'a>,
    pub(super) masters: Masters,
    pub(super) report: Report,
    /// Groups whose data stay in the files, each with the name of its array. They are compared after the aggregation is written.
    pub(super) joined: Vec<(Arc<Group<'a>>, String)>,
}

/// Arrays that are joined to one.
pub(super) struct Group<'a> {
    pub(super) members: Vec<&'a Array>,
    /// The axes in the master's order.
    pub(super) axes: Vec<JoinedAxis>,
    /// For each member, the position of each of its axes among the master's axes.
    pub(super) orders: Vec<Arc<[usize]>>,
    /// Scalar coordinates that all members share.
    scalars: Vec<Axis>,
}

/// Joins all arrays of all files.
pub(super) fn join<'a>(scanned: &'a [Scanned], making: &mut Making<'a>) -> Result<()> {
    let mut groups = Vec::new();
    for members in identity::variables(scanned, making.rules.identity, &mut making.report)? {
        groups.push(group(members, making.rules, &mut making.report)?);
    }
    let varying: HashSet<String> =
        groups.iter().flat_map(|g| &g.axes).filter(|a| a.varies).map(|a| a.name.clone()).collect();
    for group in groups {
        let joined = group.axes.iter().any(|a| a.varies);
        let helper = group.members.iter().all(|m| m.helper || m.ty == NcType::Char);
        if !joined && group.members.len() > 1 {
            if varying.is_empty() && !helper {
                return Err(same_cells(&group));
            }
            constant(&group, making)?;
        } else if !joined && helper {
            constant(&group, making)?;
        } else {
            array(group, making)?;
        }
    }
    Ok(())
}

/// Returns the error for two files with the same coordinates.
fn same_cells(group: &Group<'_>) -> Error {
    let (a, b) = (group.members[0], group.members[1]);
    Error::misfit(
        b.id.file(),
        format!(
            "`{}` and `{}` hold the same cells of `{}`: nothing tells them apart. `--new-dim NAME` joins files along a new dimension; a \
             scalar coordinate, such as a time, counts where the attribute `coordinates` of the variable names it",
            a.id.file(),
            b.id.file(),
            a.name
        ),
    )
}

pub(super) fn own_text(a: &Array, name: &str) -> Option<String> {
    a.attributes.iter().find(|x| x.name == name.as_bytes()).map(|x| text(x)).filter(|t| !t.is_empty())
}

/// Checks that members can be joined, and joins their axes.
fn group<'a>(members: Vec<&'a Array>, rules: &Rules, report: &mut Report) -> Result<Group<'a>> {
    let first = members[0];
    alike(&members)?;
    let files: Vec<&str> = members.iter().map(|m| m.id.file()).collect();
    let (keys, constant_scalars) = axis_keys(&members, rules.new_dimension.as_deref());
    let mut axes = Vec::new();
    for key in &keys {
        let own = axis_of_each(&members, key, &mut report.notes)?;
        let is_new = rules.new_dimension.as_ref() == Some(key);
        let may =
            is_new || rules.along.is_empty() || rules.along.iter().any(|a| a == key || *a == own[0].name);
        let in_order = may && !rules.along.is_empty() && own.iter().all(|a| a.coordinate.is_none());
        let joined = axis::join(&own, &files, rules.tolerance, in_order, rules.contiguous)
            .map_err(|e| e.within(&format!("variable `{}`", first.name)))?;
        if joined.varies && !may {
            let other = joined.places.position(|p| p.0 != joined.places.get(0).0).unwrap_or(0);
            let what = format!(
                "variable `{}`: `{}` and `{}` differ along `{}`, along which nothing should be joined",
                first.name, files[0], files[other], joined.name
            );
            return Err(Error::misfit(files[other], what));
        }
        report.notes.extend(joined.notes.iter().cloned());
        axes.push(joined);
    }
    overlap(&members, &axes)?;
    let mut orders: Vec<Arc<[usize]>> = Vec::with_capacity(members.len());
    for m in &members {
        let order: Vec<usize> = m.axes.iter().filter_map(|a| keys.iter().position(|k| *k == a.key)).collect();
        let last = orders.last().filter(|last| ***last == *order).cloned();
        orders.push(last.unwrap_or_else(|| order.into()));
    }
    Ok(Group { members, axes, orders, scalars: constant_scalars })
}

/// Keys of the master's axes in order, and the scalar coordinates that do not become axes.
fn axis_keys(members: &[&Array], new_dimension: Option<&str>) -> (Vec<String>, Vec<Axis>) {
    let most = members.iter().map(|m| m.axes.len()).max().unwrap_or(0);
    let most = members.iter().find(|m| m.axes.len() == most).copied().unwrap_or(members[0]);
    let mut keys: Vec<String> = most.axes.iter().map(|a| a.key.clone()).collect();
    for axis in members.iter().flat_map(|m| &m.axes) {
        if !keys.contains(&axis.key) {
            keys.push(axis.key.clone());
        }
    }
    let keys = in_order_of_all(keys, members);
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
        if same && new_dimension != Some(&scalar.key) {
            constant.push(scalar.clone());
        } else if members.iter().all(|m| m.scalars.iter().any(|s| s.key == scalar.key)) {
            new.push(scalar.key.clone());
        }
    }
    new.extend(keys);
    (new, constant)
}

/// Orders axes so that the order agrees with that of each member. Keeps the order if that is not possible.
fn in_order_of_all(keys: Vec<String>, members: &[&Array]) -> Vec<String> {
    let place = |axis: &Axis| keys.iter().position(|key| *key == axis.key);
    let mut before: Vec<HashSet<usize>> = vec![HashSet::new(); keys.len()];
    for m in members {
        let own: Vec<usize> = m.axes.iter().filter_map(place).collect();
        for pair in own.windows(2) {
            before[pair[1]].insert(pair[0]);
        }
    }
    let mut order: Vec<usize> = Vec::with_capacity(keys.len());
    while order.len() < keys.len() {
        let free = |n: &usize| !order.contains(n) && before[*n].iter().all(|b| order.contains(b));
        let Some(next) = (0..keys.len()).find(free) else { return keys };
        order.push(next);
    }
    order.into_iter().map(|n| keys[n].clone()).collect()
}

/// Returns the error for two files that have values at the same indices. Such files may differ along one axis
/// only.
fn overlap(members: &[&Array], axes: &[JoinedAxis]) -> Result<()> {
    let varying: Vec<&JoinedAxis> = axes.iter().filter(|a| a.varies).collect();
    let [axis] = varying[..] else { return Ok(()) };
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|n| (axis.places.get(*n).0.start, axis.places.get(*n).0.end));
    for pair in order.windows(2) {
        let (a, b) = (&axis.places.get(pair[0]).0, &axis.places.get(pair[1]).0);
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
            let what = format!(
                "variable `{}`: `{}` and `{}` overlap along `{}`: {} and {}",
                members[pair[0]].name,
                members[pair[0]].id.file(),
                members[pair[1]].id.file(),
                axis.name,
                say(a),
                say(b)
            );
            return Err(Error::misfit(members[pair[1]].id.file(), what));
        }
    }
    Ok(())
}

/// Adds an array whose data stay in the files.
fn array<'a>(group: Group<'a>, making: &mut Making<'a>) -> Result<()> {
    let group = Arc::new(group);
    let first = group.members[0];
    let name = making.out.free_name(&first.name);
    if name != first.name {
        let what = format!("another variable `{}`, of `{}`, is called `{name}`", first.name, first.id.file());
        making.report.notes.push(what);
    }
    let dimensions: Vec<usize> =
        group.axes.iter().map(|a| making.masters.dimension(a, &mut making.out)).collect::<Result<_>>()?;
    let names: Vec<String> = dimensions.iter().map(|d| making.out.own.dimensions[*d].0.clone()).collect();
    let shape: Vec<u64> = group.axes.iter().map(|a| a.len).collect();
    for n in 0..group.members.len() {
        place(&group, n, &names, making.convention)?;
    }
    let file = |n: usize| group.members[n].id.file().to_owned();
    let (cuts, owners) = cut::cells(&names, &shape, group.members.len(), &|n| location(&group, n), &file)
        .map_err(|e| e.within(&format!("variable `{}`", first.name)))?;
    let (ty, attributes) = stored_form(&group, &mut making.report);
    let fragments = cuts.iter().map(|c| c.len() as u64 - 1).collect();
    let report = super::Joined { name: name.clone(), dimensions: names.clone(), shape, fragments };
    making.report.arrays.push(report);
    for c in group.scalars.iter().filter_map(|scalar| scalar.coordinate.as_ref()) {
        if making.out.own.variables.iter().all(|v| v.name != c.name) {
            coordinate(c, &c.name, None, &mut making.out)?;
        }
    }
    let directions = group.axes.iter().map(|a| a.ascending).collect();
    making.joined.push((group.clone(), name.clone()));
    let convention = making.convention;
    let partitions = Box::new(Members { group, names, convention, cuts: cuts.clone(), owners });
    making.out.arrays.push(NewArray { name, ty, attributes, dimensions, directions, cuts, partitions });
    Ok(())
}

/// The partitions of an array. Each is made when it is written: of a million files, all of them do not fit memory.
struct Members<'a> {
    group: Arc<Group<'a>>,
    names: Vec<String>,
    convention: Convention,
    cuts: Vec<Vec<u64>>,
    /// The member that fills each cell.
    owners: Vec<u32>,
}

impl PartitionList for Members<'_> {
    fn len(&self) -> usize {
        self.owners.len()
    }

    fn get(&self, n: usize) -> Result<Cow<'_, Partition>> {
        let placed = place(&self.group, self.owners[n] as usize, &self.names, self.convention)?;
        Ok(Cow::Owned(part_of(&placed, &self.names, &cut::location(n, &self.cuts))?))
    }
}

/// The box of the master array that a member fills.
fn location(group: &Group<'_>, n: usize) -> Vec<Range<u64>> {
    group.axes.iter().map(|axis| axis.places.get(n).0.clone()).collect()
}

/// A member as a partition of the array with the dimensions `names`.
fn place(group: &Group<'_>, n: usize, names: &[String], convention: Convention) -> Result<Placed> {
    let (first, m, order) = (group.members[0], group.members[n], &group.orders[n]);
    let nca = convention != Convention::Cf;
    let stored: Vec<String> = order.iter().map(|d| names[*d].clone()).collect();
    let reversed: Vec<String> =
        order.iter().filter(|d| group.axes[**d].places.get(n).1).map(|d| names[*d].clone()).collect();
    let ordered = order.windows(2).all(|pair| pair[0] < pair[1]);
    if !nca && let Some(axis) = group.axes.iter().find(|axis| axis.places.get(n).1) {
        let other = axis.places.position(|p| !p.1).unwrap_or(0);
        let (runs, others) =
            if axis.ascending { ("descending", "ascending") } else { ("ascending", "descending") };
        return Err(Error::unsayable(format!(
            "variable `{}`: `{}` in `{}` is {runs}, in `{}` {others}. CF-1.13 cannot express that, the convention NCA can",
            m.name,
            axis.name,
            m.id.file(),
            group.members[other].id.file()
        )));
    }
    if !nca && !ordered {
        return Err(Error::unsayable(format!(
            "variable `{}`: `{}` has its dimensions in the order {stored:?}, others {names:?}. CF-1.13 cannot express that, the convention NCA can",
            m.name,
            m.id.file()
        )));
    }
    let units = if nca {
        let differs = |name: &str| own_text(m, name).filter(|u| Some(u) != own_text(first, name).as_ref());
        UnitsOf::Given { units: differs("units"), calendar: differs("calendar") }
    } else {
        UnitsOf::Variable
    };
    let sub = SubArray {
        file: FileRef::Uri(m.id.uri().to_owned()),
        variable: m.name.clone(),
        shape: nca.then(|| m.shape.clone()),
        fingerprint: Some(m.id.fingerprint().to_owned()).filter(|f| !f.is_empty()),
    };
    let partition = Partition {
        dimensions: (stored != names && nca).then_some(stored),
        reversed,
        units,
        part: None,
        data: Data::Array(sub),
    };
    Ok(Placed { location: location(group, n), partition, name: m.id.file().to_owned() })
}
