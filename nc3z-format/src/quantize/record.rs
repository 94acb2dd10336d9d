//! The record of quantized values in an archive, as JSON in its metadata.

use serde_json::{Map, Value, json};

/// The key in the metadata.
pub const LOSSY_KEY: &str = "lossy";

/// The record of a loss of precision: the source file, and how much each variable changed.
#[derive(Debug, Clone, PartialEq)]
pub struct LossRecord {
    /// Bytes of the file before quantization.
    pub source_len: u64,
    /// SHA-256 of that file, in hexadecimal.
    pub source_sha256: String,
    /// The quantized variables of the record.
    pub variables: Vec<VariableLoss>,
}

/// One quantized variable.
#[derive(Debug, Clone, PartialEq)]
pub struct VariableLoss {
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// How, as on the command line.
    pub quantize: String,
    /// The number of elements.
    pub elements: u64,
    /// The number of elements whose value changed.
    pub changed: u64,
    /// The largest absolute error.
    pub max_abs_error: f64,
    /// The largest relative error.
    pub max_rel_error: f64,
}

impl LossRecord {
    /// Key and value for [`crate::archive::Metadata::extra`].
    pub fn entry(&self) -> (String, Value) {
        let variables = self.variables.iter().map(VariableLoss::to_value).collect::<Vec<_>>();
        let value = json!({
            "source_length": number(self.source_len), "source_sha256": self.source_sha256, "variables": variables,
        });
        (LOSSY_KEY.to_owned(), value)
    }

    /// The record among the other keys of the metadata, if it is there and well formed.
    pub fn find<'a>(extra: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Option<Self> {
        let (_, value) = extra.into_iter().find(|(key, _)| *key == LOSSY_KEY)?;
        let map = value.as_object()?;
        let variables = map.get("variables")?.as_array()?;
        Some(LossRecord {
            source_len: wide(map, "source_length")?,
            source_sha256: map.get("source_sha256")?.as_str()?.to_owned(),
            variables: variables.iter().map(VariableLoss::from_value).collect::<Option<_>>()?,
        })
    }
}

impl VariableLoss {
    fn to_value(&self) -> Value {
        json!({
            "name": self.name, "quantize": self.quantize, "elements": number(self.elements),
            "changed": number(self.changed), "max_abs_error": self.max_abs_error,
            "max_rel_error": self.max_rel_error,
        })
    }

    fn from_value(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let text = |key| map.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(VariableLoss {
            name: text("name")?,
            quantize: text("quantize")?,
            elements: wide(map, "elements")?,
            changed: wide(map, "changed")?,
            max_abs_error: map.get("max_abs_error")?.as_f64()?,
            max_rel_error: map.get("max_rel_error")?.as_f64()?,
        })
    }
}

/// Integers over 2^53 are hexadecimal strings.
fn number(n: u64) -> Value {
    if n > 1 << 53 { format!("{n:#x}").into() } else { n.into() }
}

fn wide(map: &Map<String, Value>, key: &str) -> Option<u64> {
    match map.get(key)? {
        Value::String(s) => u64::from_str_radix(s.strip_prefix("0x")?, 16).ok(),
        other => other.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn record_round_trips_and_other_shapes_are_none() {
        let variable = VariableLoss {
            name: "t".into(),
            quantize: "abs:0.1".into(),
            elements: 1 << 60,
            changed: 3,
            max_abs_error: 0.05,
            max_rel_error: 1.5e-300,
        };
        let record = LossRecord { source_len: 9, source_sha256: "ab".into(), variables: vec![variable] };
        let extra: BTreeMap<String, Value> = [record.entry()].into();
        assert_eq!(LossRecord::find(&extra).unwrap(), record);
        assert!(LossRecord::find(&BTreeMap::new()).is_none());
        for bad in ["3", "{}", r#"{"source_length":1,"source_sha256":"x","variables":[{}]}"#] {
            let extra: BTreeMap<String, Value> =
                [(LOSSY_KEY.into(), serde_json::from_str(bad).unwrap())].into();
            assert!(LossRecord::find(&extra).is_none(), "{bad}");
        }
    }
}
