//! The request of a command line or a program, resolved for one variable or for all of a dataset.

use super::dimension::{self, Found};
use super::region::{self, Region};
use super::{BoxArg, DimArg, Segment, Selection};
use crate::text;
use nc3z_format::classic::DimId;
use nc3z_format::spelling::nearest;
use nc3z_reader::{Dataset, Variable};
use std::collections::HashMap;

/// The maximal number of dimensions that may wrap around: each doubles the number of hyperslabs.
const MAX_WRAPPED: usize = 8;

/// The reason why nothing is selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinate cannot be read.
    #[error("{what}")]
    Read {
        /// The item that was read.
        what: String,
        /// The error of the reader.
        source: nc3z_reader::Error,
    },
    /// The request does not match the file.
    #[error("{0}")]
    Wrong(String),
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(super) fn wrong(why: impl Into<String>) -> Self {
        Error::Wrong(why.into())
    }

    pub(super) fn read(what: impl Into<String>) -> impl FnOnce(nc3z_reader::Error) -> Self {
        let what = what.into();
        |source| Error::Read { what, source }
    }
}

/// Ranges of dimensions, and a region.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A range for each of these dimensions.
    pub dims: Vec<DimArg>,
    /// A region in degrees.
    pub region: Option<BoxArg>,
}

impl Request {
    /// Returns whether it requests a part.
    pub fn is_some(&self) -> bool {
        !self.dims.is_empty() || self.region.is_some()
    }

    /// Returns the selection for one variable. Reads only coordinates. Notes for the user are added to
    /// `notes`.
    ///
    /// # Errors
    /// A dimension that the variable does not have, or that is given twice; an index or value that does not
    /// exist; a region for a variable without latitudes and longitudes; an error of reading coordinates.
    pub fn of(&self, dataset: &Dataset, variable: &Variable, notes: &mut Vec<String>) -> Result<Selection> {
        self.check_names(variable)?;
        let region =
            self.region.as_ref().map(|area| region::region_of(dataset, variable, area)).transpose()?;
        let ranges = self.ranges(dataset, region.as_slice(), notes)?;
        let ids = &variable.header().dimensions;
        let each = ids.iter().zip(variable.shape());
        let whole = |len: u64| vec![Segment::new(0, len)];
        let dims: Vec<Vec<Segment>> =
            each.map(|(id, &len)| ranges.get(id).cloned().unwrap_or_else(|| whole(len))).collect();
        let wrapped = dims.iter().filter(|segments| segments.len() > 1).count();
        if wrapped > MAX_WRAPPED {
            return Err(Error::wrong(format!("{wrapped} dimensions wrap around; at most {MAX_WRAPPED} may")));
        }
        let mask = region.as_ref().and_then(|region| region.mask(variable));
        Ok(Selection::new(dims).with_mask(mask))
    }

    /// Returns the selection along each dimension that the request names or that a region covers.
    ///
    /// # Errors
    /// As [`Request::of`].
    pub fn ranges(
        &self,
        dataset: &Dataset,
        regions: &[Region],
        notes: &mut Vec<String>,
    ) -> Result<HashMap<DimId, Vec<Segment>>> {
        let by_region = || regions.iter().flat_map(Region::ranges);
        let mut ranges: HashMap<DimId, Vec<Segment>> = by_region().cloned().collect();
        for arg in &self.dims {
            let name = text::safe(&arg.name);
            let header = dataset.header();
            let Some((id, dimension)) = header.dimension(arg.name.as_bytes()) else {
                let names: Vec<_> = header.dimensions.iter().map(|d| text::name(&d.name)).collect();
                return Err(Error::wrong(format!("no dimension `{name}`; there are {}", names.join(", "))));
            };
            let len = if dimension.is_record() { dataset.records() } else { dimension.len };
            let Found { segments, notes: found } = dimension::select(dataset, id, len, arg)?;
            notes.extend(found);
            if ranges.insert(id, segments).is_some() {
                let how = if by_region().any(|(d, _)| *d == id) {
                    "both in its own range and in the region"
                } else {
                    "twice"
                };
                return Err(Error::wrong(format!("dimension `{name}` is given {how}")));
            }
        }
        Ok(ranges)
    }

    fn check_names(&self, variable: &Variable) -> Result<()> {
        let names: Vec<String> = variable.dimensions().map(|d| text::name(&d.name)).collect();
        for arg in &self.dims {
            if variable.dimensions().any(|d| d.name == arg.name.as_bytes()) {
                continue;
            }
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let known: Vec<_> = names.iter().map(|n| n.as_str().into()).collect();
            let meant = nearest(&arg.name, &known);
            let meant = meant.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
            return Err(Error::wrong(format!(
                "variable `{}` has no dimension `{}`{meant}; it has {there}",
                text::safe(&variable.name()),
                text::safe(&arg.name)
            )));
        }
        Ok(())
    }
}
