//! Variables along the axes of a picture that are not the coordinates of its dimensions: those that the user names, and the heights,
//! depths or pressures of a profile.

use crate::axis::{Axis, Role, is_vertical_by_attributes, names_depth, role};
use crate::field::{Dim, Field};
use crate::{Error, Picture, Result, transposed};
use nc3z_format::NcType;
use nc3z_format::decode_value;
use nc3z_look::coordinate::Coordinate;
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};

/// A variable that is drawn, and its values.
pub(super) struct Along<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) variable: &'a Variable,
    pub(super) field: &'a Field,
}

impl Along<'_> {
    /// Returns a variable that the user names for an axis.
    pub(super) fn named(&self, name: &str) -> Result<Variable> {
        let v = self.dataset.variable(name)?;
        let own = &self.variable.header().dimensions;
        let fits = v.header().dimensions.iter().all(|d| own.contains(d));
        if v.ty() == NcType::Char || !fits || v.header().dimensions.is_empty() {
            let (name, of) = (text::safe(name), text::safe(&self.variable.name()));
            return Err(Error::Request(format!(
                "`{name}` cannot be an axis for `{of}`: it needs numbers over dimensions of `{of}`"
            )));
        }
        Ok(v)
    }

    /// Draws values along one dimension: as a profile over a vertical variable, otherwise as a series.
    pub(super) fn line(&self, dim: &Dim, x: Option<Variable>, y: Option<Variable>) -> Result<Picture> {
        let values = self.field.values.clone();
        match (x, y) {
            (Some(_), Some(_)) => Err(Error::Request(
                "values along one dimension have one other axis: give --x or --y".to_owned(),
            )),
            (Some(x), None) => Ok(Picture::Series { x: self.axis(&x, dim)?, values }),
            (None, Some(y)) => Ok(Picture::Profile { y: self.axis(&y, dim)?, values }),
            (None, None) => {
                if let Some(vertical) = self.vertical(dim) {
                    let y = self.axis(&vertical, dim)?;
                    if y.has_extent() {
                        return Ok(Picture::Profile { y, values });
                    }
                }
                let axis = Axis::new(self.dataset, dim)?;
                Ok(match axis.role {
                    Role::Vertical => Picture::Profile { y: axis, values },
                    _ => Picture::Series { x: axis, values },
                })
            }
        }
    }

    /// Draws a map over named variables, each of which is along one of two dimensions.
    pub(super) fn map(
        &self,
        slow: &Dim,
        fast: &Dim,
        x: Option<Variable>,
        y: Option<Variable>,
    ) -> Result<Picture> {
        let is_over = |v: &Option<Variable>, dim: &Dim| {
            v.as_ref().is_some_and(|v| v.header().dimensions.contains(&dim.id))
        };
        let turned = is_over(&x, slow) || is_over(&y, fast);
        let (over, down) = if turned { (slow, fast) } else { (fast, slow) };
        let axis = |v: Option<Variable>, dim: &Dim, other: &Dim| {
            let Some(v) = v else { return Axis::new(self.dataset, dim) };
            let dims = &v.header().dimensions;
            let found = if dims.contains(&dim.id) && !dims.contains(&other.id) {
                Some(self.axis(&v, dim)?).filter(Axis::is_monotonic)
            } else {
                None
            };
            found.ok_or_else(|| {
                let (name, dim) = (text::safe(&v.name()), &dim.name);
                Error::Request(format!(
                    "`{name}` cannot be an axis of this map: it has to rise or fall along `{dim}` alone"
                ))
            })
        };
        let (x, y) = (axis(x, over, down)?, axis(y, down, over)?);
        let values = &self.field.values;
        let values = if turned { transposed(values, fast.len()) } else { values.clone() };
        Ok(Picture::Map { x, y, values })
    }

    fn axis(&self, v: &Variable, dim: &Dim) -> Result<Axis> {
        let values = dim.read_variable(v, &self.field.all)?;
        if !v.header().dimensions.contains(&dim.id) {
            let (name, dim) = (text::safe(&v.name()), &dim.name);
            return Err(Error::Request(format!("`{name}` is not along `{dim}`, which is drawn")));
        }
        Ok(Axis::along(self.dataset, v, values))
    }

    /// Returns the heights, depths or pressures of a dimension that has no coordinate of its own, as discrete sampling geometries of
    /// the CF conventions have them: named by `coordinates`, or declared by `axis` or `positive`. Otherwise a variable of this dimension
    /// alone that is named as a depth.
    fn vertical(&self, dim: &Dim) -> Option<Variable> {
        if role(self.variable) == Role::Vertical || names_depth(self.variable) {
            return None;
        }
        let own = Coordinate::new(self.dataset, dim.id);
        if own.is_some_and(|c| c.time().is_some() || role(c.variable()) != Role::Other) {
            return None;
        }
        let dims = &self.variable.header().dimensions;
        let names = decode_value::text(self.variable.header(), b"coordinates").unwrap_or_default();
        let is_named = |v: &Variable| names.split_whitespace().any(|name| name == v.name());
        let fits = |v: &Variable| {
            v.id() != self.variable.id()
                && v.ty() != NcType::Char
                && v.header().dimensions.contains(&dim.id)
                && v.header().dimensions.iter().all(|d| dims.contains(d))
        };
        let all: Vec<Variable> = self.dataset.variables().filter(fits).collect();
        let adjusted = |v: &Variable| v.name().ends_with("_ADJUSTED");
        // Argo has measured and adjusted pressures, and likewise temperatures.
        let like = |v: &&Variable| adjusted(v) == adjusted(self.variable);
        let named = || all.iter().filter(|v| is_named(v) && role(v) == Role::Vertical);
        let declared = || all.iter().filter(|v| is_vertical_by_attributes(v));
        let found = named().find(like).or_else(|| declared().find(like));
        let by_name = || all.iter().find(|v| v.header().dimensions.len() == 1 && names_depth(v));
        found.or_else(|| named().next()).or_else(|| declared().next()).or_else(by_name).cloned()
    }
}
