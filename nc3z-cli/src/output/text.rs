//! Units, and names from files made safe for a terminal.

use nc3z_format::quantize::VariableLoss;
use serde_json::Value;

/// A size in binary units, as `ls -h` prints them: `12.3 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// What rounding did to a variable, in a line.
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

/// Original size over stored size, `-` where nothing is stored.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn ratio(original: u64, stored: u64) -> String {
    if stored == 0 { "-".to_owned() } else { format!("{:.2}", original as f64 / stored as f64) }
}

/// A value from a file, its strings and keys made safe.
pub(crate) fn safe_json(value: Value) -> Value {
    match value {
        Value::String(s) => Value::String(safe(&s)),
        Value::Array(items) => items.into_iter().map(safe_json).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (safe(&k), safe_json(v))).collect(),
        other => other,
    }
}

pub(crate) use nc3z_format::bytes::hex;
pub(crate) use nc3z_look::text::{is_unsafe, name, safe};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }
}
