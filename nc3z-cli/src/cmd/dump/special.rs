//! Special attributes of an archive's variables, as ncdump prints them of netCDF-4 files: how a variable is cut and filtered.

use crate::cmd::info::notation::hdf5_text;
use anyhow::Result;
use nc3z_format::cdl::Special;
use nc3z_format::classic::VarId;
use nc3z_format::tile::TileLayout;
use nc3z_look::cost::Costs;
use nc3z_reader::Archive;
use serde_json::Value;
use std::collections::BTreeMap;

/// Those of the variables whose chain was asked for, where HDF5 or NumCodecs have names for it. All others print as the original does.
pub(super) fn of(archive: &Archive) -> Result<BTreeMap<VarId, Vec<Special>>> {
    let costs = Costs::of(archive, archive.source())?;
    let mut all = BTreeMap::new();
    let options = &archive.metadata().options;
    for ((id, variable), cost) in archive.header().variables().zip(&costs.variables) {
        if !options.contains_key("chain *")
            && !options.contains_key(&format!("chain {}", variable.name_lossy()))
        {
            continue;
        }
        // One chain for all tiles, as in those formats.
        let mut numbers = cost.chains.keys();
        let (Some(number), None) = (numbers.next(), numbers.next()) else { continue };
        let Some(chain) =
            archive.chains().get(usize::from(*number)).filter(|chain| !chain.spec().0.is_empty())
        else {
            continue;
        };
        let (hdf5, json) = (chain.spec().to_hdf5(), chain.spec().to_numcodecs());
        if hdf5.is_err() && json.is_err() {
            continue;
        }
        let mut specials = Vec::new();
        if let TileLayout::Chunked { shape, .. } = archive.arrays().variable(id).tiling.layout() {
            specials.push(Special::text("_Storage", "chunked"));
            specials.push(Special::integers("_ChunkSizes", shape));
        }
        if let Ok(filters) = &hdf5 {
            let level =
                filters.iter().find(|filter| filter.id == 1).and_then(|filter| filter.cd_values.first());
            specials.extend(level.map(|level| Special::integers("_DeflateLevel", &[u64::from(*level)])));
            for (number, name) in [(2, "_Shuffle"), (3, "_Fletcher32")] {
                if filters.iter().any(|filter| filter.id == number) {
                    specials.push(Special::text(name, "true"));
                }
            }
            specials.push(Special::text("_Filter", &hdf5_text(filters)));
        }
        if let Ok(codecs) = json {
            specials.push(Special::text("_Codecs", &Value::Array(codecs).to_string()));
        }
        all.insert(id, specials);
    }
    Ok(all)
}
