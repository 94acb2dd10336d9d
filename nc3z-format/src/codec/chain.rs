//! Chains as they are stored: JSON, with NumCodecs' ids and keys.

use super::bitshuffle;
use super::lzma::Lzma;
use crate::error::{Error, Result};
use crate::limits::Limits;
use serde_json::{Map, Value};
use std::fmt;

/// One filter or codec with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageSpec {
    /// Byte shuffle as in HDF5.
    Shuffle {
        /// Bytes of an element.
        elementsize: usize,
    },
    /// Bit shuffle as HDF5's filter 32008 does it without its own compression.
    Bitshuffle {
        /// Bytes of an element.
        elementsize: usize,
        /// Elements of a block, a multiple of 8; 0 for the library's own choice.
        blocksize: usize,
    },
    /// One LZ4 block behind its decoded length.
    Lz4 {
        /// NumCodecs' setting; decoders need it not, and nc3z has one speed.
        acceleration: i32,
    },
    /// One zstd frame.
    Zstd {
        /// The writer's level; decoders need it not.
        level: i32,
    },
    /// One zlib stream.
    Zlib {
        /// The writer's level; decoders need it not.
        level: u32,
    },
    /// One gzip member.
    Gzip {
        /// The writer's level; decoders need it not.
        level: u32,
    },
    /// One raw LZMA2 stream.
    Lzma(Lzma),
    /// The numeric codec, with its parameters.
    Num(Map<String, Value>),
    /// One that this build does not know, or knows with other keys; kept as it is.
    Other(Map<String, Value>),
}

impl StageSpec {
    /// The id.
    pub fn id(&self) -> &str {
        match self {
            StageSpec::Shuffle { .. } => "shuffle",
            StageSpec::Bitshuffle { .. } => "bitshuffle",
            StageSpec::Lz4 { .. } => "lz4",
            StageSpec::Zstd { .. } => "zstd",
            StageSpec::Zlib { .. } => "zlib",
            StageSpec::Gzip { .. } => "gzip",
            StageSpec::Lzma(_) => "lzma",
            StageSpec::Num(_) => NUM_ID,
            StageSpec::Other(map) => map.get("id").and_then(Value::as_str).unwrap_or("without id"),
        }
    }

    fn to_value(&self) -> Value {
        let mut map = match self {
            StageSpec::Num(map) | StageSpec::Other(map) => map.clone(),
            StageSpec::Lzma(lzma) => lzma.to_map(),
            _ => Map::new(),
        };
        match self {
            StageSpec::Shuffle { elementsize } => map.insert("elementsize".into(), (*elementsize).into()),
            StageSpec::Zstd { level } => map.insert("level".into(), (*level).into()),
            StageSpec::Zlib { level } | StageSpec::Gzip { level } => {
                map.insert("level".into(), (*level).into())
            }
            StageSpec::Lz4 { acceleration } => map.insert("acceleration".into(), (*acceleration).into()),
            StageSpec::Bitshuffle { elementsize, blocksize } => {
                map.insert("blocksize".into(), (*blocksize).into());
                map.insert("elementsize".into(), (*elementsize).into())
            }
            StageSpec::Num(_) | StageSpec::Lzma(_) | StageSpec::Other(_) => None,
        };
        if !matches!(self, StageSpec::Other(_)) {
            map.insert("id".into(), self.id().into());
        }
        Value::Object(map)
    }

    fn from_value(value: &Value) -> Result<Self> {
        let wrong =
            |what, expected: &str| Error::corrupt("chain table", None, what, expected, value.to_string());
        let Value::Object(map) = value else { return Err(wrong("filter or codec", "a JSON object")) };
        let id = map
            .get("id")
            .and_then(Value::as_str)
            .ok_or_else(|| wrong("filter or codec", "an object with an id"))?;
        // The id and these integers, nothing else: a key that is missing or not known may change the meaning.
        let keys = |n: usize, key: &str| if map.len() == n + 1 { map.get(key)?.as_i64() } else { None };
        let only = |key: &str| keys(1, key);
        let size = |n: i64| u32::try_from(n).ok().and_then(|n| usize::try_from(n).ok());
        let known = match id {
            "shuffle" => only("elementsize")
                .and_then(size)
                .filter(|n| *n > 0)
                .map(|elementsize| StageSpec::Shuffle { elementsize }),
            "bitshuffle" => {
                let elementsize = keys(2, "elementsize").and_then(size).filter(|n| *n > 0);
                let blocksize = keys(2, "blocksize").and_then(size).filter(|n| n % bitshuffle::GROUP == 0);
                elementsize
                    .zip(blocksize)
                    .map(|(elementsize, blocksize)| StageSpec::Bitshuffle { elementsize, blocksize })
            }
            "lz4" => only("acceleration")
                .and_then(|n| i32::try_from(n).ok())
                .map(|acceleration| StageSpec::Lz4 { acceleration }),
            "zstd" => {
                only("level").and_then(|n| i32::try_from(n).ok()).map(|level| StageSpec::Zstd { level })
            }
            "zlib" | "gzip" => {
                let level =
                    only("level").and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= MAX_ZLIB_LEVEL);
                let zlib = id == "zlib";
                level.map(|level| if zlib { StageSpec::Zlib { level } } else { StageSpec::Gzip { level } })
            }
            "lzma" => Lzma::from_map(map).map(StageSpec::Lzma),
            NUM_ID => {
                let mut map = map.clone();
                map.remove("id");
                Some(StageSpec::Num(map))
            }
            _ => None,
        };
        Ok(known.unwrap_or_else(|| StageSpec::Other(map.clone())))
    }
}

