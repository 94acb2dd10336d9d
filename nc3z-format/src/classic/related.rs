//! Finds the variables that belong to others: coordinates, bounds and other relations of the CF conventions.

use std::collections::BTreeSet;

use super::header::{Attribute, Header, VarId};
use crate::types::NcType;

/// Attributes that name other variables, and whether words that end in a colon name some too.
const NAMING: [(&[u8], bool); 7] = [
    (b"coordinates", false),
    (b"bounds", false),
    (b"climatology", false),
    // `crs: lat lon` names the mapping `crs`; in the others such words are keys.
    (b"grid_mapping", true),
    (b"cell_measures", false),
    (b"ancillary_variables", false),
    (b"formula_terms", false),
];

/// Returns the chosen variables with all related ones: the coordinate variables of their dimensions, the variables that their CF
/// attributes name, and the variables that are related to these. Names that no variable has are ignored, since they may be in
/// another file.
pub fn with_related(header: &Header, chosen: impl IntoIterator<Item = VarId>) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<VarId> = chosen.into_iter().collect();
    while let Some(id) = todo.pop() {
        let Some(variable) = header.variables.get(id.index()).filter(|_| found.insert(id)) else { continue };
        for dim in &variable.dimensions {
            let Some(dimension) = header.dimensions.get(dim.index()) else { continue };
            let named = header.variable(&dimension.name);
            todo.extend(named.filter(|(_, v)| v.dimensions.contains(dim)).map(|(id, _)| id));
        }
        for (name, with_keys) in NAMING {
            let words = variable.attribute(name).into_iter().flat_map(words);
            let names = words.filter_map(|word| match word.strip_suffix(b":") {
                Some(key) => with_keys.then_some(key),
                None => Some(word),
            });
            todo.extend(names.filter_map(|name| header.variable(name)).map(|(id, _)| id));
        }
    }
    found
}

/// The words of a text attribute.
fn words(attribute: &Attribute) -> impl Iterator<Item = &[u8]> {
    let text = if attribute.ty == NcType::Char { &attribute.values[..] } else { &[] };
    text.split(|b| b.is_ascii_whitespace() || *b == 0).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::{DimId, Dimension, NumRecs, Variable, Version};

    /// `name(dims) attribute=words`.
    fn header(dims: &[&str], variables: &[(&str, &[u32], &[(&str, &str)])]) -> Header {
        let attribute = |(name, words): &(&str, &str)| Attribute {
            name: name.as_bytes().to_vec(),
            ty: NcType::Char,
            values: words.as_bytes().to_vec(),
        };
        let variable = |(name, dims, attributes): &(&str, &[u32], &[(&str, &str)])| Variable {
            name: name.as_bytes().to_vec(),
            dimensions: dims.iter().copied().map(DimId).collect(),
            attributes: attributes.iter().map(attribute).collect(),
            ty: NcType::Float,
            vsize: 0,
            begin: 0,
        };
        Header {
            version: Version::Cdf1,
            numrecs: NumRecs::Count(0),
            dimensions: dims.iter().map(|d| Dimension { name: d.as_bytes().to_vec(), len: 2 }).collect(),
            attributes: vec![],
            variables: variables.iter().map(variable).collect(),
        }
    }

    fn names(header: &Header, chosen: &str) -> Vec<String> {
        let (id, _) = header.variable(chosen.as_bytes()).unwrap();
        let found = with_related(header, [id]);
        found.iter().map(|id| header.variables[id.index()].name_lossy().into_owned()).collect()
    }

    #[test]
    fn coordinates_bring_their_bounds_and_so_on() {
        let h = header(
            &["time", "y", "x", "bnds"],
            &[
                ("time", &[0], &[("bounds", "time_bnds")]),
                ("time_bnds", &[0, 3], &[]),
                ("lat", &[1, 2], &[("bounds", "lat_bnds")]),
                ("lat_bnds", &[1, 2, 3], &[]),
                ("tas", &[0, 1, 2], &[("coordinates", "lat lon"), ("grid_mapping", "crs: x y other: lat")]),
                ("crs", &[], &[]),
                ("x", &[0], &[]),
                ("pr", &[0], &[("cell_measures", "area: areacella"), ("ancillary_variables", "tas_flag\0")]),
                ("area", &[], &[]),
                ("areacella", &[1], &[]),
                ("y", &[1], &[("formula_terms", "y: y p0: p0")]),
                ("p0", &[], &[("bounds", "y")]),
            ],
        );
        assert_eq!(names(&h, "tas"), ["time", "time_bnds", "lat", "lat_bnds", "tas", "crs", "x", "y", "p0"]);
        assert_eq!(names(&h, "pr"), ["time", "time_bnds", "pr", "areacella", "y", "p0"]);
        assert_eq!(names(&h, "crs"), ["crs"]);
    }
}
