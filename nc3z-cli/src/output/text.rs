//! Units, and names from files made safe for a terminal.

use nc3z_format::quantize::VariableLoss;
use serde_json::Value;
use std::fmt::Write as _;

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

/// A name from a file: UTF-8 where it is, control characters and stray bytes escaped.
pub(crate) fn name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unsafe(c) {
                let _ = write!(out, "{}", c.escape_unicode());
            } else {
                out.push(c);
            }
        }
        for b in chunk.invalid() {
            let _ = write!(out, "\\x{b:02x}");
        }
    }
    out
}

/// Text that came from a file by way of a message, with control characters escaped; line breaks too.
pub(crate) fn safe(text: &str) -> String {
    name(text.as_bytes())
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

/// What a terminal would obey, hide, or use to reorder its neighbours, in place of showing it.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

pub(crate) use nc3z_format::bytes::hex;

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

    #[test]
    fn terminal_escapes_in_names_are_shown_not_obeyed() {
        assert_eq!(name(b"a\x1b[31mb\nc"), "a\\u{1b}[31mb\\u{a}c");
        assert_eq!(name(&[b'x', 0xff]), "x\\xff");
        assert_eq!(name("température\u{202e}".as_bytes()), "température\\u{202e}");
    }
}
