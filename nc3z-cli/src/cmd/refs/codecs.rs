//! Chains in the words of NumCodecs.

use super::zarr2;
use anyhow::{Result, bail};
use nc3z_format::NcType;
use nc3z_format::codec::{ChainSpec, StageSpec};
use serde_json::{Value, json};

/// The stages of a chain, as NumCodecs configures them; an error names one that it does not have.
pub(super) fn numcodecs(chain: &ChainSpec, ty: NcType, chunk: &[u64]) -> Result<Vec<Value>> {
    chain.0.iter().map(|stage| one(stage, ty, chunk)).collect()
}

fn one(stage: &StageSpec, ty: NcType, chunk: &[u64]) -> Result<Value> {
    match stage.id() {
        "shuffle" | "zstd" | "zlib" | "gzip" | "lz4" | "lzma" => Ok(stage.to_value()),
        // Its settings are those of readers; a dictionary or another variable's tile would have to come with it.
        "nc3z.num" if stage.to_value().as_object().is_some_and(|keys| keys.len() == 1) => {
            Ok(json!({"id": "nc3z.num", "dtype": zarr2::dtype(ty), "shape": chunk}))
        }
        "nc3z.num" => {
            bail!("its tiles are made with what lies outside of them; --profile zarr archives it without")
        }
        id => bail!("NumCodecs has no `{id}`; --profile zarr archives it without"),
    }
}

/// The last stage as the compressor, those before it as filters.
pub(super) fn split(mut stages: Vec<Value>) -> (Value, Value) {
    let compressor = stages.pop().unwrap_or_default();
    let filters = if stages.is_empty() { Value::Null } else { stages.into() };
    (compressor, filters)
}