const NUM_ID: &str = "nc3z.num";
/// The highest level of zlib and gzip.
pub(super) const MAX_ZLIB_LEVEL: u32 = 9;

/// A chain: filters, then at most one codec, in the order in which they are applied when writing. Empty: store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainSpec(pub Vec<StageSpec>);

impl ChainSpec {
    /// The JSON array.
    pub fn to_value(&self) -> Value {
        self.0.iter().map(StageSpec::to_value).collect()
    }

    /// Reads a JSON array.
    ///
    /// # Errors
    /// Not an array of objects with ids, more stages than `limits` allow.
    pub fn from_value(value: &Value, limits: &Limits) -> Result<Self> {
        let Value::Array(stages) = value else {
            return Err(Error::corrupt("chain table", None, "chain", "a JSON array", value.to_string()));
        };
        if stages.len() as u64 > limits.chain_len {
            return Err(Error::limit(
                "chain table",
                None,
                "length of a chain",
                limits.chain_len,
                stages.len() as u64,
            ));
        }
        Ok(ChainSpec(stages.iter().map(StageSpec::from_value).collect::<Result<_>>()?))
    }

    /// The numeric codec's parameters, where this chain is just that.
    pub fn numeric(&self) -> Option<&Map<String, Value>> {
        match &self.0[..] {
            [StageSpec::Num(map)] => Some(map),
            _ => None,
        }
    }
}

impl fmt::Display for ChainSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_value())
    }
}

/// The chain table as stored.
pub fn chains_to_json(chains: &[ChainSpec]) -> String {
    Value::Array(chains.iter().map(ChainSpec::to_value).collect()).to_string()
}

/// Reads a stored chain table.
///
/// # Errors
/// Not JSON; as [`ChainSpec::from_value`]; more chains than `limits` allow.
pub fn chains_from_json(bytes: &[u8], limits: &Limits) -> Result<Vec<ChainSpec>> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|e| Error::corrupt("chain table", None, "content", "a JSON array", e))?;
    let Value::Array(chains) = value else {
        return Err(Error::corrupt("chain table", None, "content", "a JSON array", "another value"));
    };
    if chains.len() as u64 > limits.chains {
        return Err(Error::limit(
            "chain table",
            None,
            "number of chains",
            limits.chains,
            chains.len() as u64,
        ));
    }
    chains.iter().map(|c| ChainSpec::from_value(c, limits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_round_trip_in_numcodecs_notation_and_unknown_ones_are_kept() {
        let text = r#"[[],[{"elementsize":4,"id":"shuffle"},{"id":"zstd","level":3}],[{"id":"blosc","cname":"lz4","z":[1]}]]"#;
        let chains = chains_from_json(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(chains[1].0[0], StageSpec::Shuffle { elementsize: 4 });
        assert_eq!(chains[2].0[0].id(), "blosc");
        let again = chains_from_json(chains_to_json(&chains).as_bytes(), &Limits::default()).unwrap();
        assert_eq!(again, chains);
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        for bad in ["{}", "[1]", "[[1]]", "[[{}]]", r#"[[{"id":1}]]"#, "[[]"] {
            assert!(chains_from_json(bad.as_bytes(), &Limits::default()).is_err(), "{bad}");
        }
        let limits = Limits { chains: 2, chain_len: 1, ..Limits::default() };
        for bad in ["[[],[],[]]", r#"[[{"id":"a"},{"id":"b"}]]"#] {
            assert!(chains_from_json(bad.as_bytes(), &limits).is_err(), "{bad}");
        }
    }

    #[test]
    fn known_ids_with_other_keys_are_kept_as_they_are_and_only_their_tiles_unreadable() {
        for odd in [
            r#"{"id":"shuffle"}"#,
            r#"{"elementsize":0,"id":"shuffle"}"#,
            r#"{"elementsize":4.0,"id":"shuffle"}"#,
            r#"{"elementsize":4294967296,"id":"shuffle"}"#,
            r#"{"elementsize":4,"id":"shuffle","x":1}"#,
            r#"{"id":"zstd"}"#,
            r#"{"id":"zstd","level":"3"}"#,
            r#"{"id":"zstd","level":2147483648}"#,
            r#"{"checksum":true,"id":"zstd","level":3}"#,
            r#"{"id":"zlib"}"#,
            r#"{"id":"zlib","level":10}"#,
            r#"{"id":"zlib","level":-1}"#,
            r#"{"id":"gzip","level":10}"#,
            r#"{"id":"lz4"}"#,
            r#"{"check":-1,"filters":null,"format":1,"id":"lzma","preset":6}"#,
            r#"{"acceleration":4294967296,"id":"lz4"}"#,
            r#"{"elementsize":4,"id":"bitshuffle"}"#,
            r#"{"blocksize":12,"elementsize":4,"id":"bitshuffle"}"#,
            r#"{"blocksize":0,"elementsize":0,"id":"bitshuffle"}"#,
        ] {
            let text = format!("[[],[{odd}]]");
            let chains = chains_from_json(text.as_bytes(), &Limits::default()).unwrap();
            assert!(matches!(chains[1].0[0], StageSpec::Other(_)), "{odd}");
            assert_eq!(chains_to_json(&chains), text);
            let mut scratch = crate::codec::Scratch::default();
            let e = crate::codec::decode_bytes(&chains[1], b"", &mut scratch, &mut []).unwrap_err();
            assert!(e.is_unsupported() && e.to_string().contains(odd), "{e}");
        }
    }
}
