//! Special attributes of an archive's variables, as ncdump prints them for netCDF-4 files: chunks and
//! filters.

use crate::cost::Costs;
use nc3z_format::cdl::Special;
use nc3z_format::classic::VarId;
use nc3z_format::codec::Hdf5Filter;
use nc3z_format::tile::TileLayout;
use nc3z_reader::{Archive, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// HDF5's numbers of the filters that have their own attributes.
const DEFLATE: u32 = 1;
const SHUFFLE: u32 = 2;
const FLETCHER32: u32 = 3;

/// Returns those of the variables with a requested chain, if HDF5 or NumCodecs have names for it. All other
/// variables are printed like the original.
///
/// # Errors
/// The index cannot be read.
pub fn specials(archive: &Archive) -> Result<BTreeMap<VarId, Vec<Special>>> {
    let costs = Costs::new(archive, archive.source())?;
    let mut all = BTreeMap::new();
    let options = &archive.metadata().options;
    for ((id, variable), cost) in archive.header().variables().zip(&costs.variables) {
        if !options.contains_key("chain *")
            && !options.contains_key(&format!("chain {}", variable.name_lossy()))
        {
            continue;
        }
        // A single chain for all tiles, as in those formats.
        let mut numbers = cost.chains.keys();
        let (Some(number), None) = (numbers.next(), numbers.next()) else { continue };
        let Some(chain) =
            archive.chains().get(usize::from(*number)).filter(|chain| !chain.spec().0.is_empty())
        else {
            continue;
        };
        let mut specials = Vec::new();
        if let TileLayout::Chunked { shape, .. } = archive.arrays().variable(id).tiling.layout() {
            specials.push(Special::text("_Storage", "chunked"));
            specials.push(Special::integers("_ChunkSizes", shape));
        }
        // ncdump prints `_Codecs` only for NCZarr, which has no other names for them.
        match (chain.spec().to_hdf5(), chain.spec().to_numcodecs()) {
            (Ok(filters), _) => specials.extend(of_filters(&filters)),
            (Err(_), Ok(codecs)) => {
                specials.push(Special::text("_Codecs", &Value::Array(codecs).to_string()));
            }
            (Err(_), Err(_)) => continue,
        }
        if variable.ty.size() > 1 {
            // Tiles have the byte order of the classic format.
            specials.push(Special::text("_Endianness", "big"));
        }
        // Every tile is stored, as in a file that nccopy makes from a classic file.
        specials.push(Special::text("_NoFill", "true"));
        all.insert(id, specials);
    }
    Ok(all)
}

/// Formats `2,4|32015,9`, as for nccopy.
pub fn hdf5_text(filters: &[Hdf5Filter]) -> String {
    filters.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
}

/// Returns the attributes of HDF5's filters in the order of ncdump: the checksum, shuffle and deflate have
/// their own attributes, `_Filter` lists all others.
fn of_filters(filters: &[Hdf5Filter]) -> Vec<Special> {
    let last = |number: u32| filters.iter().rfind(|filter| filter.id == number);
    let mut specials = Vec::new();
    for (number, name) in [(FLETCHER32, "_Fletcher32"), (SHUFFLE, "_Shuffle")] {
        specials.extend(last(number).map(|_| Special::text(name, "true")));
    }
    let level = last(DEFLATE).and_then(|filter| filter.cd_values.first());
    specials.extend(level.map(|level| Special::integers("_DeflateLevel", &[u64::from(*level)])));
    let (others, all) = (unnamed(filters), hdf5_text(filters));
    match rebuilt(filters, &others) == filters {
        true if others.is_empty() => {}
        true => specials.push(Special::text("_Filter", &hdf5_text(&others))),
        // In another order, since the separate attributes would lose it.
        false => specials.push(Special::text("_Filter", &all)),
    }
    specials
}

/// Returns the filters without their own attribute.
fn unnamed(filters: &[Hdf5Filter]) -> Vec<Hdf5Filter> {
    filters.iter().filter(|filter| ![DEFLATE, SHUFFLE, FLETCHER32].contains(&filter.id)).cloned().collect()
}

/// Returns the chain that netCDF-C builds from the attributes: the checksum first, then shuffle, deflate and
/// all others, each once.
fn rebuilt(filters: &[Hdf5Filter], others: &[Hdf5Filter]) -> Vec<Hdf5Filter> {
    let named = [FLETCHER32, SHUFFLE, DEFLATE];
    let named = named.iter().filter_map(|number| filters.iter().rfind(|filter| filter.id == *number));
    named.chain(others).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_repeated_only_where_names_lose_its_order() {
        for (chain, others) in [
            ("1,5", None),
            ("2,4|1,5", None),
            ("3|2,4|1,5", None),
            ("2,4|32015,3", Some("32015,3")),
            ("1,5|307,9", Some("307,9")),
            ("307,9|32015,3", Some("307,9|32015,3")),
            ("1,5|3", Some("1,5|3")),
            ("2,4|1,5|3", Some("2,4|1,5|3")),
            ("307,9|1,5", Some("307,9|1,5")),
            ("1,5|1,6", Some("1,5|1,6")),
            ("32032,9|2,4|32015,3", Some("32032,9|2,4|32015,3")),
        ] {
            let filters = Hdf5Filter::parse_chain(chain).unwrap();
            let printed = of_filters(&filters);
            let named = [DEFLATE, SHUFFLE, FLETCHER32];
            let named =
                named.iter().filter(|number| filters.iter().any(|filter| filter.id == **number)).count();
            assert_eq!(printed.len(), named + usize::from(others.is_some()), "{chain}");
            if let Some(text) = others {
                assert_eq!(printed.last(), Some(&Special::text("_Filter", text)), "{chain}");
            }
        }
    }
}
