//! Variables without dimensions. If all files have the same value, it is stored once. Otherwise each file's
//! value is stored along the dimension that distinguishes the files.

use super::dimensions::coordinate;
use super::scan::{Scalar, Scanned, unshared};
use super::{Joined, Report, attributes};
use crate::error::Result;
use crate::file::Convention;
use crate::master::{Data, FileRef, Partition, UnitsOf};
use crate::write::{NewAggregation, NewArray, NewVariable};
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The one dimension along which files follow each other.
struct Row {
    dimension: usize,
    direction: bool,
    cuts: Vec<u64>,
    /// The names of the files in their order.
    uris: Vec<String>,
}

/// Adds the scalars of all files.
pub(super) fn add(
    scanned: &[Scanned],
    convention: Convention,
    out: &mut NewAggregation<'_>,
    report: &mut Report,
) {
    let known = OnceCell::new();
    let mut done = BTreeSet::new();
    for (file, s) in scanned.iter().flat_map(|file| file.scalars.iter().map(move |s| (file, s))) {
        if out.is_taken(&s.name) {
            // A scalar that gives the position of another variable is already in the coordinate.
            let used = file.arrays.iter().flat_map(|a| &a.scalars).any(|axis| axis.name == s.name);
            if !used && done.insert(&s.name) && !is_own(out, s) {
                let what = "in others it is a coordinate or another variable";
                report.notes.push(format!(
                    "the number `{}` of `{}` is left out: {what}",
                    s.name,
                    file.id.file()
                ));
            }
            continue;
        }
        if !done.insert(&s.name) {
            continue;
        }
        let all: Vec<&Scalar> =
            scanned.iter().flat_map(|o| &o.scalars).filter(|o| o.name == s.name).collect();
        if all.iter().all(|o| o.values == s.values && o.ty == s.ty) {
            out.own.variables.push(NewVariable {
                name: s.name.clone(),
                ty: s.ty,
                dimensions: vec![],
                attributes: unshared(&s.attributes),
                values: s.values.clone(),
            });
            continue;
        }
        let row = known.get_or_init(|| row(scanned, out).filter(|_| convention == Convention::Cf));
        match row.as_ref().and_then(|row| along(row, scanned, &all)) {
            Some(array) => {
                let (name, len) = &out.own.dimensions[array.dimensions[0]];
                report.arrays.push(Joined {
                    name: array.name.clone(),
                    dimensions: vec![name.clone()],
                    shape: vec![*len],
                    fragments: vec![array.partitions.len() as u64],
                });
                report.notes.push(format!(
                    "the variable `{}` has another value in other files: it is given along `{name}`",
                    s.name
                ));
                out.arrays.push(array);
            }
            None => report.notes.push(format!(
                "the variable `{}` is left out: its value is not the same in all files",
                s.name
            )),
        }
    }
}

/// Adds the numeric scalar coordinates that are stored in the aggregation itself.
pub(super) fn add_coordinates(scanned: &[Scanned], out: &mut NewAggregation<'_>) -> Result<()> {
    for point in scanned.iter().flat_map(|s| &s.points) {
        let is_own = out.own.variables.iter().any(|v| v.name == point.name && v.dimensions.is_empty());
        for c in point.scalars.iter().filter(|_| is_own).filter_map(|axis| axis.coordinate.as_ref()) {
            if !out.is_taken(&c.name) {
                coordinate(c, &c.name, None, out)?;
            }
        }
    }
    Ok(())
}

/// Returns true where the aggregation has this scalar as a variable of its own.
fn is_own(out: &NewAggregation<'_>, s: &Scalar) -> bool {
    out.own.variables.iter().any(|v| v.name == s.name && v.dimensions.is_empty() && v.values == s.values)
}

/// Returns the dimension along which each file has its own index range, if there is one.
fn row(scanned: &[Scanned], out: &NewAggregation<'_>) -> Option<Row> {
    let mut found: Option<Row> = None;
    for array in &out.arrays {
        let mut cut = (0..array.cuts.len()).filter(|d| array.cuts[*d].len() > 2);
        let (Some(d), None) = (cut.next(), cut.next()) else { return None };
        let uris =
            (0..array.partitions.len()).map(|n| match &array.partitions.get(n).ok()?.sub_array()?.file {
                FileRef::Uri(uri) => Some(uri.clone()),
                FileRef::Own => None,
            });
        let row = Row {
            dimension: array.dimensions[d],
            direction: array.directions[d],
            cuts: array.cuts[d].clone(),
            uris: uris.collect::<Option<_>>()?,
        };
        match &found {
            None => found = Some(row),
            Some(known)
                if known.dimension == row.dimension && known.cuts == row.cuts && known.uris == row.uris => {}
            Some(_) => return None,
        }
    }
    let row = found?;
    let each: BTreeSet<&String> = row.uris.iter().collect();
    let with_arrays = scanned.iter().filter(|s| !s.arrays.is_empty());
    let files = with_arrays.map(|s| s.id.uri().to_owned()).all(|uri| each.contains(&uri));
    (each.len() == row.uris.len() && files).then_some(row)
}

/// Returns a scalar as an array along the files. None where that is not possible.
fn along(row: &Row, scanned: &[Scanned], all: &[&Scalar]) -> Option<NewArray<'static>> {
    let first = all[0];
    let is_packed = |a: &Arc<Attribute>| a.name == b"scale_factor" || a.name == b"add_offset";
    let plain = |s: &&Scalar| s.ty == first.ty && !s.helper && !s.attributes.iter().any(is_packed);
    if first.ty == NcType::Char || !all.iter().all(plain) {
        return None;
    }
    let lists: Vec<&[Arc<Attribute>]> = all.iter().map(|s| &s.attributes[..]).collect();
    let (attributes, dropped) = attributes::common(&lists);
    if !dropped.is_empty() {
        return None;
    }
    let values: HashMap<&str, &[u8]> = scanned
        .iter()
        .filter_map(|s| {
            let own = s.scalars.iter().find(|o| o.name == first.name)?;
            Some((s.id.uri(), &own.values[..]))
        })
        .collect();
    let partitions: Vec<Partition> = row
        .uris
        .iter()
        .map(|uri| Partition {
            dimensions: None,
            reversed: vec![],
            units: UnitsOf::Variable,
            part: None,
            data: values.get(uri.as_str()).map_or(Data::Missing, |value| Data::Value(value.to_vec())),
        })
        .collect();
    Some(NewArray {
        name: first.name.clone(),
        ty: first.ty,
        attributes,
        dimensions: vec![row.dimension],
        directions: vec![row.direction],
        cuts: vec![row.cuts.clone()],
        partitions: Box::new(partitions),
    })
}
