//! Chains that a user requests: read strictly, with errors that explain, and fitted to a variable's element
//! size.

use super::notation::{Hdf5Filter, canonical, stages_of};
use super::registry::Registry;
use super::spec::{ChainSpec, NUM_ID, StageSpec};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::quantize::Quantize;
use crate::types::NcType;
use serde_json::Value;
use std::fmt;

/// The numeric codec, which is not in registries.
const NUM_EXAMPLE: &str = r#"{"id":"nc3z.num"}"#;
/// The example in messages about texts that are not a chain.
const EXAMPLE: &str = r#"[{"id":"zstd","level":9}]"#;

/// A requested chain: HDF5's notation, NumCodecs' JSON or Zarr's split of it. Keys that follow from the
/// variable's type, such as `elementsize`, may be omitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainRequest(Value);

impl ChainRequest {
    /// Reads `[{"id":…},…]`, `{"filters":[…],"compressor":{…}}`, or `2|32015,9`.
    ///
    /// # Errors
    /// Another notation; ids or keys that this build does not know; a codec that is not the last stage.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &Registry::default())
    }

    /// As [`ChainRequest::parse`], with other filters and codecs than this build's.
    ///
    /// # Errors
    /// As [`ChainRequest::parse`].
    pub fn parse_with(text: &str, registry: &Registry) -> Result<Self> {
        let value: Value = if text.trim_start().starts_with(['[', '{', '"']) {
            serde_json::from_str(text).map_err(|e| {
                Error::invalid(format!("`{text}` is not valid JSON ({e}); a chain is {EXAMPLE}"))
            })?
        } else {
            let filters = Hdf5Filter::parse_chain(text)?;
            let stages = filters.iter().map(|filter| filter.to_stage(registry).map(|stage| stage.to_value()));
            stages.collect::<Result<_>>()?
        };
        let wanted = ChainRequest(value);
        // The elements are not known yet: the chain must fit some.
        let types = NcType::ALL.map(|ty| wanted.bind(ty, registry));
        if types.iter().all(Result::is_err) {
            wanted.bind(NcType::Float, registry)?;
        }
        Ok(wanted)
    }

    /// The chain for elements of a type.
    ///
    /// # Errors
    /// A filter for other elements.
    pub fn bind(&self, ty: NcType, registry: &Registry) -> Result<ChainSpec> {
        let Some(stages) = stages_of(&self.0) else {
            return Err(Error::invalid(format!("a chain is an array, as in {EXAMPLE}; found {}", self.0)));
        };
        if stages.len() as u64 > Limits::default().chain_len {
            return Err(Error::invalid(format!("a chain of {} filters and codecs", stages.len())));
        }
        let stages = stages.iter().map(|stage| complete(stage, ty, registry));
        let spec = ChainSpec(stages.collect::<Result<_>>()?);
        if spec.0.len() > 1 && spec.0.iter().any(|stage| stage.id() == NUM_ID) {
            return Err(Error::invalid(format!("{spec}: {NUM_ID} must be alone in its chain")));
        }
        spec.rounding(registry)?;
        match registry.bind(spec.clone()).unsupported() {
            Some(why) => Err(Error::invalid(why)),
            None => Ok(spec),
        }
    }
}

impl ChainRequest {
    /// The rounding of a type's values by this chain, if it rounds.
    ///
    /// # Errors
    /// As [`ChainRequest::bind`]; two filters that round.
    pub fn rounding(&self, ty: NcType, registry: &Registry) -> Result<Option<Quantize>> {
        self.bind(ty, registry)?.rounding(registry)
    }

    /// The chain without the filters that round.
    #[must_use]
    pub fn without_rounding(&self, registry: &Registry) -> Self {
        let rounds = |stage: &Value| {
            let spec = StageSpec::from_value(stage.clone()).ok().map(canonical);
            spec.is_some_and(|spec| {
                registry.get(spec.id()).is_some_and(|kind| kind.rounding(&spec).is_some())
            })
        };
        match stages_of(&self.0) {
            Some(stages) => ChainRequest(stages.into_iter().filter(|stage| !rounds(stage)).collect()),
            None => self.clone(),
        }
    }

    /// Returns true if a filter of the chain rounds, for any type.
    pub fn rounds(&self, registry: &Registry) -> bool {
        let all = stages_of(&self.0).unwrap_or_default().len();
        stages_of(&self.without_rounding(registry).0).unwrap_or_default().len() < all
    }
}

