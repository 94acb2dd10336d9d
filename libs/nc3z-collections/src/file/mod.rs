//! Aggregation files: detects and reads them, and presents them as a [`Dataset`] whose aggregated variables
//! have their data.

mod cf;
mod described;
mod literal;
mod nca;
mod part;
mod source;
mod state;
mod strings;

pub(crate) use part::write as part_text;

pub use source::Aggregation;

use crate::error::{Error, Result};
use crate::fragments::{Fragments, Options};
use crate::master::MasterArray;
use crate::master::conform::{limits, text};
use nc3z_format::classic::{Header, VarId, Variable};
use nc3z_reader::Dataset;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The convention by which a variable is marked as an aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// CF-1.13, or its predecessors CFA-0.6.
    Cf,
    /// NCA-0.1.
    Nca,
    /// NCA-0.2, CFA-0.3, CFA-0.4.
    Cfa,
}

impl Convention {
    /// Returns its name, with the version that this crate writes or the newest that it reads.
    pub fn name(self) -> &'static str {
        match self {
            Convention::Cf => "CF-1.13",
            Convention::Nca => "NCA-0.1",
            Convention::Cfa => "CFA-0.4",
        }
    }
}

/// Returns the convention of a variable that is an aggregation.
pub(crate) fn convention(v: &Variable) -> Option<Convention> {
    let has = |name: &str| v.attribute(name.as_bytes()).is_some();
    match () {
        () if has("aggregated_dimensions") && has("aggregated_data") => Some(Convention::Cf),
        () if has("nca_array") => Some(Convention::Nca),
        () if has("cfa_array") => Some(Convention::Cfa),
        () => None,
    }
}

/// Returns whether a file has variables that are aggregations.
pub fn is_aggregation(dataset: &Dataset) -> bool {
    has_aggregations(dataset.header())
}

/// Returns whether a header has variables that are aggregations.
pub fn has_aggregations(header: &Header) -> bool {
    header.variables.iter().any(|v| convention(v).is_some())
}

/// Opens a file. If it is an aggregation, its aggregated variables have their data.
///
/// # Errors
/// The file cannot be opened, or the aggregation is malformed.
pub fn open(path: &Path, options: &Options) -> Result<Dataset> {
    let source = nc3z_reader::source::open(path, false)?;
    let dataset = Dataset::from_source(source, &options.open)?;
    if !is_aggregation(&dataset) {
        return Ok(dataset);
    }
    wrap(dataset, &path.to_string_lossy(), path.parent(), options)
}

/// Presents the file of an aggregation that is already open. `name` is its name in messages, `base` its
/// directory.
///
/// # Errors
/// The aggregation is malformed.
pub fn wrap(own: Dataset, name: &str, base: Option<&Path>, options: &Options) -> Result<Dataset> {
    let mut options = options.clone();
    // The file itself is the first one that a fragment may not refer back to.
    if options.ancestors.is_empty() {
        options.ancestors.extend(Path::new(name).canonicalize().ok());
    }
    let mut masters = BTreeMap::new();
    let mut hidden = BTreeSet::new();
    for variable in own.variables() {
        let Some(convention) = convention(variable.header()) else { continue };
        let read = match convention {
            Convention::Cf => cf::read(&own, &variable)?,
            Convention::Nca | Convention::Cfa => nca::read(&own, &variable)?,
        };
        read.master.check()?;
        hidden.extend(read.helpers);
        masters.insert(variable.id(), (convention, read.master));
    }
    for (id, v) in own.header().variables() {
        if is_private(v) {
            hidden.insert(id);
        }
    }
    hidden.retain(|id| !masters.contains_key(id));
    let fragments = Fragments::new(own, name, base, &options);
    Ok(Dataset::new(Arc::new(Aggregation::new(fragments, masters, &hidden)?)))
}

/// Returns the aggregation of a dataset, if it is one.
pub fn as_aggregation(dataset: &Dataset) -> Option<&Aggregation> {
    let any: &dyn std::any::Any = dataset.source().as_any()?;
    any.downcast_ref()
}

/// Returns whether a variable only contains sub-arrays of other variables.
fn is_private(v: &Variable) -> bool {
    let flag = v.attribute(b"nca_private").is_some_and(|a| a.values.iter().any(|b| *b != 0));
    let role = v.attribute(b"cf_role").map(text);
    flag || matches!(role.as_deref(), Some("nca_private" | "cfa_private"))
}

/// An aggregated variable as read from a file.
struct Read {
    master: MasterArray,
    /// Variables that only describe the aggregation.
    helpers: Vec<VarId>,
}

/// Reads the properties of the aggregation variable that all conventions have. The cuts are those of a single
/// partition.
fn master_of(
    own: &Dataset,
    variable: &nc3z_reader::Variable,
    dimensions: Vec<String>,
) -> Result<MasterArray> {
    let name = variable.name().into_owned();
    let header = own.header();
    let mut cuts = Vec::with_capacity(dimensions.len());
    for (n, dim) in dimensions.iter().enumerate() {
        let Some((_, d)) = header.dimension(dim.as_bytes()) else {
            return Err(Error::malformed(&name, format!("no dimension `{dim}`")));
        };
        if dimensions[..n].contains(dim) {
            return Err(Error::malformed(&name, format!("the dimension `{dim}` is named twice")));
        }
        let len = if d.is_record() { own.records() } else { d.len };
        cuts.push(if len == 0 { vec![0] } else { vec![0, len] });
    }
    let attribute = |n: &str| variable.attribute(n).map(text);
    Ok(MasterArray {
        name,
        ty: variable.ty(),
        fill: fill_of(variable.header()),
        limits: limits(variable.header()),
        units: attribute("units"),
        calendar: attribute("calendar"),
        dimensions,
        cuts,
        partitions: Box::new(Vec::new()),
    })
}

/// The value of missing elements: `_FillValue`, otherwise `missing_value`, otherwise the default of the type.
fn fill_of(v: &Variable) -> Vec<u8> {
    let first = v.own_fill_value().or_else(|| v.missing_values().next());
    first.unwrap_or(v.ty.default_fill()).to_vec()
}
