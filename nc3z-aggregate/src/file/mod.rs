//! Aggregation files: found out, read, and presented as a [`Dataset`] whose aggregated variables have their data.

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
use crate::master::values::text;
use nc3z_format::classic::{Header, VarId, Variable};
use nc3z_reader::Dataset;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How a variable says that it is an aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// CF-1.13, or its predecessors CFA-0.6.
    Cf,
    /// NCA-0.1.
    Nca,
    /// NCA-0.2, CFA-0.3, CFA-0.4.
    Cfa,
}

/// The convention of a variable that is an aggregation.
pub(crate) fn convention(v: &Variable) -> Option<Convention> {
    let has = |name: &str| v.attribute(name.as_bytes()).is_some();
    match () {
        () if has("aggregated_dimensions") && has("aggregated_data") => Some(Convention::Cf),
        () if has("nca_array") => Some(Convention::Nca),
        () if has("cfa_array") => Some(Convention::Cfa),
        () => None,
    }
}

/// Whether a file has variables that are aggregations.
pub fn is_aggregation(dataset: &Dataset) -> bool {
    has_aggregations(dataset.header())
}

/// Whether a header has variables that are aggregations.
pub fn has_aggregations(header: &Header) -> bool {
    header.variables.iter().any(|v| convention(v).is_some())
}

/// Opens a file; where it is an aggregation, its aggregated variables have their data.
///
/// # Errors
/// It cannot be opened; what is wrong with the aggregation.
pub fn open(path: &Path, options: &Options) -> Result<Dataset> {
    let source = nc3z_reader::source::open(path, false)?;
    let dataset = Dataset::from_source(source, &options.open)?;
    if !is_aggregation(&dataset) {
        return Ok(dataset);
    }
    wrap(dataset, &path.to_string_lossy(), path.parent(), options)
}

/// The dataset of an aggregation that was opened as it stands; `name` is its name in messages, `base` its directory.
///
/// # Errors
/// What is wrong with the aggregation.
pub fn wrap(own: Dataset, name: &str, base: Option<&Path>, options: &Options) -> Result<Dataset> {
    let mut options = options.clone();
    // The file itself is the first that a fragment may not lead back to.
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

/// The aggregation that a dataset is.
pub fn as_aggregation(dataset: &Dataset) -> Option<&Aggregation> {
    let any: &dyn std::any::Any = dataset.source().as_any()?;
    any.downcast_ref()
}

/// Whether a variable only holds sub-arrays of others.
fn is_private(v: &Variable) -> bool {
    let flag = v.attribute(b"nca_private").is_some_and(|a| a.values.iter().any(|b| *b != 0));
    let role = v.attribute(b"cf_role").map(text);
    flag || matches!(role.as_deref(), Some("nca_private" | "cfa_private"))
}

/// An aggregated variable as read from a file.
struct Read {
    master: MasterArray,
    /// Variables that only describe it.
    helpers: Vec<VarId>,
}

/// What every convention takes from the aggregation variable itself. The cuts are those of one partition.
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
            return Err(Error::malformed(&name, format!("there is no dimension `{dim}`")));
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
        units: attribute("units"),
        calendar: attribute("calendar"),
        dimensions,
        cuts,
        partitions: Box::new(Vec::new()),
    })
}

/// The value that stands for what is missing: `_FillValue`, else `missing_value`, else the type's own.
fn fill_of(v: &Variable) -> Vec<u8> {
    let first = v.own_fill_value().or_else(|| v.missing_values().next());
    first.unwrap_or(v.ty.default_fill()).to_vec()
}