impl ChainSpec {
    /// The rounding of values by this chain, if it rounds.
    ///
    /// # Errors
    /// Two filters that round: one rounding has one proven bound.
    pub fn rounding(&self, registry: &Registry) -> Result<Option<Quantize>> {
        let rounding = |stage: &StageSpec| registry.get(stage.id())?.rounding(stage);
        let mut all = self.0.iter().enumerate().filter_map(|(at, stage)| Some((at, rounding(stage)?)));
        match (all.next(), all.next()) {
            (Some(_), Some(_)) => Err(Error::invalid(format!("{self}: two filters that round"))),
            (Some((0, mode)), None) => Ok(Some(mode)),
            (None, _) => Ok(None),
            _ => Err(Error::invalid(format!(
                "{self}: a filter that rounds takes numbers; it must be the first"
            ))),
        }
    }
}

/// One object as a user wrote it, with the omitted keys added.
fn complete(stage: &Value, ty: NcType, registry: &Registry) -> Result<StageSpec> {
    let spec = StageSpec::from_value(stage.clone()).ok().map(canonical);
    let known = spec.and_then(|spec| match registry.get(spec.id()) {
        Some(kind) => Some((spec, Some(kind), kind.example())),
        None => (spec.id() == NUM_ID).then_some((spec, None, NUM_EXAMPLE)),
    });
    let Some((spec, kind, example)) = known else {
        let ids: Vec<_> = registry.ids().chain([NUM_ID]).collect();
        return Err(Error::invalid(format!("unknown filter or codec {stage}; expected {}", ids.join(", "))));
    };
    let id = spec.id();
    let takes = |key: &str| kind.is_some_and(|kind| kind.takes(key));
    if let Some((key, _)) = spec.parameters().find(|(key, _)| !takes(key)) {
        return Err(Error::invalid(format!("{id} has no key \"{key}\"; an example is {example}")));
    }
    let Some(kind) = kind else { return Ok(spec) };
    let spec = kind.complete(spec, ty).map_err(Error::invalid)?;
    match kind.bind(&spec) {
        Ok(_) => Ok(spec),
        Err(why) => Err(Error::invalid(format!("{spec}: {why}; an example is [{example}]"))),
    }
}

impl fmt::Display for ChainRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[cfg(feature = "codecs")]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        ChainRequest::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_chain_is_bound_to_the_element_size() {
        let wanted = ChainRequest::parse(r#"[{"id":"shuffle"},{"id":"zlib","level":5}]"#).unwrap();
        let registry = Registry::default();
        let chain = wanted.bind(NcType::Double, &registry).unwrap();
        assert_eq!(chain.0, [StageSpec::shuffle(8), StageSpec::zlib(5)]);
        let fixed = ChainRequest::parse(r#"[{"id":"bitshuffle","elementsize":4}]"#).unwrap();
        assert_eq!(fixed.bind(NcType::Int, &registry).unwrap().0, [StageSpec::bitshuffle(4, 0)]);
        assert!(
            fixed
                .bind(NcType::Short, &registry)
                .unwrap_err()
                .to_string()
                .contains("the elements have 2 bytes")
        );
        assert_eq!(
            ChainRequest::parse("[]").unwrap().bind(NcType::Int, &registry).unwrap(),
            ChainSpec::default()
        );
        assert!(
            ChainRequest::parse(r#"[{"id":"nc3z.num"}]"#)
                .unwrap()
                .bind(NcType::Int, &registry)
                .unwrap()
                .is_numeric()
        );
    }

    #[test]
    fn errors_say_what_there_is() {
        for (text, words) in [
            ("[zstd", "is not valid JSON"),
            ("zstd", "not a filter number"),
            (r#"{"id":"zstd","level":9}"#, "a chain is an array"),
            (
                r#"[{"id":"zfpy"}]"#,
                "expected shuffle, bitshuffle, zstd, zlib, gzip, lz4, lzma, bz2, blosc, lz4h5",
            ),
            (r#"[{"level":3}]"#, "unknown filter or codec"),
            (r#"[{"id":"zstd"}]"#, r#"an example is [{"id":"zstd","level":9}]"#),
            (r#"[{"id":"zlib","level":10}]"#, "out of range"),
            (r#"[{"id":"zlib","speed":10}]"#, r#"zlib has no key "speed""#),
            (r#"[{"id":"zstd","level":1},{"id":"packbits"}]"#, "a codec must be the last"),
            (r#"[{"id":"bitround","keepbits":3},{"id":"bitgroom","nsd":3}]"#, "two filters that round"),
            (r#"[{"id":"shuffle"},{"id":"nc3z.num"}]"#, "must be alone in its chain"),
            (r#"[{"id":"nc3z.num","dict":0}]"#, r#"nc3z.num has no key "dict""#),
        ] {
            assert!(error(text).contains(words), "{text}: {}", error(text));
        }
    }
}
