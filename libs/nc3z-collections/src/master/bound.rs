//! Binds one partition to the variable of its sub-array: maps the dimensions, and converts the values.

use super::conform::{self, Conform, text};
use super::copy::strides;
use super::{Data, FileRef, Indices, MasterArray, Partition, SubArray, UnitsOf};
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use nc3z_format::selection::{AnySelection, Segment, Selection};
use nc3z_format::units;
use nc3z_reader::{Dataset, Variable};

/// A partition that can be read.
pub(super) struct Bound {
    variable: Variable,
    file: String,
    axes: Vec<Axis>,
    conform: Conform,
}

/// A dimension of a sub-array as stored.
struct Axis {
    /// The corresponding dimension of the master.
    master: Option<usize>,
    /// True where its direction is opposite to the master's.
    reversed: bool,
    /// The indices that belong to the partition.
    indices: Indices,
}

impl Bound {
    /// Binds the sub-array of a partition of this `extent` to the variable in its file.
    pub(super) fn new(
        master: &MasterArray,
        partition: &Partition,
        sub: &SubArray,
        extent: &[u64],
        files: &Fragments,
        dataset: &Dataset,
    ) -> Result<Self> {
        let file = match &sub.file {
            FileRef::Own => files.own_name(),
            FileRef::Uri(uri) => uri.clone(),
        };
        let wrong = |what: String| Error::fragment(&file, what);
        let name = sub.variable.strip_prefix('/').unwrap_or(&sub.variable);
        let variable = dataset.variable(name).map_err(|e| wrong(e.to_string()))?;
        let wrong = |what: String| Error::fragment(&file, format!("variable `{name}`: {what}"));
        if let Some(shape) = sub.shape.as_deref().filter(|shape| *shape != variable.shape()) {
            return Err(wrong(format!(
                "its shape is {:?}, the aggregation says {shape:?}",
                variable.shape()
            )));
        }
        let axes = axes(master, partition, variable.shape(), extent).map_err(wrong)?;
        let attribute = |n: &str| variable.attribute(n).map(text);
        let (units, calendar) = match &partition.units {
            UnitsOf::Variable => (attribute("units"), attribute("calendar")),
            UnitsOf::Given { units, calendar } => (units.clone(), calendar.clone()),
        };
        let calendar = calendar.or_else(|| master.calendar.clone());
        if let (UnitsOf::Given { units, .. }, Some(own)) = (&partition.units, attribute("units")) {
            let own_calendar = attribute("calendar").or_else(|| calendar.clone());
            let same = |told: &str| {
                let found = units::conversion(&own, own_calendar.as_deref(), told, calendar.as_deref());
                own == told || found.is_ok_and(|c| c.is_identity())
            };
            match (units, &master.units) {
                (Some(told), _) if !same(told) => {
                    return Err(wrong(format!("its units are `{own}`, the aggregation says `{told}`")));
                }
                (None, Some(master)) if !same(master) => files.note(format!(
                    "fragment `{file}`: the units of `{name}` are `{own}`; the aggregation gives none, so `{master}` is assumed"
                )),
                _ => {}
            }
        }
        let unit = match (&units, &master.units) {
            (Some(from), Some(to)) => {
                let found = units::conversion(from, calendar.as_deref(), to, master.calendar.as_deref());
                found.map_err(|e| wrong(e.to_string()))?
            }
            _ => units::Conversion::IDENTITY,
        };
        let conform =
            Conform::new(variable.header(), master.ty, &master.fill, unit, &master.limits).map_err(wrong)?;
        Ok(Bound { variable, file, axes, conform })
    }

    /// Reads a part of the partition. Returns conformed values in the stored order of dimensions, and for
    /// each of the master's dimensions the stride in them. The indices that are `wanted` count from the start of the partition.
    pub(super) fn read(&self, wanted: &[Segment]) -> Result<(Vec<u8>, Vec<usize>)> {
        let selection = Selection::new(self.axes.iter().map(|axis| axis.segments(wanted)).collect());
        let counts: Vec<usize> = selection.counts().into_iter().map(in_memory).collect();
        let bytes = self.variable.gather_bytes(&AnySelection::Grid(selection));
        let bytes = bytes.map_err(|e| Error::inside(&self.file, e))?;
        let bytes = self.conform.apply(bytes).map_err(|(n, what)| {
            conform::misfit(
                &self.file,
                &self.variable.name(),
                &format!("{what} (the {}th that is read)", n + 1),
            )
        })?;
        let stored = strides(&counts);
        let mut out = vec![0; wanted.len()];
        for (axis, stride) in self.axes.iter().zip(stored) {
            if let Some(d) = axis.master {
                out[d] = stride;
            }
        }
        Ok((bytes, out))
    }

