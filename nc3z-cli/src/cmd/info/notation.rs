//! Chains in the notations of other programs.

use crate::args::NotationArg;
use crate::output::table::{Side, Table};
use crate::output::text;
use crate::registry;
use nc3z_format::classic::Header;
use nc3z_format::codec::{ChainSpec, zarr_v2};
use nc3z_look::cost::Costs;
use nc3z_look::dump::hdf5_text;
use nc3z_reader::Archive;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Returns a chain in a notation, or the reason why that is not possible.
fn words(notation: NotationArg, chain: &ChainSpec) -> String {
    let said = match notation {
        NotationArg::Hdf5 if chain.0.is_empty() => Ok("none".to_owned()),
        NotationArg::Hdf5 => chain.to_hdf5().map(|filters| hdf5_text(&filters)),
        NotationArg::Json => {
            return numcodecs(chain).map_or_else(|why| why, |list| zarr_v2(list).to_string());
        }
    };
    said.unwrap_or_else(|e| e.to_string())
}

/// Returns the chain as NumCodecs' objects, or the reason why that is not possible. Loaded codec plug-ins
/// translate the filters of plug-ins.
fn numcodecs(chain: &ChainSpec) -> Result<Vec<Value>, String> {
    match registry::loaded() {
        Some(plugins) => plugins.to_numcodecs(chain),
        None => chain.to_numcodecs().map_err(|e| e.to_string()),
    }
}

/// Returns JSON keys for the chain next to the stored one. If it cannot be expressed, it is null, and another
/// key gives the reason.
pub(super) fn json(notation: NotationArg, chain: &ChainSpec) -> Map<String, Value> {
    let mut keys = Map::new();
    let mut put = |key: &str, value: Result<Value, String>| match value {
        Ok(value) => drop(keys.insert(key.to_owned(), value)),
        Err(why) => {
            keys.insert(key.to_owned(), Value::Null);
            keys.insert("why".to_owned(), text::safe(&why).into());
        }
    };
    match notation {
        NotationArg::Hdf5 => {
            let said = chain.to_hdf5().map_err(|e| e.to_string());
            put("hdf5", said.map(|filters| hdf5_text(&filters).into()));
        }
        NotationArg::Json => {
            let said = numcodecs(chain);
            put("zarr", said.clone().map(zarr_v2));
            put("numcodecs", said.map(Value::Array));
        }
    }
    keys
}

/// Writes a table of each variable's chains.
pub(super) fn write(
    notation: NotationArg,
    header: &Header,
    archive: &Archive,
    costs: &Costs,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = match notation {
        NotationArg::Hdf5 => "HDF5's",
        NotationArg::Json => "NumCodecs'",
    };
    writeln!(out, "chains in {name} notation")?;
    let mut table = Table::new(&[("name", Side::Left), ("tiles", Side::Right), ("chain", Side::Left)]);
    for (variable, cost) in header.variables.iter().zip(&costs.variables) {
        for (number, tiles) in &cost.chains {
            let chain = archive.chains().get(usize::from(*number));
            let said = chain.map_or_else(|| "unknown".to_owned(), |chain| words(notation, chain.spec()));
            table.push(vec![text::name(&variable.name), tiles.to_string(), text::safe(&said)]);
        }
    }
    table.print(out, "  ")
}
