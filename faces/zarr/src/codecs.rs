//! Converts chains to the codecs of NumCodecs and of Zarr 3.

use crate::error::{Error, Result};
use crate::values;
use nc3z_format::NcType;
use nc3z_format::codec::{ChainSpec, StageSpec};
use serde_json::{Map, Value, json};

/// The chain of the profile for Zarr: filters and codecs that all versions of NumCodecs and Zarr have. In
/// this profile tiles are chunks, padded at the edges.
pub const PROFILE_CHAIN: &str = r#"[{"id":"shuffle"},{"id":"zstd","level":9}]"#;

/// A chain as an array's codecs.
pub(crate) struct Codecs {
    /// The objects of NumCodecs, in the order of encoding.
    stages: Vec<Value>,
    /// True if the elements before the first stage are little-endian.
    little: bool,
}

/// Codecs that convert an array to bytes themselves.
const TAKES_ARRAY: [&str; 2] = ["pcodec", "nc3z.num"];
/// Filters of numbers, which precede those codecs.
const FILTERS: [&str; 5] = ["bitround", "delta", "fixedscaleoffset", "packbits", "quantize"];

impl Codecs {
    /// Converts the stages of a chain. The error names a stage that NumCodecs does not have.
    pub(crate) fn new(chain: &ChainSpec, ty: NcType, chunk: &[u64]) -> Result<Self> {
        let stages = chain.0.iter().map(|stage| one(stage, ty, chunk)).collect::<Result<Vec<_>>>()?;
        // NumCodecs' pcodec decodes to the machine's byte order, which is little-endian wherever it is
        // available.
        let pcodec = chain.0.iter().position(|stage| stage.id() == "pcodec");
        if pcodec.is_some_and(|at| at > 0) {
            return Err(Error::not_zarr("NumCodecs' pcodec after a filter uses another byte order"));
        }
        Ok(Codecs { stages, little: pcodec.is_some() })
    }

    /// Returns the type's name in Zarr 2, with the byte order.
    pub(crate) fn dtype(&self, ty: NcType) -> String {
        let name = values::dtype(ty);
        if self.little { name.replace('>', "<") } else { name.to_owned() }
    }

    /// Returns the codecs for Zarr 2: the last stage as the compressor, those before it as filters.
    pub(crate) fn zarr2(mut self) -> (Value, Value) {
        let compressor = self.stages.pop().unwrap_or_default();
        let filters = if self.stages.is_empty() { Value::Null } else { self.stages.into() };
        (compressor, filters)
    }

    /// Returns the codecs for Zarr 3: filters of arrays, the codec that converts to bytes, and the following
    /// ones.
    pub(crate) fn zarr3(self, ty: NcType) -> Vec<Value> {
        let mut stages = self.stages.into_iter().peekable();
        let mut out = Vec::new();
        let id = |stage: &Value| stage["id"].as_str().unwrap_or_default().to_owned();
        while let Some(stage) = stages.next_if(|stage| FILTERS.contains(&&*id(stage))) {
            out.push(named(stage, ty));
        }
        match stages.next_if(|stage| TAKES_ARRAY.contains(&&*id(stage))) {
            Some(stage) => out.push(named(stage, ty)),
            None if ty.size() == 1 => out.push(json!({"name": "bytes"})),
            None => out.push(json!({"name": "bytes", "configuration": {"endian": "big"}})),
        }
        out.extend(stages.map(|stage| named(stage, ty)));
        out
    }
}

fn one(stage: &StageSpec, ty: NcType, chunk: &[u64]) -> Result<Value> {
    match stage.id() {
        // A dictionary or another variable's tile, which a reference cannot contain, would be an additional
        // setting.
        "nc3z.num" if stage.to_value().as_object().is_some_and(|keys| keys.len() == 1) => {
            Ok(json!({"id": "nc3z.num", "dtype": values::dtype(ty), "shape": chunk}))
        }
        "nc3z.num" => Err(Error::not_zarr(
            "its tiles are encoded with data outside of them; archive the file with the profile zarr",
        )),
        _ => {
            let mut stages = ChainSpec(vec![stage.clone()]).to_numcodecs()?;
            Ok(stages.pop().unwrap_or_default())
        }
    }
}

/// Converts NumCodecs' object to Zarr 3: Zarr's own codecs by their names, others by the names of NumCodecs.
fn named(stage: Value, ty: NcType) -> Value {
    let Value::Object(mut settings) = stage else { return stage };
    let id = settings.remove("id").and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_default();
    let taken = |settings: &Map<String, Value>, key: &str| settings.get(key).cloned().unwrap_or_default();
    match &*id {
        "nc3z.num" => json!({"name": id, "configuration": {}}),
        "gzip" => json!({"name": id, "configuration": settings}),
        "zstd" => {
            let checksum = settings.get("checksum").and_then(Value::as_bool).unwrap_or(false);
            json!({"name": id, "configuration": {"level": taken(&settings, "level"), "checksum": checksum}})
        }
        "blosc" => {
            let shuffle = match settings.get("shuffle").and_then(Value::as_i64) {
                Some(0) => "noshuffle",
                Some(2) => "bitshuffle",
                // -1 means bitshuffle for elements of one byte, shuffle for others.
                Some(-1) if ty.size() == 1 => "bitshuffle",
                _ => "shuffle",
            };
            json!({"name": id, "configuration": {
                "cname": taken(&settings, "cname"), "clevel": taken(&settings, "clevel"), "shuffle": shuffle,
                "typesize": ty.size(), "blocksize": taken(&settings, "blocksize"),
            }})
        }
        _ => json!({"name": format!("numcodecs.{id}"), "configuration": settings}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::codec::{ChainRequest, Registry};

    fn codecs(text: &str, ty: NcType) -> Result<Codecs> {
        let chain = ChainRequest::parse(text).unwrap().bind(ty, &Registry::default()).unwrap();
        Codecs::new(&chain, ty, &[3, 4])
    }

    #[test]
    fn zarr_2_splits_a_chain_and_zarr_3_names_its_codecs() {
        let text = r#"[{"id":"shuffle"},{"id":"zstd","level":7}]"#;
        let (compressor, filters) = codecs(text, NcType::Int).unwrap().zarr2();
        assert_eq!((&compressor["id"], &filters[0]["elementsize"]), (&json!("zstd"), &json!(4)));
        let told = codecs(text, NcType::Int).unwrap().zarr3(NcType::Int);
        assert_eq!(told[0], json!({"name": "bytes", "configuration": {"endian": "big"}}));
        assert_eq!(told[1], json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}));
        assert_eq!(told[2], json!({"name": "zstd", "configuration": {"level": 7, "checksum": false}}));
        let blosc =
            codecs(r#"[{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2}]"#, NcType::Double).unwrap();
        assert_eq!(blosc.zarr3(NcType::Double)[1]["configuration"]["shuffle"], "bitshuffle");
        assert_eq!(codecs("[]", NcType::Byte).unwrap().zarr3(NcType::Byte), [json!({"name": "bytes"})]);
    }

    #[test]
    fn pcodec_works_in_the_machines_order() {
        let alone = codecs(r#"[{"id":"pcodec"}]"#, NcType::Float).unwrap();
        assert_eq!(alone.dtype(NcType::Float), "<f4");
        assert_eq!(alone.zarr3(NcType::Float).len(), 1);
        assert!(codecs(r#"[{"id":"delta"},{"id":"pcodec"}]"#, NcType::Int).is_err());
        assert!(codecs(r#"[{"id":"bitshuffle"}]"#, NcType::Int).is_err());
    }
}