    /// Returns the number of bytes of the file's variable that a part of the partition is read from.
    pub(super) fn bytes_of(&self, wanted: &[Segment]) -> u64 {
        wanted.iter().map(|w| w.count).product::<u64>() * self.variable.ty().size() as u64
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }
}

fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("a part of an output that is in memory")
}

impl Axis {
    /// Returns the stored indices of a request, in its order.
    fn segments(&self, wanted: &[Segment]) -> Vec<Segment> {
        let Some(d) = self.master else { return vec![Segment::at(self.indices.at(0))] };
        let Segment { count, stride, .. } = wanted[d];
        let extent = self.indices.count();
        // The request is inside the partition.
        let nth = |i: u64| {
            let n = wanted[d].index(i);
            self.indices.at(if self.reversed { extent - 1 - n } else { n })
        };
        if let Indices::Range { step, .. } = self.indices {
            let stride = stride.wrapping_mul(step) * if self.reversed { -1 } else { 1 };
            return vec![Segment { start: nth(0), count, stride: if count < 2 { 1 } else { stride } }];
        }
        Segment::of_list((0..count).map(nth))
    }
}

/// Finds the master's dimensions among those of a sub-array, and checks lengths.
fn axes(
    master: &MasterArray,
    partition: &Partition,
    shape: &[u64],
    extent: &[u64],
) -> Result<Vec<Axis>, String> {
    let indices: Vec<Indices> = match &partition.part {
        None => shape.iter().map(|len| Indices::all(*len)).collect(),
        Some(part) => part.clone(),
    };
    if indices.len() != shape.len() {
        return Err(format!("its shape is {shape:?}, and the part of it has {} dimensions", indices.len()));
    }
    if let Some((i, len)) = indices.iter().zip(shape).find(|(i, len)| !i.lies_in(**len)) {
        return Err(format!("its shape is {shape:?}, and the part {i:?} is outside a dimension of {len}"));
    }
    let counts: Vec<u64> = indices.iter().map(Indices::count).collect();
    let masters: Vec<Option<usize>> = match &partition.dimensions {
        Some(names) if names.len() != shape.len() => {
            return Err(format!(
                "its shape is {shape:?}, and the aggregation gives it the dimensions {names:?}"
            ));
        }
        Some(names) => {
            let found = names.iter().map(|name| master.dimensions.iter().position(|m| m == name));
            let found: Vec<_> = found.collect();
            for (n, d) in found.iter().enumerate() {
                if d.is_some() && found[..n].contains(d) {
                    return Err(format!("the aggregation gives it the dimension `{}` twice", names[n]));
                }
            }
            found
        }
        None => align(&counts, extent)
            .ok_or_else(|| format!("its shape is {counts:?}, its place in the aggregation has {extent:?}"))?,
    };
    for (d, len) in extent.iter().enumerate() {
        let stored = masters.iter().position(|m| *m == Some(d)).map_or(1, |n| counts[n]);
        if stored != *len {
            let dim = &master.dimensions[d];
            return Err(format!("it has length {stored} along `{dim}`, its place in the aggregation {len}"));
        }
    }
    if let Some(n) = (0..masters.len()).find(|n| masters[*n].is_none() && counts[*n] != 1) {
        return Err(format!(
            "a dimension that the aggregation does not have has length {}, not 1",
            counts[n]
        ));
    }
    let stored_names = partition.dimensions.as_deref().unwrap_or(&[]);
    let axes = masters.into_iter().zip(indices).enumerate().map(|(n, (d, indices))| {
        let name = stored_names.get(n).or_else(|| d.map(|d| &master.dimensions[d]));
        let reversed = name.is_some_and(|name| partition.reversed.contains(name));
        Axis { master: d, reversed, indices }
    });
    Ok(axes.collect())
}

/// Maps the master's dimensions, in order, to stored ones. Dimensions of length 1 may be missing in the file.
fn align(counts: &[u64], extent: &[u64]) -> Option<Vec<Option<usize>>> {
    if counts.len() == extent.len() {
        return Some((0..counts.len()).map(Some).collect());
    }
    // Dimensions of length 1 are interchangeable: only longer ones have to match.
    let longer = |lens: &[u64]| -> Vec<usize> { (0..lens.len()).filter(|n| lens[*n] != 1).collect() };
    let (stored, wanted) = (longer(counts), longer(extent));
    let alike = stored.iter().map(|n| counts[*n]).eq(wanted.iter().map(|d| extent[*d]));
    if !alike || counts.len() > extent.len() {
        return None;
    }
    let mut ones = (0..extent.len()).filter(|d| extent[*d] == 1);
    let mut longer = wanted.into_iter();
    Some(counts.iter().map(|count| if *count == 1 { ones.next() } else { longer.next() }).collect())
}

impl Partition {
    /// The sub-array, if the partition refers to one.
    pub fn sub_array(&self) -> Option<&SubArray> {
        match &self.data {
            Data::Array(sub) => Some(sub),
            _ => None,
        }
    }
}
