//! Stored chains: JSON, with NumCodecs' ids and keys. The registry defines the meaning of the objects.

use crate::error::{Error, Result};
use crate::json;
use crate::limits::Limits;
use serde_json::{Map, Value};
use std::fmt;

pub(super) const NUM_ID: &str = "nc3z.num";
/// The id of what codes a tile against an older one.
pub(super) const BASE_ID: &str = "nc3z.base";
const ID: &str = "id";
/// Its keys: the number of a dictionary, and the distance of a reference.
pub(super) const DICTIONARY: &str = "dict";
pub(super) const REFERENCE: &str = "ref";

/// One filter or codec as an archive stores it: a JSON object with an id. Any such object is preserved, known
/// or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSpec(Map<String, Value>);

impl StageSpec {
    /// The stage with this id and these keys.
    pub fn new<K: Into<String>>(id: &str, keys: impl IntoIterator<Item = (K, Value)>) -> Self {
        let mut map: Map<String, Value> = keys.into_iter().map(|(key, value)| (key.into(), value)).collect();
        map.insert(ID.into(), id.into());
        StageSpec(map)
    }

    /// `shuffle` for elements of `elementsize` bytes.
    pub fn shuffle(elementsize: usize) -> Self {
        Self::new("shuffle", [("elementsize", elementsize.into())])
    }

    /// `bitshuffle` for elements of `elementsize` bytes, in blocks of `blocksize` elements (a multiple of 8;
    /// 0: the library's default).
    pub fn bitshuffle(elementsize: usize, blocksize: usize) -> Self {
        Self::new("bitshuffle", [("elementsize", elementsize.into()), ("blocksize", blocksize.into())])
    }

    /// `zstd` at this level, which decoders ignore.
    pub fn zstd(level: i32) -> Self {
        Self::new("zstd", [("level", level.into())])
    }

    /// `zlib` at this level, 0 to 9, which decoders ignore.
    pub fn zlib(level: u32) -> Self {
        Self::new("zlib", [("level", level.into())])
    }

    /// `gzip` at this level, 0 to 9, which decoders ignore.
    pub fn gzip(level: u32) -> Self {
        Self::new("gzip", [("level", level.into())])
    }

    /// `lz4` in NumCodecs' framing. Its `acceleration` steers other writers; nc3z has one speed.
    pub fn lz4(acceleration: i32) -> Self {
        Self::new("lz4", [("acceleration", acceleration.into())])
    }

    /// The first stage of a chain of bytes. The other stages code the difference to an older tile, which the
    /// payload names.
    pub fn base() -> Self {
        Self::new::<&str>(BASE_ID, [])
    }

    /// The numeric codec; its tiles refer to this definition of their variable, or to none.
    pub fn num(dictionary: Option<u64>) -> Self {
        Self::new(NUM_ID, dictionary.map(|number| (DICTIONARY, number.into())))
    }

    /// Returns this stage for tiles that are coded against those of another variable, whose id is less by `distance`.
    #[must_use]
    pub fn against(mut self, distance: u32) -> Self {
        self.0.insert(REFERENCE.into(), distance.into());
        self
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        self.0.get(ID).and_then(Value::as_str).expect("every constructor puts or checks an id")
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The keys other than the id, with their values.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value)).filter(|(key, _)| *key != ID)
    }

    /// The values of these keys, if they are integers and the only keys: one that is missing or not known may change
    /// the meaning.
    pub fn integers<const N: usize>(&self, keys: [&str; N]) -> Option<[i64; N]> {
        if self.0.len() != N + 1 {
            return None;
        }
        let mut values = [0; N];
        for (value, key) in values.iter_mut().zip(keys) {
            *value = self.0.get(key)?.as_i64()?;
        }
        Some(values)
    }

    /// This object with a value for a key, unless it has the key already.
    #[must_use]
    pub fn or_default(mut self, key: &str, value: impl Into<Value>) -> Self {
        if !self.0.contains_key(key) {
            self.0.insert(key.into(), value.into());
        }
        self
    }

    /// This object with this value for a key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Returns this stage without a key.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.0.remove(key);
        self
    }

    /// Returns the JSON object.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Reads a JSON object.
    ///
    /// # Errors
    /// Not an object, or without an id.
    pub fn from_value(value: Value) -> Result<Self> {
        let wrong = |expected: &str, found: &Value| {
            Error::corrupt("chain table", None, "filter or codec", expected, json::brief(found))
        };
        match value {
            Value::Object(map) if map.get(ID).is_some_and(Value::is_string) => Ok(StageSpec(map)),
            Value::Object(_) => Err(wrong("an object with an id", &value)),
            other => Err(wrong("a JSON object", &other)),
        }
    }
}

impl fmt::Display for StageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_value())
    }
}

/// A chain: filters, then at most one codec, in the order in which they are applied when writing. Empty: store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainSpec(pub Vec<StageSpec>);

impl ChainSpec {
    /// Returns the JSON array.
    pub fn to_value(&self) -> Value {
        self.0.iter().map(StageSpec::to_value).collect()
    }

    /// Reads a JSON array.
    ///
    /// # Errors
    /// Not an array of objects with ids, more stages than `limits` allow.
    pub fn from_value(value: Value, limits: &Limits) -> Result<Self> {
        let stages = match value {
            Value::Array(stages) => stages,
            other => {
                return Err(Error::corrupt(
                    "chain table",
                    None,
                    "chain",
                    "a JSON array",
                    json::brief(&other),
                ));
            }
        };
        if stages.len() as u64 > limits.chain_len {
            let (limit, found) = (limits.chain_len, stages.len() as u64);
            return Err(Error::limit("chain table", None, "length of a chain", limit, found));
        }
        Ok(ChainSpec(stages.into_iter().map(StageSpec::from_value).collect::<Result<_>>()?))
    }

    /// True if the chain is only the numeric codec.
    pub fn is_numeric(&self) -> bool {
        matches!(&self.0[..], [stage] if stage.id() == NUM_ID)
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
    if bytes.len() as u64 > limits.chain_table_len {
        let (limit, len) = (limits.chain_table_len, bytes.len() as u64);
        return Err(Error::limit("chain table", None, "length", limit, len));
    }
    let Value::Array(chains) = json::parse("chain table", bytes, limits)? else {
        return Err(Error::corrupt("chain table", None, "content", "a JSON array", "another value"));
    };
    if chains.len() as u64 > limits.chains {
        let (limit, found) = (limits.chains, chains.len() as u64);
        return Err(Error::limit("chain table", None, "number of chains", limit, found));
    }
    chains.into_iter().map(|chain| ChainSpec::from_value(chain, limits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_round_trip_in_numcodecs_notation_and_unknown_ones_are_kept() {
        let text = r#"[[],[{"elementsize":4,"id":"shuffle"},{"id":"zstd","level":3}],[{"id":"blosc","cname":"lz4","z":[1]}]]"#;
        let chains = chains_from_json(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(chains[1].0[0], StageSpec::shuffle(4));
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
}
