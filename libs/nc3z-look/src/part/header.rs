//! The header of a file that has some variables of another.

use nc3z_format::Result;
use nc3z_format::classic::{Arrangement, DimId, Dimension, Header, VarId, Version, arrange};
use nc3z_reader::Dataset;
use std::collections::{BTreeSet, HashMap};

/// Returns the dimensions of some variables.
pub(super) fn dimensions_of(header: &Header, variables: &BTreeSet<VarId>) -> BTreeSet<DimId> {
    variables.iter().flat_map(|id| header.variables[id.index()].dimensions.iter().copied()).collect()
}

/// Returns the header with these variables and dimensions, without the fields that [`arrange`] sets, and its number of records. `len`
/// returns the new length of a dimension, None for the old one.
pub(super) fn header_of(
    dataset: &Dataset,
    variables: &BTreeSet<VarId>,
    dimensions: &BTreeSet<DimId>,
    len: &dyn Fn(DimId) -> Option<u64>,
) -> (Header, u64) {
    let old = dataset.header();
    let new_ids: HashMap<DimId, DimId> = dimensions.iter().copied().zip((0_u32..).map(DimId)).collect();
    let mut header = Header {
        version: old.version,
        numrecs: old.numrecs,
        dimensions: Vec::with_capacity(dimensions.len()),
        attributes: old.attributes.clone(),
        variables: Vec::with_capacity(variables.len()),
    };
    let mut records = 0;
    for id in dimensions {
        let dimension = &old.dimensions[id.index()];
        let whole = if dimension.is_record() { dataset.records() } else { dimension.len };
        let new = len(*id).unwrap_or(whole);
        if dimension.is_record() {
            records = new;
        }
        let len = if dimension.is_record() { 0 } else { new };
        header.dimensions.push(Dimension { name: dimension.name.clone(), len });
    }
    for id in variables {
        let mut variable = old.variables[id.index()].clone();
        variable.dimensions.iter_mut().for_each(|dimension| *dimension = new_ids[dimension]);
        header.variables.push(variable);
    }
    (header, records)
}

/// Lays out a file, in the first classic format, from the header's on, that can express it.
///
/// # Errors
/// No format can express it.
pub fn arrangement(header: &Header, records: u64) -> Result<Arrangement> {
    let fit = |version| {
        let mut header = header.clone();
        header.version = version;
        arrange(header, records)
    };
    let kinds = [Version::Cdf1, Version::Cdf2, Version::Cdf5];
    let from = kinds.iter().position(|version| *version == header.version).unwrap_or(0);
    match kinds[from..].iter().find_map(|version| fit(*version).ok()) {
        Some(arrangement) => Ok(arrangement),
        None => fit(Version::Cdf5),
    }
}
