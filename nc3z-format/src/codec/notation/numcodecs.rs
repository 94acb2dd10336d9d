//! NumCodecs' notation. Reading accepts all forms that its releases and NCZarr have written; writing uses
//! today's form.

use crate::codec::spec::{ChainSpec, StageSpec};
use crate::error::{Error, Result};
use serde_json::{Map, Value, json};

const KNOWN: [&str; 18] = [
    "adler32",
    "bitround",
    "blosc",
    "bz2",
    "crc32",
    "crc32c",
    "delta",
    "fixedscaleoffset",
    "fletcher32",
    "gzip",
    "lz4",
    "lzma",
    "packbits",
    "pcodec",
    "quantize",
    "shuffle",
    "zlib",
    "zstd",
];

/// Other ids that are read, and the id that each stands for.
const ALIASES: [(&str, &str); 5] = [
    ("imagecodecs_lz4h5", "lz4h5"),
    ("imagecodecs_lzf", "lzf"),
    ("imagecodecs_bitshuffle", "bitshuffle"),
    ("imagecodecs_zstd", "zstd"),
    ("bzip2", "bz2"),
];

/// An object as chains store it: under its id here.
pub(in crate::codec) fn canonical(spec: StageSpec) -> StageSpec {
    let id = spec.id().strip_prefix("numcodecs.").unwrap_or(spec.id());
    let id = ALIASES.iter().find(|(other, _)| *other == id).map_or(id, |(_, own)| own).to_owned();
    spec.with("id", id)
}

/// Returns the objects of a chain, which is an array of objects, or Zarr's `{"filters":[…],"compressor":{…}}`, where both may be null.
pub(in crate::codec) fn stages_of(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(stages) => Some(stages.clone()),
        Value::Object(parts) if !parts.contains_key("id") && !parts.is_empty() => {
            let known = parts.keys().all(|key| ["filters", "compressor"].contains(&key.as_str()));
            let mut stages = match parts.get("filters") {
                _ if !known => return None,
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(filters)) => filters.clone(),
                Some(_) => return None,
            };
            stages.extend(parts.get("compressor").filter(|compressor| !compressor.is_null()).cloned());
            Some(stages)
        }
        _ => None,
    }
}

/// Returns a stage in the notation of NumCodecs.
fn to_numcodecs(stage: &StageSpec) -> Result<Value> {
    if !KNOWN.contains(&stage.id()) {
        let hint = match stage.id() {
            "lz4h5" => "; its own framing of LZ4 is \"lz4\"",
            "bitshuffle" => "; it has bit shuffle inside \"blosc\" only",
            "hdf5" => "; a codec plug-in that is paired with the filter translates it, where it is loaded",
            _ => "",
        };
        return Err(Error::invalid(format!("NumCodecs has no codec for {stage}{hint}")));
    }
    // Parameters that only nc3z records: NumCodecs takes them from the array.
    let stage = match stage.id() {
        "blosc" => stage.clone().without("typesize"),
        "pcodec" => stage.clone().without("dtype"),
        _ => stage.clone(),
    };
    Ok(stage.to_value())
}

impl ChainSpec {
    /// The chain as an array of NumCodecs' objects.
    ///
    /// # Errors
    /// A filter or codec that NumCodecs does not have.
    pub fn to_numcodecs(&self) -> Result<Vec<Value>> {
        self.0.iter().map(to_numcodecs).collect()
    }
}

/// NumCodecs' objects as Zarr v2 and NCZarr split them: the last is the `compressor`, those before it are the `filters`.
pub fn zarr_v2(mut stages: Vec<Value>) -> Value {
    let compressor = stages.pop();
    let filters = if stages.is_empty() { Value::Null } else { stages.into() };
    let mut parts = Map::new();
    parts.insert("filters".to_owned(), filters);
    parts.insert("compressor".to_owned(), json!(compressor));
    parts.into()
}

#[cfg(test)]
#[cfg(feature = "codecs")]
mod tests {
    use super::*;
    use crate::NcType;
    use crate::codec::{ChainRequest, Registry};

    fn bound(text: &str, ty: NcType) -> ChainSpec {
        ChainRequest::parse(text).unwrap().bind(ty, &Registry::default()).unwrap()
    }

    #[test]
    fn zarr_splits_a_chain_and_it_is_read_so() {
        let chain =
            bound(r#"{"filters":[{"id":"shuffle"}],"compressor":{"id":"zlib","level":1}}"#, NcType::Int);
        assert_eq!(chain.0, [StageSpec::shuffle(4), StageSpec::zlib(1)]);
        let told = zarr_v2(chain.to_numcodecs().unwrap());
        let filters = json!([{"id": "shuffle", "elementsize": 4}]);
        assert_eq!(told, json!({"filters": filters, "compressor": {"id": "zlib", "level": 1}}));
        assert_eq!(bound(&told.to_string(), NcType::Int), chain);
        assert_eq!(bound(r#"{"filters":null,"compressor":null}"#, NcType::Int), ChainSpec::default());
        assert_eq!(zarr_v2(Vec::new()), json!({"filters": null, "compressor": null}));
        assert!(ChainRequest::parse(r#"{"filters":[],"other":1}"#).is_err());
    }

    #[test]
    fn what_others_have_written_is_read() {
        for (text, ty, stored) in [
            (r#"[{"id":"shuffle","elementsize":0}]"#, NcType::Short, r#"[{"elementsize":2,"id":"shuffle"}]"#),
            (
                r#"[{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}]"#,
                NcType::Byte,
                r#"[{"blocksize":0,"clevel":5,"cname":"lz4","id":"blosc","shuffle":2,"typesize":1}]"#,
            ),
            (r#"[{"id":"crc32"}]"#, NcType::Int, r#"[{"id":"crc32","location":"start"}]"#),
            (r#"[{"id":"crc32c"}]"#, NcType::Int, r#"[{"id":"crc32c","location":"end"}]"#),
            (
                r#"[{"id":"delta","dtype":"<i4","astype":null}]"#,
                NcType::Int,
                r#"[{"astype":">i4","dtype":">i4","id":"delta"}]"#,
            ),
            (r#"[{"id":"zstd","level":1,"checksum":false}]"#, NcType::Int, r#"[{"id":"zstd","level":1}]"#),
            (r#"[{"id":"numcodecs.bz2","level":1}]"#, NcType::Int, r#"[{"id":"bz2","level":1}]"#),
            (r#"[{"id":"imagecodecs_lz4h5"}]"#, NcType::Int, r#"[{"blocksize":0,"id":"lz4h5"}]"#),
        ] {
            assert_eq!(bound(text, ty).to_string(), stored, "{text}");
        }
    }

    #[test]
    fn what_numcodecs_does_not_have_is_named() {
        for text in
            [r#"[{"id":"bitshuffle"}]"#, r#"[{"id":"lz4h5"}]"#, r#"[{"id":"lzf"}]"#, r#"[{"id":"nc3z.num"}]"#]
        {
            let e = bound(text, NcType::Int).to_numcodecs().unwrap_err().to_string();
            assert!(e.contains("NumCodecs has no codec"), "{e}");
        }
        let told = bound(r#"[{"id":"blosc"}]"#, NcType::Int).to_numcodecs().unwrap();
        assert_eq!(told, [json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})]);
    }
}
