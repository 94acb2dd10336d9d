//! The metadata section: one JSON object in canonical form.

use crate::codec::ChainSpec;
use crate::error::{Error, Result};
use crate::json;
use crate::limits::Limits;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const SECTION: &str = "metadata";
/// The key under which an archive records the archives it came from, oldest first.
pub const LINEAGE: &str = "lineage";

/// The program that wrote the archive, its options, and the chains added after the head copy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// Name and version of the program.
    pub writer: String,
    /// Options used to write the archive.
    pub options: BTreeMap<String, String>,
    /// Chains in addition to those of the head copy.
    pub chains: Vec<ChainSpec>,
    /// All other keys, preserved.
    pub extra: BTreeMap<String, Value>,
}

impl Metadata {
    /// Returns the entries about the archives that this one was made from, oldest first. They are not checked.
    pub fn lineage(&self) -> &[Value] {
        self.extra.get(LINEAGE).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Canonical JSON: keys sorted, no blanks.
    pub fn encode(&self) -> Vec<u8> {
        let mut object: Map<String, Value> = self.extra.clone().into_iter().collect();
        object.insert("writer".into(), self.writer.clone().into());
        if !self.options.is_empty() {
            let options = self.options.iter().map(|(k, v)| (k.clone(), v.clone().into()));
            object.insert("options".into(), Value::Object(options.collect()));
        }
        if !self.chains.is_empty() {
            object.insert("chains".into(), self.chains.iter().map(ChainSpec::to_value).collect());
        }
        Value::Object(object).to_string().into_bytes()
    }

    /// Reads the object. Unknown keys are preserved.
    ///
    /// # Errors
    /// Not JSON, known keys of the wrong type, more values or chains than `limits` allow.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let wrong =
            |what, expected: &str, found: String| Error::corrupt(SECTION, None, what, expected, found);
        let Value::Object(object) = json::parse(SECTION, bytes, limits)? else {
            return Err(wrong("content", "a JSON object", "another value".into()));
        };
        let mut metadata = Metadata::default();
        for (key, value) in object {
            match (key.as_str(), value) {
                ("writer", Value::String(s)) => metadata.writer = s,
                ("options", Value::Object(o)) => {
                    for (k, v) in o {
                        let Value::String(s) = v else {
                            return Err(wrong("options", "strings", json::brief(&v)));
                        };
                        metadata.options.insert(k, s);
                    }
                }
                ("chains", Value::Array(chains)) => {
                    let chains = chains.into_iter().map(|chain| ChainSpec::from_value(chain, limits));
                    metadata.chains = chains.collect::<Result<_>>()?;
                }
                ("writer" | "options" | "chains", v) => {
                    return Err(wrong(
                        "writer, options or chains",
                        "a string, an object, an array",
                        json::brief(&v),
                    ));
                }
                (_, v) => {
                    metadata.extra.insert(key, v);
                }
            }
        }
        Ok(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_and_keeps_what_it_does_not_know() {
        let m = Metadata {
            writer: "nc3z 0.1.0".into(),
            options: [("preset".into(), "max".into())].into(),
            chains: vec![ChainSpec::default()],
            extra: [("a".into(), Value::from(1))].into(),
        };
        let bytes = m.encode();
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            r#"{"a":1,"chains":[[]],"options":{"preset":"max"},"writer":"nc3z 0.1.0"}"#
        );
        assert_eq!(Metadata::decode(&bytes, &Limits::default()).unwrap(), m);
        assert!(Metadata::decode(b"[]", &Limits::default()).is_err());
        assert!(Metadata::decode(br#"{"writer":3}"#, &Limits::default()).is_err());
    }
}
