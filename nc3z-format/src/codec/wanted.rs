//! Chains that a user asks for: read strictly, with errors that teach, and bound to a variable's element size.

use super::chain::{ChainSpec, StageSpec};
use super::registry::check_chain;
use crate::error::{Error, Result};
use crate::limits::Limits;
use serde_json::Value;
use std::fmt;

/// What there is, for messages: the id, and an object as it should be.
const KNOWN: [(&str, &str); 8] = [
    ("shuffle", r#"{"id":"shuffle","elementsize":4}"#),
    ("bitshuffle", r#"{"id":"bitshuffle","elementsize":4,"blocksize":0}"#),
    ("zstd", r#"{"id":"zstd","level":9}"#),
    ("zlib", r#"{"id":"zlib","level":6}"#),
    ("gzip", r#"{"id":"gzip","level":6}"#),
    ("lz4", r#"{"id":"lz4","acceleration":1}"#),
    (
        "lzma",
        r#"{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":1048576,"lc":2,"lp":2,"pb":2}]}"#,
    ),
    ("nc3z.num", r#"{"id":"nc3z.num"}"#),
];

/// A chain as asked for: JSON as archives store it, but `elementsize` may be left out (the variable's is meant), and
/// `blocksize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedChain(Value);

impl WantedChain {
    /// Reads `[{"id":…},…]`.
    ///
    /// # Errors
    /// Not JSON; ids or keys that this build does not know; a codec that is not the last.
    pub fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| Error::invalid(format!("`{text}` is no JSON ({e}); a chain is [{}]", KNOWN[2].1)))?;
        let wanted = WantedChain(value);
        wanted.filled(1)?;
        Ok(wanted)
    }

    /// The chain for elements of so many bytes.
    ///
    /// # Errors
    /// A filter for elements of another size.
    pub fn bind(&self, element_size: usize) -> Result<ChainSpec> {
        let chain = self.filled(element_size)?;
        for stage in &chain.0 {
            if let StageSpec::Shuffle { elementsize } | StageSpec::Bitshuffle { elementsize, .. } = stage
                && *elementsize != element_size
            {
                let id = stage.id();
                return Err(Error::invalid(format!(
                    "{id} with elementsize {elementsize}, but the elements have {element_size} bytes; leave elementsize out, and it fits"
                )));
            }
        }
        Ok(chain)
    }

    fn filled(&self, element_size: usize) -> Result<ChainSpec> {
        let mut value = self.0.clone();
        let Value::Array(stages) = &mut value else {
            return Err(Error::invalid(format!(
                "a chain is an array, as in [{}]; found {value}",
                KNOWN[2].1
            )));
        };
        for stage in stages {
            let id = stage.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let Some((_, example)) = KNOWN.iter().find(|(known, _)| *known == id) else {
                let ids: Vec<_> = KNOWN.iter().map(|(id, _)| *id).collect();
                return Err(Error::invalid(format!(
                    "no filter or codec {stage}; there are {}",
                    ids.join(", ")
                )));
            };
            let Value::Object(map) = stage else { continue };
            if id.ends_with("shuffle") {
                map.entry("elementsize").or_insert_with(|| element_size.into());
            }
            if id == "bitshuffle" {
                map.entry("blocksize").or_insert_with(|| 0.into());
            }
            if let Some(key) = map.keys().find(|key| !example.contains(&format!("\"{key}\""))) {
                return Err(Error::invalid(format!("{id} has no key \"{key}\"; an example is {example}")));
            }
        }
        let chain = ChainSpec::from_value(&value, &Limits::default())?;
        for stage in &chain.0 {
            let id = stage.id();
            if let (StageSpec::Other(_), Some((_, example))) = (stage, KNOWN.iter().find(|(k, _)| *k == id)) {
                let found = ChainSpec(vec![stage.clone()]);
                return Err(Error::invalid(format!(
                    "{found}: a key is missing or out of range; an example is [{example}]"
                )));
            }
            if matches!(stage, StageSpec::Num(_)) && chain.0.len() > 1 {
                return Err(Error::invalid(format!("{chain}: nc3z.num stands alone in its chain")));
            }
        }
        if chain.numeric().is_none() {
            check_chain(&chain)?;
        }
        Ok(chain)
    }
}

impl fmt::Display for WantedChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        WantedChain::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_chain_is_bound_to_the_element_size() {
        let wanted = WantedChain::parse(r#"[{"id":"shuffle"},{"id":"zlib","level":5}]"#).unwrap();
        let chain = wanted.bind(8).unwrap();
        assert_eq!(chain.0, [StageSpec::Shuffle { elementsize: 8 }, StageSpec::Zlib { level: 5 }]);
        let fixed = WantedChain::parse(r#"[{"id":"bitshuffle","elementsize":4}]"#).unwrap();
        assert_eq!(fixed.bind(4).unwrap().0, [StageSpec::Bitshuffle { elementsize: 4, blocksize: 0 }]);
        assert!(fixed.bind(2).unwrap_err().to_string().contains("the elements have 2 bytes"));
        assert_eq!(WantedChain::parse("[]").unwrap().bind(3).unwrap(), ChainSpec::default());
        assert!(WantedChain::parse(r#"[{"id":"nc3z.num"}]"#).unwrap().bind(4).unwrap().numeric().is_some());
    }

    #[test]
    fn errors_say_what_there_is() {
        for (text, words) in [
            ("zstd", "is no JSON"),
            (r#"{"id":"zstd","level":9}"#, "a chain is an array"),
            (r#"[{"id":"blosc"}]"#, "there are shuffle, bitshuffle, zstd, zlib, gzip, lz4, lzma, nc3z.num"),
            (r#"[{"level":3}]"#, "no filter or codec"),
            (r#"[{"id":"zstd"}]"#, r#"an example is [{"id":"zstd","level":9}]"#),
            (r#"[{"id":"zlib","level":10}]"#, "out of range"),
            (r#"[{"id":"zlib","speed":10}]"#, r#"zlib has no key "speed""#),
            (r#"[{"id":"zstd","level":1},{"id":"shuffle"}]"#, "a codec must be the last"),
            (r#"[{"id":"shuffle"},{"id":"nc3z.num"}]"#, "stands alone"),
            (r#"[{"id":"nc3z.num","dict":0}]"#, r#"nc3z.num has no key "dict""#),
        ] {
            assert!(error(text).contains(words), "{text}: {}", error(text));
        }
    }
}
