//! Chains that a user asks for: read strictly, with errors that teach, and fitted to a variable's element size.

use super::registry::Registry;
use super::spec::{ChainSpec, NUM_ID, StageSpec};
use crate::error::{Error, Result};
use crate::limits::Limits;
use serde_json::Value;
use std::fmt;

/// The numeric codec, which is not in registries.
const NUM_EXAMPLE: &str = r#"{"id":"nc3z.num"}"#;
/// For messages about what is no chain at all.
const EXAMPLE: &str = r#"[{"id":"zstd","level":9}]"#;

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
        Self::parse_with(text, &Registry::default())
    }

    /// The same with other filters and codecs than this build's.
    ///
    /// # Errors
    /// As [`WantedChain::parse`].
    pub fn parse_with(text: &str, registry: &Registry) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| Error::invalid(format!("`{text}` is no JSON ({e}); a chain is {EXAMPLE}")))?;
        let wanted = WantedChain(value);
        // The elements are not known yet: the chain must fit some.
        let sizes = [1, 2, 4, 8].map(|size| wanted.bind(size, registry));
        if sizes.iter().all(Result::is_err) {
            wanted.bind(1, registry)?;
        }
        Ok(wanted)
    }

    /// The chain for elements of so many bytes.
    ///
    /// # Errors
    /// A filter for elements of another size.
    pub fn bind(&self, element_size: usize, registry: &Registry) -> Result<ChainSpec> {
        let Value::Array(stages) = &self.0 else {
            return Err(Error::invalid(format!("a chain is an array, as in {EXAMPLE}; found {}", self.0)));
        };
        if stages.len() as u64 > Limits::default().chain_len {
            return Err(Error::invalid(format!("a chain of {} filters and codecs", stages.len())));
        }
        let stages = stages.iter().map(|stage| complete(stage, element_size, registry));
        let spec = ChainSpec(stages.collect::<Result<_>>()?);
        if spec.0.len() > 1 && spec.0.iter().any(|stage| stage.id() == NUM_ID) {
            return Err(Error::invalid(format!("{spec}: {NUM_ID} stands alone in its chain")));
        }
        match registry.bind(spec.clone()).unsupported() {
            Some(why) => Err(Error::invalid(why)),
            None => Ok(spec),
        }
    }
}

/// One object as a user wrote it, with what was left out.
fn complete(stage: &Value, element_size: usize, registry: &Registry) -> Result<StageSpec> {
    let spec = StageSpec::from_value(stage.clone()).ok();
    let known = spec.and_then(|spec| match registry.get(spec.id()) {
        Some(kind) => Some((spec, Some(kind), kind.example())),
        None => (spec.id() == NUM_ID).then_some((spec, None, NUM_EXAMPLE)),
    });
    let Some((spec, kind, example)) = known else {
        let ids: Vec<_> = registry.ids().chain([NUM_ID]).collect();
        return Err(Error::invalid(format!("no filter or codec {stage}; there are {}", ids.join(", "))));
    };
    let id = spec.id();
    if let Some((key, _)) = spec.parameters().find(|(key, _)| !example.contains(&format!("\"{key}\""))) {
        return Err(Error::invalid(format!("{id} has no key \"{key}\"; an example is {example}")));
    }
    let Some(kind) = kind else { return Ok(spec) };
    let spec = kind.complete(spec, element_size).map_err(Error::invalid)?;
    match kind.bind(&spec) {
        Ok(_) => Ok(spec),
        Err(why) => Err(Error::invalid(format!("{spec}: {why}; an example is [{example}]"))),
    }
}

impl fmt::Display for WantedChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[cfg(feature = "codecs")]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        WantedChain::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_chain_is_bound_to_the_element_size() {
        let wanted = WantedChain::parse(r#"[{"id":"shuffle"},{"id":"zlib","level":5}]"#).unwrap();
        let registry = Registry::default();
        let chain = wanted.bind(8, &registry).unwrap();
        assert_eq!(chain.0, [StageSpec::shuffle(8), StageSpec::zlib(5)]);
        let fixed = WantedChain::parse(r#"[{"id":"bitshuffle","elementsize":4}]"#).unwrap();
        assert_eq!(fixed.bind(4, &registry).unwrap().0, [StageSpec::bitshuffle(4, 0)]);
        assert!(fixed.bind(2, &registry).unwrap_err().to_string().contains("the elements have 2 bytes"));
        assert_eq!(WantedChain::parse("[]").unwrap().bind(3, &registry).unwrap(), ChainSpec::default());
        assert!(
            WantedChain::parse(r#"[{"id":"nc3z.num"}]"#).unwrap().bind(4, &registry).unwrap().is_numeric()
        );
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
