//! What a command line or a program asks for, resolved in one variable or in all of a dataset.

use super::dimension::{self, Found};
use super::region::{self, Region};
use super::{BoxArg, DimArg, Segment, Selection};
use crate::text;
use nc3z_format::classic::DimId;
use nc3z_format::near::nearest;
use nc3z_reader::{Dataset, Variable};
use std::collections::HashMap;

/// Dimensions that may wrap around: each doubles the number of hyperslabs.
const MAX_WRAPPED: usize = 8;

/// Why nothing is selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinate cannot be read.
    #[error("{what}")]
    Read {
        /// What was to be read.
        what: String,
        /// Why it cannot be.
        source: nc3z_reader::Error,
    },
    /// What is asked for is not there.
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
    /// A range for each of some dimensions.
    pub dims: Vec<DimArg>,
    /// A region in degrees.
    pub region: Option<BoxArg>,
}

impl Request {
    /// Whether it asks for a part.
    pub fn is_some(&self) -> bool {
        !self.dims.is_empty() || self.region.is_some()
    }

    /// What it selects of one variable; nothing is read but coordinates. What the user should know is added to `notes`.
    ///
    /// # Errors
    /// A dimension that the variable does not have, or twice; what is not there; a region of a variable without latitudes and
    /// longitudes; what reading coordinates says.
    pub fn of(&self, dataset: &Dataset, variable: &Variable, notes: &mut Vec<String>) -> Result<Selection> {
        self.check_names(variable)?;
        let region = self.region.as_ref().map(|area| region::of(dataset, variable, area)).transpose()?;
        let ranges = self.ranges(dataset, region.as_slice(), notes)?;
        let ids = &variable.header().dimensions;
        let each = ids.iter().zip(variable.shape());
        let whole = |len: u64| vec![Segment { start: 0, count: len, stride: 1 }];
        let dims: Vec<Vec<Segment>> =
            each.map(|(id, &len)| ranges.get(id).cloned().unwrap_or_else(|| whole(len))).collect();
        let wrapped = dims.iter().filter(|segments| segments.len() > 1).count();
        if wrapped > MAX_WRAPPED {
            return Err(Error::wrong(format!("{wrapped} dimensions wrap around; at most {MAX_WRAPPED} may")));
        }
        let mask = region.as_ref().and_then(|region| region.mask(variable));
        Ok(Selection::new(dims).with_mask(mask))
    }

    /// What it selects along each dimension that it names or that a region is over.
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
                return Err(Error::wrong(format!(
                    "no such dimension `{name}`; there are {}",
                    names.join(", ")
                )));
            };
            let len = if dimension.is_record() { dataset.records() } else { dimension.len };
            let Found { segments, notes: found } = dimension::select(dataset, id, len, arg)?;
            notes.extend(found);
            if ranges.insert(id, segments).is_some() {
                let how = if by_region().any(|(d, _)| *d == id) {
                    "in a range of its own and in the region"
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
