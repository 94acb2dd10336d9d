//! The aggregation's own dimensions, with their coordinate variables.

use super::axis::JoinedAxis;
use super::scan::{Coordinate, unshared};
use crate::error::{Error, Result};
use crate::master::conform::put_double;
use crate::write::{NewAggregation, NewVariable, free};
use nc3z_format::NcType;

/// The axes that are already in the file, by their values.
#[derive(Default)]
pub(super) struct Masters {
    axes: Vec<(usize, String, u64, Option<Coordinate>)>,
}

impl Masters {
    /// Returns the dimension of an axis. Adds it with its coordinate variable if it is new.
    pub(super) fn dimension(&mut self, joined: &JoinedAxis, out: &mut NewAggregation<'_>) -> Result<usize> {
        // The same numbers in other units are different values.
        let meaning = |c: &Option<Coordinate>| {
            c.as_ref().map(|c| (c.values.clone(), c.attribute("units"), c.attribute("calendar")))
        };
        let same = |(_, name, len, c): &&(usize, String, u64, Option<Coordinate>)| {
            *name == joined.name && *len == joined.len && meaning(c) == meaning(&joined.coordinate)
        };
        if let Some((n, ..)) = self.axes.iter().find(same) {
            return Ok(*n);
        }
        let taken = |n: &str| {
            self.axes.iter().any(|a| a.1 == n)
                || out.own.dimensions.iter().any(|d| d.0 == n)
                || joined.coordinate.is_some() && out.is_taken(n)
        };
        let name = free(&joined.name, taken);
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
pub(super) fn coordinate(
    c: &Coordinate,
    name: &str,
    dim: Option<usize>,
    out: &mut NewAggregation<'_>,
) -> Result<()> {
    let encode = |values: &[f64], ty: NcType| {
        let mut bytes = Vec::with_capacity(values.len() * ty.size());
        values
            .iter()
            .try_for_each(|x| put_double(*x, ty, &mut bytes))
            .map_err(|what| Error::refused(format!("`{name}`: {what}")))?;
        Ok::<_, Error>(bytes)
    };
    let mut attributes = unshared(&c.attributes);
    if let Some(b) = &c.bounds {
        let own = out.free_name(&b.name);
        for a in attributes.iter_mut().filter(|a| a.name == b"bounds" || a.name == b"climatology") {
            a.values = own.clone().into_bytes();
        }
        let vertices = out.own.dimension("nv", b.vertices);
        let dimensions = dim.into_iter().chain([vertices]).collect();
        let values = encode(&b.values, b.ty)?;
        out.own.variables.push(NewVariable {
            name: own,
            ty: b.ty,
            dimensions,
            attributes: unshared(&b.attributes),
            values,
        });
    }
    let values = encode(&c.values, c.ty)?;
    let dimensions = dim.into_iter().collect();
    out.own.variables.push(NewVariable { name: name.to_owned(), ty: c.ty, dimensions, attributes, values });
    Ok(())
}
