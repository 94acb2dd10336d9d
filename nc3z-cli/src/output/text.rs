//! Formats units, and makes names from files safe for a terminal.

use nc3z_format::quantize::VariableLoss;
use serde_json::Value;

/// Describes the rounding of a variable in one line.
pub(crate) fn loss(v: &VariableLoss) -> String {
    format!(
        "{} {}: {} of {} values changed, by at most {:.6e} (relative {:.6e})",
        safe(&v.name),
        safe(&v.quantize),
        v.changed,
        v.elements,
        v.max_abs_error,
        v.max_rel_error
    )
}

/// Makes the strings and keys of a value from a file safe.
pub(crate) fn safe_json(value: Value) -> Value {
    match value {
        Value::String(s) => Value::String(safe(&s)),
        Value::Array(items) => items.into_iter().map(safe_json).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (safe(&k), safe_json(v))).collect(),
        other => other,
    }
}

pub(crate) use nc3z_format::bytes::hex;
pub(crate) use nc3z_look::text::{name, ratio, safe, size};
