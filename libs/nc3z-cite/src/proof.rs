//! Proofs as JSON (`spec/proof.md`, section 2).

use crate::error::{Error, Result};
use crate::once;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nc3z_format::digest::{Hash, Root, hashes};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The value of the key `format`; the number is the version.
pub const FORMAT: &str = "nc3z proof 1";

/// The proof that a slice is a part of the dataset with a root.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// [`FORMAT`].
    pub format: String,
    /// The root, as text.
    pub root: String,
    /// The number of entries under the root.
    pub entries: u64,
    /// The nodes that lead from the entries to the root.
    #[serde(with = "nodes")]
    pub path: Vec<Hash>,
    /// The entry of the file, if its attributes are in the slice.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_bytes")]
    pub file: Option<Vec<u8>>,
    /// The variables of the slice, in ascending order of their entries.
    pub variables: Vec<ProofVariable>,
    /// Statements about the slice that are not proven: source, version, command.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "once::map")]
    pub about: Map<String, Value>,
}

/// A variable of a slice: the part and the array, and the nodes that lead from its values to its entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofVariable {
    /// The name for people, if it is UTF-8; the same as in the entry.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text")]
    pub name: Option<String>,
    /// The number of its entry: 1 is the first variable.
    pub number: u64,
    /// The bytes of its entry (`spec/digest.md`, section 4).
    #[serde(with = "bytes")]
    pub entry: Vec<u8>,
    /// First index along each dimension.
    pub start: Vec<u64>,
    /// Number of indices along each dimension.
    pub count: Vec<u64>,
    /// Distance between indices along each dimension, at least 1.
    pub stride: Vec<i64>,
    /// The nodes that lead from the leaves with values of the slice to the values root.
    #[serde(with = "nodes")]
    pub nodes: Vec<Hash>,
    /// The bytes of the leaves that the slice contains only partly, one after another.
    #[serde(with = "bytes")]
    pub leaves: Vec<u8>,
}

impl Proof {
    /// Parses JSON.
    ///
    /// # Errors
    /// The text is not a proof of this version.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let proof: Proof = serde_json::from_slice(text)
            .map_err(|e| Error::malformed(format!("the proof is not valid JSON: {e}")))?;
        if proof.format != FORMAT {
            return Err(Error::malformed(format!(
                "unknown format `{}` of the proof; expected `{FORMAT}`",
                proof.format.escape_debug()
            )));
        }
        Ok(proof)
    }

    /// Writes JSON, indented.
    ///
    /// # Panics
    /// Never: all keys are strings.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a proof has string keys only");
        text.push('\n');
        text
    }

    /// Returns the root that the proof names.
    ///
    /// # Errors
    /// The text is not a root.
    pub fn root(&self) -> Result<Root> {
        self.root.parse().map_err(|e: nc3z_format::Error| Error::malformed(e.to_string()))
    }

    /// The number of bytes of leaves in it.
    pub fn leaf_bytes(&self) -> u64 {
        self.variables.iter().map(|v| v.leaves.len() as u64).sum()
    }
}

/// A string that is borrowed if the JSON has no escapes in it.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// A string, and not `null` in its place.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

fn decode<E: serde::de::Error>(text: &str) -> Result<Vec<u8>, E> {
    STANDARD.decode(text).map_err(|e| E::custom(format!("invalid base64: {e}")))
}

mod bytes {
    use super::{STANDARD, Text, decode};
    use base64::Engine as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        decode(&Text::deserialize(from)?.0)
    }
}

mod optional_bytes {
    use super::{STANDARD, Text, decode};
    use base64::Engine as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes fields by reference")]
    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        decode(&Text::deserialize(from)?.0).map(Some)
    }
}

mod nodes {
    use super::{Hash, hashes};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(nodes: &[Hash], to: S) -> Result<S::Ok, S::Error> {
        super::bytes::serialize(nodes.as_flattened(), to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Hash>, D::Error> {
        let bytes = super::bytes::deserialize(from)?;
        if !bytes.len().is_multiple_of(size_of::<Hash>()) {
            return Err(serde::de::Error::custom("nodes of 32 bytes each were expected"));
        }
        Ok(hashes(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_of_the_specification_is_read() {
        let proof = |about: &str, name: &str| {
            format!(
                r#"{{"format": "{FORMAT}", "root": "", "entries": 2, "path": "", "variables": [{{{name}"number": 1, "entry": "",
                    "start": [], "count": [], "stride": [], "nodes": "", "leaves": ""}}]{about}}}"#
            )
        };
        let is_read = |text: &str| Proof::from_json(text.as_bytes()).is_ok();
        let about = |value: &str| is_read(&proof(&format!(", \"about\": {value}"), ""));
        assert!(is_read(&proof("", "")) && is_read(&proof("", r#""name": "t", "#)));
        assert!(!is_read(&proof("", r#""name": null, "#)));
        let nested = |depth: usize| format!(r#"{{"a": {}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        for right in ["{}", r#"{"a": [1, -1, 0.5, null, true, "b", {"c": {}}], "b": -0}"#, &nested(125)] {
            assert!(about(right), "{right}");
        }
        for wrong in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": [{"b": 1, "b": 2}]}"#,
            "null",
            "[]",
            r#"{"a": 1e999}"#,
            &nested(126),
        ] {
            assert!(!about(wrong), "{wrong}");
        }
        assert!(!is_read(&proof("", "").replace("2,", "-0,")));
        assert!(!is_read(&format!("\u{feff}{}", proof("", ""))));
    }
}
